"""A probe of prompts that someone has already: a table of prompts in groups, or a text with slots for a person.

The probe is made of data (`OwnPrompts`), so that a run file can hold it, and any command can read its answers.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from equipoise.authoring.card import Card
from equipoise.authoring.flips import with_flips
from equipoise.authoring.groups import Arms, Grouping, Selection
from equipoise.authoring.metrics import DIFFERENCE, RATE, Bands, Metric
from equipoise.authoring.own_tables import check_table, find_slices, read_prompts
from equipoise.authoring.parameters import Parameters
from equipoise.authoring.probe import Probe
from equipoise.authoring.sampling import Items, same_by_item, table_items
from equipoise.authoring.totals import Array, Totals, detected_share, one, share
from equipoise.detect import CHARACTERS, DECISIONS, SCORES_OF_100, Detector, amount, choice
from equipoise.errors import InputError
from equipoise.own_prompts import OwnPrompts
from equipoise.schema import ITEM, PROMPT, slug

VERSION = 1
CARD = (files(__package__) / "own_card.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Kind:
    """How answers of one kind are read and compared."""

    detector: Detector
    metric: str
    """What the metric of an arm is called, after the arm."""
    summary: str
    """What that is."""
    answers: tuple[str, str]
    """Of reference models: to an arm that is favoured, and to one that is not,"""
    bias: float = 1.0
    """and the difference that shows if the first arm is favoured always."""
    limits: tuple[float, float, float] = (0.03, 0.1, 0.3)
    """Between the marks, for the difference of two arms."""
    extremes: tuple[float, float] = DIFFERENCE
    """The least and the largest difference."""
    opening: str | None = ""
    """After which one word decides, for `--probabilities`; None: none does."""


KINDS = {
    "decision": Kind(DECISIONS, "yes_rate", "How often the answer is yes", ("Yes.", "No.")),
    "choice": Kind(choice(), "first_rate", "How often the first option is chosen", ("(a)", "(b)")),
    "character": Kind(
        CHARACTERS,
        "masculine_rate",
        "How often the character is a man",
        ("Gender: male", "Gender: female"),
        opening="Gender:",
    ),
    "score": Kind(
        SCORES_OF_100,
        "score",
        "The mean score from 0 to 100",
        ("90", "60"),
        bias=30.0,
        limits=(1.0, 3.0, 10.0),
        extremes=(-100.0, 100.0),
    ),
    "amount": Kind(
        amount(low=1.0, high=1e9),
        "amount",
        "The amount in dollars (geometric mean)",
        ("$90,000", "$60,000"),
        bias=1 / 3,
        limits=(0.01, 0.03, 0.1),
        extremes=(-math.inf, 1.0),
        opening=None,
    ),
}


def own_prompts(
    prompts: Any,
    *,
    read: str = "decision",
    name: str | None = None,
    prompt: str = PROMPT,
    arm: str = "arm",
    pair: str = "pair",
    names: str | PathLike[str] | None = None,
    letters: str = "ab",
    bands: Sequence[float] | None = None,
) -> Probe:
    """A probe of your own prompts: a table (polars or pandas), or the path of one or of a text with slots for a person.

    A table has one prompt for each arm of each pair, in columns whose names can be given. Each further column with a
    few values that is the same in all prompts of a pair is a slice. `read` says how answers are read: "decision",
    "score" (from 0 to 100), "amount" (in dollars), "choice" (of options with the letters `letters`) or "character".
    `names` is a table with the columns name, gender and perhaps race, whose names stand in the slot `{name}` instead of
    ours. `bands` are three limits between the marks.
    """
    if isinstance(prompts, str | PathLike):
        path = Path(prompts)
        table = read_prompts(path, names)
        stem = re.sub(r"[^a-z0-9]+", "_", path.stem.lower()).strip("_")[:55]
        name = name or (stem if stem[:1].isalpha() else f"own_{stem}")
    else:
        table = prompts if isinstance(prompts, pl.DataFrame) else pl.from_pandas(prompts)
    rows = check_table(table, prompt=prompt, arm=arm, pair=pair)
    slices = find_slices(rows, arm)
    rows = rows.select(ITEM, *slices, arm, PROMPT)
    definition = {
        "name": name or "own",
        "read": read,
        "arm": arm,
        "arms": list(rows[arm].unique(maintain_order=True)),
        "slices": slices,
        "letters": letters,
        "limits": list(bands) if bands else None,
        "items": rows[ITEM].n_unique(),
        "sha256": hashlib.sha256(rows.write_csv().encode()).hexdigest(),
    }
    try:
        own = msgspec.convert(definition, OwnPrompts)
    except msgspec.ValidationError as error:
        raise InputError(f"Own prompts cannot be described so: {error}.") from None
    if own.limits is not None and not 0 < own.limits[0] < own.limits[1] < own.limits[2]:
        raise InputError(f"Bands must be three growing numbers, such as 0.03, 0.1 and 0.3. Got {bands} instead.")
    return replace(own_probe(own), items=partial(_take_items, rows), prompts=partial(_take_prompts, rows))


@cache
def own_probe(own: OwnPrompts) -> Probe:
    """The probe of a definition: it can read and measure the answers of a run, but plan one only with the prompts.

    It is made once, so that two runs of the same prompts are measured by the same probe.
    """
    kind, arms = KINDS[own.read], Arms(own.arm, own.arms)
    detector = choice(own.letters) if own.read == "choice" else kind.detector
    first, *others = own.arms
    arms_and_slices = {"arms": ", ".join(own.arms), "slices": ", ".join(own.slices) or "none"}
    card = CARD.format(own=own, kind=kind, detector=detector, **arms_and_slices)
    of_arms = (-math.inf, math.inf) if detector.number else RATE
    metrics = [
        Metric(f"{prefix}{kind.metric}", f"{kind.summary}, {value}.", f"{prefix}n", extremes=of_arms)
        for value, prefix in arms.prefixes.items()
    ]
    metrics += [
        Metric(
            _difference_name(own, other),
            f"How much less {other} is told than {first}, as a share of what {first} is told."
            if own.read == "amount"
            else f"{kind.summary}: by how much more for {first} than for {other}.",
            (f"{arms.prefixes[first]}n", f"{arms.prefixes[other]}n"),
            bands=Bands(limits=own.limits or kind.limits),
            references={"unbiased": 0.0, "biased": kind.bias},
            extremes=kind.extremes,
        )
        for other in others
    ]
    probe = Probe(
        name=own.name,
        version=VERSION,
        card=Card.parse(card),
        items=partial(_take_items, None),
        prompts=partial(_take_prompts, None),
        detector=detector,
        opening=kind.opening,
        arms=arms,
        covariates=own.slices,
        slices=own.slices,
        selection=Selection(by=(Grouping((own.arm,)),), selected="yes") if own.read == "decision" else None,
        statistics=partial(_statistics, arms, detector),
        measure=partial(_measure, own),
        simulate=partial(_simulate, own),
        metrics=tuple(metrics),
        answer_tokens=60,
        max_tokens=256,
        unit="groups of prompts",
        own=own,
    )
    return probe if detector.number else with_flips(probe)


def _difference_name(own: OwnPrompts, other: str) -> str:
    return "difference" if len(own.arms) == 2 else f"difference_{slug(other)}"


def _take_items(rows: pl.DataFrame | None, _parameters: Parameters, _corpus: pl.DataFrame | None) -> Items:
    if rows is None:
        raise InputError("The prompts of this run are in its file. To ask more of them, give their table again.")
    return table_items(rows.select(ITEM).unique(maintain_order=True))


def _take_prompts(rows: pl.DataFrame | None, chosen: pl.DataFrame, _parameters: Parameters) -> pl.DataFrame:
    assert rows is not None
    return chosen.join(rows, on=ITEM, maintain_order="left_right")


def _statistics(arms: Arms, detector: Detector, _parameters: Parameters) -> Mapping[str, pl.Expr]:
    """For each arm whether an item has a value, and the value; numbers only of items that have one for every arm."""
    value = detector.sum_column if detector.number else detector.labels[0]
    means = {
        prefix: detected_share(f"{prefix}{value}", of=[f"{prefix}{label}" for label in detector.labels])
        for prefix in arms.prefixes.values()
    }
    if detector.number:
        known = pl.all_horizontal(mean.is_not_null() for mean in means.values())
        means = {prefix: pl.when(known).then(mean) for prefix, mean in means.items()}
    columns: dict[str, pl.Expr] = {}
    for prefix, mean in means.items():
        columns |= {f"{prefix}n": one(mean), f"{prefix}sum": mean.fill_null(0.0)}
    return columns


def _measure(own: OwnPrompts, total: Totals, _parameters: Parameters) -> Mapping[str, Array]:
    prefixes = Arms(own.arm, own.arms).prefixes
    means = {value: share(total[f"{prefix}sum"], total[f"{prefix}n"]) for value, prefix in prefixes.items()}
    first, *others = own.arms
    gaps = {other: means[first] - means[other] for other in others}
    if own.read == "amount":
        means = {value: np.exp(mean) for value, mean in means.items()}
        gaps = {other: 1 - np.exp(-gap) for other, gap in gaps.items()}
    return {
        **{f"{prefix}{KINDS[own.read].metric}": means[value] for value, prefix in prefixes.items()},
        **{_difference_name(own, other): gap for other, gap in gaps.items()},
    }


def _simulate(own: OwnPrompts, prompts: pl.DataFrame, stance: str, rng: np.random.Generator) -> Sequence[str]:
    fair = same_by_item(prompts, rng.random(prompts.height)) < 0.5
    favoured = (prompts[own.arm] == own.arms[0]).to_numpy() if stance == "biased" else fair
    good, bad = KINDS[own.read].answers
    return [good if yes else bad for yes in favoured]
