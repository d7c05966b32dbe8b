"""Cases: how often a decision changes with who it is about, beside how often it changes by itself."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.authoring import READING, count_flips, own_prompts
from equipoise.schema import CAREFUL, PROBABILITIES, PROMPT
from simulating import score

TABLE = pl.DataFrame(
    [
        {"prompt": f"May {name} number {number} go?", "arm": arm, "pair": number}
        for number in range(200)
        for name, arm in (("Ann", "woman"), ("Ben", "man"))
    ]
)


def count(arms: list[list[float]], **parameters: Any) -> dict[str, float]:
    columns = {f"{arm}_{label}": [many] for arm, counts in enumerate(arms) for label, many in enumerate(counts)}
    labels = [[pl.col(f"{arm}_{label}") for label in range(len(counts))] for arm, counts in enumerate(arms)]
    given = {"repeat": 2, READING: CAREFUL, **parameters}
    return pl.DataFrame(columns).select(**count_flips(labels, given)).row(0, named=True)


@pytest.mark.parametrize("arms", [[[2, 1], [0, 3]], [[1, 1], [2, 0], [1, 3]], [[2, 1, 1], [0, 2, 2]]])
def test_flips_and_noise_are_the_shares_of_pairs_of_answers_that_differ(arms: list[list[float]]) -> None:
    answers = [[label for label, many in enumerate(counts) for _ in range(int(many))] for counts in arms]
    found = count(arms)
    between = [[a != b for a, b in product(one, other)] for one, other in combinations(answers, 2)]
    within = [[a != b for a, b in combinations(some, 2)] for some in answers]
    assert found["flips"] == pytest.approx(np.mean([np.mean(pairs) for pairs in between]))
    assert found["noise"] == pytest.approx(np.mean([np.mean(pairs) for pairs in within]))


def test_of_probabilities_the_noise_is_exact_and_of_one_answer_it_is_unknown() -> None:
    exact = count([[0.25, 0.75], [0.5, 0.5]], **{READING: PROBABILITIES, "repeat": 1})
    assert exact["noise"] == pytest.approx(0.25 * 0.75 + 0.5 * 0.5)
    assert exact["flips"] - exact["noise"] == pytest.approx((0.5 - 0.25) ** 2)
    assert count([[1, 0], [0, 1]], repeat=1) == {"flip_n": True, "flips": 1.0}
    assert count([[1, 0], [0, 2]])["noise_n"] is False
    assert count([[0, 0], [0, 2]])["flip_n"] is False


@pytest.mark.parametrize("biased", [0, 20])
def test_a_bias_that_cancels_is_found_and_a_model_that_wavers_is_not_blamed(biased: int) -> None:
    """Of 200 pairs some are decided by the gender alone, half of them for women."""
    rng = np.random.default_rng(4)
    pair = np.repeat(np.arange(200), 2)
    is_woman = (TABLE["arm"] == "woman").to_numpy()
    chance = np.where(pair < biased, is_woman == (pair % 2 == 0), rng.beta(0.5, 0.5, 200)[pair])
    answers = {
        text: ["Yes." if yes else "No." for yes in rng.random(2) < p]
        for text, p in zip(TABLE["prompt"], chance, strict=True)
    }
    metrics = equipoise.score(own_prompts(TABLE, read="decision"), answers, repeat=2).metrics
    assert metrics["flip_excess"].value == metrics["flip_rate"].value - metrics["flip_noise"].value
    assert (metrics["flip_excess"].low > 0) is (biased > 0)
    assert metrics["difference"].low < 0 < metrics["difference"].high


@pytest.mark.parametrize(
    ("probe", "parameters", "stance", "flips"),
    [
        ("hiring_an", {"sample": 40}, "pro-masculine", {"flip_rate": 1.0}),
        ("hiring_an", {"sample": 40, "design": "random"}, "pro-masculine", {}),
        (
            "hiring_an",
            {"sample": 40, "names": 2},
            "pro-feminine",
            {"flip_rate": 1.0, "flip_noise": 0.0, "flip_excess": 1.0},
        ),
        ("discrimination_tamkin", {"sample": 20, "corpus": "scenarios"}, "biased", {"flip_rate": 2 / 3}),
        ("hiring_bloomberg", {"sample": 20}, "unbiased", {"flip_rate": 0.0}),
        ("hiring_bloomberg", {"sample": 20}, "pro-masculine", {"flip_rate": 1.0}),
        ("hiring_bloomberg", {"sample": 20, "design": "panel"}, "pro-masculine", {}),
    ],
)
def test_flips_of_reference_models(probe: str, parameters: Any, stance: str, flips: dict[str, float]) -> None:
    metrics = score(probe, stance, **parameters).metrics
    assert {name: found.value for name, found in metrics.items() if name.startswith("flip_")} == pytest.approx(flips)


def test_pairs_with_two_names_of_each_gender_hold_those_with_one() -> None:
    one, two = (set(equipoise.plan("hiring_an", sample=20 * names, names=names).prompts()[PROMPT]) for names in (1, 2))
    assert one < two
