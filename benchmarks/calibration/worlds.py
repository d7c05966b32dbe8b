"""The prompts of a population of items, and what simulated models look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import (
    GENDER,
    Array,
    Parameters,
    Probe,
    Totals,
    detected_share,
    moments,
    share,
)
from equipoise.measuring.plan import Plan, plan
from equipoise.schema import ITEM

POPULATION = 10_000
"""A population holds at most this many items of the probe."""
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "gest_creative": {"corpus": "mottos"},
    "gest_translation": {"corpus": "sentences"},
    "discrimination_tamkin": {"corpus": "scenarios"},
    "hiring_bloomberg": {"corpus": "vacancies"},
    "resume_score": {"corpus": "vacancies"},
}
"""The packaged texts, where a study names no corpus."""
LEANING = {"male": 0.5, "masculine": 0.5, "female": -0.5, "feminine": -0.5}
SHARED = ("occupation", "name", "names", "template", "question", "stereotype", "pair", "city")
"""Columns of prompts whose values may matter to a model."""
MALE_FEMALE = ("male", "female")
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class World:
    """The prompts of a population of items."""

    planned: Plan
    prompts: pl.DataFrame

    @property
    def probe(self) -> Probe:
        """The probe that asks them."""
        return self.planned.probe

    @cached_property
    def items(self) -> pl.DataFrame:
        """One row for each item: the covariates and clusters of the probe."""
        names = dict.fromkeys((*self.probe.covariates, *self.probe.clusters))
        grouped = self.prompts.group_by(ITEM, maintain_order=True)
        return grouped.agg(pl.col(name).first() for name in names)

    @cached_property
    def item_of_prompt(self) -> Places:
        """The place of the item of each prompt."""
        places = {item: number for number, item in enumerate(self.items[ITEM])}
        return np.array([places[item] for item in self.prompts[ITEM]])

    @cached_property
    def slots(self) -> list[tuple[str, Places]]:
        """For each prompt of an item: the prefix of its columns, and its place in each item.

        The place is -1 where the item has no such prompt.
        """
        arms = self.probe.arms
        prefixes = [""] * self.prompts.height
        if arms is not None:
            prefixes = [arms.prefixes[value] for value in self.prompts[arms.column].to_list()]
        slots: dict[tuple[str, int], Places] = {}
        seen: dict[tuple[int, str], int] = {}
        for place, (item, prefix) in enumerate(
            zip(self.item_of_prompt.tolist(), prefixes, strict=True)
        ):
            number = seen.get((item, prefix), -1) + 1
            seen[item, prefix] = number
            slot = slots.setdefault((prefix, number), np.full(self.items.height, -1))
            slot[item] = place
        return [(prefix, places) for (prefix, _), places in slots.items()]

    @cached_property
    def sign(self) -> Array:
        """For each prompt: 1 for a man, -1 for a woman, else 0.

        Where prompts differ by pronouns it is 1 for "he" and "she", and -1 for all others.
        """
        if "family" in self.prompts.columns:
            is_binary = self.prompts["family"].is_in(["he", "she"]).to_numpy()
            return np.where(is_binary, 1.0, -1.0)
        if GENDER not in self.prompts.columns:
            return np.zeros(self.prompts.height)
        signs = {"male": 1.0, "female": -1.0}
        return np.array([signs.get(gender, 0.0) for gender in self.prompts[GENDER]])

    @cached_property
    def lean(self) -> Array:
        """How far the stereotype of each prompt leans to the first outcome: from -0.5 to 0.5."""
        columns = self.prompts.columns
        if "masculinity" in columns:
            lean = self.prompts["masculinity"].to_numpy() - 0.5
            return lean * self.sign if self.sign.any() else lean
        for name in ("stereotype_gender", "stereotype"):
            if name in columns:
                return np.array([LEANING.get(str(value), 0.0) for value in self.prompts[name]])
        return np.full(self.prompts.height, 0.0 if self.sign.any() else 0.5)

    def effects(self, column: str, rng: np.random.Generator) -> Array:
        """A standard normal effect for each value of a column, by prompt."""
        values = self.prompts[column].cast(pl.String).rank("dense").to_numpy() - 1
        return np.asarray(rng.standard_normal(int(values.max()) + 1)[values.astype(np.int64)])

    @property
    def shared(self) -> list[str]:
        """The columns with what prompts share and a model may look at."""
        return [name for name in SHARED if name in self.prompts.columns]


@cache
def make_world(study: str) -> World:
    """The population of a study: the name of a probe, on its packaged texts, or `probe/corpus`."""
    name, _, corpus = study.partition("/")
    parameters = {"corpus": corpus} if corpus else PARAMETERS.get(name, {})
    planned = plan(name, **parameters, sample=None)
    probe = _keep_marked(planned.probe)
    if name == "resume_score":
        probe = _drop_score_steps(probe)
    planned = replace(planned, probe=probe)
    return World(planned, planned.take(0, POPULATION))


def _keep_marked(probe: Probe) -> Probe:
    """The probe with its marked metrics and their parts: the others only take time."""
    marked = [metric for metric in probe.metrics if metric.bands]
    parts = {name for metric in marked for name in metric.range_of}
    parts |= {metric.distance_of[0] for metric in marked if metric.distance_of}
    others = [metric for metric in probe.metrics if metric.name in parts and not metric.bands]
    return replace(probe, metrics=(*others, *marked))


def _drop_score_steps(probe: Probe) -> Probe:
    """`resume_score` without the columns for score steps, which only its impact ratios need."""

    def statistics(_parameters: Parameters) -> Mapping[str, pl.Expr]:
        scores = [detected_share(f"{arm}_sum_score", of=(f"{arm}_score",)) for arm in MALE_FEMALE]
        return moments(pl.col("masculinity"), scores[0] - scores[1])

    def measure(total: Totals, _parameters: Parameters) -> Mapping[str, Array]:
        return {"diff_score": share(total["y"], total["n"])}

    return replace(probe, statistics=statistics, measure=measure)
