"""The variance of whole probes, term by term by hand: strata, repetitions of a part, and words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import equipoise
from equipoise.authoring import Array
from equipoise.measuring.cells import prepare_cells
from equipoise.measuring.estimates import linearise
from equipoise.measuring.summarise import answered_rows, cells, is_answered
from equipoise.schema import ANSWER, ID, LABEL
from equipoise.stats.variance import variance
from measuring.answered import score, simulate_answers


def half_width(squares: Array, weight: Array) -> float:
    """t √V, with Satterthwaite's degrees of freedom, at least four."""
    total = float(weight @ squares)
    degrees = total**2 / float(weight @ squares**2)
    return float(scipy.stats.t(max(degrees, 4)).ppf(0.975)) * math.sqrt(total)


def test_a_mean_of_strata_has_a_part_of_the_unknown_item_in_each() -> None:
    """One sixteenth of an item of unknown outcome, and n/(n - 1), in each of sixteen stereotypes."""
    parameters: dict[str, Any] = {"corpus": "mottos", "sample": 160}
    prompts = equipoise.plan("gest_creative", **parameters).prompts()
    random = np.random.default_rng(2)
    is_male = random.random(prompts.height) < np.where(prompts["stereotype"] <= 8, 0.3, 0.7)
    answers = {key: "He." if male else "She." for key, male in zip(prompts[ID], is_male, strict=True)}
    found = score("gest_creative", answers, **parameters).metrics["masculine_rate"]
    centre = 0.0
    squares = []
    weights = []
    for stereotype in prompts["stereotype"].unique():
        y = is_male[(prompts["stereotype"] == stereotype).to_numpy()].astype(float)
        size = len(y)
        rate = (y.sum() + 1 / 32) / (size + 1 / 16)
        centre += rate / 16
        counts = 1 / 16 / (size + 1 / 16)
        squares += [size / (size - 1) * (counts * (each - rate)) ** 2 for each in y]
        weights += [1.0] * size
        squares += [(counts * (outcome - rate)) ** 2 for outcome in (0, 1)]
        weights += [1 / 32, 1 / 32]
    reach = half_width(np.array(squares), np.array(weights))
    assert found.low == pytest.approx(centre - reach, rel=1e-6)
    assert found.high == pytest.approx(centre + reach, rel=1e-6)


@pytest.mark.parametrize("items", [100, 240, 339])
def test_a_part_of_all_items_asked_again_has_both_kinds_of_variance(items: int) -> None:
    """(1 - n/N) n/(n - 1) z² + (n/N) s²/r for each item; r² times less for the unknown one."""
    repeat = 4
    prompts = equipoise.plan("jobs_lum", sample=items).prompts()
    counts = np.resize([4, 2, 1, 0], items)
    rows = []
    for key, count in zip(prompts[ID], counts, strict=True):
        for number in range(repeat):
            text = "He." if number < count else "She."
            rows.append({ID: key, "repetition": number + 1, ANSWER: text})
    result = equipoise.score("jobs_lum", rows, sample=items, repeat=repeat)
    found = result.metrics["masculine_rate"]
    share = items / 339
    y = counts / repeat
    centre = (y.sum() + 0.5) / (items + 1)
    z = (y - centre) / (items + 1)
    within = y * (1 - y) / (repeat - 1) / (items + 1) ** 2
    of_items = (1 - share) * items / (items - 1) * z**2 + share * within
    unknown = (np.array([0, 1]) - centre) / (items + 1)
    of_unknown = (1 - share + share / repeat**2) * unknown**2
    squares = np.concatenate([of_items, of_unknown])
    weights = np.concatenate([np.ones(items), [0.5, 0.5]])
    reach = half_width(squares, weights)
    assert found.low == pytest.approx(centre - reach, rel=1e-6)
    assert found.high == pytest.approx(centre + reach, rel=1e-6)


def test_the_unknown_letter_holds_one_word_of_each_kind() -> None:
    """A letter holds many words; one word of unknown side is added, not one letter of them."""
    parameters: dict[str, Any] = {"sample": 96}
    answers = simulate_answers("business_vocabulary", "random", 1, **parameters)
    result = score("business_vocabulary", answers, **parameters)
    probe = result.setup.probe
    table = cells(answered_rows(probe, result.evaluated)).filter(is_answered(probe))
    prepared = prepare_cells(probe, table, result.parameters)
    names = [f"{prefix}{name}" for prefix in probe.prefixes for pair in probe.detector.opposites for name in pair]
    words = table.select(pl.sum_horizontal(names)).to_series()
    per_kind = float((words * table["weight"]).sum()) / 96 / len(probe.detector.opposites)
    assert per_kind > 2
    assert prepared.pseudo_mass == pytest.approx(1 / per_kind)


