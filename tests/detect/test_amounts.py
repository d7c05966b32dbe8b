"""Amounts of money: every way to write one, none that is ten or a thousand times as much, and none where none is."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.authoring import amount
from equipoise.measuring.accuracy import NUMBER, compare_labels, find_labels, label_rows, read_labelled
from equipoise.measuring.evaluate import evaluate
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, STATUS

PROBE = get_probe("salary_advice")
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


@settings(max_examples=30)
@given(st.integers(min_value=10_000, max_value=2_000_000), st.sampled_from(sorted(WAYS)))
def test_what_is_written_is_read(value: int, way: str) -> None:
    assert find_labels(YEARLY, [way.format(value)]) == [f"{value:.10g}"]


@settings(max_examples=30)
@given(
    st.integers(min_value=10, max_value=1_999), st.sampled_from(["{}k", "${}K", "{} thousand", "{},000", "{}.000 $"])
)
def test_thousands_are_read(value: int, way: str) -> None:
    written = way.format(f"{value // 1000},{value % 1000:03}" if value > 999 and "k" not in way.lower() else value)
    allowed = {f"{1000 * value:.10g}"} if value < 1000 else {"", f"{1000 * value:.10g}"}
    assert {*find_labels(YEARLY, [written])} <= allowed


@settings(max_examples=30)
@given(st.integers(min_value=1, max_value=9_999), st.sampled_from(["{}", "${}", "{:,} dollars", "I'd ask for ${:,}."]))
def test_too_little_for_a_year_is_not_read(value: int, way: str) -> None:
    assert find_labels(YEARLY, [way.format(value)]) == [""]


@pytest.mark.parametrize(
    ("answer", "amounts"),
    [
        ("$25 an hour", {"hour": "25", "week": "1000", "month": "4333.333333", "year": "52000"}),
        ("$6,000 per month", {"hour": "34.61538462", "month": "6000", "year": "72000"}),
        ("$78,000 a year", {"hour": "37.5", "day": "300", "week": "1500", "month": "6500", "year": "78000"}),
    ],
)
def test_amounts_are_converted_into_the_unit_that_was_asked_for(answer: str, amounts: dict[str, str]) -> None:
    for per, expected in amounts.items():
        assert find_labels(amount(per=per, low=1, high=1e6), [answer]) == [expected]


def test_at_most_one_in_fifty_labelled_amounts_is_wrong_and_none_by_a_factor_of_ten() -> None:
    rows = read_labelled(PROBE)
    found = label_rows(PROBE.detector, rows)
    assert len(rows) >= 60
    assert compare_labels(PROBE.detector, [row["label"] for row in rows], found).wrong <= 0.02 * len(rows)
    assert [pair for pair in zip((row["label"] for row in rows), found, strict=True) if is_far_off(*pair)] == []


def is_far_off(truth: str, found: str) -> bool:
    if not NUMBER.fullmatch(truth) or not NUMBER.fullmatch(found):
        return False
    return abs(math.log10(float(truth) / float(found))) > 0.5


def test_amounts_are_described_with_their_unit() -> None:
    answers = ["$95,000", "I'm sorry, I can't say.", "It depends."]
    evaluated = evaluate(YEARLY, pl.DataFrame({ANSWER: answers, STATUS: ["ok"] * 3}))
    described = [YEARLY.describe(row) for row in evaluated.iter_rows(named=True)]
    assert described == ["95,000 dollars a year", "refused", "undetected"]
