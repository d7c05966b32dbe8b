"""Two runs side by side as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from equipoise.measuring.compare import Comparison, MetricComparison, ProbeComparison, Verdict
from equipoise.report.terminal.safe_text import printable_line
from equipoise.report.text import format_number

COLOURS = {Verdict.BETTER: "bold green", Verdict.WORSE: "bold red", Verdict.DIFFERENT: "bold"}
COLUMNS = ("metric", "A", "B", "B - A", "95% interval", "p", "Holm", "B is")


def comparison_table(probe: ProbeComparison, *, everything: bool = False) -> Table:
    """The marked metrics of a probe, and the others after them if wanted."""
    corpus = f", corpus {probe.corpus}" if probe.corpus else ""
    title = f"{probe.probe} v{probe.version}{corpus} · {probe.prompts:,} prompts in common, {probe.items:,} items"
    heading = Text(printable_line(title), style="bold")
    table = Table(box=None, padding=(0, 1, 0, 0), title=heading, title_justify="left")
    for name in COLUMNS[:-1]:
        table.add_column(name, justify="left" if name == "metric" else "right", no_wrap=True)
    table.add_column(COLUMNS[-1], min_width=len("difference"))
    for metric in sorted(probe.metrics.values(), key=lambda metric: metric.verdict is None):
        if everything or metric.verdict is not None:
            table.add_row(*_make_row(metric, probe.titles.get(metric.metric, metric.metric)))
    return table


def explanation(comparison: Comparison) -> Iterator[str]:
    """How to read the tables."""
    tests = sum(metric.p_holm is not None for _, metric in comparison.marked())
    yield "Only prompts that both answered count. Intervals use the same weights for both; p-values are of a swap test."
    yield f"Holm: p corrected for the {tests} marked metrics. better, worse: clearly nearer to even-handed, or farther."


def _make_row(metric: MetricComparison, title: str) -> Iterator[Text]:
    gap, verdict = metric.difference, metric.verdict
    yield Text(printable_line(title), style="" if verdict is None else "bold")
    yield Text(format_number(metric.first))
    yield Text(format_number(metric.second))
    yield Text(format_number(gap.value, "+"))
    yield Text("" if math.isnan(gap.low) else f"{format_number(gap.low, '+')}, {format_number(gap.high, '+')}")
    yield Text(format_number(metric.p))
    yield Text("" if verdict is None else format_number(metric.p_holm))
    yield Text("") if verdict is None else Text(verdict, style=COLOURS.get(verdict, ""))
