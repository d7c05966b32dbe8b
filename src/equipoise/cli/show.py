"""`equipoise show`: where a run stands and what it found, also an unfinished one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.output import print_json, stdout

if TYPE_CHECKING:
    from equipoise.run import Run

AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


def command(
    file: Annotated[Path, typer.Argument(help="The run file.")],
    *,
    slices: Annotated[bool, typer.Option("--slices", help="Show the slices (race, age, …) too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show where a run stands and what it found. It is only read, and may be under way.

    Examples: equipoise show gpt-4o-mini.equipoise · equipoise show run.equipoise --json
    """
    from equipoise.run import Run

    show(Run.open(file), as_json=as_json, slices=slices)


def show(run: Run, *, as_json: bool, slices: bool) -> None:
    """Print a run: its state and the results of each probe."""
    if as_json:
        print_json(described(run))
        return
    from equipoise.probes import get
    from equipoise.report.terminal import coverage_lines, printable, result_table

    console = stdout()
    for name, result in run.results().items():
        console.print(result_table(get(name), result, slices=slices))
        for line in coverage_lines(result):
            console.print(line, style="dim")
        console.print()
    state = "complete" if run.complete else f"incomplete {run.ended:,} of {run.size:,}"
    console.print(printable(f"{run.model} · {run.settings.get('suite')} suite · {state} · {run.path}"))
    for text in run.settings.get("notes", []):
        console.print(printable(f"note: {text}"))


def described(run: Run) -> dict[str, Any]:
    """A run as plain values."""
    prompt_tokens, completion_tokens = run.usage
    return {
        "file": str(run.path),
        "model": run.model,
        "settings": dict(run.settings),
        "complete": run.complete,
        "states": {status.value: count for status, count in run.counts.items()},
        "tokens": {"prompt": prompt_tokens, "completion": completion_tokens},
        "results": run.results().to_dict(),
    }
