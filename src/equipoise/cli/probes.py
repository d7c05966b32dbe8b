"""`equipoise probes`: what can be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer import Argument, echo

from equipoise.cli import options
from equipoise.cli.output import open_console, print_json
from equipoise.safe_text import printable, printable_line

if TYPE_CHECKING:
    from equipoise.authoring import Probe


def command(
    name: str | None = Argument(None, help="A probe: show its card.", metavar="[NAME]"),
    *,
    as_json: options.AsJson = False,
) -> None:
    """List the probes, or show the card of one.

    Examples: equipoise probes · equipoise probes jobs_lum
    """
    from rich import table

    from equipoise import probes

    chosen = list(probes.find_probes().values()) if name is None else [probes.get_probe(name)]
    if as_json:
        print_json("probes/1", {"probes": list(map(_describe, chosen))})
        return
    if name is not None:
        _print_card(chosen[0])
        return
    listing = table.Table(box=None, pad_edge=False)
    for column in ("probe", "use case", "what", "size"):
        listing.add_column(column, no_wrap=column == "probe")
    for probe in chosen:
        listing.add_row(*map(printable_line, (probe.name, probe.card.use_case, probe.card.title, probe.card.size)))
    open_console().print(listing)


def _print_card(probe: Probe) -> None:
    """The card as it is written, and the parameters."""
    lines = [f"- `{one.name}` = {one.default!r}: {one.summary}" for one in probe.all_parameters()]
    for text in (
        printable(probe.card.text.rstrip()),
        "\n## Parameters and their defaults\n",
        *map(printable_line, lines),
        f"\nThe longest answer: {probe.max_tokens:,} tokens, unless --max-tokens is given.",
    ):
        echo(text)


def _describe(probe: Probe) -> dict[str, Any]:
    return {
        "name": probe.name,
        "version": probe.version,
        "title": probe.card.title,
        "summary": probe.card.summary,
        "use_case": probe.card.use_case,
        "size": probe.card.size,
        "corpora": [corpus.name for corpus in probe.corpora],
        "max_tokens": probe.max_tokens,
        "parameters": {parameter.name: parameter.default for parameter in probe.all_parameters()},
        "metrics": {
            metric.name: {
                "summary": metric.summary,
                "references": dict(metric.references),
                "limits": metric.bands and metric.bands.limits,
            }
            for metric in probe.all_metrics()
        },
        "slices": list(probe.slices),
    }
