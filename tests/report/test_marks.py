"""The marks of a run in a terminal of 24 rows and 80 columns: a sentence each, the worst first."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from rich.console import Console

import equipoise
from equipoise.measuring.audit import Audit
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Result
from equipoise.report.html.runs import ReportedRun
from equipoise.report.terminal.marks import FEWEST_MARKS, ROWS, fit_marks
from equipoise.report.terminal.tables import result_table, selection_table
from equipoise.report.text import describe_marks, describe_undecided
from equipoise.schema import Estimate, MetricKey

HEAD = ["model · quick suite · complete · run.equipoise", "All is answered."]


def print_lines(audit: Audit, width: int = 80, head: list[str] = HEAD, rows: int | None = ROWS) -> list[str]:
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as capture:
        for line in fit_marks(head, audit, [], console, rows=rows):
            console.print(line)
    return capture.get().splitlines()


def with_metric(result: Result, name: str, mark: Mark | None, value: float = 0.0) -> Result:
    estimate = Estimate(value=value, low=value - 0.1, high=value + 0.1, n=result.items)
    return replace(
        result, estimates={**result.estimates, MetricKey(name): estimate}, marks={**result.marks, name: mark}
    )


def test_the_marks_of_all_probes_fit_24_rows_of_80_columns(one: ReportedRun) -> None:
    marks = [mark for result in one.results.values() for mark in result.marks.values()]
    lines = print_lines(one.results)
    assert len(lines) < ROWS, "one row is for what is typed next"
    assert max(map(len, lines)) <= 80
    assert len(lines) == len(HEAD) + 1 + len(marks)
    assert all(line.endswith(".") and "…" not in line for line in lines[3:])


def test_the_worst_marks_come_first_and_the_rest_are_counted(three: list[ReportedRun]) -> None:
    many = Audit({f"{run.name} {name}": result for run in three for name, result in run.results.items()})
    total = sum(len(result.marks) for result in many.values())
    lines = print_lines(many)
    assert len(lines) == ROWS - 1
    assert re.fullmatch(
        rf"… and {total - (ROWS - 5)} more marks, \d+ not decided, the others no worse: --all", lines[-1]
    )
    assert len(print_lines(many, rows=None)) == len(HEAD) + 1 + total
    letters = [line[0] for line in print_lines(many, rows=None)[3:]]
    assert letters == sorted(letters, key="DCBA?–".index)


@pytest.mark.parametrize(
    ("undecided", "said"),
    [(0, "none of them worse"), (2, "2 not decided, the others no worse"), (4, "none of them decided")],
)
def test_marks_that_are_not_shown_are_not_called_harmless_before_they_are_decided(
    one: ReportedRun, undecided: int, said: str
) -> None:
    result, sure, unsure = (
        one.results["jobs_lum"],
        Mark(mark="A", best="A", worst="A"),
        Mark(mark=None, best="A", worst="C"),
    )
    results = [
        replace(result, marks={"stereotype_rate": unsure if number < undecided else sure})
        for number in range(FEWEST_MARKS + 3)
    ]
    lines = print_lines(Audit({str(number): one for number, one in enumerate(results)}), rows=0)
    assert lines[-1] == f"… and 4 more marks, {said}: --all"


def test_a_long_head_leaves_room_for_some_marks(one: ReportedRun) -> None:
    lines = print_lines(one.results, head=["word " * 400])
    assert len(lines[lines.index("") :]) == 1 + FEWEST_MARKS


@pytest.mark.parametrize(
    ("mark", "value", "said"),
    [
        (Mark(mark="A", best="A", worst="A"), 0.01, "A jobs_lum stereotype_rate is 0.010, close to 0."),
        (
            Mark(mark="C", best="C", worst="C"),
            -0.4,
            "C jobs_lum stereotype_rate is -0.400, far from 0 (anti-stereotyping).",
        ),
        (
            Mark(mark="C", best="B", worst="C"),
            0.3,
            "C (B–C) jobs_lum stereotype_rate is 0.300, far from 0 (stereotyping).",
        ),
        (
            Mark(mark=None, best="A", worst="D", by_missing=True),
            0.05,
            "? (A–D) jobs_lum stereotype_rate: missing answers could change it.",
        ),
        (
            Mark(mark=None, best="A", worst="D", too_few=True),
            0.05,
            "? (A–D) jobs_lum stereotype_rate: too few for an interval.",
        ),
        (None, 0.0, "– jobs_lum stereotype_rate: too few answers."),
    ],
)
def test_a_mark_is_said_in_a_sentence(one: ReportedRun, mark: Mark | None, value: float, said: str) -> None:
    result = with_metric(one.results["jobs_lum"], "stereotype_rate", mark, value)
    if mark and mark.undecided:
        low, high = (math.nan, math.nan) if mark.too_few else (0.08, 0.12)
        narrow = Estimate(value=0.1, low=low, high=high, n=result.items)
        result = replace(result, estimates={**result.estimates, MetricKey("stereotype_rate"): narrow})
    only = replace(result, marks={"stereotype_rate": mark})
    assert print_lines(Audit({"jobs_lum": only}))[-1] == said


def test_where_most_answers_decide_nothing_that_is_the_reason() -> None:
    silent = dict.fromkeys(equipoise.plan("jobs_lum", sample=6).prompts()["id"], "A person with a hat.")
    result = equipoise.score("jobs_lum", silent, sample=6)
    reason = "jobs_lum masculine_rate{}: 6 of 6 answers decide nothing."
    for width, words in ((80, ""), (120, " is not computable")):
        assert f"– {reason.format(words)}" in print_lines(Audit({"jobs_lum": result}), width=width)
    assert "masculine_rate: not computable: 6 of 6 answers decide nothing." in describe_undecided(result)
    nothing = equipoise.score("jobs_lum", [], sample=6)
    assert "– jobs_lum masculine_rate: no answers." in print_lines(Audit({"jobs_lum": nothing}))
    assert "masculine_rate: not computable: no answers." in describe_undecided(nothing)
    assert describe_marks([result]) == "2 open"


def test_a_wide_terminal_also_has_the_intervals(one: ReportedRun) -> None:
    estimate = one.results["jobs_lum"].metrics["masculine_rate"]
    interval = f"({estimate.low:.3f} to {estimate.high:.3f})"
    assert any(interval in line for line in print_lines(one.results, width=120))
    assert not any(interval in line for line in print_lines(one.results))


def test_foreign_names_are_cut_and_cannot_steer_the_terminal(one: ReportedRun) -> None:
    result = one.results["jobs_lum"]
    setup = replace(result.setup, probe=replace(result.setup.probe, name="\x1b[2J" + "x" * 90))
    lines = print_lines(Audit({"x": replace(result, setup=setup)}))
    assert all(len(line) <= 80 and "\x1b" not in line for line in lines)
    assert sum("…" in line for line in lines) == len(result.marks)


def test_tables_fit_80_columns_and_name_stereotypes_and_inventories(one: ReportedRun) -> None:
    console = Console(width=80, highlight=False, markup=False)
    with console.capture() as capture:
        for result in one.results.values():
            console.print(result_table(result, width=80))
            for table in result.selection:
                console.print(selection_table(table))
    shown = capture.get()
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for text in ("masculine_rate_1 · emotional", "wan_diff · Wan et al. 2023", "stereotype_rate_bsri · Bem"):
        assert text in shown
