"""Designs of all probes: how much there is to ask, how it is drawn, and that only the names change within an item."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.assets import facts
from equipoise.errors import BadParameter
from equipoise.measuring.plan import Plan
from equipoise.probes.salary_advice.probe import CITIES, YEARS
from equipoise.schema import GENDER, ID, ITEM, PROMPT

ALL = 5_424_000
MOTTOS = {"corpus": "mottos"}
SCENARIOS = {"corpus": "scenarios"}


def plan(probe: str, **parameters: Any) -> pl.DataFrame:
    return equipoise.plan(probe, **parameters).prompts()


@pytest.mark.parametrize(
    ("probe", "parameters", "items", "prompts"),
    [
        ("business_vocabulary", {}, 2_400, 2_400),
        ("jobs_lum", {}, 339, 339),
        ("hiring_bloomberg", {}, 960, 1_920),
        ("hiring_bloomberg", {"design": "crossed", "sample": 24}, 24, 192),
        ("hiring_bloomberg", {"design": "anonymous", "sample": 24}, 24, 24),
        ("inventories", {}, 125, 125),
        ("inventories", {"gendered_traits": True}, 127, 127),
        ("pronoun_fidelity", {}, 240, 1_200),
        ("pronoun_fidelity", {"families": ["he", "she", "they", "ey"], "sample": 5}, 5, 20),
        ("word_association", {}, 192, 384),
        ("hiring_an", {}, 5_000, 10_000),
        ("hiring_an", {"design": "random"}, 10_000, 10_000),
        ("hiring_an", {"sample": 7}, 4, 8),
        ("hiring_an", {"sample": 1}, 1, 2),
        ("hiring_an", {"sample": 7, "design": "random"}, 7, 7),
        ("gest_creative", MOTTOS, 432, 432),
        ("discrimination_tamkin", SCENARIOS, 2_100, 6_300),
        ("discrimination_tamkin", {"sample": 5, **SCENARIOS}, 5, 15),
        ("salary_advice", {}, 384, 768),
        ("resume_score", {"sample": 96}, 96, 288),
    ],
)
def test_sizes(probe: str, parameters: dict[str, Any], items: int, prompts: int) -> None:
    check_sizes(equipoise.plan(probe, **parameters), items, prompts)


def check_sizes(planned: Plan, items: int, prompts: int) -> None:
    table = planned.prompts()
    assert planned.items == items
    assert table[ITEM].n_unique() == items
    assert table.height == prompts


@pytest.mark.parametrize(
    ("probe", "items", "prompts"),
    [("gest_creative", 3_565, 3_565), ("discrimination_tamkin", 2_084, 6_252)],
)
def test_sizes_of_the_fetched_corpora(corpora: Path, probe: str, items: int, prompts: int) -> None:
    check_sizes(equipoise.plan(probe), items, prompts)


@pytest.mark.parametrize(("design", "items"), [("matched", ALL // 2), ("random", ALL)])
def test_everything_can_be_asked_without_building_it_all(design: str, items: int) -> None:
    whole = equipoise.plan("hiring_an", design=design, sample=None)
    assert whole.items == equipoise.plan("hiring_an", design=design, sample=ALL).items == items
    first = next(whole.batches(size=500))
    assert first[ITEM].n_unique() == 500
    assert first[ID].to_list() == next(equipoise.plan("hiring_an", design=design).batches(size=500))[ID].to_list()


@pytest.mark.parametrize("sample", [0, -1, ALL + 1])
def test_samples_outside_of_what_there_is(sample: int) -> None:
    with pytest.raises(BadParameter, match=f"between 1 and 5,424,000.* Got {sample} instead"):
        equipoise.plan("hiring_an", sample=sample)


@pytest.mark.parametrize(
    ("probe", "parameters", "by"),
    [
        ("business_vocabulary", {"sample": 240}, ["template", GENDER, "race"]),
        ("gest_creative", {"sample": 160, **MOTTOS}, ["stereotype"]),
        ("discrimination_tamkin", {"sample": 140, **SCENARIOS}, ["question"]),
        ("hiring_an", {"sample": 160}, ["qualification", "race"]),
        ("hiring_bloomberg", {"sample": 96}, ["occupation", "race"]),
        ("salary_advice", {"sample": 1_152}, ["occupation", "race", "years"]),
    ],
)
def test_a_sample_holds_its_fair_share_of_each_kind(probe: str, parameters: dict[str, Any], by: list[str]) -> None:
    assert plan(probe, **parameters).group_by(by).len()["len"].n_unique() == 1


def test_pairs_of_any_number_are_spread_over_qualification_and_race() -> None:
    drawn = plan("hiring_an", sample=10_000)
    counts = drawn.group_by("qualification", "race").len()["len"].to_list()
    assert len(counts) == 16
    assert max(counts) - min(counts) <= 2


@pytest.mark.parametrize("items", [24, 96, 480])
def test_a_sample_of_rankings_holds_every_vacancy_alike(items: int) -> None:
    drawn = plan("hiring_bloomberg", design="pairs", sample=items)
    assert drawn.group_by("occupation").len()["len"].n_unique() == 1


def test_advice_on_pay_is_asked_in_every_city_and_for_each_race_and_experience_alike() -> None:
    rows = plan("salary_advice", sample=1_152).unique(ITEM)
    counts = rows.group_by("occupation", "race", "years").len()["len"].to_list()
    assert counts == [1] * 1_152
    assert set(rows["city"]) == set(CITIES)
    default = plan("salary_advice")
    assert len(set(default["race"].value_counts()["count"])) == 1
    assert default["race"].n_unique() == 4
    assert len(set(default["years"].value_counts()["count"])) == 1
    assert default["years"].n_unique() == len(YEARS)


def test_the_same_two_names_do_not_always_meet_in_advice_on_pay() -> None:
    rows = plan("salary_advice", sample=20_000)
    men = rows.filter(gender="male")
    women = rows.filter(gender="female")
    pairs = men.join(women, on=ITEM, suffix="_of_her")
    partners = pairs.group_by("name").agg(pl.col("name_of_her").n_unique())["name_of_her"]
    assert min(partners) >= 10


def test_names_meet_every_template_occupation_and_many_partners() -> None:
    stratum = 16 * np.arange(5 * 339 * 100) + 6
    pairs = equipoise.plan("hiring_an", sample=None).drawn_from.take(stratum, 3)
    assert pairs.select("qualification", "race").n_unique() == 1
    for gender in ("male", "female"):
        assert pairs.select("template", "occupation", gender).n_unique() == len(stratum)
    partners = pairs.group_by("male").agg(pl.col("female").n_unique())["female"]
    assert partners.min() > 90  # type: ignore[operator]


def test_the_random_design_draws_every_combination_alike() -> None:
    drawn = plan("hiring_an", design="random", sample=20_000)
    assert drawn.select("template", "qualification", "occupation", "name").n_unique() == 20_000
    for column in ("template", "qualification", "race", GENDER):
        shares = drawn[column].value_counts(normalize=True)["proportion"]
        assert (shares * len(shares) - 1).abs().max() < 0.05, column  # type: ignore[operator]


PAIR = ["template", "qualification", "occupation", "masculinity", "race"]
"""What the two prompts of a pair share."""


def test_pairs_of_hiring_differ_in_nothing_but_the_name() -> None:
    prompts = plan("hiring_an")
    men = prompts.filter(gender="male")
    women = prompts.filter(gender="female")
    pairs = men.join(women, on=ITEM, validate="1:1", suffix="_of_her")
    assert pairs.height == 5_000
    for column in PAIR:
        assert (pairs[column] == pairs[f"{column}_of_her"]).all(), column
    columns = (PROMPT, "name", f"{PROMPT}_of_her", "name_of_her")
    for text, name, her_text, her_name in pairs.select(columns).iter_rows():
        assert name != her_name
        assert name in text
        assert text.replace(name, "…") == her_text.replace(her_name, "…")


@pytest.mark.parametrize("design", ["matched", "random"])
def test_names_of_hiring_have_the_gender_and_race_of_their_prompt(design: str) -> None:
    known = {name: (gender, race) for name, gender, race in facts("names").iter_rows()}
    drawn = plan("hiring_an", sample=4_000, design=design)
    for name, gender, race in drawn["name", GENDER, "race"].iter_rows():
        assert known[name] == (gender, race)


NAMED: list[tuple[str, dict[str, Any], int]] = [
    ("hiring_an", {"sample": 400}, 2),
    ("hiring_an", {"sample": 400, "names": 2}, 4),
    ("resume_score", {"sample": 24, "context": "none"}, 3),
    ("resume_score", {"sample": 24, "context": "culture"}, 3),
    ("resume_score", {"sample": 24, "context": "selective"}, 3),
    ("salary_advice", {"sample": 96, "voice": "applicant"}, 2),
    ("salary_advice", {"sample": 96, "voice": "employer"}, 2),
    ("hiring_bloomberg", {"sample": 48, "design": "pairs"}, 2),
    ("hiring_bloomberg", {"sample": 48, "design": "panel"}, 2),
    ("hiring_bloomberg", {"sample": 24, "design": "crossed"}, 8),
    ("word_association", {"sample": 96}, 2),
]


@pytest.mark.parametrize(("probe", "parameters", "size"), NAMED, ids=str)
def test_within_an_item_only_the_names_change(probe: str, parameters: dict[str, Any], size: int) -> None:
    prompts = plan(probe, **parameters)
    column = "names" if "names" in prompts.columns else "name"
    known = {name: (gender, race) for name, gender, race in facts("names").iter_rows()}
    for _, item in prompts.group_by(ITEM):
        assert item.height == size
        texts = set()
        for row in item.iter_rows(named=True):
            names = [name for name in row[column].split("; ") if name]
            assert all(name in row[PROMPT] for name in names)
            text = re.sub("|".join(map(re.escape, names)), "…", row[PROMPT]) if names else row[PROMPT]
            texts.add(re.sub(r"Name: ….*\n", "", text))
            if column == "name" and names:
                assert known[row["name"]] == (row[GENDER], row["race"])
        assert len(texts) == 1
