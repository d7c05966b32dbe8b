"""Small plans, and models that follow a script."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from equipoise.authoring import Items
from equipoise.measuring.plan import Plan
from equipoise.models.protocol import AS_SAMPLED, Asking, Model, Refused, Reply, TransientFault
from equipoise.probes import get_probe
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import ATTEMPTS, Attempt, Pending
from equipoise.runs.spec import RunSpec, make_record
from equipoise.schema import GENDER, ITEM, PROMPT, SYSTEM, Status
from simulating import renew_digests

SETTINGS = make_record(RunSpec(model="fake", suite="quick", max_tokens=64), model_settings={"model": "fake"})

Script = Callable[[str, int], Reply | Exception]
"""The outcome of the nth request (from 1) for a prompt."""


def plan(
    name: str = "alpha",
    size: int = 10,
    *,
    repetitions: int = 1,
    text: str = "Prompt {} of {}.",
    system: Callable[[int], str | None] | None = None,
) -> Plan:
    """A plan of `size` prompts, two per item. `system` gives the system part of each."""

    def take(places: np.ndarray[Any, Any], seed: int) -> pl.DataFrame:
        columns = {
            ITEM: [str(place // 2) for place in places],
            PROMPT: [text.format(place, name) for place in places],
            GENDER: ["male" if place % 2 else "female" for place in places],
            "score": [place / 7 for place in places],
            "template": [int(place) for place in places],
            "odd": [bool(place % 2) for place in places],
        }
        if system is not None:
            columns[SYSTEM] = [system(int(place)) for place in places]
        return pl.DataFrame(columns)

    probe = dataclasses.replace(get_probe("hiring_an"), name=name, prompts=lambda items, parameters: items)
    parameters = probe.resolve({"repeat": repetitions, "sample": None})
    return Plan(probe=probe, parameters=parameters, population=size, drawn_from=Items(size=size, take=take))


def create(path: Path, *plans: Plan, **options: Any) -> RunFile:
    """A new run file, with one small plan unless others are given."""
    return RunFile.create(path, record=SETTINGS, plans=plans or [plan()], **options)


def execute(*statements: str) -> Callable[[Path], None]:
    """Change a run file by hand."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return change


def forge(*statements: str) -> Callable[[Path], None]:
    """The same, by somebody who computes the digests anew."""

    def change(path: Path) -> None:
        execute(*statements)(path)
        with closing(sqlite3.connect(path)) as connection, connection:
            renew_digests(connection)

    return change


def prompts_of(file: RunReader, probe: str = "alpha") -> pl.DataFrame:
    """All prompts of a probe in a run file."""
    return pl.concat(list(file.prompts(probe)))


def attempts_of(file: RunReader, probe: str = "alpha") -> pl.DataFrame:
    """All attempts of a probe in a run file that have ended, without their prompts."""
    return pl.concat([attempts for _, attempts in file.attempts(probe, ATTEMPTS)]).select(*ATTEMPTS)


def finish(pending: Pending, reply: Reply | None = None, **fields: Any) -> Attempt:
    """The pending attempt with its end: this reply, or the right answer."""
    return Attempt(
        probe=pending.probe,
        prompt_id=pending.prompt_id,
        repetition=pending.repetition,
        reply=reply or Reply(status=Status.OK, answer=seal(pending.text)),
        **fields,
    )


def seal(prompt: str) -> str:
    """A keyed hash of the prompt, which shows to which prompt an answer belongs."""
    return hashlib.blake2b(prompt.encode(), key=b"equipoise", digest_size=12).hexdigest()


def ok(prompt: str, **fields: Any) -> Reply:
    """The right answer to a prompt."""
    return Reply(status=Status.OK, answer=seal(prompt), **fields)


def transient(kind: str, status: Status = Status.HTTP_ERROR, **fields: Any) -> TransientFault:
    """A fault that may go away."""
    return TransientFault(
        Reply(status=status, detail=fields.pop("detail", f"a {kind} fault"), raw=fields.pop("raw", None)),
        kind=kind,
        **fields,
    )


class Fake(Model):
    """A model that follows a script, and records what it was asked."""

    gives_probabilities = continues_answers = True

    def __init__(self, script: Script, *, delay: float = 0.0, settings: dict[str, object] | None = None) -> None:
        super().__init__("fake", settings or {"model": "fake"})
        self.asked: Counter[str] = Counter()
        self.systems: dict[str, str | None] = {}
        """The system part that came with each prompt."""
        self.askings: dict[str, Asking] = {}
        self.times: list[float] = []
        self.at_once: list[int] = []
        """For each request, how many were under way."""
        self.open_count = 0
        self._script = script
        self._delay = delay
        self._in_flight = 0

    @property
    def requests(self) -> int:
        return self.asked.total()

    async def __aenter__(self) -> Self:
        self.open_count += 1
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.open_count -= 1

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
        self.asked[prompt] += 1
        self.systems[prompt] = system
        self.askings[prompt] = asking
        self.times.append(asyncio.get_running_loop().time())
        self._in_flight += 1
        self.at_once.append(self._in_flight)
        try:
            await asyncio.sleep(self._delay)
            outcome = self._script(prompt, self.asked[prompt])
        finally:
            self._in_flight -= 1
        if isinstance(outcome, Reply):
            return outcome
        raise outcome


def answering(**fields: Any) -> Fake:
    """A model that always gives the right answer."""
    return Fake(lambda prompt, nth: ok(prompt, **fields))


def refusing(message: str = "The key was refused.") -> Fake:
    """A model that always refuses."""
    return Fake(lambda prompt, nth: Refused(message))
