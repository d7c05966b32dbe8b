"""Child processes that ask a server, and what they stored."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

from aiohttp import web

from equipoise.runs.file.reader import RunReader
from equipoise.schema import ANSWER, ID, PROMPT, REPETITION
from runs.fakes import attempts_of, prompts_of, seal
from serving.faults import Exchange, Responder
from serving.faulty import FaultyServer

TESTS = Path(__file__).parents[1]
LONGEST_WAIT = 60.0
"""Seconds after which a test that waits for another process fails."""


class HeldAnswers:
    """What a server does that answers each prompt with its seal, but only while it `may_answer`."""

    def __init__(self) -> None:
        self.may_answer = Event()
        self.may_answer.set()
        self.held = 0
        """How many answers were held back."""

    def __call__(self, prompt: str, nth: int) -> Responder:
        async def respond(exchange: Exchange) -> web.StreamResponse:
            if not self.may_answer.is_set():
                self.held += 1
            while not self.may_answer.is_set():
                await asyncio.sleep(0.005)
            return web.json_response(exchange.message(seal(prompt)))

        return respond


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until another process or a server has come so far."""
    give_up = time.monotonic() + LONGEST_WAIT
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.005)


def start(path: Path, server: FaultyServer, *options: str) -> subprocess.Popen[str]:
    """Start a child process that asks the server for what is pending."""
    return subprocess.Popen(
        [sys.executable, "-m", "runs.child", str(path), server.url, *options],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def acknowledged(output: str) -> set[tuple[str, str, int]]:
    """The attempts that a child printed as stored. A line that a kill cut short does not count."""
    lines = [line.split() for line in output.split("\n")[:-1]]
    return {
        (probe, prompt, int(repetition)) for probe, prompt, repetition in (line for line in lines if len(line) == 3)
    }


def stored(run: RunReader) -> dict[tuple[str, str, int], Any]:
    """Each stored attempt with its answer."""
    answers: dict[tuple[str, str, int], Any] = {}
    for probe in run.probes():
        frame = attempts_of(run, probe.name)
        keys = [(probe.name, prompt, repetition) for prompt, repetition in frame.select(ID, REPETITION).iter_rows()]
        assert len(set(keys)) == len(keys)
        answers |= dict(zip(keys, frame[ANSWER], strict=True))
    return answers


def texts(run: RunReader) -> dict[tuple[str, str], str]:
    """Each prompt's text."""
    return {
        (probe.name, prompt): text
        for probe in run.probes()
        for prompt, text in prompts_of(run, probe.name).select(ID, PROMPT).iter_rows()
    }
