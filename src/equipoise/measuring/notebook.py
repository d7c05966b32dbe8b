"""Results as text and as HTML, the way notebooks show values. Foreign text is escaped and cannot leave its place."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from equipoise.schema import Estimate

if TYPE_CHECKING:
    from equipoise.measuring.audit import Audit
    from equipoise.measuring.compare import Comparison
    from equipoise.measuring.result import Result


def format_p(p: float | None) -> str:
    """A p-value to three places. One that is very small is not zero."""
    if p is None or math.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def format_interval(estimate: Estimate) -> str:
    """A value with its interval, or that there is none."""
    if math.isnan(estimate.value):
        return "not computable"
    if math.isnan(estimate.low):
        return f"{estimate.value:+.3f}, too few for an interval"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


def describe_result(result: Result) -> str:
    """The marked metrics of a result, one line each."""
    lines = [f"{_title(result, f'{result.probe} v{result.version}')}: {_describe_coverage(result.coverage['all'])}"]
    for name, estimate, mark in result.marked():
        lines.append(f"  {mark or '–'!s:8} {name:24} {format_interval(estimate)}")
    return "\n".join(lines)


def result_html(result: Result) -> str:
    """The marked metrics of a result as a table."""
    rows = [
        (name, str(mark or "–"), format_interval(estimate), f"{estimate.n:,}")
        for name, estimate, mark in result.marked()
    ]
    caption = f"{_title(result, result.probe)}: {_describe_coverage(result.coverage['all'])}"
    return _table(caption, ("metric", "mark", "value [95% interval]", "items"), rows)


def audit_html(audit: Audit) -> str:
    """The tables of all results, below the name of the model and where its answers come from."""
    tables = "".join(result_html(result) for result in audit.values())
    model = f"<p><b>{_foreign(audit.model)}</b></p>" if audit.model else ""
    return f"{model}{f'<p>{audit.origin}</p>' if audit.origin else ''}{tables}"


def comparison_html(comparison: Comparison) -> str:
    """The marked metrics of two audits as a table."""
    rows = [
        (
            f"{probe} {metric.metric}",
            f"{metric.first:.3f}",
            f"{metric.second:.3f}",
            format_interval(metric.difference),
            format_p(metric.p_holm),
            str(metric.verdict),
        )
        for probe, metric in comparison.marked()
    ]
    head = ("metric", "first", "second", "difference [95% interval]", "p (Holm)", "the second is")
    refused = "".join(
        f"<p>{_foreign(name)} is not compared: {_foreign(reason)}.</p>" for name, reason in comparison.refused.items()
    )
    return _table("On the prompts that both answered", head, rows) + refused


def _table(caption: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    body = "".join(f"<tr>{''.join(f'<td>{_foreign(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption>{_foreign(caption)}</caption><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _foreign(text: str) -> str:
    """Text that may be anybody's: escaped, and isolated from the direction of the text around it."""
    return f"<bdi>{html.escape(text)}</bdi>"


def _describe_coverage(counts: Mapping[str, int]) -> str:
    """What the numbers rest on, in one line."""
    measured = counts["detected"] + counts["undetected"]
    line = f"{measured:,} of {counts['planned']:,} attempts measured"
    return line + (f", {counts['undetected']:,} undetected" if counts["undetected"] else "")


def _title(result: Result, name: str) -> str:
    return f"{name} on {result.corpus}" if result.corpus else name
