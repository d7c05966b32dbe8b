"""Small plans, and models that do as they are told."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from equipoise.frames import GENDER, ITEM, PROMPT, Status
from equipoise.models.protocol import Passing, Refused, Reply
from equipoise.plans import Plan
from equipoise.probe import Items
from equipoise.probes import get
from equipoise.runs import Attempt, Pending, Policy, RunFile

SETTINGS: dict[str, object] = {"model": "fake", "model_settings": {"model": "fake"}, "suite": "quick", "seed": 0}
QUICK = Policy(
    concurrency=4,
    deadline=5.0,
    first_backoff=0.001,
    longest_backoff=0.002,
    outage_patience=0.05,
    drain=5.0,
)

Script = Callable[[str, int], Reply | Exception]
"""What the nth request (from 1) of a prompt meets."""


def plan(name: str = "alpha", size: int = 10, *, repetitions: int = 1, text: str = "Prompt {} of {}.") -> Plan:
    """A plan of as many prompts, two for each item."""

    def take(places: np.ndarray[Any, Any], seed: int) -> pl.DataFrame:
        return pl.DataFrame(
            {
                ITEM: [str(place // 2) for place in places],
                PROMPT: [text.format(place, name) for place in places],
                GENDER: ["male" if place % 2 else "female" for place in places],
                "score": [None if place == 0 else place / 7 for place in places],
                "template": [int(place) for place in places],
                "odd": [bool(place % 2) for place in places],
            }
        )

    probe = dataclasses.replace(get("hiring_an"), name=name, prompts=lambda items, parameters: items)
    parameters = probe.resolve({"num_repetitions": repetitions})
    return Plan(probe=probe, parameters=parameters, items=size, population=Items(size=size, take=take))


def create(path: Path, *plans: Plan, **options: Any) -> RunFile:
    return RunFile.create(path, settings=SETTINGS, plans=plans or [plan()], **options)


def ended(pending: Pending, reply: Reply | None = None, **fields: Any) -> Attempt:
    return Attempt(
        probe=pending.probe,
        prompt=pending.prompt,
        repetition=pending.repetition,
        reply=reply or Reply(status=Status.OK, answer=seal(pending.text)),
        **fields,
    )


def seal(prompt: str) -> str:
    """A keyed hash of the prompt, by which an answer shows whose it is."""
    return hashlib.blake2b(prompt.encode(), key=b"equipoise", digest_size=12).hexdigest()


def ok(prompt: str, **fields: Any) -> Reply:
    return Reply(status=Status.OK, answer=seal(prompt), **fields)


def passing(kind: str, status: Status = Status.HTTP_ERROR, **fields: Any) -> Passing:
    return Passing(
        Reply(status=status, detail=fields.pop("detail", f"a {kind} fault"), raw=fields.pop("raw", None)),
        kind=kind,
        **fields,
    )


class Fake:
    """A model that follows a script, and remembers what it was asked."""

    def __init__(self, script: Script, *, delay: float = 0.0, settings: dict[str, object] | None = None) -> None:
        self.name = "fake"
        self.settings = settings or {"model": "fake"}
        self.notes: list[str] = []
        self.asked: Counter[str] = Counter()
        self.times: list[float] = []
        self.at_once: list[int] = []
        self.opened = 0
        self._script = script
        self._delay = delay
        self._under_way = 0

    @property
    def requests(self) -> int:
        return self.asked.total()

    async def __aenter__(self) -> Self:
        self.opened += 1
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.opened -= 1

    async def answer(self, prompt: str) -> Reply:
        self.asked[prompt] += 1
        self.times.append(asyncio.get_running_loop().time())
        self._under_way += 1
        self.at_once.append(self._under_way)
        try:
            await asyncio.sleep(self._delay)
            outcome = self._script(prompt, self.asked[prompt])
        finally:
            self._under_way -= 1
        if isinstance(outcome, Reply):
            return outcome
        raise outcome


def answering(**fields: Any) -> Fake:
    return Fake(lambda prompt, nth: ok(prompt, **fields))


def refusing(message: str = "The key was refused.") -> Fake:
    return Fake(lambda prompt, nth: Refused(message))
