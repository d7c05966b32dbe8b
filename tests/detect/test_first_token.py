"""Labels from the probabilities of first tokens: which tokens count together, and when nothing is decided."""

from __future__ import annotations

import json

import polars as pl
import pytest

from equipoise.detect import CHARACTERS, DECISIONS, RANKED_PEOPLE, SCORES_OF_100
from equipoise.detect.detector import DECIDED_FLOOR, first_token_detector, read_first_tokens
from equipoise.measuring.evaluate import evaluate
from equipoise.schema import ANSWER, EVALUATION_FAILED, FIRST_TOKEN, LABEL, STATUS, Status

DETECTOR = first_token_detector(DECISIONS, "")


def read(*stored: str | None, status: Status = Status.OK) -> pl.DataFrame:
    statuses = [status.value] * len(stored)
    attempts = pl.DataFrame({STATUS: statuses, ANSWER: "x", FIRST_TOKEN: pl.Series(stored)})
    return evaluate(DETECTOR, attempts.cast({FIRST_TOKEN: pl.String}))


def tokens(**probabilities: float) -> str:
    return json.dumps([{"token": token, "p": p} for token, p in probabilities.items()])


@pytest.mark.parametrize("token", ["yes", "Yes", " YES", "▁Yes", "Ġyes", "Ċyes", '"Yes"', "**yes**", "Yes.", "\nyes,"])
def test_case_spaces_and_punctuation_do_not_tell_tokens_apart(token: str) -> None:
    assert read(json.dumps([{"token": token, "p": 0.9}]))[LABEL].to_list() == ["yes"]


@pytest.mark.parametrize("token", ["yesterday", "Ye", "y", "", "да"])
def test_other_words_do_not_count(token: str) -> None:
    assert read(json.dumps([{"token": token, "p": 0.9}]))[LABEL].to_list() == ["neither"]


def test_a_token_is_read_after_the_opening() -> None:
    detector = first_token_detector(CHARACTERS, "Gender:")
    stored = tokens(**{" Male": 0.5, " Female": 0.3, " F": 0.1, " Non": 0.05})
    row = read_first_tokens(detector, pl.DataFrame({STATUS: ["ok"], FIRST_TOKEN: [stored]})).row(0, named=True)
    assert [row[f"p_{name}"] for name in ("male", "female", "neither")] == pytest.approx([0.5, 0.4, 0.1])


def test_a_letter_is_read_by_who_stands_under_it_and_shares_are_expected_ones() -> None:
    detector = first_token_detector(RANKED_PEOPLE, "")
    people = {"genders": ["mf", "fm"], "races": ["ww", "ww"], "names": ["", ""]}
    rows = pl.DataFrame({STATUS: ["ok"] * 2, FIRST_TOKEN: [tokens(A=0.6, B=0.2)] * 2, **people})
    read_rows = read_first_tokens(detector, rows)
    assert read_rows[LABEL].to_list() == ["white_male_at_a", "white_female_at_a"]
    tallies = read_rows.select(**detector.tallies())
    assert tallies["white_male_at_a"].to_list() == [0.75, 0.0]
    assert tallies["white_male_after_a"].to_list() == [0.0, 0.25]
    assert tallies["above"].to_list() == [0.75, 0.25]


def test_a_score_is_the_expected_one_of_numbers_that_are_one_token() -> None:
    detector = first_token_detector(SCORES_OF_100, "")
    rows = pl.DataFrame({STATUS: ["ok"] * 2, FIRST_TOKEN: [tokens(**{"85": 0.6, "75": 0.2}), tokens(**{"8": 0.9})]})
    read_rows = read_first_tokens(detector, rows)
    assert read_rows[LABEL].to_list() == ["score", "neither"]
    assert read_rows.select(**detector.tallies())["sum_score"].to_list() == [82.5, 0.0]


def test_the_probabilities_of_the_words_of_a_label_are_added() -> None:
    row = read(tokens(**{"Yes": 0.3, " yes": 0.1, "No": 0.1, "no.": 0.1, "The": 0.2})).row(0, named=True)
    assert row[LABEL] == "yes"
    assert [row[f"p_{name}"] for name in ("yes", "no", "neither")] == pytest.approx([0.4, 0.2, 0.4])
    assert DETECTOR.describe(row) == "yes (yes 0.40, no 0.20, neither 0.40)"


def test_the_share_of_a_label_is_its_part_of_what_is_decided() -> None:
    shares = read(tokens(Yes=0.3, No=0.1), tokens(Yes=1.0), tokens(No=1 / 3, Yes=1 / 3)).select(**DETECTOR.tallies())
    assert shares["yes"].to_list() == [0.75, 1.0, 0.5]
    assert (shares["yes"] + shares["no"]).to_list() == [1.0] * 3
    assert shares["neither"].to_list() == pytest.approx([0.6, 0.0, 1 / 3], abs=1e-6)


def test_below_the_floor_nothing_is_decided() -> None:
    evaluated = read(tokens(Yes=DECIDED_FLOOR * 0.9, The=0.5), tokens(Yes=DECIDED_FLOOR), tokens(The=0.9))
    assert evaluated[LABEL].to_list() == ["neither", "yes", "neither"]
    assert evaluated.select(DETECTOR.detected()).to_series().to_list() == [False, True, False]
    assert evaluated.select(**DETECTOR.tallies())["yes"].to_list() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("stored", [None, tokens(Yes=-0.1), tokens(Yes=1.5), tokens(Yes=0.9, No=0.9)])
def test_what_is_no_probability_decides_nothing(stored: str | None) -> None:
    row = read(stored).row(0, named=True)
    assert row == {STATUS: "ok", LABEL: None, "p_yes": None, "p_no": None, "p_neither": None, EVALUATION_FAILED: False}


def test_what_is_no_json_costs_only_itself() -> None:
    evaluated = read(tokens(Yes=0.9), "nonsense", tokens(yesterday=0.9), tokens(No=0.9))
    assert evaluated[LABEL].to_list() == ["yes", None, "neither", "no"]
    assert evaluated[EVALUATION_FAILED].to_list() == [False, True, False, False]


def test_an_attempt_that_failed_says_nothing() -> None:
    assert read(tokens(Yes=0.9), status=Status.TIMEOUT)[LABEL].to_list() == [None]
