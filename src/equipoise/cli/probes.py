"""`equipoise probes`: what can be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.output import print_json, stdout

if TYPE_CHECKING:
    from equipoise.probe import Probe


def command(
    name: Annotated[str | None, typer.Argument(help="A probe: show its card.", metavar="[NAME]")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the probes, or show the card of one.

    Examples: equipoise probes · equipoise probes jobs_lum
    """
    from equipoise.probes import find, get

    if name is not None:
        probe = get(name)
        print_json(described(probe)) if as_json else _print_card(probe)
        return
    if as_json:
        print_json([described(probe) for probe in find().values()])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("probe", "use case", "what", "size"):
        table.add_column(column, no_wrap=column == "probe")
    for probe in find().values():
        table.add_row(probe.name, probe.card.use_case, probe.card.title, probe.card.size)
    stdout().print(table)


def _print_card(probe: Probe) -> None:
    console = stdout()
    if not console.is_terminal:
        typer.echo(probe.card.text.rstrip())
        typer.echo("\n## Parameters and their defaults\n")
        for parameter in probe.all_parameters():
            typer.echo(f"- `{parameter.name}` = {parameter.default!r}: {parameter.summary}")
        return
    from rich.markdown import Markdown
    from rich.table import Table

    console.print(Markdown(probe.card.text))
    table = Table("parameter", "default", "what", title="Parameters and their defaults", title_justify="left")
    for parameter in probe.all_parameters():
        table.add_row(parameter.name, repr(parameter.default), parameter.summary)
    console.print(table)


def described(probe: Probe) -> dict[str, Any]:
    """A probe as plain values."""
    return {
        "name": probe.name,
        "version": probe.version,
        "title": probe.card.title,
        "summary": probe.card.summary,
        "use_case": probe.card.use_case,
        "size": probe.card.size,
        "corpora": [corpus.name for corpus in probe.corpora],
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
