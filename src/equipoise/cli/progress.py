"""How far something is, on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import console, progress

from equipoise.cli.output import note
from equipoise.runs.ask import events

if TYPE_CHECKING:
    from equipoise.answers.shards import OnShard, ShardsDone
    from equipoise.runs.ask.events import Event, OnEvent, RunProgress

SECONDS_BETWEEN_LINES = 30.0
"""Where there is no terminal."""
SHORTEST_PAUSE_SHOWN = 5.0
"""In seconds; where there is no terminal, a pause gets a line of its own if it is as long as this."""


@contextmanager
def _display() -> Iterator[Callable[..., None]]:
    """Give `update(done, total, state, at_once=False)`; a line that is wanted `at_once` waits for no other."""
    terminal = console.Console(stderr=True, highlight=False, markup=False)
    if terminal.is_terminal:
        columns = (progress.BarColumn(), progress.TaskProgressColumn(), progress.TextColumn("{task.fields[state]}"))
        with progress.Progress(*columns, console=terminal) as bar:
            task = bar.add_task("", total=None, state="starting")
            yield lambda done, total, state, at_once=False: bar.update(task, completed=done, total=total, state=state)  # noqa: ARG005
        return
    last_time, last_line = time.monotonic(), ""

    def update(_done: int, _total: int | None, state: object, at_once: bool = False) -> None:
        nonlocal last_time, last_line
        is_due = at_once or time.monotonic() - last_time >= SECONDS_BETWEEN_LINES
        if is_due and str(state) != last_line:
            last_time, last_line = time.monotonic(), str(state)
            note(last_line)
            sys.stderr.flush()

    yield update


@contextmanager
def show_progress() -> Iterator[OnEvent]:
    """Show what the pump reports while the body runs."""
    pause_ends = 0.0
    with _display() as update:

        def on_event(event: Event) -> None:
            nonlocal pause_ends
            if isinstance(event, events.Note):
                note(event.text)
                return
            now = time.monotonic()
            ends = now + event.wait.seconds if event.wait else 0.0
            is_new_pause = ends - max(now, pause_ends) >= SHORTEST_PAUSE_SHOWN
            pause_ends = max(ends, pause_ends) if is_new_pause else pause_ends
            ended = count_ended(event)
            update(ended, event.planned, LiveState(event), at_once=is_new_pause or ended == event.planned)

        yield on_event


@contextmanager
def show_shards() -> Iterator[OnShard]:
    """Show how many files are done while the body runs."""
    started = time.monotonic()
    with _display() as update:
        yield lambda event: update(event.done, event.files, describe_shards(event, started))


@contextmanager
def show_download(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show how much of a file has come while the body runs."""
    with _display() as update:
        # Without a total the bar pulses: before the first bytes nobody knows how long it takes.
        yield lambda done, total: update(done, total if done else None, f"{name} · {done / 1e6:,.1f} MB")


def describe_shards(event: ShardsDone, started: float) -> str:
    """Files done of all, answers, rate, time left."""
    elapsed = time.monotonic() - started
    parts = [f"{event.done:,}/{event.files:,} files", f"{event.answers:,} answers"]
    if elapsed > 0:
        parts += [f"{event.answers / elapsed:,.0f}/s"]
    if event.done < event.files:
        parts += [f"{events.describe_duration(elapsed / event.done * (event.files - event.done))} left"]
    return " · ".join(parts)


class LiveState:
    """What an event says, as it is whenever it is drawn: a pause grows shorter without a new event."""

    def __init__(self, event: RunProgress) -> None:
        self._event = event
        self._received = time.monotonic()

    def __str__(self) -> str:
        return describe(self._event, time.monotonic() - self._received)


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
