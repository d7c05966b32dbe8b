"""How far something is, on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rich import console, progress

from equipoise.cli.output import note
from equipoise.runs.ask import events
from equipoise.schema import Status

if TYPE_CHECKING:
    from equipoise.measuring.partials import Partial
    from equipoise.runs.ask.events import Event, OnEvent, RunProgress

SECONDS_BETWEEN_LINES = 30.0
"""Where there is no terminal."""


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

    def update(_done: int, _total: int | None, state: str, at_once: bool = False) -> None:
        nonlocal last_time, last_line
        is_due = at_once or time.monotonic() - last_time >= SECONDS_BETWEEN_LINES
        if is_due and state != last_line:
            last_time, last_line = time.monotonic(), state
            note(state)
            sys.stderr.flush()

    yield update


@contextmanager
def show_progress() -> Iterator[OnEvent]:
    """Show what the pump reports while the body runs."""
    with _display() as update:

        def on_event(event: Event) -> None:
            if isinstance(event, str):
                note(event)
                return
            ended, planned = event.counts.ended, event.counts.planned
            update(ended, planned, describe(event), at_once=_is_pause(event) or ended == planned)

        yield on_event


def show_shards(partials: Iterable[Partial], files: int) -> Iterator[Partial]:
    """The same partials; how many files are done is shown as they come."""
    started, answers = time.monotonic(), 0
    with _display() as update:
        for done, partial in enumerate(partials, 1):
            answers += partial.values.matching.read
            seconds = (time.monotonic() - started) / done * (files - done)
            state = f"{done:,}/{files:,} files · {answers:,} answers"
            update(done, files, f"{state} · {events.describe_duration(seconds)} left")
            yield partial


@contextmanager
def show_download(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show how much of a file has come while the body runs."""
    with _display() as update:
        # Without a total the bar pulses: before the first bytes nobody knows how long it takes.
        yield lambda done, total: update(done, total if done else None, f"{name} · {done / 1e6:,.1f} MB")


def _is_pause(event: RunProgress) -> bool:
    """Whether nothing is sent for longer than a matter of seconds."""
    return event.wait >= 5


def describe(event: RunProgress) -> str:
    """A pause if there is one, answered of planned, rate, time left, tokens, cost, failures by kind."""
    parts = [
        event.look,
        f"{event.counts.answered:,}/{event.counts.planned:,} {'judged' if event.role == 'judge' else 'answered'}",
    ]
    if _is_pause(event):
        # Rounded up: of one pause every event says the same.
        ends = datetime.now().astimezone() + timedelta(seconds=event.wait + 59)
        parts = [f"waiting until {ends:%H:%M} ({event.wait_reason})", *parts]
    rate = event.ended / event.elapsed if event.elapsed > 0 else 0.0
    left = event.counts[Status.PENDING]
    if rate and left:
        parts += [f"{rate:.1f}/s", f"{events.describe_duration(left / rate)} left"]
    tokens = event.prompt_tokens + event.completion_tokens
    parts += [f"{tokens:,} tokens" if tokens else "", f"${event.cost:,.2f}" if event.cost else ""]
    parts += [f"{count:,} {status.value.replace('_', ' ')}" for status, count in event.counts.failed.items()]
    return " · ".join(filter(None, parts))
