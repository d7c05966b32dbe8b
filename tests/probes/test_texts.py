"""Packaged texts keep the promises that prompts about people rely on; no labelled answer borrows from fetched ones."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from equipoise.assets import locate
from equipoise.probes import find_probes
from equipoise.probes.labelled import read_labelled
from equipoise.settings import Settings


def read(probe: str, name: str) -> str:
    return (files(f"equipoise.probes.{probe}") / name).read_text(encoding="utf-8")


def read_rows(probe: str, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(read(probe, name), newline="")))


MOTTOS = read_rows("gest_creative", "mottos.csv")
SCENARIOS = read_rows("discrimination_tamkin", "scenarios.csv")
VACANCIES = [json.loads(line) for line in read("hiring_bloomberg", "vacancies.jsonl").splitlines()]
PERSON = "{age}-year-old {race} {gender}"
SLOT = re.compile(r"\{([^{}]*)\}")
TEXTS = {
    "mottos": [row["sentence"] for row in MOTTOS],
    "scenarios": [row["text"] for row in SCENARIOS],
    "outside of slots": [SLOT.sub("_", row["text"].replace(PERSON, "_")) for row in SCENARIOS],
    "ads": [row["ad"] for row in VACANCIES],
    "cvs": [cv for row in VACANCIES for cv in row["cvs"]],
}
PEOPLE = (
    r"s?he|him|his|hers?|himself|herself|\w*(?<!bitu)(?<!speci)m[ae]n|boys?|girls?|males?|females?|m[rs]s?|sir|madam|lad[sy]?|"
    r"ladies|gentle\w+man|guys?|husbands?|wi[fv]es?|mothers?|fathers?|moms?|mums?|dads?|sons?|daughters?|sisters?|brothers?|"
    r"aunts?|uncles?|nieces?|nephews?|widow\w*|brides?|groom|waitress|actress|hostess|pregnan\w+|maternity|paternity"
)
THINGS = (
    "miss|manly|womanly|mankind|masculine|feminine|girlfriend|boyfriend|fiancee?|motherly|fatherly|maternal|paternal|king|"
    "queen|prince|princess|lord|hero|heroine|host|nun|monk|priest|witch|wizard|goddess|god|master|mistress|maiden|macho|diva|"
    "dresses|skirt|gown|lipstick|makeup|heels|handbag|purse|necklace|perfume|beard|moustache|tie|suit|football|boxing|ballet"
)
RULES: list[tuple[str, str, bool]] = [
    ("mottos", r"\b(I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b", True),
    ("mottos", r"[^.]\.$", True),
    ("mottos", r"^[ !#-~]+$", True),
    ("mottos", r"^\S+( \S+){2,24}$", True),
    ("mottos", rf"(?i)\b({PEOPLE}|{THINGS}|bachelor|dress)\b", False),
    ("scenarios", r"^[^?]+\?$", True),
    ("scenarios", r"^(?=[ !#-~]+$)\S+( \S+){44,109}$", True),
    ("scenarios", r"^(\S+ ){0,24}?(?:[Aa]|\S+ a) \{age\}-year-old \{race\} \{gender\}", True),
    ("scenarios", r"\{[Tt]hey\} (?:also |already |now |often )?(?:have|are|were|do|[a-z]+s)\b", False),
    ("outside of slots", rf"(?i)\b({PEOPLE}|they|them|theirs?|themsel(f|ves)|landlords?|landlady)\b", False),
    ("outside of slots", r"(?i)\b(young\w*|old|elderly|retire\w*|teenage\w*|seniors|decades?)\b|[{}|]", False),
    ("ads", r"^\S+( \S+){59,79}$", True),
    ("cvs", r"^\S+( \S+){69,89}$", True),
    *(
        (
            texts,
            rf"(?i)\b({PEOPLE}|{THINGS}|i|me|my|mine|parents?|family|families|married|single|divorced|born)\b",
            False,
        )
        for texts in ("ads", "cvs")
    ),
    *((texts, r"\d|[^ -~]", False) for texts in ("ads", "cvs")),
]


@pytest.mark.parametrize(("texts", "pattern", "wanted"), RULES)
def test_every_text_keeps_the_rule(texts: str, pattern: str, wanted: bool) -> None:
    assert [text for text in TEXTS[texts] if bool(re.search(pattern, text)) is not wanted] == []


@pytest.mark.parametrize(("texts", "alike"), [("mottos", 0.999), ("outside of slots", 0.4), ("cvs", 0.3)])
def test_no_two_texts_are_near_copies(texts: str, alike: float) -> None:
    words = [set(re.findall(r"[a-z']+", text.lower())) for text in TEXTS[texts]]
    pairs = list(itertools.combinations(words, 2))
    assert max(len(one & other) / len(one | other) for one, other in pairs) < alike


def test_there_are_as_many_of_each_kind_as_the_cards_say() -> None:
    by_stereotype = Counter(int(row["stereotype"]) for row in MOTTOS)
    assert list(by_stereotype) == list(range(1, 17))
    assert (len(MOTTOS), min(by_stereotype.values())) >= (400, 25)
    by_area = Counter(row["area"] for row in SCENARIOS)
    assert len({row["scenario"] for row in SCENARIOS}) == len(SCENARIOS) == 70
    assert (len(by_area), min(by_area.values())) >= (11, 4)
    assert [len(row["cvs"]) for row in VACANCIES] == [8] * 24


def test_slots_of_scenarios_are_the_person_pronouns_and_verbs() -> None:
    pronouns = {"they", "They", "them", "Them", "their", "Their", "theirs", "themself"}
    irregular = {"has|have", "is|are", "was|were", "does|do", "doesn't|don't"}
    for text in TEXTS["scenarios"]:
        assert text.count(PERSON) == 1, text
        slots = SLOT.findall(text.replace(PERSON, ""))
        assert sum(slot in pronouns for slot in slots) >= 3, text
        for slot in {*slots} - pronouns - irregular:
            singular, plural = slot.split("|")
            assert singular in {plural + "s", plural + "es", plural[:-1] + "ies"}, slot


FEWEST_WORDS = 5
"""Shorter sentences ("I am a leader.") anybody may write."""
STOCK = "has no criminal record"
"""What anybody says, and what a reader of yes and no must not take for a no."""
FETCHED = [
    pytest.param(name, corpus.name, id=f"{name}-{corpus.name}")
    for name, probe in find_probes().items()
    for corpus in probe.corpora
    if corpus.asset and read_labelled(probe)
]


def find_words(text: str) -> str:
    """The words of a text in small letters, with a space on both sides of each."""
    words = re.findall("[a-z0-9]+", re.sub("['’]", "", text.lower()))
    return f" {' '.join(words)} "


@pytest.mark.parametrize(("name", "corpus_name"), FETCHED)
def test_no_sentence_of_a_fetched_corpus_is_kept(name: str, corpus_name: str, corpora: Path) -> None:
    probe = find_probes()[name]
    (corpus,) = (corpus for corpus in probe.corpora if corpus.name == corpus_name)
    assert corpus.asset is not None
    content = locate(corpus.asset, Settings.load()).read_bytes()
    columns = corpus.read(content).select(pl.selectors.string()).iter_columns()
    sentences = {
        find_words(sentence) for column in columns for text in column.unique() for sentence in re.split("[.?!]", text)
    }
    answers = "|".join(find_words(row["answer"]) for row in read_labelled(probe))
    long = [sentence for sentence in sentences if len(sentence.split()) >= FEWEST_WORDS and STOCK not in sentence]
    borrowed = [sentence for sentence in long if sentence in answers]
    assert len(long) > 30
    assert not borrowed
