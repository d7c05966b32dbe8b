"""`equipoise show`: where a run stands and what it found, also an unfinished one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.lazy import run as runs
from equipoise.cli.lazy import tables, texts
from equipoise.cli.output import AsJson, open_console, print_json
from equipoise.cli.probe_options import Reading
from equipoise.report.terminal.safe_text import printable_line

if TYPE_CHECKING:
    from equipoise.runs.run import Run


def command(
    file: Annotated[Path, typer.Argument(help="The run file.")],
    *,
    slices: Annotated[bool, typer.Option("--slices", help="Show the slices (race, age, …) too.")] = False,
    reading: Reading = None,
    as_json: AsJson = False,
) -> None:
    """Show where a run stands and what it found. It is only read, and may be under way.

    Examples: equipoise show gpt-4o-mini.equipoise · equipoise show run.equipoise --json
    """
    print_run(runs.Run.open(file, reading=reading), as_json=as_json, slices=slices)


def print_run(run: Run, *, as_json: bool, slices: bool = False) -> None:
    """Print a run: its state and the results of each probe."""
    if as_json:
        print_json(_describe(run))
        return
    console = open_console()
    for result in run.results().values():
        console.print(tables.result_table(result, slices=slices))
        for table in result.selection if slices else result.selection[:1]:
            console.print(tables.selection_table(table))
        texts_below = (
            *(table.describe() for table in result.selection),
            *texts.describe_generalisation(result),
            *texts.describe_bounds(result),
        )
        for line in (*tables.coverage_lines(result), *texts_below):
            console.print(line, style="dim")
        console.print()
    state = "complete" if run.complete else f"incomplete {run.ended:,} of {run.size:,}"
    console.print(printable_line(f"{run.model} · {run.settings.suite} suite · {state} · {run.path}"))
    for text in run.settings.notes:
        console.print(printable_line(f"note: {text}"))


def _describe(run: Run) -> dict[str, Any]:
    prompt_tokens, completion_tokens = run.usage
    return {
        "file": str(run.path),
        "model": run.model,
        "settings": run.settings.to_json(),
        "complete": run.complete,
        "states": {status.value: count for status, count in run.counts.items()},
        "tokens": {"prompt": prompt_tokens, "completion": completion_tokens},
        "results": run.results().to_dict(),
    }
