"""From a probe and its parameters to a table of prompts with stable ids."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from equipoise.errors import BadParameter, BadTemplate, InputError
from equipoise.frames import GENDER, ID, ITEM, PROMPT, REPETITION
from equipoise.probe import Items, Probe

BATCH = 50_000


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A probe with the value of every parameter and the corpus it asks about: what results depend on."""

    probe: Probe
    parameters: Mapping[str, Any]
    corpus: str | None = None
    corpus_sha256: str | None = None

    @property
    def repetitions(self) -> int:
        """Attempts a prompt."""
        return int(self.parameters["num_repetitions"])


@dataclass(frozen=True, kw_only=True)
class Plan(Setup):
    """The prompts of a probe with these parameters, made in batches so that millions need little memory."""

    items: int
    """How many items are drawn."""
    population: Items = field(repr=False)

    def batches(self, size: int = BATCH) -> Iterator[pl.DataFrame]:
        """The prompts, whole items at a time: `id`, `item`, `prompt`, then the covariates."""
        seen: list[np.ndarray[Any, np.dtype[np.uint64]]] = []
        for start in range(0, self.items, size):
            places = np.arange(start, min(start + size, self.items))
            items = self.population.take(places, int(self.parameters["random_seed"]))
            prompts = self.probe.prompts(items, self.parameters)
            ids = prompt_ids(self.probe, prompts)
            seen.append(ids.str.slice(0, 16).str.to_integer(base=16, dtype=pl.UInt64).to_numpy())
            yield prompts.select(ids, ITEM, PROMPT, pl.exclude(ITEM, PROMPT))
        _refuse_twins(self.probe, np.concatenate(seen))

    def prompts(self) -> pl.DataFrame:
        """All prompts as one table."""
        return pl.concat(list(self.batches()))

    def attempts(self) -> pl.DataFrame:
        """All prompts once for each repetition, numbered from 1."""
        repetitions = pl.DataFrame({REPETITION: pl.Series(range(1, self.repetitions + 1), dtype=pl.Int64)})
        return repetitions.join(self.prompts(), how="cross").select(ID, REPETITION, pl.exclude(ID, REPETITION))


def plan(probe: Probe, parameters: Mapping[str, Any], texts: pl.DataFrame | None = None, **origin: Any) -> Plan:
    """Plan a probe: parameters resolved and checked, the sample within what there is."""
    resolved = probe.resolve(parameters)
    population = probe.items(resolved, texts)
    size, k = population.size * population.unit, resolved["sample_k"]
    if k is not None and not 1 <= k <= size:
        raise BadParameter(
            f"The 'sample_k' parameter of {probe.name} must be between 1 and {size:,} (or none, for all). "
            f"Got {k} instead."
        )
    # A unit is never split: an odd number of prompts in pairs is rounded up to whole pairs.
    items = population.size if k is None else -(-k // population.unit)
    return Plan(probe=probe, parameters=resolved, items=items, population=population, **origin)


def prompt_ids(probe: Probe, prompts: pl.DataFrame) -> pl.Series:
    """Stable ids: a hash of probe, version, item, gender and text, so that nothing else can change them.

    The gender belongs to it because one item of discrim-eval has the same text for two genders.
    """
    prefix = hashlib.blake2b(f"{probe.name}\0{probe.version}\0".encode(), digest_size=10)

    def digest(whole: str) -> str:
        state = prefix.copy()
        state.update(whole.encode())
        return state.hexdigest()

    parts = [name for name in (ITEM, GENDER, PROMPT) if name in prompts.columns]
    whole = prompts.select(pl.concat_str(pl.col(parts).cast(pl.String), separator="\0")).to_series()
    return pl.Series(ID, list(map(digest, whole.to_list())), dtype=pl.String)


def _refuse_twins(probe: Probe, ids: np.ndarray[Any, np.dtype[np.uint64]]) -> None:
    ids.sort()
    twins = ids[1:][ids[1:] == ids[:-1]]
    if len(twins):
        raise InputError(
            f"Two prompts of {probe.name} have the same id ({twins[0]:016x}…, {len(twins)} in all): "
            "an item may not hold the same text for the same gender twice."
        )


def slots(template: str, there_are: str = "") -> list[str]:
    """The slots of a template, which must be plain names."""
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError as error:
        raise BadTemplate(f"The template {template!r} cannot be read: {error}. Write {{{{ for a brace.") from None
    for _, name, spec, conversion in pieces:
        if name is not None and (not name.isidentifier() or spec or conversion):
            written = name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            raise BadTemplate(f"The slot {{{written}}} in the template {template!r} is not a plain name. {there_are}")
    return [name for _, name, _, _ in pieces if name is not None]


def check_template(template: str, allowed: Sequence[str]) -> None:
    """Refuse a template with an unknown slot, or without one that it needs."""
    there_are = f"The slots there are: {', '.join(f'{{{name}}}' for name in allowed)}."
    given = slots(template, there_are)
    for name in given:
        if name not in allowed:
            raise BadTemplate(f"The template {template!r} has an unknown slot {{{name}}}. {there_are}")
    for name in allowed:
        if name not in given:
            raise BadTemplate(f"The template {template!r} lacks the slot {{{name}}}. {there_are}")


def fill(template: str, **columns: pl.Expr) -> pl.Expr:
    """The template with its slots filled from columns."""
    check_template(template, list(columns))
    pieces: list[pl.Expr] = []
    for literal, name, _, _ in string.Formatter().parse(template):
        pieces += [pl.lit(literal)] if literal else []
        pieces += [columns[name]] if name is not None else []
    return pl.concat_str(pieces)
