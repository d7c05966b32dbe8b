"""`word_association`: lists and pairs, what is read of half an answer, reference models."""

from __future__ import annotations

import csv
import io
from importlib.resources import files
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.assets import facts
from equipoise.measuring.evaluate import apply_detector
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.probes.word_association.probe import MEN, WOMEN
from equipoise.probes.word_association.reading import COUNTS, LISTS, TESTS, USED, WORDS_GIVEN
from equipoise.schema import ANSWER, ID, PROMPT, STATUS, text_column
from simulating import say_findings

PROBE = get_probe("word_association")
LABELLED = (files("equipoise.probes.word_association") / "labelled.csv").read_text("utf-8")
ROWS = list(csv.DictReader(io.StringIO(LABELLED, newline="")))


def score(answers: list[str], prompts: pl.DataFrame, **parameters: Any) -> Result:
    rows = prompts.select(ID).with_columns(text_column(ANSWER, answers))
    return equipoise.score(PROBE, rows, **parameters)


def simulate(stance: str, items: int = 48) -> tuple[Result, list[str], pl.DataFrame]:
    prompts = equipoise.plan(PROBE, sample=items).prompts()
    answers = list(PROBE.simulate(prompts, stance, np.random.default_rng(3)))
    return score(answers, prompts, sample=items), answers, prompts


# Lists and pairs


def test_names_signal_the_gender_and_race_that_they_stand_under() -> None:
    known = facts("names").with_columns(first=pl.col("name").str.split(" ").list.first())
    for gender, by_race in (("male", MEN), ("female", WOMEN)):
        for race, names in by_race.items():
            assert len(names.split()) == 12
            for name in names.split():
                rows = known.filter(first=name)
                assert set(rows["gender"]) == {gender}, name
                assert race in set(rows["race"]), name


def test_no_word_stands_in_two_lists_or_is_a_name() -> None:
    words = [word for sides in LISTS.values() for side in sides.values() for word in side]
    assert len(set(words)) == len(words) == 50
    names = {name.lower() for by_race in (MEN, WOMEN) for names in by_race.values() for name in names.split()}
    assert len(names) == 96
    assert not names & set(words)


def test_nearly_every_item_has_an_order_of_its_own() -> None:
    prompts = equipoise.plan(PROBE).prompts()
    first = prompts.row(0, named=True)
    assert first[PROMPT].startswith("1 = {}, 2 = {}. Give each".format(*first["names"].split("; ")))
    assert set(first["words"].split(", ")) == {word for side in LISTS[first["list"]].values() for word in side}
    assert prompts.select("list", "words").n_unique() > 180


def test_a_full_list_is_a_short_reply() -> None:
    _, answers, _ = simulate("stereotyping", 192)
    assert max(map(len, answers)) < 200
    assert PROBE.max_tokens * 3 > max(map(len, answers))


# What is read


def test_labelled_answers_are_read_word_by_word() -> None:
    columns = [text_column(name, [row[name] for row in ROWS]) for name in ("answer", *USED)]
    read = apply_detector(WORDS_GIVEN, pl.DataFrame(columns).with_columns(pl.lit("ok").alias(STATUS)))
    found = [" ".join(map(str, counts)) for counts in read.select(COUNTS[:-1]).iter_rows()]
    assert found == [row["counts"] for row in ROWS]


def test_every_word_to_one_name_scores_nothing() -> None:
    prompts = equipoise.plan(PROBE, sample=16).prompts()
    for number in (1, 2):
        answers = ["\n".join(f"{word} {number}" for word in words.split(", ")) for words in prompts["words"]]
        result = score(answers, prompts, sample=16)
        assert result.metrics["association"].value == 0.0
        assert result.metrics["order_effect"].value == (1.0 if number == 1 else -1.0)
        assert result.metrics["answered_rate"].value == 1.0
    man = prompts["genders"].str.find("m").to_list()
    answers = [
        "\n".join(f"{word} {m + 1}" for word in words.split(", "))
        for m, words in zip(man, prompts["words"], strict=True)
    ]
    result = score(answers, prompts, sample=16)
    assert (result.metrics["association"].value, result.metrics["order_effect"].value) == (0.0, 0.0)


def test_half_a_list_is_read_for_what_it_says_and_shown_as_half() -> None:
    whole, answers, prompts = simulate("stereotyping")
    halves = ["\n".join(answer.split("\n")[::2]) for answer in answers]
    half = score(halves, prompts, sample=48)
    assert half.metrics["association"].value == whole.metrics["association"].value == 1.0
    assert half.metrics["answered_rate"].value == pytest.approx(0.5)
    assert "words in these answers were given to nobody." in say_findings(half)[0]


def test_refusals_are_undetected_and_change_nothing() -> None:
    whole, answers, prompts = simulate("stereotyping")
    refused = [answer if place >= 4 else "I can't sort words by gender." for place, answer in enumerate(answers)]
    result = score(refused, prompts, sample=48)
    assert result.metrics["association"].value == whole.metrics["association"].value
    assert result.coverage["all"]["undetected"] == 4
    assert result.metrics["answered_rate"].value == 1.0


# Reference models


def test_exchanging_the_people_turns_the_score_round() -> None:
    """What was given to the man is given to the woman: every score changes its sign, and nothing else happens."""
    before, answers, prompts = simulate("random", 96)
    exchanged = ["\n".join(f"{line[:-1]}{'21'[int(line[-1]) - 1]}" for line in text.split("\n")) for text in answers]
    after = score(exchanged, prompts, sample=96)
    for name in (*(f"association_{test}" for test in TESTS), "association", "control", "order_effect"):
        assert after.metrics[name].value == pytest.approx(-before.metrics[name].value), name


def test_place_is_said_where_it_decided() -> None:
    result, _, _ = simulate("first-name")
    assert "The person who stands first got 100% of all words" in say_findings(result)[0]
