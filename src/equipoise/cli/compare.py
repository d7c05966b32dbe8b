"""`equipoise compare`: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.output import AsJson, note, open_console, print_json
from equipoise.cli.probe_options import Reading, Unjudged
from equipoise.safe_text import printable_line

if TYPE_CHECKING:
    from equipoise.runs.run import Run


def command(
    first: Annotated[Path, typer.Argument(help="The run file A.", metavar="RUN_A")],
    second: Annotated[Path, typer.Argument(help="The run file B.", metavar="RUN_B")],
    *,
    everything: Annotated[bool, typer.Option("--all", help="Show the metrics without marks, too.")] = False,
    reading: Reading = None,
    unjudged: Unjudged = False,
    as_json: AsJson = False,
) -> None:
    """Compare two runs: paired differences on the prompts both answered, and which is nearer to even-handed.

    A probe is compared if both runs asked it in the same way: the same version, corpus and parameters, the size of
    the sample, the repetitions and the seed among them. Otherwise the differences are named.

    Examples: equipoise compare small.equipoise large.equipoise · equipoise compare old.equipoise new.equipoise --json
    """
    from equipoise.report.terminal import comparisons
    from equipoise.runs import finished
    from equipoise.runs import run as runs

    a, b = (
        runs.Run.open(first, reading=reading, judged=not unjudged),
        runs.Run.open(second, reading=reading, judged=not unjudged),
    )
    comparison = finished.compare(a, b)
    if as_json:
        print_json({"a": _describe(a), "b": _describe(b), **comparison.to_dict()})
        return
    console = open_console()
    for name, run in (("A", a), ("B", b)):
        console.print(printable_line(f"{name}: {run.model} · {run.path} · {run.describe_state()}"), soft_wrap=True)
    for probe in comparison.probes.values():
        console.print()
        console.print(comparisons.comparison_table(probe, everything=everything, width=console.width))
    console.print()
    for name, reason in comparison.refused.items():
        console.print(printable_line(f"{name} is not compared: {reason}"), soft_wrap=True)
    for line in comparisons.explanation(comparison):
        console.print(line, style="dim")
    for text in comparison.notes:
        note(f"note: {printable_line(text)}")


def _describe(run: Run) -> dict[str, Any]:
    return {
        "model": run.model,
        "simulated": run.settings.simulated,
        "imported": run.settings.imported,
        "file": str(run.path),
        "complete": run.complete,
    }
