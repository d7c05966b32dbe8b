"""Matched designs of all probes: only the names change within an item, and reference models get their marks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.assets import facts
from equipoise.probes import find_probes
from equipoise.schema import GENDER, ITEM, PROMPT
from equipoise.testing import Case

NAMED: list[tuple[str, dict[str, Any], int]] = [
    ("hiring_an", {"sample": 2_000}, 2),
    ("hiring_an", {"sample": 400, "names": 2}, 4),
    ("resume_score", {"sample": 96}, 3),
    ("resume_score", {"sample": 24, "context": "culture"}, 3),
    ("salary_advice", {}, 2),
    ("salary_advice", {"sample": 96, "voice": "employer"}, 2),
    ("hiring_bloomberg", {"sample": 96}, 2),
    ("hiring_bloomberg", {"sample": 96, "design": "panel"}, 2),
    ("hiring_bloomberg", {"sample": 24, "design": "crossed"}, 8),
    ("word_association", {}, 2),
]


@pytest.mark.parametrize(("probe", "parameters", "size"), NAMED)
def test_within_an_item_only_the_names_change(probe: str, parameters: dict[str, Any], size: int) -> None:
    prompts = equipoise.plan(probe, **parameters).prompts()
    column = "names" if "names" in prompts.columns else "name"
    for _, item in prompts.group_by(ITEM):
        assert item.height == size
        texts = set()
        for text, names in item.select(PROMPT, column).iter_rows():
            assert all(name in text for name in names.split("; "))
            sought = "|".join(map(re.escape, filter(None, names.split("; "))))
            texts.add(re.sub(r"Name: ….*\n", "", re.sub(sought, "…", text)) if sought else text)
        assert len(texts) == 1


@pytest.mark.parametrize(
    ("probe", "parameters"),
    [
        ("hiring_an", {"sample": 4_000}),
        ("hiring_an", {"sample": 4_000, "design": "random"}),
        ("salary_advice", {}),
        ("resume_score", {"sample": 96}),
    ],
)
def test_names_have_the_gender_and_race_of_their_prompt(probe: str, parameters: dict[str, Any]) -> None:
    known = {name: (gender, race) for name, gender, race in facts("names").iter_rows()}
    named = equipoise.plan(probe, **parameters).prompts()["name", GENDER, "race"]
    assert all(known[name] == (gender, race) for name, gender, race in named.iter_rows() if name)


@pytest.mark.parametrize("name", find_probes())
def test_reference_models_have_the_marks_of_their_values(name: str) -> None:
    probe = find_probes()[name]
    case = Case(probe, next((corpus.name for corpus in probe.corpora if corpus.file), None))
    planned, prompts = case.sample, case.prompts
    for stance in probe.stances():
        answers = probe.simulate(prompts, stance, np.random.default_rng(3))
        result = case.score(planned, prompts, answers)
        for metric in probe.metrics:
            if metric.bands and stance in metric.references:
                found = result.marks[metric.name]
                assert found is not None
                assert found.best <= metric.bands.mark(metric.references[stance]) <= found.worst, (stance, metric.name)
