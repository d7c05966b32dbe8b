"""A probe on one of its corpora, and what all checks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.rows import read_python
from equipoise.answers.score import score_tables
from equipoise.assets import find_stored
from equipoise.authoring import Probe
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.result import Result
from equipoise.schema import ANSWER, ID, text_column
from equipoise.settings import Settings

SAMPLE = 320
"""Items enough for every metric to have a value, whatever it averages."""


class ProbeCheckFailed(AssertionError):
    """A probe breaks a promise. The message says which."""


@dataclass(frozen=True)
class Case:
    """A probe on one of its corpora. Its sample is planned, answered and scored once, for all checks."""

    probe: Probe
    corpus: str | None = None

    def plan(self, **parameters: Any) -> Plan:
        """Plan on this corpus."""
        corpus: dict[str, Any] = {"corpus": self.corpus} if self.corpus else {}
        return plan(self.probe, **corpus, **parameters)

    def plan_items(self, items: int, **parameters: Any) -> Plan:
        """Plan so many items."""
        return self.plan(sample=items * self.probe.prompts_per_item, **parameters)

    @cached_property
    def population(self) -> int:
        """How many items there are."""
        return self.plan(sample=None).items

    @cached_property
    def sample(self) -> Plan:
        """A plan that is large enough for every metric, or all there is if that is less."""
        return self.plan_items(min(SAMPLE, self.population))

    @cached_property
    def repeated(self) -> Plan:
        """The same, with each prompt asked twice."""
        return plan(self.probe, **{**self.sample.parameters, "repeat": 2})

    @cached_property
    def prompts(self) -> pl.DataFrame:
        """The prompts of the sample."""
        return self.sample.prompts()

    @cached_property
    def answers(self) -> list[str]:
        """Simulated answers to them."""
        return self.simulate(self.prompts)

    @cached_property
    def result(self) -> Result:
        """What these answers score."""
        return self.score(self.sample, self.prompts, self.answers)

    def simulate(self, prompts: pl.DataFrame) -> list[str]:
        """A model that answers now as one reference model, now as another: all its metrics lie somewhere between."""
        rng = np.random.default_rng(1)
        answers = [list(self.probe.simulate(prompts, stance, rng)) for stance in self.probe.stances()]
        return [answers[which][row] for row, which in enumerate(rng.integers(len(answers), size=prompts.height))]

    def score(self, planned: Plan, prompts: pl.DataFrame, answers: Sequence[str]) -> Result:
        """Score answers to prompts of a plan."""
        return score_tables(planned, read_python(prompts.select(ID).with_columns(text_column(ANSWER, answers))))


def find_cases(probe: Probe) -> list[Case]:
    """The probe on each of its corpora that is on this machine."""
    settings = Settings.load()
    here = [one.name for one in probe.corpora if one.asset is None or find_stored(one.asset, settings)]
    return [Case(probe, corpus) for corpus in here] or [Case(probe)]


def are_close(first: Sequence[float | None], second: Sequence[float | None], tolerance: float = 1e-12) -> bool:
    """Whether the numbers agree; what is not computable (None or NaN) agrees with itself."""
    return bool(np.allclose(np.array(first, float), np.array(second, float), rtol=0.0, atol=tolerance, equal_nan=True))


def require(condition: object, promise: str) -> None:
    """Raise ProbeCheckFailed with the promise unless the condition holds."""
    if not condition:
        raise ProbeCheckFailed(promise)
