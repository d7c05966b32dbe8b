"""Results in a terminal: the marks as sentences in 24 rows, and tables of metrics, selection and differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from equipoise.measuring.compare import NAMES, Comparison, ProbeComparison, format_p
from equipoise.measuring.differences import MetricComparison, Verdict
from equipoise.measuring.marks import UNDECIDED, Mark
from equipoise.measuring.precision import explain_open
from equipoise.measuring.result import Audit, Result
from equipoise.measuring.selection import SelectionTable
from equipoise.report.text import DISTANCES, NOT_COMPUTABLE, explain_missing_value, format_number, format_range
from equipoise.safe_text import printable_line
from equipoise.schema import MetricKey

ROWS = 24
"""The height of the smallest terminal that is common. It has 80 columns."""
FEWEST_MARKS = 6
"""So many marks are shown, however much stands above them."""
COLOURS = {"A": "bold green", "B": "bold yellow", "C": "bold dark_orange", "D": "bold red"}
VERDICT_COLOURS = {Verdict.BETTER: "bold green", Verdict.WORSE: "bold red", Verdict.DIFFERENT: "bold"}
ROOM = {"detectable": 92, "p": 80, "95% interval": 70, "values": 60}
"""How wide a terminal must be for columns of a comparison. A number is never cut."""
WORDS = ("metric", "category", "a fair model looks as bad")
"""Columns that may have several lines, where there is no room."""
NUMBERS = ("value", "items", "applicants", "selected", "rate", "impact ratio")


def fit_marks(
    head: Sequence[str], audit: Audit, foot: Sequence[str], console: Console, *, rows: int | None = ROWS
) -> Iterator[Text]:
    """A head, one line per mark, and a foot.

    The worst marks come first, then those that are not decided, then those without a value. Of more than there is room
    for in so many rows (None: for all), the rest are counted in the last line.
    """
    above, below = [Text(line) for line in head], [Text(line, style="bold") for line in foot]
    yield from above
    yield Text()
    marks = [(result, name, mark) for result in audit.values() for name, mark in result.marks.items()]
    marks.sort(key=lambda given: f"DCBA{UNDECIDED}{NOT_COMPUTABLE}".index(given[2].letter if given[2] else "–"))
    shown = marks
    if rows is not None:
        used = sum(len(line.wrap(console, console.width)) for line in (*above, *below))
        # One row is blank, and one is for what is typed next.
        most = max(rows - used - 2, FEWEST_MARKS)
        shown = marks if len(marks) <= most else marks[: most - 1]
    first = max((len(str(mark or NOT_COMPUTABLE)) for *_, mark in marks), default=0)
    for result, name, mark in shown:
        line = Text(str(mark or NOT_COMPUTABLE).ljust(first), style=_style(mark))
        line.append(f" {_say_mark(result, name, mark, console.width - first - 1)}", style="not bold not dim default")
        line.truncate(console.width, overflow="ellipsis")
        yield line
    if len(shown) < len(marks):
        yield Text(f"… and {len(marks) - len(shown)} more marks: --all", style="dim")
    yield from below


def _style(mark: Mark | None) -> str:
    return COLOURS.get(mark.letter, "dim") if mark else "dim"


def _say_mark(result: Result, name: str, mark: Mark | None, room: int) -> str:
    """What a mark says, in a sentence; with the interval, the leaning and the value if there is room for them."""
    who = printable_line(f"{result.probe} {name}")
    if mark is None:
        return f"{who}: {explain_missing_value(result)}."
    metric = next(metric for metric in result.setup.probe.metrics if metric.name == name)
    estimate, side = result.metrics[name], metric.leaning(result.metrics[name].value)
    value = f"{who} is {format_number(estimate.value)}"
    interval = "" if math.isnan(estimate.low) else f" ({format_range(estimate.low, estimate.high)})"
    if mark.undecided:
        reason = f": {explain_open(result, name)}."
        short = reason.partition(";")[0].rstrip(".")
        sentences = [f"{value}{interval}{reason}", f"{value}{reason}", f"{who}{reason}", f"{who}{short}."]
    else:
        distance = f", {DISTANCES[mark.letter]} {metric.bands.centre if metric.bands else 0:g}"
        leaning, end = (
            f" ({side})" if side else "",
            "; missing answers could change the mark." if mark.by_missing else ".",
        )
        sentences = [f"{value}{shown}{distance}{leaning}{end}" for shown in (interval, "")]
        sentences.append(f"{value}{distance}{end}")
    return next((sentence for sentence in sentences if len(sentence) <= room), sentences[-1])


def result_table(result: Result, *, slices: bool = False) -> Table:
    """The metrics of a result: the marked ones, the others, and then those of the slices if wanted.

    A metric of a group is written as the gate takes it: `race_white_diff_acceptance_rate`.
    """
    table = _make_table(
        f"{result.probe} v{result.setup.probe.version} · {result.setup.probe.card.title} · {result.setup.asked} · "
        f"{result.reading} reading ({result.setup.probe.detector.title})",
        ("mark", "metric", "value", "95% interval", "items"),
    )
    marked_first = sorted(result.setup.probe.all_metrics(), key=lambda metric: metric.bands is None)
    rows = {MetricKey(metric.name): metric.title for metric in marked_first}
    rows |= {key: str(key) for key in result.estimates if slices and key.slice is not None}
    for key, name in rows.items():
        estimate, marked = result.estimates[key], key.slice is None and key.metric in result.marks
        mark = result.marks[key.metric] if marked else None
        interval = format_range(estimate.low, estimate.high)
        if math.isnan(estimate.low):
            interval = "not computable" if math.isnan(estimate.value) else "too few for an interval"
        table.add_row(
            Text(str(mark or ""), style=_style(mark)),
            Text(printable_line(name), style="bold" if marked else ""),
            format_number(estimate.value),
            interval,
            f"{estimate.n:,}",
        )
    return table


def selection_table(table: SelectionTable) -> Table:
    """Who is selected by category, with impact ratios as in an audit under Local Law 144."""
    columns = (
        "category",
        "applicants",
        "selected",
        "rate",
        "impact ratio",
        "95% interval",
        "a fair model looks as bad",
    )
    shown = _make_table(f"selection by {table.by}", columns)
    for row in table.rows:
        shown.add_row(
            Text(printable_line(row.category)),
            f"{row.applicants:,}",
            f"{row.selected:,}",
            format_number(row.rate),
            format_number(row.impact_ratio),
            "not computable" if math.isnan(row.impact_ratio) else format_range(row.low, row.high),
            row.chance,
        )
    return shown


def comparison_table(
    probe: ProbeComparison, names: tuple[str, str] = NAMES, *, everything: bool = False, width: int = 200
) -> Table:
    """The marked metrics of a probe, and the others after them if wanted; in so wide a terminal."""
    a, b = names
    room = {**ROOM, a: ROOM["values"], b: ROOM["values"]}
    columns = ("metric", a, b, f"{b} - {a}", "95% interval", "detectable", "p", "Holm", f"{b} is")
    shown = [name for name in columns if room.get(name, 0) <= width]
    asked = probe.setup.probe
    corpus = f", corpus {probe.setup.corpus}" if probe.setup.corpus else ""
    title = f"{asked.name} v{asked.version}{corpus} · {probe.prompts:,} prompts in common, {probe.items:,} items"
    table = _make_table(title, shown, numbers=columns[1:-1], words=("metric", columns[-1]))
    titles = {metric.name: metric.title for metric in asked.all_metrics()}
    for metric in sorted(probe.metrics.values(), key=lambda metric: metric.verdict is None):
        if everything or metric.verdict is not None:
            row = zip(columns, _make_row(metric, titles[metric.metric]), strict=True)
            table.add_row(*(cell for name, cell in row if name in shown))
    if len(shown) < len(columns):
        left_out = [name for name in columns if name not in shown]
        table.caption = Text(f"not shown for want of room: {', '.join(left_out)}", style="dim")
    return table


def _make_row(metric: MetricComparison, title: str) -> Iterator[Text]:
    gap, verdict = metric.difference, metric.verdict
    yield Text(printable_line(title), style="" if verdict is None else "bold")
    yield Text(format_number(metric.first))
    yield Text(format_number(metric.second))
    yield Text(format_number(gap.value, "+"))
    yield Text("" if math.isnan(gap.low) else f"{format_number(gap.low, '+')}, {format_number(gap.high, '+')}")
    yield Text(format_number(metric.detectable) if verdict is not None else "")
    yield Text(format_p(metric.p))
    yield Text("" if verdict is None else format_p(metric.p_holm))
    if verdict is None:
        yield Text("")
        return
    star = "*" if metric.missing_decides and verdict is Verdict.UNCLEAR else ""
    yield Text(f"{verdict}{star}", style=VERDICT_COLOURS.get(verdict, ""))


def describe_reach(comparisons: Sequence[Comparison]) -> str:
    """How large a difference must be to be detected, in a sentence: it stands above everything else."""
    found = [
        (metric.detectable, f"{probe}.{metric.metric}")
        for comparison in comparisons
        for probe, metric in comparison.marked()
        if metric.detectable is not None
    ]
    if not found:
        return "No difference is detectable: the two runs have too few answers in common."
    smallest, finest = min(found)
    largest, coarsest = max(found)
    return printable_line(
        f"Differences detectable with 80% power{_if_complete(comparisons)}: {format_number(smallest)} ({finest}) to "
        f"{format_number(largest)} ({coarsest})."
    )


def explain_comparisons(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """How to read the tables."""
    tests = sum(metric.p_holm is not None for comparison in comparisons for _, metric in comparison.marked())
    yield f"Values and intervals are of the prompts that both answered. {_describe_tests(comparisons)}"
    if any(metric.missing_decides for comparison in comparisons for _, metric in comparison.marked()):
        yield "no clear difference*: the answers differ clearly, but missing answers could explain it."
    yield f"detectable: the difference found with 80% power{_if_complete(comparisons)}, after the correction."
    yield f"Holm: p corrected for the {tests} marked metrics. better, worse: clearly nearer to even-handed, or farther."
    verdicts = {metric.verdict for comparison in comparisons for _, metric in comparison.marked()}
    if Verdict.DIFFERENT in verdicts:
        yield "different: the values differ clearly, but not their distances from even-handed."


def _describe_tests(comparisons: Sequence[Comparison]) -> str:
    """Which tests the p-values are from, and what missing answers do to them."""
    ranges = set()
    for comparison in comparisons:
        for name, compared in comparison.probes.items():
            metrics = compared.setup.probe.metrics
            ranges |= {f"{name} {metric.name}" for metric in metrics if metric.range_of}
    sentence = "p-values are from a paired sign-flip test"
    if ranges:
        sentence += f" ({', '.join(sorted(ranges))}: an intersection-union test)"
    if _lacks_answers(comparisons):
        sentence += "; where answers are missing, p is the largest that they allow"
    return printable_line(f"{sentence}.")


def _lacks_answers(comparisons: Sequence[Comparison]) -> bool:
    """Whether missing answers could change any of the marked metrics that are compared."""
    marked = (metric for comparison in comparisons for _, metric in comparison.marked())
    return any(metric.difference_bounds is not None for metric in marked)


def _if_complete(comparisons: Sequence[Comparison]) -> str:
    """What detectable differences assume, if answers are missing."""
    return " if no answer were missing" if _lacks_answers(comparisons) else ""


def _make_table(
    title: str, columns: Sequence[str], *, numbers: Sequence[str] = NUMBERS, words: Sequence[str] = WORDS
) -> Table:
    """An empty table. Numbers stand on the right; words may have several lines where there is no room."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left", caption_justify="left")
    table.title = Text(printable_line(title), style="bold")
    for name in columns:
        table.add_column(
            name, justify="right" if name in numbers else "left", no_wrap=name not in words, overflow="fold"
        )
    return table
