"""Reference models of the probes as models to be asked: `simulated/unbiased`, `simulated/stereotyping`, …

They cost nothing and need no network: for demonstrations, for trying a pipeline, for teaching what the scale means.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.authoring import Probe
from equipoise.detect.visible import has_visible_text
from equipoise.errors import InputError
from equipoise.measuring.calling import certain_token, simulate_answers
from equipoise.models.protocol import AS_SAMPLED, Asking, Model, Refused, Reply
from equipoise.schema import ID, ITEM, Status

SIMULATED = "simulated/"
ITEMS_IN_MEMORY = 4_096
"""The prompts of an item are mostly asked one soon after another, and their answers are drawn together."""


def choose_able(model: str, probes: list[Probe], *, named: bool) -> list[Probe]:
    """The probes that a model can answer. One that was named and has no such reference model is refused."""
    if not model.startswith(SIMULATED):
        return probes
    stance = model.removeprefix(SIMULATED)
    for probe in probes if named else ():
        _refuse_unknown_stance(probe, stance)
    able = [probe for probe in probes if stance in probe.stances()]
    if not able:
        known = sorted({f"{SIMULATED}{stance}" for probe in probes for stance in probe.stances()})
        raise InputError(f"No probe has a reference model {stance!r}. There are: {', '.join(known)}.")
    return able


class SimulatedModel(Model):
    """A reference model of the probes. It answers from the plan of a run, not from the texts of the prompts.

    The answer to a prompt depends on the seed, the item and the repetition alone, so that a run that is resumed, or a
    larger one, gives the same answers.
    """

    gives_probabilities = continues_answers = True
    """An answer is then certain."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self._stance = name.removeprefix(SIMULATED)
        self._seed = seed
        super().__init__(name, {"simulated": self._stance, "seed": seed})
        made_up = f"they are those of a reference model ({self._stance}) that equipoise makes up"
        self.notes.append(f"The answers are simulated: {made_up}. No language model was asked.")
        self._planned: dict[str, _Planned] = {}
        self._simulate = lru_cache(ITEMS_IN_MEMORY)(self._simulate_item)

    def use_plan(self, probes: Mapping[str, Probe], read_prompts: Callable[[str], pl.DataFrame]) -> None:
        """Say what will be asked: the probes, and how their prompts with covariates are read, by name."""
        for probe in probes.values():
            _refuse_unknown_stance(probe, self._stance)
        self._probes, self._read_prompts = probes, read_prompts

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:  # noqa: ARG002
        """Refuse: a text does not say which item it belongs to."""
        raise Refused(f"{self.name} can only answer the prompts of a run: it is no language model.")

    async def answer_attempt(self, probe: str, prompt_id: str, repetition: int, asking: Asking = AS_SAMPLED) -> Reply:
        """Answer the prompt of this id."""
        await asyncio.sleep(0)  # Nothing here waits, and others want their turn, too.
        if probe not in self._planned or prompt_id not in self._planned[probe].items:
            # A run that stops when its marks are certain grows while it is asked.
            self._planned[probe] = _index(self._read_prompts(probe))
        answer = self._simulate(probe, self._planned[probe].items[prompt_id], repetition)[prompt_id]
        if not has_visible_text(answer):
            return Reply(status=Status.EMPTY, reasoning=answer or None, prompt_tokens=0, completion_tokens=0)
        first = certain_token(answer) if asking.probabilities else None
        return Reply(status=Status.OK, answer=answer, prompt_tokens=0, completion_tokens=0, first_token=first)

    def _simulate_item(self, probe: str, item: str, repetition: int) -> dict[str, str]:
        """The answers to all prompts of an item, by id."""
        planned, definition = self._planned[probe], self._probes[probe]
        prompts = planned.prompts[planned.rows[item]]
        # The same whatever else is asked, and in which order.
        key = json.dumps([self._seed, self._stance, probe, item, repetition]).encode()
        rng = np.random.default_rng(int.from_bytes(hashlib.sha256(key).digest()))
        answers = simulate_answers(definition, prompts, self._stance, rng)
        return dict(zip(prompts[ID], answers, strict=True))


class _Planned(NamedTuple):
    """The prompts of a probe, the item of each by its id, and the rows of each item."""

    prompts: pl.DataFrame
    items: dict[str, str]
    rows: dict[str, list[int]]


def _index(prompts: pl.DataFrame) -> _Planned:
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(prompts[ITEM]):
        rows.setdefault(item, []).append(row)
    return _Planned(prompts, dict(prompts.select(ID, ITEM).iter_rows()), rows)


def _refuse_unknown_stance(probe: Probe, stance: str) -> None:
    """Refuse a reference model that the probe does not have."""
    if stance not in probe.stances():
        raise InputError(
            f"{probe.name} has no reference model {stance!r}. It can simulate: {', '.join(probe.stances())}."
        )
