"""Two runs side by side as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from equipoise.measuring.compare import NAMES, Comparison, ProbeComparison, format_p
from equipoise.measuring.differences import MetricComparison, Verdict
from equipoise.report.text import format_number
from equipoise.safe_text import printable_line

COLOURS = {Verdict.BETTER: "bold green", Verdict.WORSE: "bold red", Verdict.DIFFERENT: "bold"}


def comparison_table(
    probe: ProbeComparison,
    names: tuple[str, str] = NAMES,
    *,
    everything: bool = False,
    width: int | None = None,
) -> Table:
    """The marked metrics of a probe, and the others after them if wanted; in so wide a terminal."""
    a, b = names
    columns = ("metric", a, b, f"{b} - {a}", "95% interval", "could see", "p", "Holm", f"{b} is")
    # Columns of words, which may have several lines, and how narrow they may become.
    folded = {"metric": 12, f"{b} is": len("computable")}
    # Columns that a narrow terminal does without, in this order. A number is never cut.
    left_out_first = (("could see",), ("p",), ("95% interval",), (a, b))
    corpus = f", corpus {probe.corpus}" if probe.corpus else ""
    title = f"{probe.probe} v{probe.version}{corpus} · {probe.prompts:,} prompts in common, {probe.items:,} items"
    heading = Text(printable_line(title), style="bold")
    table = Table(box=None, padding=(0, 1, 0, 0), title=heading, title_justify="left", caption_justify="left")
    rows = [
        dict(zip(columns, _make_row(metric, probe.titles.get(metric.metric, metric.metric)), strict=True))
        for metric in sorted(probe.metrics.values(), key=lambda metric: metric.verdict is None)
        if everything or metric.verdict is not None
    ]
    widths = {name: max([len(name), *(row[name].cell_len for row in rows)]) for name in columns}
    fits = width is None or sum(widths.values()) + len(widths) <= width
    widths |= {name: min(widths[name], least) for name, least in folded.items()}
    shown = list(columns)
    for group in left_out_first:
        if width is not None and sum(widths[column] + 1 for column in shown) > width:
            shown = [name for name in shown if name not in group]
    for name in shown:
        if name in folded:
            most = None if fits or name == "metric" else widths[name]
            table.add_column(name, min_width=widths[name], max_width=most, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True, min_width=widths[name])
    for row in rows:
        table.add_row(*(row[name] for name in shown))
    if left_out := [name for name in columns if name not in shown]:
        table.caption = Text(f"not shown for want of room: {', '.join(left_out)}", style="dim")
    return table


def describe_reach(comparisons: Sequence[Comparison]) -> str:
    """How large a difference could have been seen, in a sentence: it stands above everything else."""
    found = [
        (metric.detectable, f"{probe}.{metric.metric}")
        for comparison in comparisons
        for probe, metric in comparison.marked()
        if metric.detectable is not None
    ]
    if not found:
        return "No difference could have been seen: there are too few answers in common."
    (least, finest), (most, coarsest) = min(found), max(found)
    return printable_line(
        f"4 of 5 comparisons like this show a difference of {format_number(least)} in {finest}, the finest, and of "
        f"{format_number(most)} in {coarsest}, the coarsest; smaller ones are mostly not seen."
    )


def explanation(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """How to read the tables."""
    tests = sum(metric.p_holm is not None for comparison in comparisons for _, metric in comparison.marked())
    yield "Only prompts that both answered count. Intervals are paired; p-values are by signs that both share."
    yield "could see: the difference that 4 of 5 such comparisons find clear, after the correction."
    yield f"Holm: p corrected for the {tests} marked metrics. better, worse: clearly nearer to even-handed, or farther."


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
    yield Text("") if verdict is None else Text(verdict, style=COLOURS.get(verdict, ""))
