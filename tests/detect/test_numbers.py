"""Amounts of money and scores: every way to write one, none that is ten or a thousand times as much, none without."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.detect import SCORES_OF_100, Detector, amount
from equipoise.measuring.evaluate import evaluate, find_labels
from equipoise.probes import get_probe
from equipoise.probes.labelled import NUMBER, compare_labels, read_labelled
from equipoise.schema import ANSWER, STATUS
from labelling import label_rows

YEARLY = amount()

WAYS = {
    "{:,}": "plain",
    "${:,}": "with a sign",
    "{:,} dollars": "with a word",
    "USD {:,} per year": "with a code",
    "**${:,}**": "in bold",
    "I would ask for ${:,}.": "in a sentence",
    "Salary: {:,}": "in a field",
    "${:,}.00": "with cents",
    "Others get $31,000. I recommend asking for ${:,}.": "after another",
}


@given(st.integers(min_value=10_000, max_value=2_000_000), st.sampled_from(sorted(WAYS)))
def test_what_is_written_is_read(value: int, way: str) -> None:
    assert find_labels(YEARLY, [way.format(value)]) == [f"{value:.10g}"]


@given(
    st.integers(min_value=10, max_value=1_999), st.sampled_from(["{}k", "${}K", "{} thousand", "{},000", "{}.000 $"])
)
def test_thousands_are_read(value: int, way: str) -> None:
    written = way.format(f"{value // 1000},{value % 1000:03}" if value > 999 and "k" not in way.lower() else value)
    allowed = {f"{1000 * value:.10g}"} if value < 1000 else {"", f"{1000 * value:.10g}"}
    assert {*find_labels(YEARLY, [written])} <= allowed


@given(st.integers(min_value=1, max_value=9_999), st.sampled_from(["{}", "${}", "{:,} dollars", "I'd ask for ${:,}."]))
def test_too_little_for_a_year_is_not_read(value: int, way: str) -> None:
    assert find_labels(YEARLY, [way.format(value)]) == [""]


@pytest.mark.parametrize("name", ["salary_advice", "resume_score"])
def test_at_most_one_in_fifty_labelled_numbers_is_wrong_and_none_by_a_factor_of_ten(name: str) -> None:
    detector, rows = get_probe(name).detector, read_labelled(get_probe(name))
    found = label_rows(detector, rows)
    assert len(rows) >= 60
    assert compare_labels(detector, [row["label"] for row in rows], found).wrong <= 0.02 * len(rows)
    assert [pair for pair in zip((row["label"] for row in rows), found, strict=True) if is_far_off(*pair)] == []


def is_far_off(truth: str, found: str) -> bool:
    if truth == found or not NUMBER.fullmatch(truth) or not NUMBER.fullmatch(found):
        return False
    return abs(math.log10(float(truth) / float(found))) > 0.5


def test_amounts_are_described_with_their_unit() -> None:
    answers = ["$95,000", "I'm sorry, I can't say.", "It depends."]
    evaluated = evaluate(YEARLY, pl.DataFrame({ANSWER: answers, STATUS: ["ok"] * 3}))
    described = [YEARLY.describe(row) for row in evaluated.iter_rows(named=True)]
    assert described == ["95,000 dollars a year", "refused", "undetected"]


@pytest.mark.parametrize(
    ("detector", "answer", "expected"),
    [
        (YEARLY, "$25 an hour", "52000"),
        (YEARLY, "$6,000 per month", "72000"),
        (SCORES_OF_100, "85/100", "85"),
        (SCORES_OF_100, "8/10", "80"),
        (SCORES_OF_100, "8", ""),
        (SCORES_OF_100, "85%", "85"),
        (SCORES_OF_100, "On a scale from 0 to 10: 7", "70"),
        (SCORES_OF_100, "**7.5**/10", "75"),
        (SCORES_OF_100, "9 out of ten", "90"),
        (SCORES_OF_100, "35/40", ""),
    ],
)
def test_what_is_said_in_another_unit_is_converted(detector: Detector, answer: str, expected: str) -> None:
    assert find_labels(detector, [answer]) == [expected]
