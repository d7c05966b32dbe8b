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

from equipoise.assets import facts, locate
from equipoise.probes import find_probes
from equipoise.probes.labelled import read_labelled
from equipoise.probes.salary_advice.probe import OCCUPATIONS
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
NOT_IN_VACANCIES = rf"{PEOPLE}|{THINGS}|i|me|my|mine|parents?|family|families|married|single|divorced|born"
INTRODUCED = r"^(\S+ ){0,24}?(?:[Aa]|\S+ a) \{age\}-year-old \{race\} \{gender\}"
UNMARKED_VERB = r"\{[Tt]hey\} (?:also |already |now |often )?(?:have|are|were|do|[a-z]+s)\b"
NEUTRAL = r"they|them|theirs?|themsel(f|ves)|landlords?|landlady"
AGED = r"young\w*|old|elderly|retire\w*|teenage\w*|seniors|decades?"
RULES: dict[str, tuple[str, str, bool]] = {
    "mottos are in the first person": ("mottos", r"\b(I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b", True),
    "mottos end with one full stop": ("mottos", r"[^.]\.$", True),
    "mottos are ASCII without quotes": ("mottos", r"^[ !#-~]+$", True),
    "mottos have 3 to 25 words": ("mottos", r"^\S+( \S+){2,24}$", True),
    "mottos name no gender": ("mottos", rf"(?i)\b({PEOPLE}|{THINGS}|bachelor|dress)\b", False),
    "scenarios end with a question": ("scenarios", r"^[^?]+\?$", True),
    "scenarios have 45 to 110 words of ASCII": (
        "scenarios",
        r"^(?=[ !#-~]+$)\S+( \S+){44,109}$",
        True,
    ),
    "scenarios introduce the person early": ("scenarios", INTRODUCED, True),
    "verbs after the pronoun have slots": ("scenarios", UNMARKED_VERB, False),
    "scenarios name no gender": ("outside of slots", rf"(?i)\b({PEOPLE}|{NEUTRAL})\b", False),
    "scenarios name no age": ("outside of slots", rf"(?i)\b({AGED})\b|[{{}}|]", False),
    "ads have 60 to 80 words": ("ads", r"^\S+( \S+){59,79}$", True),
    "cvs have 70 to 90 words": ("cvs", r"^\S+( \S+){69,89}$", True),
    "ads name no gender": ("ads", rf"(?i)\b({NOT_IN_VACANCIES})\b", False),
    "cvs name no gender": ("cvs", rf"(?i)\b({NOT_IN_VACANCIES})\b", False),
    "ads are ASCII without digits": ("ads", r"\d|[^ -~]", False),
    "cvs are ASCII without digits": ("cvs", r"\d|[^ -~]", False),
}
"""For each rule the texts, a pattern, and whether every text must match it or none may."""


@pytest.mark.parametrize(("texts", "pattern", "wanted"), RULES.values(), ids=RULES)
def test_every_text_keeps_the_rule(texts: str, pattern: str, wanted: bool) -> None:
    assert [text for text in TEXTS[texts] if bool(re.search(pattern, text)) is not wanted] == []


@pytest.mark.parametrize(("texts", "alike"), [("mottos", 0.999), ("outside of slots", 0.4), ("cvs", 0.3)])
def test_no_two_texts_are_near_copies(texts: str, alike: float) -> None:
    words = [set(re.findall(r"[a-z']+", text.lower())) for text in TEXTS[texts]]
    pairs = list(itertools.combinations(words, 2))
    assert max(len(one & other) / len(one | other) for one, other in pairs) < alike


def test_each_of_sixteen_stereotypes_has_enough_mottos() -> None:
    by_stereotype = Counter(int(row["stereotype"]) for row in MOTTOS)
    assert list(by_stereotype) == list(range(1, 17))
    assert min(by_stereotype.values()) >= 25
    assert len(MOTTOS) >= 400


def test_there_are_seventy_scenarios_and_enough_in_each_area() -> None:
    by_area = Counter(row["area"] for row in SCENARIOS)
    assert len({row["scenario"] for row in SCENARIOS}) == len(SCENARIOS) == 70
    assert len(by_area) >= 11
    assert min(by_area.values()) >= 4


def test_each_of_24_vacancies_has_eight_cvs() -> None:
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


# Mottos


GENDERED_WORDS = """
he she him her his hers himself herself man men woman women manly womanly mankind male males female females
masculine feminine boy boys girl girls boyish girlish guy guys lad lads lass lady ladies gentleman gentlemen
sir madam mister miss mr mrs ms wife wives husband husbands girlfriend boyfriend fiance fiancee bride groom
bachelor widow widower mother mothers father fathers mum mom mama dad papa daddy mommy motherly fatherly
maternal paternal son sons daughter daughters brother brothers sister sisters uncle aunt nephew niece
grandfather grandmother grandma grandpa king kings queen queens prince princes princess princesses lord hero
heroine heroes actor actress waiter waitress host hostess businessman businesswoman craftsman craftsmanship
sportsman chairman spokesman housewife nun monk priest priestess witch wizard goddess god master mistress
maiden virgin macho diva dude dress dresses skirt gown lipstick mascara makeup heels bra corset handbag
purse necklace earrings perfume beard moustache mustache tie necktie suit tuxedo pregnant pregnancy
"""
"""Words of a gender or that are thought of with one; each form is listed."""


def test_no_motto_has_a_word_of_a_gender() -> None:
    words = "|".join(GENDERED_WORDS.split())
    gendered = re.compile(rf"(?i)\b({words})\b")
    assert [text for text in TEXTS["mottos"] if gendered.search(text)] == []


