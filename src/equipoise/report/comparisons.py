"""Two runs side by side as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from equipoise.comparing import Comparison, MetricComparison, ProbeComparison, Verdict

COLOURS = {Verdict.BETTER: "bold green", Verdict.WORSE: "bold red", Verdict.DIFFERENT: "bold"}
COLUMNS = ("metric", "A", "B", "B - A", "95% interval", "p", "Holm", "B is")


def comparison_table(probe: ProbeComparison, *, everything: bool = False) -> Table:
    """The marked metrics of a probe, and the others after them if wanted."""
    corpus = f", corpus {probe.corpus}" if probe.corpus else ""
    title = f"{probe.probe} v{probe.version}{corpus} · {probe.prompts:,} prompts in common, {probe.items:,} items"
    table = Table(box=None, padding=(0, 1, 0, 0), title=title, title_justify="left", title_style="bold")
    for name in COLUMNS[:-1]:
        table.add_column(name, justify="left" if name == "metric" else "right", no_wrap=True)
    table.add_column(COLUMNS[-1], min_width=len("difference"))
    for metric in sorted(probe.metrics.values(), key=lambda metric: metric.verdict is None):
        if everything or metric.verdict is not None:
            table.add_row(*_row(metric))
    return table


def explanation(comparison: Comparison) -> Iterator[str]:
    """How to read the tables."""
    tests = sum(metric.p_holm is not None for _, metric in comparison.marked())
    yield "All on the prompts that both answered; intervals and p-values from bootstrap weights that they share."
    yield f"Holm: p corrected for the {tests} marked metrics. better, worse: nearer to, farther from even-handed by it."


def _row(metric: MetricComparison) -> Iterator[Text]:
    gap = metric.difference
    yield Text(metric.metric, style="" if metric.verdict is None else "bold")
    yield Text(_number(metric.first))
    yield Text(_number(metric.second))
    yield Text(_number(gap.value, "+.3f"))
    yield Text("" if math.isnan(gap.low) else f"{gap.low:+.3f}, {gap.high:+.3f}")
    yield Text(_number(metric.p))
    yield Text("" if metric.verdict is None else _number(metric.p_holm))
    yield Text(metric.verdict or "", style=COLOURS.get(metric.verdict, "") if metric.verdict else "")


def _number(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None or math.isnan(value) else format(value, form)
