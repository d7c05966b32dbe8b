"""`equipoise compare`: runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli import options
from equipoise.cli.output import note, open_console, print_json
from equipoise.safe_text import printable_line

if TYPE_CHECKING:
    from equipoise.runs.run import Run


@options.takes(*options.READING)
def command(
    files: Annotated[list[Path], typer.Argument(help="Run files, two or more: A, B, C …", metavar="RUN…")],
    *,
    every_pair: Annotated[
        bool, typer.Option("--every-pair", help="Compare every two runs, not only each with the first.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show the metrics without marks, too.")] = False,
    as_json: options.AsJson = False,
    given: options.Given,
) -> None:
    """Compare runs: paired differences on the prompts both answered, and which is nearer to even-handed.

    Each run is compared with the first; p-values are corrected over all comparisons together. A probe is compared if
    both runs asked it in the same way: the same version, corpus and parameters. Otherwise the differences are named.

    Examples: equipoise compare small.equipoise large.equipoise · equipoise compare *.equipoise --every-pair ·
    equipoise compare old.equipoise new.equipoise --json
    """
    from equipoise.report.terminal import comparisons
    from equipoise.runs import finished
    from equipoise.runs import run as runs

    opened = [runs.Run.open(file, **given.reading()) for file in files]
    compared = finished.compare_all(opened, all_pairs=every_pair)
    names = finished.name_runs(len(opened))
    if as_json:
        described = [{"name": name, **_describe(run)} for name, run in zip(names, opened, strict=True)]
        pairs = [comparison.to_dict() for comparison in compared]
        print_json("compare/1", {"runs": described, "comparisons": pairs})
        return
    console = open_console()
    console.print(comparisons.describe_reach(compared), soft_wrap=True)
    for name, run in zip(names, opened, strict=True):
        console.print(printable_line(f"{name}: {run.model} · {run.path} · {run.describe_state()}"), soft_wrap=True)
    for comparison in compared:
        for probe in comparison.probes.values():
            table = comparisons.comparison_table(probe, comparison.names, everything=everything, width=console.width)
            console.print()
            console.print(table)
        console.print()
        for name, reason in comparison.refused.items():
            a, b = comparison.names
            console.print(printable_line(f"{name} of {a} and {b} is not compared: {reason}"), soft_wrap=True)
    for line in comparisons.explanation(compared):
        console.print(line, style="dim")
    for text in dict.fromkeys(text for comparison in compared for text in comparison.notes):
        note(f"note: {printable_line(text)}")


def _describe(run: Run) -> dict[str, Any]:
    return {
        "model": run.model,
        "simulated": run.settings.simulated,
        "imported": run.settings.imported,
        "file": str(run.path),
        "complete": run.complete,
    }
