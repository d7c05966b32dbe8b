"""Child processes that ask a server, and what they stored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from equipoise.runs.file.reader import RunReader
from equipoise.schema import ANSWER, ID, PROMPT, REPETITION
from runs.fakes import attempts_of, prompts_of
from serving.faulty import FaultyServer

TESTS = Path(__file__).parents[1]


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
