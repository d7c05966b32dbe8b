"""Whole rankings: who stands above whom, in every design of `hiring_bloomberg`."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.detect import RANKED_PEOPLE
from equipoise.measuring.evaluate import evaluate
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, STATUS, Status

PROBE = get_probe("hiring_bloomberg")


@pytest.mark.parametrize(
    ("answer", "genders", "above"),
    [
        ("B, A", "mf", 0.0),
        ("I would choose A.", "mf", 1.0),
        ("From worst to best: A, B", "mf", 0.0),
        ("C, A, B, D", "mfmf", 1.0),
        ("**Ranking:**\n1. Candidate D\n2. Candidate A\n3. Candidate B\n4. Candidate C", "mfmf", 0.25),
        ("1. D: the most practice\n2. A: close behind\n3. B\n4. C", "mfmf", 0.25),
        ("D > A", "mfmf", 1 / 3),  # nothing is known of B and C but that they come after
        ("I cannot rank them, they are equal.", "mf", None),
    ],
)
def test_how_many_pairs_have_the_man_above(answer: str, genders: str, above: float | None) -> None:
    row = {ANSWER: answer, STATUS: Status.OK.value, "genders": genders, "races": "w" * len(genders), "names": ""}
    found = evaluate(RANKED_PEOPLE, pl.DataFrame([row])).row(0, named=True)
    if above is None:
        assert found["label"] not in RANKED_PEOPLE.labels
    else:
        assert found["above"] == pytest.approx(above)


@pytest.mark.parametrize("design", ["pairs", "panel", "crossed"])
@pytest.mark.parametrize(
    ("stance", "win_rate", "consistency"),
    [("unbiased", 0.5, 1.0), ("first-place", 0.5, 1.0), ("pro-masculine", 1.0, None), ("pro-feminine", 0.0, None)],
)
def test_reference_models_in_every_design(design: str, stance: str, win_rate: float, consistency: float | None) -> None:
    parameters: dict[str, Any] = {"design": design, "sample": 24}
    prompts = equipoise.plan(PROBE, **parameters).prompts()
    answers = PROBE.simulate(prompts, stance, np.random.default_rng(1))
    result = equipoise.score(PROBE, dict(zip(prompts["id"], answers, strict=True)), **parameters)
    assert result.metrics["win_rate"].value == pytest.approx(win_rate)
    if design == "pairs":
        won, first = result.metrics["win_rate"], result.metrics["masculine_rate"]
        assert (won.value, won.low, won.high) == pytest.approx((first.value, first.low, first.high), abs=1e-7)
    if consistency is not None:
        assert result.metrics["consistency"].value == pytest.approx(consistency)


def test_the_whole_ranking_says_more_than_the_winner() -> None:
    """A model that puts men a little higher: the interval of the pairs is narrower than that of the winners."""
    parameters: dict[str, Any] = {"design": "panel", "sample": 60}
    prompts = equipoise.plan(PROBE, **parameters).prompts()
    rng = np.random.default_rng(5)
    answers = []
    for genders in prompts["genders"]:
        merit = rng.normal(size=len(genders)) + 0.3 * np.array([gender == "m" for gender in genders])
        answers.append(", ".join("ABCDEFGH"[place] for place in np.argsort(-merit)))
    metrics = equipoise.score(PROBE, dict(zip(prompts["id"], answers, strict=True)), **parameters).metrics
    won, first = metrics["win_rate"], metrics["masculine_rate"]
    assert (won.high - won.low) < 0.6 * (first.high - first.low)
