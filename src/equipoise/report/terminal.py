"""Results as a table for the terminal: marks with certainty, values, small interval bars, coverage."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from equipoise.probe import Bands, Metric, Probe
from equipoise.results import Result
from equipoise.stats.marks import Mark
from equipoise.stats.resample import Estimate

COLOURS = {"A": "green", "B": "yellow", "C": "dark_orange", "D": "red"}
WIDTH = 21


def printable(text: str) -> str:
    """Text from elsewhere with what could steer a terminal made visible; line breaks stay."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def result_table(probe: Probe, result: Result, *, slices: bool = False) -> Table:
    """The metrics of a result: the marked ones first, then the others, and the slices if wanted."""
    table = Table(box=None, pad_edge=False, title=_title(probe, result), title_justify="left", title_style="bold")
    for name in ("mark", "metric", "value", "95% interval", ""):
        table.add_column(name, justify="right" if name == "value" else "left", no_wrap=True)
    table.add_column("items", justify="right")
    for metric in sorted(probe.all_metrics(), key=lambda metric: metric.bands is None):
        table.add_row(*_row(metric, metric.name, result))
    if slices:
        metrics = {metric.name: metric for metric in probe.all_metrics()}
        for name in result.metrics:
            if name not in metrics:
                own = max((base for base in metrics if name.endswith(f"_{base}")), key=len)
                table.add_row(*_row(metrics[own], name, result))
    return table


def coverage_lines(result: Result) -> Iterator[str]:
    """What the numbers rest on: in all, and where genders differ."""
    for group, counts in result.coverage.items():
        measured = counts["detected"] + counts["undetected"]
        parts = [f"{measured:,} of {counts['planned']:,} attempts measured"]
        shown = {name: count for name, count in counts.items() if name not in ("planned", "ok", "detected") and count}
        parts += [f"{count:,} {name.replace('_', ' ')}" for name, count in shown.items()]
        yield f"{group}: {', '.join(parts)}"


def _title(probe: Probe, result: Result) -> str:
    corpus = f", corpus {result.corpus}" if result.corpus else ""
    return f"{result.probe} v{result.version} · {probe.card.title}{corpus}"


def _row(metric: Metric, name: str, result: Result) -> Iterator[Text]:
    estimate = result.metrics[name]
    yield _mark(metric.bands, result.marks.get(name) if name in result.marks else None)
    yield Text(name, style="bold" if name in result.marks else "")
    if math.isnan(estimate.value):
        yield Text("–")
        yield Text("not computable")
        yield Text("")
    else:
        yield Text(f"{estimate.value:.3f}")
        yield Text(f"{estimate.low:.3f} to {estimate.high:.3f}")
        yield Text(bar(metric, estimate))
    yield Text(f"{estimate.n:,}")


def _mark(bands: Bands | None, mark: Mark | None) -> Text:
    if bands is None or mark is None:
        return Text("")
    return Text(str(mark), style=f"bold {COLOURS[mark.mark]}")


def bar(metric: Metric, estimate: Estimate) -> str:
    """The interval on the metric's scale: that of its reference values, and around 0 if it has a sign."""
    ends = [*metric.references.values(), 0.0, 1.0, estimate.low, estimate.high]
    low, high = min(ends), max(ends)
    low = min(low, -high) if low < 0 else low

    def place(value: float) -> int:
        return round((value - low) / (high - low) * (WIDTH - 1))

    first, value, last = (place(x) for x in (estimate.low, estimate.value, estimate.high))
    return "".join("●" if i == value else "─" if first <= i <= last else "·" for i in range(WIDTH))
