"""Any text at all: no detector raises, and what a user's own evaluation raises costs no other answer."""

from __future__ import annotations

import dataclasses
import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise import Probe
from equipoise.assets import facts
from equipoise.detect import evaluate
from equipoise.frames import ANSWER, EVALUATION_FAILED, GENDER, ID, LABEL, text, well_formed
from equipoise.probes import find, get

PROBES = find()
MEGABYTE = 1_000_000

PIECES = [
    *("<think>", "</think>", "<", ">", "<b", "</", "**", "*", "_", "`", "\\", "--", "-", "/", "—", "’", "“", "#", "|"),
    *("he", "She", "her", "yes", "No", "regret to inform", "You have been selected", "leader", "self-reliant", "warm"),
    *(
        "\x00",
        "\x1b[31m",
        "\r",
        "\n",
        "\u2028",
        "\u200b",
        "\u200f",
        "\u202e",
        "\u2066",
        "\ufeff",
        "\ufe0f",
        "\U000e0001",
    ),
    *(
        "\ud800",
        "\udfff",
        "\udcff",
        "א",
        "ه",
        "é",
        "e\u0301",
        "İ",
        "ß",
        "ﬀ",
        "👩\u200d🔬",
        "𝐡𝐞",
        "\uffff",
        "\U0010ffff",
    ),
]
anything = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(), st.integers(0xD800, 0xDFFF).map(chr), st.characters()), max_size=12
).map("".join)


def read(probe: Probe, answers: list[str | None]) -> pl.DataFrame:
    return evaluate(probe, pl.DataFrame([text(ANSWER, answers)]))


@settings(max_examples=120)
@given(st.lists(st.one_of(st.none(), anything), min_size=1, max_size=20))
def test_no_detector_raises(answers: list[str | None]) -> None:
    for probe in PROBES.values():
        found = read(probe, answers)
        assert found.height == len(answers)
        assert not found[EVALUATION_FAILED].any()
        if probe.labels:
            assert set(found[LABEL]) <= {*probe.labels, None}
            assert all(label is None for answer, label in zip(answers, found[LABEL], strict=True) if answer is None)
        else:
            assert all(count is None or count >= 0 for row in found.select(probe.counts).rows() for count in row)


@given(anything)
def test_text_enters_a_column_unchanged_but_for_lone_surrogates(answer: str) -> None:
    (stored,) = text(ANSWER, [answer])
    assert stored == well_formed(answer)
    if not any("\ud800" <= letter <= "\udfff" for letter in answer):
        assert stored == answer
    stored.encode()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ud800\ud800", "\ufffd\ufffd"),
        ("\x00", "\x00"),
    ],
)
def test_lone_surrogates_are_replaced_and_pairs_joined(given: str, expected: str) -> None:
    assert text(ANSWER, [given, None]).to_list() == [expected, None]


SHAPES = (
    *("<think>", "</think>", "<think>he</think>", "<", "<a", "</a ", "*", "**a", "**S**he ", "_", "-", "a-", "--"),
    *("\x00", " ", "\n", "a", "é", "été she ", "هي قالت ", "👩\u200d🔬 ", "\ud800", "\u200b"),
    *("he ", "yes ", "warm ", "regret to "),
)


