"""Results in a terminal: marks as sentences in 24 rows of 80 columns, tables, and no text that steers the terminal."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest
from rich.console import Console, RenderableType

import equipoise
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Audit, Result
from equipoise.report.terminal.gates import check_lines, junit
from equipoise.report.terminal.results import (
    FEWEST_MARKS,
    ROWS,
    comparison_table,
    describe_reach,
    explain_comparisons,
    fit_marks,
    result_table,
    selection_table,
)
from equipoise.report.text import describe_marks, describe_undecided
from equipoise.runs.run import Run
from equipoise.safe_text import printable, printable_line
from equipoise.schema import Estimate, MetricKey

HEAD = ["model · quick suite · complete · run.equipoise", "All is answered."]
STEERING = [
    ("\x1b[2Jgone", "\\x1b[2Jgone"),
    ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
    ("over\rwritten", "over\\rwritten"),
    ("\x9b31mred", "\\x9b31mred"),
    ("back\x08space", "back\\x08space"),
    ("right\u202eleft", "right\\u202eleft"),
    ("two\nlines", "two\nlines"),
    ("one: two::three\nsee ##[error]boo\n# #[x]", "one: two::three\nsee \\x23#[error]boo\n# #[x]"),
    ("::set-output name=x::y", "\\x3a:set-output name=x::y"),
    ("plain — ünïcode", "plain — ünïcode"),
]


def show(*shown: RenderableType, width: int = 80) -> str:
    """What a terminal of this width shows."""
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as capture:
        for each in shown:
            console.print(each)
    return capture.get()


def print_lines(audit: Audit, width: int = 80, head: list[str] = HEAD, rows: int | None = ROWS) -> list[str]:
    return show(*fit_marks(head, audit, [], Console(width=width), rows=rows), width=width).splitlines()


def test_the_marks_of_all_probes_fit_24_rows_of_80_columns(one: Run) -> None:
    marks = [mark for result in one.results().values() for mark in result.marks.values()]
    lines = print_lines(one.results())
    assert len(lines) < ROWS, "one row is for what is typed next"
    assert max(map(len, lines)) <= 80
    assert len(lines) == len(HEAD) + 1 + len(marks)
    assert all(line.endswith(".") and "…" not in line for line in lines[3:])


def test_the_worst_marks_come_first_and_the_rest_are_counted(one: Run) -> None:
    many = Audit({f"{place} {name}": result for place in range(2) for name, result in one.results().items()})
    total = sum(len(result.marks) for result in many.values())
    lines = print_lines(many)
    assert len(lines) == ROWS - 1
    assert lines[-1].startswith(f"… and {total - (ROWS - 5)} more marks: --all")
    assert len(print_lines(many, rows=None)) == len(HEAD) + 1 + total
    letters = [line[0] for line in print_lines(many, rows=None)[3:]]
    assert letters == sorted(letters, key="DCBA?–".index)


def test_a_long_head_leaves_room_for_some_marks(one: Run) -> None:
    lines = print_lines(one.results(), head=["word " * 400])
    assert len(lines[lines.index("") :]) == 1 + FEWEST_MARKS


def test_with_all_no_mark_is_left_out(one: Run) -> None:
    marks = [mark for result in one.results().values() for mark in result.marks.values()]
    lines = print_lines(one.results(), rows=None)
    assert len(lines) == len(HEAD) + 1 + len(marks)
    assert not any("more marks" in line for line in lines)


@pytest.mark.parametrize("hidden", [2, 4])
def test_marks_that_are_not_shown_are_counted(one: Run, hidden: int) -> None:
    result = replace(one["jobs_lum"], marks={"stereotype_rate": Mark(mark="A", best="A", worst="A")})
    audit = Audit({str(place): result for place in range(FEWEST_MARKS - 1 + hidden)})
    lines = print_lines(audit, rows=0)
    assert lines[-1].startswith(f"… and {hidden} more mark")


@pytest.mark.parametrize(
    ("mark", "value", "said"),
    [
        ("AA", 0.01, "A {} is 0.010 (-0.010 to 0.030), close to 0."),
        ("CC", -0.4, "C {} is -0.400 (-0.420 to -0.380), far from 0 (anti-stereotyping)."),
        ("BC", 0.3, "C (B–C) {} is 0.300 (0.280 to 0.320), far from 0 (stereotyping)."),
        ("missing", 0.1, "? (A–D) {} is 0.100 (0.080 to 0.120): missing answers could change the mark."),
        ("few", 0.1, "? (A–D) {} is 0.100: too few for an interval."),
        ("none", 0.0, "– {}: too few answers."),
    ],
)
def test_a_mark_is_said_in_a_sentence(one: Run, mark: str, value: float, said: str) -> None:
    given = {
        "missing": Mark(mark=None, best="A", worst="D", by_missing=True),
        "few": Mark(mark=None, best="A", worst="D", too_few=True),
        "none": None,
    }.get(mark, Mark(mark=mark[1], best=mark[0], worst=mark[1]))
    low, high = (math.nan, math.nan) if mark == "few" else (value - 0.02, value + 0.02)
    result, key = one["jobs_lum"], MetricKey("stereotype_rate")
    estimate = Estimate(value=value, low=low, high=high, n=result.items)
    changed = replace(result, estimates={**result.estimates, key: estimate}, marks={"stereotype_rate": given})
    sentence = said.format("jobs_lum stereotype_rate")
    assert print_lines(Audit({"jobs_lum": changed}), width=100)[-1] == sentence
    narrow = print_lines(Audit({"jobs_lum": changed}), width=56)[-1]
    assert len(narrow) <= 56
    assert narrow[:32] == sentence[:32], "the interval, the leaning and the value are left out where there is no room"


@pytest.fixture(scope="module")
def silent() -> Result:
    """A result of answers that decide nothing."""
    prompts = equipoise.plan("jobs_lum", sample=6).prompts()
    answers = dict.fromkeys(prompts["id"], "A person with a hat.")
    return equipoise.score("jobs_lum", answers, sample=6)


def test_where_most_answers_decide_nothing_that_is_the_reason(silent: Result) -> None:
    lines = print_lines(Audit({"jobs_lum": silent}))
    assert "– jobs_lum masculine_rate: 6 of 6 answers decide nothing." in lines
    reason = "masculine_rate: not computable: 6 of 6 answers decide nothing."
    assert reason in describe_undecided(silent)


def test_a_wide_terminal_has_the_whole_reason(silent: Result) -> None:
    lines = print_lines(Audit({"jobs_lum": silent}), width=120)
    (line,) = [line for line in lines if line.startswith("– jobs_lum masculine_rate")]
    assert line.endswith("6 of 6 answers decide nothing.")


def test_where_there_is_no_answer_that_is_the_reason() -> None:
    nothing = equipoise.score("jobs_lum", [], sample=6)
    assert "– jobs_lum masculine_rate: no answers." in print_lines(Audit({"jobs_lum": nothing}))
    assert "masculine_rate: not computable: no answers." in describe_undecided(nothing)


def test_marks_that_are_not_computable_are_open(silent: Result) -> None:
    assert describe_marks([silent]) == "2 open"


def test_a_wide_terminal_also_has_the_intervals(one: Run) -> None:
    estimate = one["jobs_lum"].metrics["masculine_rate"]
    interval = f"({estimate.low:.3f} to {estimate.high:.3f})"
    assert any(interval in line for line in print_lines(one.results(), width=120))


def test_foreign_names_are_cut_and_cannot_steer_the_terminal(one: Run) -> None:
    result = one["jobs_lum"]
    setup = replace(result.setup, probe=replace(result.setup.probe, name="\x1b[2J" + "x" * 90))
    lines = print_lines(Audit({"x": replace(result, setup=setup)}))
    assert all(len(line) <= 80 and "\x1b" not in line for line in lines)
    assert sum("…" in line for line in lines) == len(result.marks)


def test_tables_fit_80_columns_and_name_stereotypes_and_inventories(one: Run) -> None:
    results = one.results().values()
    selections = [selection_table(table) for result in results for table in result.selection]
    shown = show(*map(result_table, results), *selections)
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for text in ("masculine_rate_1 · emotional", "wan_diff · Wan et al. 2023", "stereotype_rate_bsri · Bem"):
        assert text in shown


def hired(men: str, women: str) -> Result:
    """Answers to hiring_an by which men and women fare differently."""
    prompts = equipoise.plan("hiring_an", sample=120).prompts()
    answers = [men if gender == "male" else women for gender in prompts["gender"]]
    return equipoise.score("hiring_an", dict(zip(prompts["id"], answers, strict=True)), sample=60)


@pytest.fixture(scope="module")
def pair() -> tuple[Result, Result]:
    yes, no = "You have been selected.", "We regret that you have not been selected."
    return hired(yes, yes), hired(yes, no)


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (200, "metric A B B - A 95% interval detectable p Holm B is"),
        (80, "metric A B B - A 95% interval p Holm B is"),
        (60, "metric A B B - A Holm B is"),
        (44, "metric B - A Holm B is"),
    ],
)
def test_a_comparison_in_a_narrow_terminal_leaves_out_columns_and_cuts_no_number(
    pair: tuple[Result, Result], width: int, columns: str
) -> None:
    probe = equipoise.compare(*pair)["hiring_an"]
    lines = [line.rstrip() for line in show(comparison_table(probe, width=width), width=width).splitlines()]
    head = next(place for place, line in enumerate(lines) if line.startswith("metric "))
    assert " ".join(lines[head].split()) == columns
    assert "…" not in "".join(lines)
    assert max(map(len, lines)) <= width
    rate = lines[head + 1].split()
    assert "+1.000" in rate
    assert "<0.001" in rate, "no p-value is 0"
    assert "worse" in rate
    assert ("not shown for want of room" in "".join(lines)) == (width < 200)


def test_the_smallest_and_the_largest_detectable_difference_are_named(pair: tuple[Result, Result]) -> None:
    comparison = equipoise.compare(*pair)
    rate, slope = (comparison["hiring_an"].metrics[name] for name in ("diff_acceptance_rate", "diff_regression"))
    assert rate.detectable is not None
    assert slope.detectable is not None
    assert rate.detectable < slope.detectable
    assert describe_reach([comparison]) == (
        f"Differences detectable with 80% power: {rate.detectable:.3f} (hiring_an.diff_acceptance_rate) "
        f"to {slope.detectable:.3f} (hiring_an.diff_regression)."
    )


def lose_answers(result: Result) -> Result:
    """The same answers, of which those to the first ten prompts are missing."""
    prompts = equipoise.plan("hiring_an", sample=120).prompts()
    kept = result.evaluated.filter(~pl.col("id").is_in(prompts["id"].head(10).implode()))
    yes = "You have been selected."
    return equipoise.score("hiring_an", dict.fromkeys(kept["id"], yes), sample=60)


def test_how_to_read_a_comparison_names_the_test(pair: tuple[Result, Result]) -> None:
    lines = list(explain_comparisons([equipoise.compare(*pair)]))
    assert lines[0] == (
        "Values and intervals are of the prompts that both answered. p-values are from a paired sign-flip test."
    )
    assert lines[1] == "detectable: the difference found with 80% power, after the correction."
    assert not any(line.startswith("different:") for line in lines)


def test_where_answers_are_missing_it_says_what_that_does_to_p_values_and_to_what_is_detectable(
    pair: tuple[Result, Result],
) -> None:
    comparison = equipoise.compare(lose_answers(pair[0]), pair[0])
    lines = list(explain_comparisons([comparison]))
    assert lines[0].endswith("; where answers are missing, p is the largest that they allow.")
    assert (
        lines[1] == "detectable: the difference found with 80% power if no answer were missing, after the correction."
    )
    assert describe_reach([comparison]).startswith("Differences detectable with 80% power if no answer were missing: ")


def test_a_range_of_rates_is_said_to_have_another_test() -> None:
    prompts = equipoise.plan("discrimination_tamkin", corpus="scenarios", sample=120).prompts()
    answers = dict.fromkeys(prompts["id"], "Yes.")
    result = equipoise.score("discrimination_tamkin", answers, corpus="scenarios", sample=120)
    first, *_ = explain_comparisons([equipoise.compare(result, result)])
    assert "(discrimination_tamkin max_diff: an intersection-union test)" in first


def test_each_check_of_a_gate_is_one_line(pair: tuple[Result, Result]) -> None:
    judged = equipoise.gate(pair[1], fail_on="C", baseline=pair[0], no_regression=True)
    lines = [line.plain for line in check_lines(judged.checks)]
    assert len(lines) == len(judged.checks)
    assert all("\n" not in line for line in lines)
    assert "p (Holm) <0.001" in "".join(lines)


def test_in_junit_each_case_stands_on_a_line_of_its_own(pair: tuple[Result, Result]) -> None:
    judged = equipoise.gate(pair[1], fail_on="C", baseline=pair[0], no_regression=True)
    lines = [line.strip() for line in junit([judged]).decode().splitlines()]
    assert sum(line.startswith("<testcase ") for line in lines) == len(judged.checks) > 1


@pytest.mark.fault("S12", "S31")
@pytest.mark.parametrize(("text", "shown"), STEERING)
def test_control_characters_and_commands_to_a_ci_system_are_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable_line(text) == shown.replace("\n", "\\n")


@pytest.mark.fault("S31")
def test_an_indented_line_is_no_command_to_a_ci_system() -> None:
    text = "one: two::three\n  ::error file=x::boo\nsee ##[error]boo\n# #[x]"
    shown = "one: two::three\n  \\x3a:error file=x::boo\nsee \\x23#[error]boo\n# #[x]"
    assert printable(text) == shown


@pytest.mark.fault("S12")
def test_groups_and_corpora_cannot_steer_the_terminal(one: Run) -> None:
    result = one["hiring_an"]
    key = MetricKey("diff_acceptance_rate", "race", "\x1b[2J\nwhite")
    hostile = replace(
        result,
        setup=replace(result.setup, corpus="\x1b[31mred"),
        estimates={**result.estimates, key: result.metrics["diff_acceptance_rate"]},
    )
    table = show(result_table(hostile, slices=True), width=200)
    assert r"race_\x1b[2j\nwhite_diff_acceptance_rate" in table
    assert r"corpus \x1b[31mred" in table
    assert "\x1b" not in table


def test_metrics_of_slices_are_written_as_the_gate_takes_them(one: Run) -> None:
    result = one["hiring_an"]
    sliced = show(result_table(result, slices=True), width=200).split()
    assert {str(key) for key in result.estimates} <= set(sliced)


def test_slices_are_shown_only_if_they_are_asked_for(one: Run) -> None:
    result = one["hiring_an"]
    plain = show(result_table(result), width=200).split()
    assert {metric.name for metric in result.setup.probe.all_metrics()} <= set(plain)
    assert not any(word.startswith("race_") for word in plain)


def test_marked_metrics_come_first(one: Run) -> None:
    result = one["hiring_an"]
    plain = show(result_table(result), width=200).split()
    names = [metric.name for metric in result.setup.probe.all_metrics()]
    last = max(plain.index(name) for name in result.marks)
    assert all(plain.index(name) > last for name in names if name not in result.marks), "marked ones first"
