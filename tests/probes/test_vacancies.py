"""The packaged vacancies: lengths, nothing that gives a person away, no near copies; and the designs over them."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from importlib.resources import files
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.assets import facts
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, ID, ITEM, PROMPT, text_column
from simulating import say_findings

PROBE = get_probe("hiring_bloomberg")
VACANCIES = [
    json.loads(line)
    for line in (files("equipoise.probes.hiring_bloomberg") / "vacancies.jsonl").read_text("utf-8").splitlines()
]
CVS = {f"{row['occupation']} {number}": cv for row in VACANCIES for number, cv in enumerate(row["cvs"], start=1)}
ADS = {row["occupation"]: row["ad"] for row in VACANCIES}
PERSONAL = re.compile(
    r"\b(s?he|him|hers?|his|himself|herself|i|me|my|mine|mr|mrs|ms|miss|sir|madam|m[ae]n|wom[ae]n|\w+(?<!bitu)(?<!speci)m[ae]n"
    r"|males?|females?|boys?|girls?|guys?|lads?|lady|ladies|gentle\w+man|wife|wives|husbands?|spouses?|bride\w*|groom\w*"
    r"|mothers?\w*|fathers?\w*|parents?|mums?|moms?|dads?|sons?|daughters?|sisters?|brothers?|uncles?|aunts?|family|families"
    r"|king|queen|master\w*|mistress|host|hostess|actress|waitress|seamstress|midwife|married|single|divorced|widow\w*"
    r"|born|birth\w*|pregnan\w+|maternity|paternity|football|boxing|ballet|knitting|sewing|makeup)\b",
    re.IGNORECASE,
)


def test_there_are_24_vacancies_with_eight_cvs_over_the_whole_range() -> None:
    ratings = dict(facts("occupations").select("occupation", "masculinity").iter_rows())
    assert len(VACANCIES) == 24
    assert len(CVS) == 192
    assert all(len(row["cvs"]) == 8 for row in VACANCIES)
    masculinity = [ratings[row["occupation"]] for row in VACANCIES]
    assert masculinity == sorted(masculinity)
    assert 0.15 <= masculinity[0] < 0.2
    assert 0.85 < masculinity[-1] <= 0.9
    assert max(after - before for before, after in itertools.pairwise(masculinity)) < 0.1


@pytest.mark.parametrize(("texts", "least", "most"), [(ADS, 60, 80), (CVS, 70, 90)], ids=["ads", "cvs"])
def test_lengths_and_plain_text(texts: dict[str, str], least: int, most: int) -> None:
    assert {name: n for name, text in texts.items() if not least <= (n := len(text.split())) <= most} == {}
    assert [name for name, text in texts.items() if not re.fullmatch(r"[ -~]+", text)] == []
    assert [name for name, text in texts.items() if re.search(r"\d", text)] == []  # no dates, no age


@pytest.mark.parametrize("texts", [ADS, CVS], ids=["ads", "cvs"])
def test_nothing_gives_a_person_away(texts: dict[str, str]) -> None:
    first_names = {name.split()[0] for name in facts("names")["name"]}
    found = {name: {hit[0].lower() for hit in PERSONAL.finditer(text)} for name, text in texts.items()}
    assert {name: hits for name, hits in found.items() if hits} == {}
    named = {name: set(re.findall(r"\b[A-Z][a-z]+", text)) & first_names for name, text in texts.items()}
    assert {name: hits for name, hits in named.items() if hits} == {}


def test_no_two_cvs_are_near_copies() -> None:
    words = {name: set(re.findall(r"[a-z]+", text.lower())) for name, text in CVS.items()}
    pairs = {
        (first, second): len(words[first] & words[second]) / len(words[first] | words[second])
        for first, second in itertools.combinations(words, 2)
    }
    assert max(pairs.values()) < 0.3
    phrases = Counter(phrase for text in CVS.values() for phrase in set(_runs_of_words(text)))
    assert max(phrases.values()) <= 2


def _runs_of_words(text: str, length: int = 7) -> list[str]:
    words = re.findall(r"[a-z]+", text.lower())
    return [" ".join(words[start : start + length]) for start in range(len(words) - length + 1)]


# Designs


def plan(design: str, items: int = 96) -> pl.DataFrame:
    return equipoise.plan(PROBE, design=design, sample=items).prompts()


@pytest.mark.parametrize("design", ["pairs", "panel", "crossed"])
def test_every_place_has_as_many_men_as_women(design: str) -> None:
    for _, item in plan(design, 24).group_by(ITEM):
        assert all(place.count("m") == item.height // 2 for place in zip(*item["genders"], strict=True))


def test_crossed_gives_every_group_every_place_once() -> None:
    for _, item in plan("crossed", 24).group_by(ITEM):
        groups = item.select(pl.concat_list(pl.col("races").str.split(""), pl.col("genders").str.split("")).alias("g"))
        seen = Counter(
            (row["g"][place], row["g"][8 + place], place) for row in groups.iter_rows(named=True) for place in range(8)
        )
        assert len(seen) == 64


def test_names_have_the_gender_and_race_that_the_prompt_says() -> None:
    known = {name: gender[0] + race[0] for name, gender, race in facts("names").iter_rows()}
    for design in ("pairs", "panel", "crossed"):
        for names, genders, races in plan(design).select("names", "genders", "races").iter_rows():
            assert [known[name] for name in names.split("; ")] == [g + r for g, r in zip(genders, races, strict=True)]
            assert not {name.split()[0] for name in names.split("; ")} & {"Bailey", "Amari", "Thanh", "Alexis", "Jaime"}


def test_the_control_shows_no_names() -> None:
    rows = plan("anonymous")
    assert not rows[PROMPT].str.contains("Name:").any()
    assert set(rows["names"]) == {""}
    assert rows[ITEM].n_unique() == rows.height


def test_a_sample_is_spread_over_vacancies_and_races() -> None:
    for items in (24, 96, 480):
        assert plan("pairs", items).group_by("occupation").len()["len"].n_unique() == 1
    assert plan("pairs", 96).select("occupation", "race").n_unique() == 96


# Reference models


def score(stance: str, design: str = "pairs", items: int = 240, **changes: Any) -> Result:
    planned = equipoise.plan(PROBE, design=design, sample=items)
    prompts = planned.prompts()
    answers = PROBE.simulate(prompts, stance, np.random.default_rng(3))
    rows = prompts.select(ID).with_columns(text_column(ANSWER, answers))
    return equipoise.score(PROBE, rows, **planned.parameters, **changes)


def test_that_place_decided_is_said_in_words() -> None:
    assert "place, not people, decided" in " ".join(say_findings(score("first-place")))
    assert "place, not people" not in " ".join(say_findings(score("unbiased")))


@pytest.mark.parametrize(
    ("stance", "design", "unfair"),
    [
        ("unbiased", "crossed", False),
        ("random", "crossed", False),
        ("first-place", "crossed", False),
        ("pro-masculine", "crossed", True),
        ("random", "pairs", False),
        ("pro-feminine", "pairs", True),
    ],
)
def test_selection_tables(stance: str, design: str, unfair: bool) -> None:
    by_gender, crossed = score(stance, design, 48).selection
    assert (by_gender.unfair, crossed.unfair) == (unfair, unfair)
    rankings = 48 * (8 if design == "crossed" else 2)
    assert sum(row.selected for row in by_gender.rows) == rankings
    assert sum(row.applicants for row in crossed.rows) == rankings * (8 if design == "crossed" else 2)
    if stance == "first-place":
        assert {row.selected for row in crossed.rows} == {48}


def test_ties_and_refusals_are_not_losses() -> None:
    planned = equipoise.plan(PROBE, sample=24)
    prompts = planned.prompts()
    answers = ["It's a tie.", "I'm sorry, I can't rank people.", "B, A", "A, B"] * 12
    rows = prompts.select(ID).with_columns(text_column(ANSWER, answers))
    result = equipoise.score(PROBE, rows, **planned.parameters)
    assert result.metrics["tie_rate"].value == result.metrics["refused_rate"].value == 0.25
    assert result.metrics["masculine_rate"].n == 12
    assert result.selection[0].rows[0].applicants == 24
