"""`equipoise show`: where a run stands and what it found, also an unfinished one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from typer import Option

from equipoise.cli import options
from equipoise.cli.output import open_console, print_json
from equipoise.runs.spec import to_plain
from equipoise.safe_text import printable_line

if TYPE_CHECKING:
    from rich.console import Console

    from equipoise.measuring.result import Result
    from equipoise.runs.run import Run
    from equipoise.schema import Status


@options.takes(*options.READING)
def command(
    file: options.RunFile,
    *,
    everything: bool = Option(
        False,
        "--all",
        help="Also every metric and its slices (race, age, …), what they rest on, both readings and the words.",
    ),
    as_json: options.AsJson = False,
    given: options.Given,
) -> None:
    """Show where a run stands and its marks, a sentence each. It is only read, and may be under way.

    Examples: equipoise show gpt-4o-mini.equipoise · equipoise show run.equipoise --all ·
    equipoise show run.equipoise --json
    """
    print_run(given.open_run(file), as_json=as_json, everything=everything)


def print_run(run: Run, *, as_json: bool, everything: bool = False) -> None:
    """Print a run: its state, its marks, and before them all the results of each probe if wanted."""
    from equipoise.report import text as texts
    from equipoise.report.terminal import results
    from equipoise.report.words import compare_words

    if as_json:
        print_json("run/1", _describe(run))
        return
    console = open_console()
    for name, result in run.results().items() if everything else ():
        print_result(result, console, slices=True)
        for line in (
            *texts.describe_numbers(run, result),
            *texts.describe_other_reading(run.other_reading(name)),
            *texts.describe_typical_words(compare_words(run, name)),
        ):
            console.print(printable_line(line), style="dim")
        console.print()
    head = [texts.describe_marks(run.results().values()), *_state_lines(run, everything=everything)]
    foot = list(texts.describe_next(run))
    for text in results.fit_marks(head, run.results(), foot, console, rows=None if everything else results.ROWS):
        console.print(text)


def print_result(result: Result, console: Console, *, slices: bool) -> None:
    """Print every metric of a result, and what it rests on."""
    from equipoise.report.html.notes import describe_coverage
    from equipoise.report.terminal import results

    console.print(results.result_table(result, slices=slices))
    for table in result.selection if slices else result.selection[:1]:
        console.print(results.selection_table(table))
    for line in (describe_coverage(result), *(table.describe() for table in result.selection)):
        console.print(printable_line(line), style="dim")


def _state_lines(run: Run, *, everything: bool) -> Iterator[str]:
    """Whose run it is, where it stands, and what a reader must know of it."""
    from equipoise.report import text as texts

    readings = dict.fromkeys(result.reading for result in run.results().values())
    judged_by = f" · judged by {run.judge}" if run.judge else ""
    state = run.describe_state()
    suite, reading = run.record.spec.suite, " and ".join(readings)
    yield printable_line(f"{run.model} · {suite} suite · {reading} reading{judged_by} · {state} · {run.path}")
    if not everything:
        read = texts.describe_read(run.results().values())
        yield " ".join([texts.describe_attempts(run.counts), *read, "--all shows every metric and what it rests on."])
        yield printable_line(texts.describe_asked(run.results().values()))
    for text in (*texts.describe_served(run), *texts.describe_reasoning(run), *run.record.notes):
        yield printable_line(f"note: {text}")


def _describe(run: Run) -> dict[str, Any]:
    """A run as JSON: what `run/1` holds."""
    judge = None
    if run.judge is not None:
        exams = {
            probe: {**asdict(exam), "p_value": exam.p_value, "faults": exam.faults} for probe, exam in run.exams.items()
        }
        judge = {"exam": exams, **_describe_asked(run.judge, run.judging, run.provenance.judge_usage)}
    return {
        "file": str(run.path),
        "answers_origin": run.record.origin,
        "settings": to_plain(run.record),
        "complete": run.complete,
        **_describe_asked(run.model, run.counts, run.provenance.usage),
        "judge": judge,
        "results": {name: plain | _describe_readings(run, name) for name, plain in run.results().to_dict().items()},
    }


def _describe_asked(model: str, states: Mapping[Status, int], usage: tuple[int, int]) -> dict[str, Any]:
    """Who was asked, what became of it and what it took."""
    return {
        "model": model,
        "states": {status.value: count for status, count in states.items()},
        "tokens": {"prompt": usage[0], "completion": usage[1]},
    }


def _describe_readings(run: Run, probe: str) -> dict[str, Any]:
    """What stands beside a result: the other reading and the words that differ."""
    from equipoise.report.words import compare_words

    other, words = run.other_reading(probe), compare_words(run, probe)
    return {"other_reading": other and other.to_dict(), "words": words and words.to_dict()}
