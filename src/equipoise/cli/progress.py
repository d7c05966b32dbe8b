"""Live progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from equipoise.cli.lazy import console, events, progress
from equipoise.cli.output import note
from equipoise.report.terminal.safe_text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from equipoise.answers.shards import OnShard, ShardsDone
    from equipoise.runs.ask.events import Event, OnEvent, RunProgress

SECONDS_BETWEEN_LINES = 30.0
"""Where there is no terminal."""


@contextmanager
def show_progress() -> Iterator[OnEvent]:
    """Show what the pump reports while the body runs."""
    terminal = console.Console(stderr=True, highlight=False, markup=False)
    if terminal.is_terminal:
        with _draw_bar(terminal) as on_event:
            yield on_event
    else:
        yield _print_lines()


@contextmanager
def show_shards() -> Iterator[OnShard]:
    """Show how many files are done while the body runs."""
    terminal = console.Console(stderr=True, highlight=False, markup=False)
    started = time.monotonic()
    if terminal.is_terminal:
        with progress.Progress(*_columns(), console=terminal) as bar:
            task = bar.add_task("starting", total=None)
            yield lambda event: bar.update(
                task, total=event.files, completed=event.done, description=describe_shards(event, started)
            )
        return
    last_time = started

    def on_shard(event: ShardsDone) -> None:
        nonlocal last_time
        if time.monotonic() - last_time >= SECONDS_BETWEEN_LINES:
            last_time = time.monotonic()
            note(describe_shards(event, started))
            sys.stderr.flush()

    yield on_shard


def describe_shards(event: ShardsDone, started: float) -> str:
    """Files done of all, answers, rate, time left."""
    elapsed = time.monotonic() - started
    parts = [f"{event.done:,}/{event.files:,} files", f"{event.answers:,} answers"]
    if elapsed > 0:
        parts += [f"{event.answers / elapsed:,.0f}/s"]
    if event.done < event.files:
        parts += [f"{events.describe_duration(elapsed / event.done * (event.files - event.done))} left"]
    return " · ".join(parts)


def _columns() -> tuple[progress.ProgressColumn, ...]:
    return (
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.description}", markup=False),
    )


@contextmanager
def _draw_bar(terminal: Console) -> Iterator[OnEvent]:
    with progress.Progress(*_columns(), console=terminal) as bar:
        task = bar.add_task("starting", total=None)

        def on_event(event: Event) -> None:
            if isinstance(event, events.Note):
                bar.console.print(printable(event.text), markup=False)
            else:
                bar.update(task, total=event.planned, completed=count_ended(event), description=describe(event))

        yield on_event


def _print_lines() -> OnEvent:
    last_time, last_line = -SECONDS_BETWEEN_LINES, ""

    def on_event(event: Event) -> None:
        nonlocal last_time, last_line
        if isinstance(event, events.Note):
            note(event.text)
            return
        due = time.monotonic() - last_time >= SECONDS_BETWEEN_LINES or count_ended(event) == event.planned
        if due and describe(event) != last_line:
            last_time, last_line = time.monotonic(), describe(event)
            note(last_line)
            sys.stderr.flush()

    return on_event


def count_ended(event: RunProgress) -> int:
    """Attempts that have ended."""
    return event.answered + sum(event.failed.values())


def describe(event: RunProgress) -> str:
    """Answered of planned, rate, tokens, cost, time left, failures by kind."""
    what = "judged" if event.asked == "judge" else "answered"
    parts = [event.look] if event.look else []
    parts += [f"{event.answered:,}/{event.planned:,} {what}"]
    rate = event.requests / event.elapsed if event.elapsed > 0 else 0.0
    left = event.planned - count_ended(event)
    if rate and left:
        parts += [f"{rate:.1f}/s", f"{events.describe_duration(left / rate)} left"]
    tokens = event.prompt_tokens + event.completion_tokens
    parts += [f"{tokens:,} tokens"] if tokens else []
    parts += [f"${event.cost:,.2f}"] if event.cost else []
    parts += [f"{count:,} {status.value.replace('_', ' ')}" for status, count in event.failed.items()]
    return " · ".join(parts)
