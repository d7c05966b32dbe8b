"""A process that runs the pump on a run file, to be killed, signalled or starved: `python -m runs.child FILE URL …`.

It prints one line for each attempt after its commit has returned, and exits with the code of the error that ended it.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
from collections.abc import Iterable
from pathlib import Path

from equipoise.errors import EquipoiseError
from equipoise.models.chat.model import make_chat_model
from equipoise.runs.ask import decide, pump
from equipoise.runs.ask.limits import Budget
from equipoise.runs.file import store
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.runs.spec import RunSpec


class AcknowledgingRunFile(RunFile):
    """A run file that prints each attempt once it is stored."""

    def store(self, attempts: Iterable[Attempt], asked: str = "model") -> int:
        attempts = list(attempts)
        new = super().store(attempts, asked)
        for attempt in attempts:
            sys.stdout.write(f"{attempt.probe} {attempt.prompt_id} {attempt.repetition}\n")
        sys.stdout.flush()
        return new


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("url")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--drain", type=float, default=10.0)
    parser.add_argument("--deadline", type=float, default=300.0)
    parser.add_argument("--reserve", type=int, default=-(2**40))
    parser.add_argument("--largest-file", type=int)
    options = parser.parse_args()
    if options.largest_file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.largest_file, options.largest_file))
    store.RESERVE = options.reserve
    pump.DRAIN_SECONDS = options.drain
    decide.FIRST_BACKOFF = 0.01
    spec = RunSpec(concurrency=options.concurrency, deadline=options.deadline)
    model = make_chat_model("custom/m", base_url=options.url, key="sk-0123456789abcdef", environ={})
    try:
        with AcknowledgingRunFile.open(options.path) as run:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            asyncio.run(pump.Pump(file=run, model=model, spec=spec, budget=Budget(spec, run, {})).run())
    except EquipoiseError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
