"""`equipoise compare`: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.output import note, print_json, stdout
from equipoise.cli.show import AsJson

if TYPE_CHECKING:
    from equipoise.run import Run


def command(
    first: Annotated[Path, typer.Argument(help="The run file A.", metavar="RUN_A")],
    second: Annotated[Path, typer.Argument(help="The run file B.", metavar="RUN_B")],
    *,
    everything: Annotated[bool, typer.Option("--all", help="Show the metrics without marks, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two runs: paired differences on the prompts both answered, and which is nearer to even-handed.

    A probe is compared if both runs asked it in the same way: the same version, corpus and parameters, the size of
    the sample, the repetitions and the seed among them. Otherwise it is said what differs.

    Examples: equipoise compare small.equipoise large.equipoise · equipoise compare old.equipoise new.equipoise --json
    """
    from equipoise.comparing import compare_runs
    from equipoise.run import Run

    a, b = Run.open(first), Run.open(second)
    found = compare_runs(a, b)
    if as_json:
        print_json({"a": _described(a), "b": _described(b), **found.to_dict()})
        return
    from equipoise.report.comparisons import comparison_table, explanation
    from equipoise.report.gates import in_a_line

    console = stdout()
    for name, run in (("A", a), ("B", b)):
        state = "complete" if run.complete else f"incomplete {run.ended:,} of {run.size:,}"
        console.print(in_a_line(f"{name}: {run.model} · {run.path} · {state}"), soft_wrap=True)
    for probe in found.probes.values():
        console.print()
        console.print(comparison_table(probe, everything=everything))
    console.print()
    for name, reason in found.refused.items():
        console.print(in_a_line(f"{name} is not compared: {reason}"), soft_wrap=True)
    for line in explanation(found):
        console.print(line, style="dim")
    for text in found.notes:
        note(f"note: {in_a_line(text)}")


def _described(run: Run) -> dict[str, Any]:
    return {"model": run.model, "file": str(run.path), "complete": run.complete}
