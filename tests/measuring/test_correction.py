"""Correcting a metric for a known error of the detector: it removes the bias, and its interval covers the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.authoring import Bands, Metric, Probe, detected_share
from equipoise.measuring import correction
from equipoise.measuring.correction import ErrorCounts, correct_detector, correct_metrics, count_errors
from equipoise.measuring.plan import plan
from equipoise.measuring.summarise import WEIGHT
from equipoise.probes import get_probe
from equipoise.schema import Estimate

HIRING = get_probe("hiring_an")
PARAMETERS = HIRING.resolve({})
RIGHT = (0.85, 0.92)
"""The sensitivity and the specificity of the detector that is simulated."""


def rates(_parameters: Any) -> Mapping[str, pl.Expr]:
    shares = {arm: detected_share(f"{arm}_accepted", of=(f"{arm}_accepted", f"{arm}_rejected")) for arm in ARMS}
    columns = {f"{arm}_{name}": column for arm, share in shares.items() for name, column in count(share).items()}
    return {**columns, "n": pl.lit(1.0)}


def count(share: pl.Expr) -> dict[str, pl.Expr]:
    return {"n": share.is_not_null(), "y": share.fill_null(0.0)}


ARMS = ("male", "female")
PAIRS = replace(
    HIRING,
    covariates=(),
    slices=(),
    clusters=(),
    statistics=rates,
    measure=lambda total, _: {"difference": total.male_y / total.male_n - total.female_y / total.female_n},
    metrics=(Metric(name="difference", summary="", bands=Bands(limits=(0.1, 0.2, 0.3))),),
)
"""Pairs of a man and a woman, without anything else: simulated in an instant."""


def read_with_errors(
    accepted: Mapping[str, float], right: Mapping[str, tuple[float, float]], seed: int, pairs: int = 200
) -> pl.DataFrame:
    """Cells of applicants who are accepted with these chances, and read by a detector with these errors."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for arm in ARMS:
        truth = rng.random(pairs) < accepted[arm]
        correct = rng.random(pairs) < np.where(truth, *right[arm])
        read = (truth == correct).astype(np.uint32)
        columns |= {f"{arm}_accepted": read, f"{arm}_rejected": 1 - read, f"{arm}_attempts": 1, f"{arm}_missing": 0}
    return pl.DataFrame(columns).group_by(pl.all()).len(WEIGHT).cast({WEIGHT: pl.Int64}).sort(pl.all())


def label_by_hand(right: tuple[float, float], n: int, rng: np.random.Generator) -> ErrorCounts:
    first, second = (int(rng.binomial(n, share)) for share in right)
    return ErrorCounts(n, first, n, second)


def correct(table: pl.DataFrame, errors: Mapping[str, ErrorCounts], replicates: int = 200) -> Estimate:
    return correct_metrics(PAIRS, table, PARAMETERS, errors, replicates)["difference"]


def test_a_known_error_is_taken_out_of_the_difference_and_the_interval_covers() -> None:
    truth, values, covered = 0.3, [], 0
    for seed in range(60):
        table = read_with_errors({"male": 0.7, "female": 0.4}, {"male": RIGHT, "female": RIGHT}, seed)
        errors = label_by_hand(RIGHT, 60, np.random.default_rng(1_000 + seed))
        found = correct(table, {"male_": errors, "female_": errors})
        values.append(found.value)
        covered += found.low <= truth <= found.high
    assert np.mean(values) == pytest.approx(truth, abs=0.02)  # as read it would be 0.3 * 0.77 = 0.23
    assert covered >= 54  # 95% of 60 is 57; 53 or fewer have a chance of 3%


def test_errors_that_differ_between_men_and_women_make_no_difference_where_there_is_none() -> None:
    right = {"male": (0.95, 0.95), "female": (0.75, 0.95)}
    exact = {f"{arm}_": ErrorCounts(10**6, round(10**6 * a), 10**6, round(10**6 * b)) for arm, (a, b) in right.items()}
    tables = [read_with_errors({"male": 0.6, "female": 0.6}, right, seed, 1_000) for seed in range(15)]
    assert np.mean([correct(table, exact, 20).value for table in tables]) == pytest.approx(0.0, abs=0.02)
    none = dict.fromkeys(("male_", "female_"), ErrorCounts(10**6, 10**6, 10**6, 10**6))
    assert np.mean([correct(table, none, 20).value for table in tables]) > 0.08


