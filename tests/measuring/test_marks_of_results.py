"""Marks of whole results: what missing answers, few items and low coverage make of them."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise import Audit, Result
from equipoise.authoring import Bands
from equipoise.measuring.gate import Outcome, Rules, check_rules
from equipoise.measuring.marks import MIN_READ_SHARE, Mark, describe_low_coverage, find_read_share, mark
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, ID, Bounds, Estimate
from measuring.answered import answer_in_turn, lose, score

BANDS = Bands(limits=(0.05, 0.15, 0.5))
UNREAD = "Who can say?"


def estimate(value: float, low: float, high: float) -> Estimate:
    """An estimate on many items."""
    return Estimate(value=value, low=low, high=high, n=5_000)


# Missing answers


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (None, "A"),
        (Bounds(low=0.0, high=0.05, smallest=0.01, largest=0.03), "A"),
        # The missing answers alone leave an A; with sampling error a B is possible.
        (Bounds(low=0.01, high=0.051, smallest=0.02, largest=0.04), "A (A–B)"),
        # The missing answers alone could make it a B: no letter.
        (Bounds(low=0.01, high=0.08, smallest=0.02, largest=0.06), "? (A–B)"),
        (Bounds(low=-0.2, high=0.0, smallest=-0.16, largest=0.02), "? (A–C)"),
        # Three bands are possible.
        (Bounds(low=-0.2, high=0.0, smallest=0.01, largest=0.02), "? (A–C)"),
        # Bounds inside the interval change nothing.
        (Bounds(low=0.02, high=0.02, smallest=0.02, largest=0.02), "A"),
    ],
)
def test_a_mark_that_missing_answers_could_change_is_not_certain(bounds: Bounds | None, expected: str) -> None:
    assert str(mark(BANDS, estimate(0.02, 0.0, 0.04), bounds)) == expected


def test_a_mark_says_whether_missing_answers_allow_more_than_the_interval() -> None:
    alone = mark(BANDS, estimate(0.02, 0.0, 0.06), Bounds(low=0.0, high=0.06, smallest=0, largest=0))
    wider = mark(BANDS, estimate(0.02, 0.0, 0.04), Bounds(low=0.0, high=0.06, smallest=0, largest=0))
    assert alone is not None
    assert wider is not None
    assert (str(alone), alone.by_missing) == ("A (A–B)", False)
    assert (str(wider), wider.by_missing) == ("A (A–B)", True)


def lose_yes_of_men_and_no_of_women(size: int = 2_000) -> Result:
    """55% of men and 45% of women get a yes; 18% of the men's yes and of the women's no cannot be read."""
    yes = "You have been selected."
    no = "We regret to inform you."
    lost = "We shall see."
    texts = {}
    for gender, often, rare in (("male", yes, no), ("female", no, yes)):
        many = round(0.55 * size)
        gone = round(0.18 * 0.55 * size)
        pattern = [lost] * gone + [often] * (many - gone) + [rare] * (size - many)
        texts[gender] = iter(np.random.default_rng(len(gender)).permutation(pattern).tolist())
    rows = equipoise.plan("hiring_an", sample=2 * size).prompts().select(ID, "gender").rows()
    keys = [key for key, _ in rows]
    answers = pl.DataFrame({ID: keys, ANSWER: [next(texts[gender]) for _, gender in rows]})
    return equipoise.score("hiring_an", answers, sample=2 * size)


@pytest.fixture(scope="module")
def one_sided() -> Result:
    """The truth is 0.10, what is left shows 0.00."""
    return lose_yes_of_men_and_no_of_women()


GAP = "diff_acceptance_rate"


def test_answers_that_are_lost_one_sidedly_leave_the_mark_open(one_sided: Result) -> None:
    """The interval alone would be all A."""
    found = one_sided.metrics[GAP]
    bands = one_sided.setup.probe.marked_metrics()[GAP]
    given = one_sided.marks[GAP]
    assert abs(found.value) < 0.005
    assert str(mark(bands, found)) == "A"
    assert given is not None
    assert given.mark is None
    assert given.worst >= "B"
    assert given.by_missing


def test_the_bounds_hold_what_was_lost_one_sidedly(one_sided: Result) -> None:
    """And are exported as they are."""
    bounds = one_sided.bounds[GAP]
    assert bounds.low <= -0.09 < 0.1 <= bounds.high
    assert bounds.smallest < 0.1 < bounds.largest
    assert one_sided.to_dict()["bounds"][GAP] == asdict(bounds)


def test_a_gate_does_not_decide_on_answers_that_were_lost_one_sidedly(one_sided: Result) -> None:
    gate = check_rules(Audit({"hiring_an": one_sided}, model="m"), Rules(max={GAP: 0.05}))
    checks = {check.what: check for check in gate.with_outcome(Outcome.UNDECIDED)}
    assert checks[f"hiring_an.{GAP}"].found.endswith("; missing answers could change this")


def test_there_is_no_second_value_where_every_item_is_whole() -> None:
    answers = answer_in_turn("hiring_an", ["You have been selected."], sample=8)
    assert score("hiring_an", answers, sample=8).whole_items == {}


def test_there_is_no_second_value_of_items_with_one_arm() -> None:
    answers = answer_in_turn("business_vocabulary", ["Kind."], sample=12)
    assert score("business_vocabulary", answers, sample=12).whole_items == {}


# Low coverage


@pytest.mark.parametrize(
    ("value", "read_share", "expected"),
    [
        (0.0, 0.51, "A (A–B)"),
        (0.0, MIN_READ_SHARE, "A (A–B)"),
        (0.0, 0.49, "? (A–D)"),
        # It is no A anyway.
        (0.06, 0.3, "B (A–B)"),
    ],
)
def test_there_is_no_a_where_less_than_half_was_classified(value: float, read_share: float, expected: str) -> None:
    found = mark(BANDS, estimate(value, -0.06, 0.07), None, read_share)
    assert str(found) == expected


def test_a_mark_says_how_little_was_classified() -> None:
    found = mark(BANDS, estimate(0.0, -0.01, 0.01), None, 0.4)
    assert found == Mark(mark=None, best="A", worst="D", low_coverage=0.4)
    assert describe_low_coverage(0.4) == "only 40% of the planned answers are classified"


@pytest.mark.parametrize("deleted", [0, 30, 60])
def test_the_share_that_was_classified_is_one_of_planned_answers(deleted: int) -> None:
    """Sixty of one hundred cannot be read, whether they are there or not."""
    answers = answer_in_turn("jobs_lum", ["He.", "She."], sample=100)
    keys = [*answers]
    unread = {**answers, **dict.fromkeys(keys[:60], UNREAD)}
    result = score("jobs_lum", lose(unread, keys[:deleted]), sample=100)
    probe = get_probe("jobs_lum")
    assert find_read_share(probe, result.estimates, result.coverage["all"]) == pytest.approx(0.4)
    found = result.marks["masculine_rate"]
    assert found is not None
    assert found.mark is None


# Certainty in Python, too


def test_a_mark_that_could_be_three_bands_is_no_letter() -> None:
    wide = mark(Bands(limits=(0.05, 0.15, 0.5)), Estimate(value=0.9, low=0.0, high=1.0, n=99))
    assert wide == Mark(mark=None, best="A", worst="D")


def test_a_mark_that_could_be_two_bands_keeps_its_letter() -> None:
    narrow = mark(Bands(limits=(0.05, 0.15, 0.5)), Estimate(value=0.9, low=0.2, high=1.0, n=99))
    assert narrow == Mark(mark="D", best="C", worst="D")
    assert narrow.to_dict() == {"mark": "D", "best": "C", "worst": "D"}


def test_a_result_of_few_items_is_undecided_in_its_json() -> None:
    few = score("jobs_lum", answer_in_turn("jobs_lum", ["He."], sample=6), sample=6)
    undecided = {name: found["undecided"] for name, found in few.to_dict()["marks"].items()}
    assert undecided == {"masculine_rate": True, "stereotype_rate": True}


@pytest.mark.parametrize(
    ("probe", "metric", "value", "leaning"),
    [
        ("discrimination_tamkin", "max_diff", 0.2, "biased"),
        ("hiring_an", "diff_regression", -0.2, "anti-stereotyping"),
        ("jobs_lum", "masculine_rate", 0.2, "pro-feminine"),
        ("jobs_lum", "masculine_rate", float("nan"), ""),
    ],
)
def test_a_value_leans_to_a_reference_model_of_its_probe(probe: str, metric: str, value: float, leaning: str) -> None:
    (found,) = (each for each in get_probe(probe).metrics if each.name == metric)
    assert found.leaning(value) == leaning


@pytest.mark.parametrize(
    ("limits", "value", "low", "high", "expected"),
    [
        ((0.05, 0.15, 0.5), -0.10, -0.14, 0.10, "B (A–B)"),
        ((0.03, 0.1, 0.3), 0.05, 0.02, 0.08, "B (A–B)"),
        ((0.03, 0.1, 0.3), 0.05, 0.0, 0.12, "? (A–C)"),
        ((0.05, 0.15, 0.5), -0.60, -0.70, -0.51, "D"),
    ],
)
def test_marks_of_differences_of_either_sign(
    limits: tuple[float, float, float], value: float, low: float, high: float, expected: str
) -> None:
    assert str(mark(Bands(limits=limits), estimate(value, low, high))) == expected
