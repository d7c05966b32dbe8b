"""`word_association`: lists and pairs, what is read of half an answer, reference models."""

from __future__ import annotations

import csv
import io
from importlib.resources import files

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.assets import facts
from equipoise.measuring.evaluate import apply_detector
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.probes.word_association.probe import COUNTS, LISTS, MEN, USED, WOMEN, WORDS_GIVEN
from equipoise.schema import ITEM, PROMPT, STATUS, text_column
from simulating import say_findings
from simulating import score as score_probe

PROBE = "word_association"
LABELLED = (files("equipoise.probes.word_association") / "labelled.csv").read_text("utf-8")
ROWS = list(csv.DictReader(io.StringIO(LABELLED, newline="")))


def score(answers: str | list[str], sample: int = 48) -> Result:
    """The result of a reference model, or of the answers in a list."""
    return score_probe(PROBE, answers if isinstance(answers, str) else lambda _prompts: answers, sample=sample)


def simulate(stance: str, sample: int = 48) -> list[str]:
    prompts = equipoise.plan(PROBE, sample=sample).prompts()
    return list(get_probe(PROBE).simulate(prompts, stance, np.random.default_rng(3)))


def list_names() -> list[tuple[str, str, str]]:
    """Each name with the gender and the race that it stands under."""
    names = []
    for gender, by_race in (("male", MEN), ("female", WOMEN)):
        for race, listed in by_race.items():
            names += [(name, gender, race) for name in listed.split()]
    return names


def test_names_signal_the_gender_and_race_that_they_stand_under() -> None:
    known = facts("names").with_columns(first=pl.col("name").str.split(" ").list.first())
    for name, gender, race in list_names():
        rows = known.filter(first=name)
        assert set(rows["gender"]) == {gender}, name
        assert race in set(rows["race"]), name


def test_no_name_stands_twice() -> None:
    names = [name for name, _, _ in list_names()]
    assert len(set(names)) == len(names) == 96


def test_no_word_stands_in_two_lists_or_is_a_name() -> None:
    words: list[str] = []
    for sides in LISTS.values():
        for side in sides.values():
            words += side
    assert len(set(words)) == len(words) == 50
    assert not {name.lower() for name, _, _ in list_names()} & set(words)


@pytest.mark.parametrize("by_race", [MEN, WOMEN], ids=["men", "women"])
def test_every_race_has_a_dozen_names(by_race: dict[str, str]) -> None:
    for race, names in by_race.items():
        assert len(names.split()) == 12, race


def test_the_prompts_of_an_item_differ_in_who_is_one_and_who_is_two() -> None:
    prompts = equipoise.plan(PROBE).prompts()
    for _, item in prompts.group_by(ITEM):
        first_prompt, second_prompt = item[PROMPT]
        one, two = item["names"][0].split("; ")
        head, _, words = first_prompt.partition("\n\n")
        assert head.startswith(f"1 = {one}, 2 = {two}. Give each")
        exchanged = head.replace(one, "…").replace(two, one).replace("…", two)
        assert second_prompt == first_prompt.replace(head, exchanged)
        of_list = {word for side in LISTS[item["list"][0]].values() for word in side}
        assert set(words.split("\n")) == of_list


def test_nearly_every_item_has_an_order_of_its_own() -> None:
    assert equipoise.plan(PROBE).prompts().select("list", "words").n_unique() > 180


def test_a_full_list_is_a_short_reply() -> None:
    longest = max(map(len, simulate("stereotyping", 192)))
    assert longest < 200
    assert get_probe(PROBE).max_tokens * 3 > longest


def test_labelled_answers_are_read_word_by_word() -> None:
    columns = [text_column(name, [row[name] for row in ROWS]) for name in ("answer", *USED)]
    read = apply_detector(WORDS_GIVEN, pl.DataFrame(columns).with_columns(pl.lit("ok").alias(STATUS)))
    found = [" ".join(map(str, counts)) for counts in read.select(COUNTS[:-1]).iter_rows()]
    assert found == [row["counts"] for row in ROWS]


@pytest.mark.parametrize(("to", "order_effect"), [("first", 1.0), ("second", -1.0), ("man", 0.0)])
def test_every_word_to_one_name_scores_nothing(to: str, order_effect: float) -> None:
    answers = []
    for genders, words in equipoise.plan(PROBE, sample=16).prompts().select("genders", "words").iter_rows():
        number = {"first": 1, "second": 2, "man": 1 + genders.index("m")}[to]
        answers.append("\n".join(f"{word} {number}" for word in words.split(", ")))
    metrics = score(answers, 16).metrics
    found = [metrics[name].value for name in ("association", "order_effect", "answered_rate")]
    assert found == [0.0, order_effect, 1.0]


def test_half_a_list_is_read_for_what_it_says_and_shown_as_half() -> None:
    answers = simulate("stereotyping")
    half = score(["\n".join(answer.split("\n")[::2]) for answer in answers])
    assert half.metrics["association"].value == 1.0
    assert half.metrics["answered_rate"].value == pytest.approx(0.5)
    assert "words in these answers were given to nobody." in say_findings(half)[0]


def test_exchanging_the_people_turns_the_score_round() -> None:
    """What was given to the man is given to the woman: every score changes its sign, and nothing else happens."""
    answers = simulate("random", 96)
    exchanged = ["\n".join(f"{line[:-1]}{'21'[int(line[-1]) - 1]}" for line in text.split("\n")) for text in answers]
    before, after = score(answers, 96), score(exchanged, 96)
    for name in (
        "association_career",
        "association_science",
        "association_power",
        "association",
        "control",
        "order_effect",
    ):
        assert after.metrics[name].value == pytest.approx(-before.metrics[name].value), name


def test_refusals_are_undetected_and_change_nothing() -> None:
    answers = simulate("stereotyping")
    refused = ["I can't sort words by gender."] * 4 + answers[4:]
    result = score(refused)
    assert result.metrics["association"].value == score(answers).metrics["association"].value
    assert result.coverage["all"]["undetected"] == 4
    assert result.metrics["answered_rate"].value == 1.0


@pytest.mark.parametrize(
    ("stance", "mark"),
    [("stereotyping", "D"), ("anti-stereotyping", "D"), ("unbiased", "A"), ("first-name", "A")],
)
def test_reference_models_have_their_marks(stance: str, mark: str) -> None:
    found = score(stance, 192).marks["association"]
    assert found is not None
    assert found.mark == mark


def test_place_is_said_where_it_decided() -> None:
    text = " ".join(say_findings(score("first-name")))
    assert "The person who stands first got 100% of all words" in text
