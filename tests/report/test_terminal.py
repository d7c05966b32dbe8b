"""Results in a terminal: slices by name, small bars, and no text that can steer the terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

import equipoise
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.report.html.runs import ReportedRun
from equipoise.report.terminal.comparisons import comparison_table
from equipoise.report.terminal.gates import check_lines
from equipoise.report.terminal.tables import coverage_lines, draw_bar, result_table
from equipoise.safe_text import printable, printable_line
from equipoise.schema import Estimate, MetricKey

STEERING = [
    ("\x1b[2Jgone", "\\x1b[2Jgone"),
    ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
    ("over\rwritten", "over\\rwritten"),
    ("\x9b31mred", "\\x9b31mred"),
    ("back\x08space", "back\\x08space"),
    ("right\u202eleft", "right\\u202eleft"),
    ("two\nlines", "two\nlines"),
    ("plain — ünïcode", "plain — ünïcode"),
]


def printed(result: Result, *, slices: bool = False) -> str:
    console = Console(width=200, highlight=False, markup=False)
    with console.capture() as capture:
        console.print(result_table(result, slices=slices))
    return capture.get()


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
        (200, "metric A B B - A 95% interval could see p Holm B is"),
        (80, "metric A B B - A 95% interval p Holm B is"),
        (60, "metric A B B - A Holm B is"),
        (44, "metric B - A Holm B is"),
    ],
)
def test_a_comparison_in_a_narrow_terminal_leaves_out_columns_and_cuts_no_number(
    pair: tuple[Result, Result], width: int, columns: str
) -> None:
    probe = equipoise.compare(*pair)["hiring_an"]
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as capture:
        console.print(comparison_table(probe, width=width))
    lines = [line.rstrip() for line in capture.get().splitlines()]
    head = next(place for place, line in enumerate(lines) if line.startswith("metric "))
    assert " ".join(lines[head].split()) == columns
    assert "…" not in "".join(lines)
    assert max(map(len, lines)) <= width
    rate = lines[head + 1].split()
    assert "+1.000" in rate
    assert "<0.001" in rate, "no p-value is 0"
    assert "worse" in rate
    assert ("not shown for want of room" in "".join(lines)) == (width < 200)


def test_the_lines_of_a_gate_fold_in_a_narrow_terminal(pair: tuple[Result, Result]) -> None:
    judged = equipoise.gate(pair[1], fail_on="C", baseline=pair[0], no_regression=True)
    long, short = ([line.plain for line in check_lines(judged.checks, width)] for width in (None, 60))
    assert len(long) == len(short) == len(judged.checks)
    assert all("\n" not in line for line in long)
    assert max(map(len, long)) > 100
    folded = [line for check in short for line in check.splitlines()]
    assert max(map(len, folded)) <= 60
    assert [" ".join(check.split()) for check in short] == [" ".join(check.split()) for check in long]
    assert "p (Holm) <0.001" in "".join(long)


@pytest.mark.fault("S12")
@pytest.mark.parametrize(("text", "shown"), STEERING)
def test_control_characters_are_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable_line(text) == shown.replace("\n", "\\n")


@pytest.mark.fault("S31")
def test_no_line_is_a_command_to_a_ci_system() -> None:
    text = "one: two::three\n  ::error file=x::boo\nsee ##[error]boo\n# #[x]"
    assert printable(text) == "one: two::three\n  \\x3a:error file=x::boo\nsee \\x23#[error]boo\n# #[x]"
    assert printable_line("::set-output name=x::y") == "\\x3a:set-output name=x::y"


@pytest.mark.fault("S12")
def test_groups_and_corpora_cannot_steer_the_terminal(one: ReportedRun) -> None:
    result = one.results["hiring_an"]
    key = MetricKey("diff_acceptance_rate", "race", "\x1b[2J\nwhite")
    hostile = replace(
        result,
        setup=replace(result.setup, corpus="\x1b[31mred"),
        estimates={**result.estimates, key: result.metrics["diff_acceptance_rate"]},
        coverage={**result.coverage, "\x1b[2Jall": result.coverage["all"]},
    )
    table = printed(hostile, slices=True)
    assert r"race_\x1b[2j\nwhite_diff_acceptance_rate" in table
    assert r"corpus \x1b[31mred" in table
    assert "\x1b" not in table + "".join(coverage_lines(hostile))


def test_metrics_of_slices_are_written_as_the_gate_takes_them(one: ReportedRun) -> None:
    result = one.results["hiring_an"]
    plain, sliced = printed(result), printed(result, slices=True)
    assert {str(key) for key in result.estimates} <= set(sliced.split())
    assert {str(MetricKey(name)) for name in result.metrics} <= set(plain.split())
    assert "race_" not in plain
    words = plain.split()
    last = max(words.index(name) for name in result.marks)
    assert all(words.index(name) > last for name in result.metrics if name not in result.marks), "marked ones first"


@pytest.mark.parametrize(
    ("low", "value", "high", "drawn"),
    [
        (0.0, 0.0, 0.0, "●····················"),
        (0.0, 0.5, 1.0, "──────────●──────────"),
        (0.9, 1.0, 1.0, "··················──●"),
    ],
)
def test_a_bar_shows_the_interval_on_the_scale(low: float, value: float, high: float, drawn: str) -> None:
    metric = next(metric for metric in get_probe("jobs_lum").metrics if metric.name == "masculine_rate")
    assert draw_bar(metric, Estimate(value=value, low=low, high=high, n=10)) == drawn
