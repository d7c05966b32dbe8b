"""Results as tables for the terminal: marks with certainty, values and intervals, coverage, selection."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from equipoise.measuring.result import Result
from equipoise.measuring.selection import SelectionTable
from equipoise.report.text import format_number
from equipoise.safe_text import printable_line
from equipoise.schema import MetricKey

COLOURS = {"A": "green", "B": "yellow", "C": "dark_orange", "D": "red"}


def result_table(result: Result, *, slices: bool = False) -> Table:
    """The metrics of a result: the marked ones, the others, and then those of the slices if wanted.

    A metric of a group is written as the gate takes it: `race_white_diff_acceptance_rate`. Long names have two lines
    where there is no room.
    """
    title = (
        f"{result.probe} v{result.version} · {result.setup.probe.card.title} · {result.setup.asked} · "
        f"{result.reading} reading ({result.detector})"
    )
    table = _make_table(Text(printable_line(title), style="bold"))
    table.add_column("mark", no_wrap=True)
    table.add_column("metric", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("95% interval", no_wrap=True)
    table.add_column("items", justify="right", no_wrap=True)
    metrics = {metric.name: metric for metric in result.setup.probe.all_metrics()}
    marked_first = sorted(metrics.values(), key=lambda metric: metric.bands is None)
    rows = {MetricKey(metric.name): metric.title for metric in marked_first}
    rows |= {key: str(key) for key in result.estimates if slices and key.slice is not None}
    for key, name in rows.items():
        estimate, marked = result.estimates[key], key.slice is None and key.metric in result.marks
        mark = result.marks[key.metric] if marked else None
        interval = f"{format_number(estimate.low)} to {format_number(estimate.high)}"
        if math.isnan(estimate.low):
            interval = "not computable" if math.isnan(estimate.value) else "too few for an interval"
        table.add_row(
            Text(str(mark or ""), style=f"bold {COLOURS[mark.mark]}" if mark and mark.mark else "dim"),
            Text(printable_line(name), style="bold" if marked else ""),
            format_number(estimate.value),
            interval,
            f"{estimate.n:,}",
        )
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
    shown = _make_table(Text(f"selection by {table.by}"))
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


def _make_table(title: Text) -> Table:
    return Table(box=None, pad_edge=False, title=title, title_justify="left")