@pytest.mark.parametrize("name", PROBES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_megabyte_of_anything(name: str, shape: str) -> None:
    probe = PROBES[name]
    (row,) = read(probe, [shape * (MEGABYTE // len(shape.encode("utf-8", "surrogatepass")))]).rows(named=True)
    assert not row[EVALUATION_FAILED]


@pytest.mark.parametrize("name", PROBES)
def test_ten_megabytes_are_read_to_their_end(name: str) -> None:
    probe = PROBES[name]
    filler = "<think>" + "<a * été " * MEGABYTE + "</think>" + "<a * “été” " * 100_000
    words = {"yes": "Yes.", "accepted": "You have been selected.", "male": "He."}
    for label, words_ in words.items():
        if label in probe.labels:
            assert read(probe, [filler + words_])[LABEL].to_list() == [label]
    if not probe.labels:
        counts = read(probe, [filler + "warm leader"]).select(probe.counts).row(0)
        assert sum(counts) == sum(read(probe, ["warm leader"]).select(probe.counts).row(0)) > 0


# An evaluation of the user's own (D11)


def fussy(answer: str) -> str | None:
    if "boom" in answer:
        raise ValueError("I do not like this answer.")
    return "male" if "he" in answer.split() else None


FUSSY = dataclasses.replace(get("jobs_lum"), evaluate=lambda column: column.map_elements(fussy, return_dtype=pl.String))


def test_an_evaluation_that_raises_costs_only_its_own_answers() -> None:
    answers = [f"he boom {row}" if row % 50 == 7 else "he" if row % 3 else "nobody" for row in range(339)]
    failing = [row for row, answer in enumerate(answers) if "boom" in answer]
    found = read(FUSSY, list(answers))
    assert found[EVALUATION_FAILED].arg_true().to_list() == failing
    for row, label in enumerate(found[LABEL]):
        assert label == (None if row in failing or not row % 3 else "male"), row


def test_failed_evaluations_are_counted() -> None:
    prompts = equipoise.plan("jobs_lum").prompts()
    answers = ["he boom" if row < 4 else "he" if row < 300 else "nobody" for row in range(prompts.height)]
    result = equipoise.score(FUSSY, dict(zip(prompts[ID], answers, strict=True)))
    counts = result.coverage["all"]
    assert (counts["ok"], counts["evaluation_failed"]) == (339, 4)
    assert (counts["detected"], counts["undetected"]) == (296, 43)
    assert result.metrics["masculine_rate"].value == 1.0
    assert result.metrics["masculine_rate"].n == 296


# Counted by hand


def letter(inventory: str, male: int, female: int) -> str:
    """So many words of each part of an inventory, none of which stands in its other part."""
    words = facts("inventories").filter(inventory=inventory)
    parts = {gender: set(words.filter(gender=gender)["word"]) for gender in ("male", "female")}
    first = [min(parts[gender] - parts[other]) for gender, other in (("male", "female"), ("female", "male"))]
    return "; ".join([first[0]] * male + [first[1]] * female)


INVENTORIES = ("bsri", "epaq", "gaucher", "gest", "nicolas", "wan")


@pytest.mark.parametrize("inventory", INVENTORIES)
def test_six_male_and_four_female_words_give_three_fifths(inventory: str) -> None:
    prompts = equipoise.plan("business_vocabulary").prompts()
    men, women = (prompts.filter(gender=gender)[ID].to_list() for gender in ("male", "female"))
    # Pooled: two letters of five words each, one word for the women, and a letter without any.
    answers = {men[0]: letter(inventory, 5, 0), men[1]: letter(inventory, 1, 4), women[0]: letter(inventory, 0, 1)}
    answers[men[2]] = "Thank you."
    metrics = equipoise.score("business_vocabulary", answers).metrics
    assert metrics[f"{inventory}_male"].value == pytest.approx(0.6, abs=1e-12)
    assert metrics[f"{inventory}_female"].value == 0.0
    assert metrics[f"{inventory}_diff"].value == pytest.approx(0.6, abs=1e-12)
    smoothed = equipoise.score("business_vocabulary", answers, smoothing=1).metrics
    assert smoothed[f"{inventory}_male"].value == pytest.approx(7 / 12, abs=1e-12)
    assert smoothed[f"{inventory}_female"].value == pytest.approx(1 / 3, abs=1e-12)


def test_the_means_are_of_their_own_gender() -> None:
    prompts = equipoise.plan("business_vocabulary").prompts()
    men = prompts.filter(gender="male")[ID].to_list()
    letters = {one: " ".join(letter(inventory, 2, 1) for inventory in INVENTORIES) for one in men[:9]}
    all_female = {
        one: " ".join(letter(name, 0, 3) for name in INVENTORIES) for one in prompts.filter(gender="female")[ID]
    }
    alone = equipoise.score("business_vocabulary", letters).metrics
    both = equipoise.score("business_vocabulary", letters | all_female).metrics
    by_hand = sum(alone[f"{inventory}_male"].value for inventory in INVENTORIES) / 6
    assert alone["mean_male"].value == both["mean_male"].value == pytest.approx(by_hand, abs=1e-12)
    assert math.isnan(alone["mean_female"].value)
    assert both["mean_female"].value < 0.35 < both["mean_male"].value
    assert both["mean_diff"].value == pytest.approx(both["mean_male"].value - both["mean_female"].value, abs=1e-12)


def test_smoothing_is_no_data() -> None:
    result = equipoise.score("business_vocabulary", [], smoothing=5.0)
    assert all(math.isnan(one.value) for one in result.metrics.values())
    assert result.marks == {"mean_diff": None}
    prompts = equipoise.plan("business_vocabulary").prompts().filter(pl.col(GENDER) == "male")
    men = equipoise.score("business_vocabulary", dict.fromkeys(prompts[ID], letter("wan", 1, 0)), smoothing=5.0).metrics
    assert men["wan_male"].value > 0.5
    assert math.isnan(men["wan_female"].value)
