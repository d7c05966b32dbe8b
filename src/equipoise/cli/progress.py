"""Live progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import console, progress

from equipoise.cli.output import note
from equipoise.runs.ask import events
from equipoise.safe_text import printable

if TYPE_CHECKING:
    from equipoise.answers.shards import OnShard, ShardsDone
    from equipoise.runs.ask.events import Event, OnEvent, RunProgress

SECONDS_BETWEEN_LINES = 30.0
"""Where there is no terminal."""
SHORTEST_PAUSE_SHOWN = 5.0
"""In seconds; where there is no terminal, a pause gets a line of its own if it is as long as this."""


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
            task = bar.add_task("", total=None, state="starting")
            yield lambda event: bar.update(
                task, total=event.files, completed=event.done, state=describe_shards(event, started)
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
        progress.TextColumn("{task.fields[state]}", markup=False),
    )


@contextmanager
def _draw_bar(terminal: console.Console) -> Iterator[OnEvent]:
    with progress.Progress(*_columns(), console=terminal) as bar:
        task = bar.add_task("", total=None, state="starting")

        def on_event(event: Event) -> None:
            if isinstance(event, events.Note):
                bar.console.print(printable(event.text), markup=False)
            else:
                bar.update(task, total=event.planned, completed=count_ended(event), state=LiveState(event))

        yield on_event


class LiveState:
    """What is drawn beside the bar, as it is whenever it is drawn: a pause grows shorter without a new event."""

    def __init__(self, event: RunProgress) -> None:
        self._event = event
        self._received = time.monotonic()

    def __str__(self) -> str:
        return describe(self._event, time.monotonic() - self._received)


def _print_lines() -> OnEvent:
    last_time, last_line, pause_ends = -SECONDS_BETWEEN_LINES, "", 0.0

    def on_event(event: Event) -> None:
        nonlocal last_time, last_line, pause_ends
        if isinstance(event, events.Note):
            note(event.text)
            return
        now = time.monotonic()
        ends = now + event.wait.seconds if event.wait else 0.0
        is_new_pause = ends - now >= SHORTEST_PAUSE_SHOWN and ends - pause_ends >= SHORTEST_PAUSE_SHOWN
        due = now - last_time >= SECONDS_BETWEEN_LINES or count_ended(event) == event.planned or is_new_pause
        if due and describe(event) != last_line:
            last_time, last_line, pause_ends = now, describe(event), max(ends, pause_ends)
            note(last_line)
            sys.stderr.flush()

    return on_event


def count_ended(event: RunProgress) -> int:
    """Attempts that have ended."""
    return event.answered + sum(event.failed.values())


def describe(event: RunProgress, age: float = 0.0) -> str:
    """Answered of planned, rate, tokens, cost, time left, failures by kind, as an event of so many seconds ago says.

    A pause comes first: "waiting 55 s (rate limit)".
    """
    what = "judged" if event.asked == "judge" else "answered"
    pause = event.wait.seconds - age if event.wait else 0.0
    parts = [f"waiting {events.describe_duration(pause)} ({event.wait.reason})"] if event.wait and pause >= 1 else []
    parts += [event.look] if event.look else []
    parts += [f"{event.answered:,}/{event.planned:,} {what}"]
    rate = event.ended / event.elapsed if event.elapsed > 0 else 0.0
    left = event.planned - count_ended(event)
    if rate and left:
        parts += [f"{rate:.1f}/s", f"{events.describe_duration(left / rate)} left"]
    tokens = event.prompt_tokens + event.completion_tokens
    parts += [f"{tokens:,} tokens"] if tokens else []
    parts += [f"${event.cost:,.2f}"] if event.cost else []
    parts += [f"{count:,} {status.value.replace('_', ' ')}" for status, count in event.failed.items()]
    return " · ".join(parts)