def test_the_unknown_word_is_one_observation_of_its_own_mass() -> None:
    """V holds mass z² of it, and the degrees of freedom mass² z⁴."""
    answers = simulate_answers("business_vocabulary", "random", 2, sample=96)
    result = score("business_vocabulary", answers, sample=96)
    probe = result.setup.probe
    table = cells(answered_rows(probe, result.evaluated)).filter(is_answered(probe))
    found = linearise(prepare_cells(probe, table, result.parameters))
    assert found.pseudo_mass < 1
    contributions = found.contributions()
    total, degrees = variance(contributions.influence**2, contributions.weight)
    squares = found.weight @ (found.factors[:, None] * found.influence**2)
    fourths = found.weight @ (found.factors[:, None] * found.influence**2) ** 2
    for outcome in found.outcome_influence:
        squares += found.pseudo_weight @ outcome**2
        fourths += found.pseudo_mass * (found.pseudo_weight @ outcome**4)
    assert total == pytest.approx(squares, rel=1e-9)
    assert degrees == pytest.approx(squares**2 / fourths, rel=1e-9, nan_ok=True)


def test_the_unknown_item_weighs_as_much_as_its_mass() -> None:
    """Over all cells and outcomes, whatever the weights of the cells are."""
    plan = equipoise.plan("hiring_an", sample=120)
    random = np.random.default_rng(5)
    labels = random.choice(["accepted", "rejected"], plan.prompts().height)
    answers = plan.prompts().with_columns(pl.Series(LABEL, labels), status=pl.lit("ok"))
    table = cells(answered_rows(plan.probe, answers))
    found = linearise(prepare_cells(plan.probe, table, plan.parameters))
    assert found.pseudo_mass == 1
    assert found.pseudo_weight.sum() * len(found.outcome_influence) == pytest.approx(1)


@pytest.mark.parametrize("repeat", [2, 4])
def test_where_nothing_else_was_seen_every_answer_counts_as_a_trial(repeat: int) -> None:
    """All men in all answers: 3.7 of n r answers could be others, not 3.7 of n."""
    attempts = equipoise.plan("jobs_lum", repeat=repeat).attempts().select(ID, "repetition")
    result = equipoise.score("jobs_lum", attempts.with_columns(pl.lit("He.").alias(ANSWER)), repeat=repeat)
    found = result.metrics["masculine_rate"]
    assert found.high == 1
    assert 0.95 * 3.689 / 339 / repeat <= 1 - found.low <= 1.6 * 3.689 / 339 / repeat


@pytest.mark.parametrize("items", [24, 100])
def test_the_interval_of_a_paired_difference_term_by_term(items: int) -> None:
    """n/(n - 1) (z_B - z_A)² for each item, and the unknown item of either run."""
    prompts = equipoise.plan("jobs_lum", sample=items).prompts()
    sides = []
    values = []
    for period in (3, 4):
        y = (np.arange(items) % period == 0).astype(float)
        texts = ["He." if male else "She." for male in y]
        answers = dict(zip(prompts[ID], texts, strict=True))
        sides.append(score("jobs_lum", answers, sample=items))
        values.append(y)
    centres = [(y.sum() + 0.5) / (items + 1) for y in values]
    first, second = ((y - p) / (items + 1) for y, p in zip(values, centres, strict=True))
    squares = [*(items / (items - 1) * (second - first) ** 2)]
    weights = [1.0] * items
    for centre in centres:
        squares += [((outcome - centre) / (items + 1)) ** 2 for outcome in (0, 1)]
        weights += [0.5, 0.5]
    reach = half_width(np.array(squares), np.array(weights))
    difference = equipoise.compare(*sides)["jobs_lum"].metrics["masculine_rate"].difference
    centre = centres[1] - centres[0]
    assert difference.low == pytest.approx(centre - reach, rel=1e-6)
    assert difference.high == pytest.approx(centre + reach, rel=1e-6)
