"""Live progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from equipoise.cli.output import note

if TYPE_CHECKING:
    from equipoise.runs import Event, OnEvent, Progress

EVERY = 30.0
"""Seconds between two lines where there is no terminal."""


@contextmanager
def shown() -> Iterator[OnEvent]:
    """Show what the pump tells while the body runs."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False)
    if console.is_terminal:
        with _bar(console) as on_event:
            yield on_event
    else:
        yield _lines()


@contextmanager
def _bar(console: object) -> Iterator[OnEvent]:
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    from equipoise.report.terminal import printable
    from equipoise.runs import Note

    with Bar(BarColumn(), TaskProgressColumn(), TextColumn("{task.description}", markup=False), console=console) as bar:  # type: ignore[arg-type]
        task = bar.add_task("starting", total=None)

        def on_event(event: Event) -> None:
            if isinstance(event, Note):
                bar.console.print(printable(event.text), markup=False)
            else:
                bar.update(task, total=event.planned, completed=done(event), description=line(event))

        yield on_event


def _lines() -> OnEvent:
    from equipoise.runs import Note

    last, said = -EVERY, ""

    def on_event(event: Event) -> None:
        nonlocal last, said
        if isinstance(event, Note):
            note(event.text)
        elif (time.monotonic() - last >= EVERY or done(event) == event.planned) and line(event) != said:
            last, said = time.monotonic(), line(event)
            note(said)
            sys.stderr.flush()

    return on_event


def done(progress: Progress) -> int:
    """Attempts that have an end."""
    return progress.answered + sum(progress.failed.values())


def line(progress: Progress) -> str:
    """Answered of planned, rate, tokens, cost, time left, failures by kind."""
    parts = [f"{progress.answered:,}/{progress.planned:,} answered"]
    rate = progress.requests / progress.elapsed if progress.elapsed > 0 else 0.0
    left = progress.planned - done(progress)
    if rate and left:
        parts += [f"{rate:.1f}/s", f"{duration(left / rate)} left"]
    tokens = progress.prompt_tokens + progress.completion_tokens
    parts += [f"{tokens:,} tokens"] if tokens else []
    parts += [f"${progress.cost:,.2f}"] if progress.cost else []
    parts += [f"{count:,} {status.value.replace('_', ' ')}" for status, count in progress.failed.items()]
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """A time as people say it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
