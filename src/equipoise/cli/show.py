"""`equipoise show`: where a run stands and what it found, also an unfinished one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.lazy import run as runs
from equipoise.cli.lazy import tables, texts
from equipoise.cli.output import AsJson, open_console, print_json
from equipoise.cli.probe_options import CorrectDetector, Reading, Unjudged
from equipoise.report.terminal.safe_text import printable_line

if TYPE_CHECKING:
    from equipoise.runs.run import Run


def command(
    file: Annotated[Path, typer.Argument(help="The run file.")],
    *,
    slices: Annotated[bool, typer.Option("--slices", help="Show the slices (race, age, …) too.")] = False,
    reading: Reading = None,
    correct_detector: CorrectDetector = False,
    unjudged: Unjudged = False,
    as_json: AsJson = False,
) -> None:
    """Show where a run stands and what it found. It is only read, and may be under way.

    Examples: equipoise show gpt-4o-mini.equipoise · equipoise show run.equipoise --json
    """
    opened = runs.Run.open(file, reading=reading, judged=not unjudged)
    print_run(opened, as_json=as_json, slices=slices, correct_detector=correct_detector)


def print_run(run: Run, *, as_json: bool, slices: bool = False, correct_detector: bool = False) -> None:
    """Print a run: its state and the results of each probe."""
    if as_json:
        print_json(_describe(run, correct_detector))
        return
    console = open_console()
    for name, result in run.results().items():
        console.print(tables.result_table(result, slices=slices))
        for table in result.selection if slices else result.selection[:1]:
            console.print(tables.selection_table(table))
        for line in (
            *tables.coverage_lines(result),
            *(table.describe() for table in result.selection),
            *texts.describe_judge(result),
            *texts.describe_reservations(result),
            *texts.describe_other_reading(run.other_reading(name)),
            *texts.describe_corrected(run.corrected(name) if correct_detector else None),
            *texts.describe_words(run.words(name)),
        ):
            console.print(printable_line(line), style="dim")
        console.print()
    judged_by = f" · judged by {run.judge}" if run.judge else ""
    console.print(
        printable_line(f"{run.model} · {run.settings.suite} suite{judged_by} · {run.describe_state()} · {run.path}")
    )
    for text in (*run.settings.notes, *texts.describe_reasoning(run)):
        console.print(printable_line(f"note: {text}"))


def _describe_judging(run: Run) -> dict[str, Any]:
    """Who judged, and the states of the verdicts; nothing for a run without a judge."""
    if run.judge is None:
        return {}
    prompt_tokens, completion_tokens = run.judge_usage
    return {
        "judge": {
            "model": run.judge,
            "states": {status.value: count for status, count in run.judging.items()},
            "tokens": {"prompt": prompt_tokens, "completion": completion_tokens},
        }
    }


def _describe(run: Run, correct_detector: bool) -> dict[str, Any]:
    prompt_tokens, completion_tokens = run.usage
    return {
        "file": str(run.path),
        "model": run.model,
        "settings": run.settings.to_json(),
        "complete": run.complete,
        "states": {status.value: count for status, count in run.counts.items()},
        "tokens": {"prompt": prompt_tokens, "completion": completion_tokens},
        **_describe_judging(run),
        "results": {
            name: plain | _describe_readings(run, name, correct_detector)
            for name, plain in run.results().to_dict().items()
        },
    }


def _describe_readings(run: Run, probe: str, correct_detector: bool) -> dict[str, Any]:
    """What stands beside a result: the other reading, the words that differ, and corrected metrics if wanted."""
    other, words = run.other_reading(probe), run.words(probe)
    described = {"other_reading": other and other.to_dict(), "words": words and words.to_dict()}
    if correct_detector:
        described["corrected"] = {name: asdict(estimate) for name, estimate in run.corrected(probe).items()}
    return described
