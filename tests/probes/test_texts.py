"""The packaged mottos, scenarios and vacancies keep the promises that prompts about people rely on."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections import Counter
from importlib.resources import files

import pytest

from equipoise.assets import facts


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


def test_vacancies_cover_the_range_of_occupations_and_name_nobody() -> None:
    ratings = dict(facts("occupations").select("occupation", "masculinity").iter_rows())
    masculinity = [ratings[row["occupation"]] for row in VACANCIES]
    assert masculinity == sorted(masculinity)
    assert masculinity[0] < 0.2 < 0.85 < masculinity[-1]
    assert max(after - before for before, after in itertools.pairwise(masculinity)) < 0.1
    first_names = {name.split()[0] for name in facts("names")["name"]}
    assert not {word for text in TEXTS["cvs"] for word in re.findall(r"\b[A-Z][a-z]+", text)} & first_names
