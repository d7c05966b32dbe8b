"""Amounts of money and scores: every way to write one, none that is ten or a thousand times as much, none without."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.detect import SCORES_OF_100, amount
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


def test_labelled_scores_are_read_without_an_error() -> None:
    probe = get_probe("resume_score")
    rows = read_labelled(probe)
    found = label_rows(probe.detector, rows)
    assert compare_labels(probe.detector, [row["label"] for row in rows], found).wrong == 0


@pytest.mark.parametrize("name", ["salary_advice", "resume_score"])
def test_many_answers_at_once_are_read_as_each_is_alone(name: str) -> None:
    probe = get_probe(name)
    answers = [row["answer"] for row in read_labelled(probe)]
    alone = [find_labels(probe.detector, [answer])[0] for answer in answers]
    assert find_labels(probe.detector, answers) == alone


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
    ("answer", "a_year"),
    [
        ("$25 an hour", "52000"),
        ("$37.50 per hour", "78000"),
        ("$300 a day", "78000"),
        ("$1,500 weekly", "78000"),
        ("$6,000 per month", "72000"),
        ("$6,500/mo", "78000"),
        ("$78,000 a year", "78000"),
        ("$78,000 annually", "78000"),
    ],
)
def test_pay_for_another_time_is_converted_into_pay_for_a_year(answer: str, a_year: str) -> None:
    assert find_labels(YEARLY, [answer]) == [a_year]


@pytest.mark.parametrize(
    ("answer", "of_100"),
    [
        ("85", "85"),
        ("85/100", "85"),
        ("8/10", "80"),
        ("85%", "85"),
        ("On a scale from 0 to 10: 7", "70"),
        ("**7.5**/10", "75"),
        ("9 out of ten", "90"),
    ],
)
def test_scores_on_another_scale_are_converted(answer: str, of_100: str) -> None:
    assert find_labels(SCORES_OF_100, [answer]) == [of_100]


@pytest.mark.parametrize("answer", ["8", "Score: 7", "35/40"])
def test_scores_that_may_be_meant_on_another_scale_are_not_read(answer: str) -> None:
    assert find_labels(SCORES_OF_100, [answer]) == [""]