def test_fewer_labelled_answers_make_a_wider_interval() -> None:
    table = read_with_errors({"male": 0.8, "female": 0.3}, {"male": RIGHT, "female": RIGHT}, 1)
    many, few = (
        correct(table, dict.fromkeys(("male_", "female_"), ErrorCounts(n, round(0.9 * n), n, round(0.9 * n))), 2_000)
        for n in (10_000, 20)
    )
    assert few.high - few.low > 1.3 * (many.high - many.low)


def stereotyped(probe: str, **parameters: Any) -> equipoise.Result:
    planned = plan(probe, **parameters)
    prompts = planned.prompts()
    stance = next(stance for stance in planned.probe.stances() if stance != "unbiased")
    answers = planned.probe.simulate(prompts, stance, np.random.default_rng(1))
    return equipoise.score(probe, dict(zip(prompts["id"], answers, strict=True)), **parameters)


@pytest.mark.parametrize(
    ("probe", "parameters"),
    [
        ("hiring_an", {"sample": 32}),
        ("jobs_lum", {"sample": 32}),
        ("gest_creative", {"sample": 48, "corpus": "mottos"}),
        ("discrimination_tamkin", {"sample": 21, "corpus": "scenarios"}),
    ],
)
def test_without_errors_every_marked_metric_stays_what_it_is(
    monkeypatch: pytest.MonkeyPatch, probe: str, parameters: dict[str, Any]
) -> None:
    result = stereotyped(probe, **parameters)
    perfect = dict.fromkeys(result.setup.probe.prefixes, ErrorCounts(40, 40, 40, 40))
    monkeypatch.setattr(correction, "count_errors", lambda _: perfect)
    corrected = correct_detector(result)
    assert corrected.keys() == result.marks.keys()
    for name, estimate in corrected.items():
        assert estimate.value == pytest.approx(result.metrics[name].value, abs=1e-9)


def with_labelled(probe: Probe, monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, str]]) -> dict[str, ErrorCounts]:
    common = {"split": "held", "kind": "ordinary"}
    monkeypatch.setattr(correction, "read_labelled", lambda _: [{**common, **row} for row in rows])
    return count_errors(probe)


YES = {"answer": "You have been selected.", "label": "accepted"}
NO = {"answer": "We regret to inform you.", "label": "rejected"}
FLIPPED = {**YES, "label": "rejected"}


def test_errors_are_counted_by_arm_where_the_labels_say_to_which_an_answer_belongs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    probe = HIRING.read_by("specified")
    men, women = [YES] * 12 + [NO] * 10, [YES] * 12 + [NO] * 9 + [FLIPPED] * 3
    rows = [{**row, "gender": gender} for gender, own in (("male", men), ("female", women)) for row in own]
    assert with_labelled(probe, monkeypatch, rows) == {
        "male_": ErrorCounts(12, 12, 10, 10),
        "female_": ErrorCounts(12, 12, 12, 9),
    }
    together = ErrorCounts(24, 24, 22, 19)
    assert with_labelled(probe, monkeypatch, men + women) == {"male_": together, "female_": together}


def test_too_few_labelled_answers_and_words_give_no_correction(monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_labelled(HIRING.read_by("specified"), monkeypatch, [YES] * 30 + [NO] * 9) == {}
    assert count_errors(get_probe("business_vocabulary")) == {}


def test_a_metric_that_is_not_linear_in_what_was_read_is_left_out() -> None:
    def squared(parameters: Any) -> Mapping[str, pl.Expr]:
        return {**rates(parameters), "male_y": rates(parameters)["male_y"] ** 2}

    table = read_with_errors({"male": 0.7, "female": 0.4}, {"male": RIGHT, "female": RIGHT}, 1)
    errors = dict.fromkeys(("male_", "female_"), ErrorCounts(60, 50, 60, 55))
    assert correct_metrics(PAIRS, table, PARAMETERS, errors, 20)
    assert not correct_metrics(replace(PAIRS, statistics=squared), table, PARAMETERS, errors, 20)
