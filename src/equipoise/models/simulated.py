"""Reference models of the probes as models to be asked: `simulated/unbiased`, `simulated/stereotyping`, …

They cost nothing and need no network: for demonstrations, for trying a pipeline, for teaching what the scale means.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from equipoise.authoring import Probe
from equipoise.detect.visible import has_visible_text
from equipoise.errors import InputError
from equipoise.measuring.calling import attempt_rng, certain_token, refuse_unknown_stance, simulate_answers
from equipoise.models.protocol import AS_SAMPLED, Asking, LocalModel, Refused, Reply, Sampling
from equipoise.schema import ID, ITEM, Status

PREFIX = "simulated/"
ITEMS_IN_MEMORY = 4_096
"""The prompts of an item are mostly asked one soon after another, and their answers are drawn together."""


def is_simulated(model: str) -> bool:
    """Whether the name is that of a reference model."""
    return model.startswith(PREFIX)


def choose_able(model: str, probes: Iterable[Probe], *, named: bool) -> list[Probe]:
    """The probes that a simulated model can answer. One that was named and has no such reference model is refused."""
    stance, chosen = model.removeprefix(PREFIX), list(probes)
    for probe in chosen if named else ():
        refuse_unknown_stance(probe, stance)
    able = [probe for probe in chosen if stance in probe.stances()]
    if not able:
        known = sorted({f"{PREFIX}{stance}" for probe in chosen for stance in probe.stances()})
        raise InputError(f"No probe has a reference model {stance!r}. There are: {', '.join(known)}.")
    return able


class SimulatedModel(LocalModel):
    """A reference model of the probes. It answers from the plan of a run, not from the texts of the prompts.

    The answer to a prompt depends on the seed (`Sampling.seed`), the item and the repetition alone, so that a run that
    is resumed, or a larger one, gives the same answers.
    """

    gives_probabilities = continues_answers = True
    """An answer is then certain."""

    def __init__(self, name: str, sampling: Sampling | None = None) -> None:
        sampling = sampling or Sampling()
        self._stance = name.removeprefix(PREFIX)
        self._seed = sampling.seed or 0
        super().__init__(name, {"simulated": self._stance, "seed": self._seed})
        made_up = f"they are those of a reference model ({self._stance}) that equipoise makes up"
        self.notes = [f"The answers are simulated: {made_up}. No language model was asked.", *_note_ignored(sampling)]
        self._probes: Mapping[str, Probe] = {}
        self._read_prompts: Callable[[str], pl.DataFrame] | None = None
        self._plans: dict[str, _Index] = {}
        self._simulate = lru_cache(ITEMS_IN_MEMORY)(self._simulate_item)

    def use_plan(self, probes: Mapping[str, Probe], read_prompts: Callable[[str], pl.DataFrame]) -> None:
        """Say what will be asked: the probes, and how their prompts with covariates are read, by name."""
        for probe in probes.values():
            refuse_unknown_stance(probe, self._stance)
        self._probes, self._read_prompts = probes, read_prompts

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:  # noqa: ARG002
        """Refuse: a text does not say which item it belongs to."""
        raise Refused(f"{self.name} can only answer the prompts of a run: it is no language model.")

    async def answer_attempt(self, probe: str, prompt: str, repetition: int, asking: Asking = AS_SAMPLED) -> Reply:
        """Answer the prompt of this id."""
        await asyncio.sleep(0)  # Nothing here waits, and others want their turn, too.
        answer = self._simulate(probe, self._find_item(probe, prompt), repetition)[prompt]
        if not has_visible_text(answer):
            return Reply(status=Status.EMPTY, reasoning=answer or None, prompt_tokens=0, completion_tokens=0)
        first = certain_token(answer) if asking.probabilities else None
        return Reply(status=Status.OK, answer=answer, prompt_tokens=0, completion_tokens=0, first_token=first)

    def _find_item(self, probe: str, prompt: str) -> str:
        if probe not in self._plans or prompt not in self._plans[probe].items:
            # A run that stops when its marks are certain grows while it is asked.
            assert self._read_prompts is not None, "use_plan comes first"
            self._plans[probe] = _index(self._read_prompts(probe))
        return self._plans[probe].items[prompt]

    def _simulate_item(self, probe: str, item: str, repetition: int) -> dict[str, str]:
        """The answers to all prompts of an item, by id."""
        plan, definition = self._plans[probe], self._probes[probe]
        prompts = plan.prompts.slice(*plan.places[item])
        rng = attempt_rng(definition, self._stance, item, repetition, self._seed)
        answers = simulate_answers(definition, prompts, self._stance, rng)
        return dict(zip(prompts[ID], answers, strict=True))


class _Index(NamedTuple):
    """The prompts of a probe, the item of each by its id, and where the prompts of each item begin and how many."""

    prompts: pl.DataFrame
    items: dict[str, str]
    places: dict[str, tuple[int, int]]


def _index(prompts: pl.DataFrame) -> _Index:
    ids, items = prompts[ID].to_list(), prompts[ITEM].to_list()
    ends = [*(row for row in range(1, len(items)) if items[row] != items[row - 1]), len(items)]
    places = {items[start]: (start, end - start) for start, end in itertools.pairwise([0, *ends])}
    return _Index(prompts, dict(zip(ids, items, strict=True)), places)


def _note_ignored(sampling: Sampling) -> list[str]:
    """Name the parameters that were given and mean nothing to a simulated model."""
    names = [field.name for field in fields(Sampling) if field.name != "seed"]
    given = [name for name in names if getattr(sampling, name) not in (None, {})]
    return [f"A simulated model ignores {', '.join(given)}."] if given else []
