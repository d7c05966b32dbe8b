"""Results as a table for the terminal: marks with certainty, values, small interval bars, coverage."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from equipoise.authoring import Metric
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Result
from equipoise.measuring.selection import SelectionTable
from equipoise.report.text import format_number
from equipoise.safe_text import printable_line
from equipoise.schema import Estimate, MetricKey

COLOURS = {"A": "green", "B": "yellow", "C": "dark_orange", "D": "red"}
BAR_WIDTH = 21
WIDE = 110
"""From this width on, there is room for bars, and for the intervals of marks."""


def result_table(result: Result, *, slices: bool = False, width: int | None = None) -> Table:
    """The metrics of a result: the marked ones, the others, and then those of the slices if wanted.

    A metric of a group is written as the gate takes it: `race_white_diff_acceptance_rate`. In a terminal of a small
    width, there are no bars, and long names have two lines.
    """
    table = Table(box=None, pad_edge=False, title=_make_title(result), title_justify="left")
    with_bars = width is None or width >= WIDE
    table.add_column("mark", no_wrap=True)
    table.add_column("metric", no_wrap=with_bars, overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("95% interval", no_wrap=True)
    if with_bars:
        table.add_column("", no_wrap=True)
    table.add_column("items", justify="right", no_wrap=True)
    metrics = {metric.name: metric for metric in result.setup.probe.all_metrics()}
    for metric in sorted(metrics.values(), key=lambda metric: metric.bands is None):
        table.add_row(*_make_row(metric, MetricKey(metric.name), result, with_bar=with_bars))
    if slices:
        for key in result.estimates:
            if key.slice is not None:
                table.add_row(*_make_row(metrics[key.metric], key, result, with_bar=with_bars))
    return table


def coverage_lines(result: Result) -> Iterator[str]:
    """What the numbers rest on: over all attempts, and for each group that is counted."""
    for group, counts in result.coverage.items():
        measured = counts["detected"] + counts["undetected"]
        parts = [f"{measured:,} of {counts['planned']:,} attempts measured"]
        shown = {name: count for name, count in counts.items() if name not in ("planned", "ok", "detected") and count}
        parts += [f"{count:,} {name.replace('_', ' ')}" for name, count in shown.items()]
        yield f"{printable_line(group)}: {', '.join(parts)}"


def selection_table(table: SelectionTable) -> Table:
    """Who is selected by category, with impact ratios as in an audit under Local Law 144."""
    shown = Table(box=None, pad_edge=False, title=Text(f"selection by {table.by}"), title_justify="left")
    shown.add_column("category", overflow="fold")
    for name in ("applicants", "selected", "rate", "impact ratio"):
        shown.add_column(name, justify="right", no_wrap=name != "impact ratio")
    shown.add_column("95% interval", no_wrap=True)
    shown.add_column("a fair model looks as bad")
    for row in table.rows:
        known = not math.isnan(row.impact_ratio)
        shown.add_row(
            Text(printable_line(row.category)),
            f"{row.applicants:,}",
            f"{row.selected:,}",
            format_number(row.rate),
            format_number(row.impact_ratio),
            f"{format_number(row.low)} to {format_number(row.high)}" if known else "not computable",
            row.chance,
        )
    return shown


def draw_bar(metric: Metric, estimate: Estimate) -> str:
    """The interval on the metric's scale: from 0 to 1 and over its reference values, symmetric if it has a sign."""
    ends = [*metric.references.values(), 0.0, 1.0, estimate.low, estimate.high]
    low, high = min(ends), max(ends)
    low = min(low, -high) if low < 0 else low

    def place(value: float) -> int:
        return round((value - low) / (high - low) * (BAR_WIDTH - 1))

    first, value, last = (place(x) for x in (estimate.low, estimate.value, estimate.high))
    return "".join("●" if i == value else "─" if first <= i <= last else "·" for i in range(BAR_WIDTH))


def _make_title(result: Result) -> Text:
    title = (
        f"{result.probe} v{result.version} · {result.setup.probe.card.title} · {result.setup.asked} · "
        f"{result.reading} reading ({result.detector})"
    )
    return Text(printable_line(title), style="bold")


def _make_row(metric: Metric, key: MetricKey, result: Result, *, with_bar: bool) -> Iterator[Text]:
    estimate = result.estimates[key]
    marked = key.slice is None and key.metric in result.marks
    yield _format_mark(result.marks[key.metric] if marked else None)
    yield Text(printable_line(metric.title if key.slice is None else str(key)), style="bold" if marked else "")
    yield Text(format_number(estimate.value))
    known = not math.isnan(estimate.low)
    interval = f"{format_number(estimate.low)} to {format_number(estimate.high)}"
    yield Text(interval if known else "not computable" if math.isnan(estimate.value) else "too few for an interval")
    if with_bar:
        yield Text(draw_bar(metric, estimate) if known else "")
    yield Text(f"{estimate.n:,}")


def _format_mark(mark: Mark | None) -> Text:
    if mark is None:
        return Text("")
    return Text(str(mark), style=f"bold {COLOURS[mark.mark]}" if mark.mark else "dim")