def test_mottos_are_in_the_order_of_their_stereotypes() -> None:
    assert list(MOTTOS[0]) == ["sentence", "stereotype"]
    numbers = [int(row["stereotype"]) for row in MOTTOS]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, 17))


def test_no_motto_stands_twice() -> None:
    counts = Counter(text.casefold() for text in TEXTS["mottos"])
    assert [text for text, count in counts.items() if count > 1] == []


# Scenarios


AREAS = {
    "lending",
    "housing",
    "hiring",
    "promotion",
    "medicine",
    "insurance",
    "education",
    "law",
    "travel",
    "civic",
    "business",
}
SCENARIO_GENDERED = re.compile(
    r"\b(s?he|him|his|hers?|himself|herself|they|them|their|theirs|themsel(f|ves)"
    r"|\w*(man|men)|\w*(boys?|girls?)|males?|females?|mr|mrs|ms|sir|madam|lady|ladies|gentle\w+|guys?"
    r"|husbands?|wife|wives|mothers?|fathers?|moms?|dads?"
    r"|sons?|daughters?|sisters?|brothers?|aunts?|uncles?|nieces?|nephews?|widow\w*|landlords?|landlady"
    r"|waitress|actress|hostess|pregnan\w+|maternity|paternity)\b",
    re.IGNORECASE,
)


def test_scenarios_have_names_and_areas() -> None:
    assert list(SCENARIOS[0]) == ["scenario", "area", "text"]
    for row in SCENARIOS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row["scenario"])
    assert {row["area"] for row in SCENARIOS} == AREAS


def test_a_scenario_ends_with_its_only_question() -> None:
    for text in TEXTS["scenarios"]:
        assert text == " ".join(text.split()), text
        assert text.index("?") == len(text) - 1, text


def test_the_person_of_a_scenario_is_introduced_once_near_the_start() -> None:
    for text in TEXTS["scenarios"]:
        before, *after = text.split(PERSON)
        assert len(after) == 1, text
        assert re.search(r"\b[Aa] $", before), text
        assert len(before.split()) <= 25, text
        assert not SLOT.search(before), text


def test_no_scenario_has_a_stray_brace_or_bar() -> None:
    for text in TEXTS["scenarios"]:
        assert not set("{}|") & set(SLOT.sub("", text)), text


def test_no_scenario_has_a_gendered_word_outside_of_its_slots() -> None:
    assert [text for text in TEXTS["outside of slots"] if SCENARIO_GENDERED.search(text)] == []


# Vacancies


PERSONAL = re.compile(
    r"\b(s?he|him|hers?|his|himself|herself|i|me|my|mine|mr|mrs|ms|miss|sir|madam|m[ae]n|wom[ae]n|\w+(?<!bitu)(?<!speci)m[ae]n"
    r"|males?|females?|boys?|girls?|guys?|lads?|lady|ladies|gentle\w+man|wife|wives|husbands?|spouses?|bride\w*|groom\w*"
    r"|mothers?\w*|fathers?\w*|parents?|mums?|moms?|dads?|sons?|daughters?|sisters?|brothers?|uncles?|aunts?|family|families"
    r"|king|queen|master\w*|mistress|host|hostess|actress|waitress|seamstress|midwife|married|single|divorced|widow\w*"
    r"|born|birth\w*|pregnan\w+|maternity|paternity|football|boxing|ballet|knitting|sewing|makeup)\b",
    re.IGNORECASE,
)


def test_vacancies_cover_the_range_of_occupations() -> None:
    ratings = dict(facts("occupations").select("occupation", "masculinity").iter_rows())
    assert len(VACANCIES) == 24
    assert len(TEXTS["cvs"]) == 192
    masculinity = [ratings[row["occupation"]] for row in VACANCIES]
    assert masculinity == sorted(masculinity)
    assert 0.15 <= masculinity[0] < 0.2
    assert 0.85 < masculinity[-1] <= 0.9
    steps = [after - before for before, after in itertools.pairwise(masculinity)]
    assert max(steps) < 0.1


@pytest.mark.parametrize("texts", ["ads", "cvs"])
def test_no_word_of_a_vacancy_gives_a_person_away(texts: str) -> None:
    found = {text: PERSONAL.findall(text) for text in TEXTS[texts]}
    assert {text: words for text, words in found.items() if words} == {}


@pytest.mark.parametrize("texts", ["ads", "cvs"])
def test_no_vacancy_has_a_first_name(texts: str) -> None:
    first_names = {name.split()[0] for name in facts("names")["name"]}
    for text in TEXTS[texts]:
        assert not set(re.findall(r"\b[A-Z][a-z]+", text)) & first_names, text


def test_no_phrase_of_seven_words_stands_in_three_cvs() -> None:
    phrases: Counter[str] = Counter()
    for text in TEXTS["cvs"]:
        words = re.findall(r"[a-z]+", text.lower())
        phrases.update({" ".join(words[start : start + 7]) for start in range(len(words) - 6)})
    assert max(phrases.values()) <= 2


# Occupations of salary_advice


def test_occupations_of_advice_on_pay_are_rated_and_cover_the_range() -> None:
    ratings = dict(facts("occupations")["occupation", "masculinity"].iter_rows())
    rated = sorted(ratings[name] for name in OCCUPATIONS)
    assert len(set(OCCUPATIONS)) == len(OCCUPATIONS) == 96
    assert rated[0] < 0.1
    assert rated[-1] > 0.9
    assert sum(rating < 0.4 for rating in rated) >= 24
    assert sum(rating > 0.6 for rating in rated) >= 24


# Labelled answers


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
