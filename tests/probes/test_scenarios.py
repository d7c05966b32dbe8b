"""The packaged scenarios keep the promises that the substitution of gender, age and race relies on."""

import csv
import io
import itertools
import re
from collections import Counter
from importlib.resources import files

INTRODUCTION = "{age}-year-old {race} {gender}"
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
PRONOUNS = {"they", "They", "them", "Them", "their", "Their", "theirs", "themself"}
SLOT = re.compile(r"\{([^{}]*)\}")
VERB = re.compile(r"[a-z']+\|[a-z']+")
GENDERED = re.compile(
    r"\b(s?he|him|his|hers?|himself|herself|they|them|their|theirs|themsel(f|ves)"
    r"|\w*(man|men)|\w*(boys?|girls?)|males?|females?|mr|mrs|ms|sir|madam|lady|ladies|gentle\w+|guys?"
    r"|husbands?|wife|wives|mothers?|fathers?|moms?|dads?"
    r"|sons?|daughters?|sisters?|brothers?|aunts?|uncles?|nieces?|nephews?|widow\w*|landlords?|landlady"
    r"|waitress|actress|hostess|pregnan\w+|maternity|paternity)\b",
    re.IGNORECASE,
)
AGED = re.compile(r"\b(young\w*|old|elderly|retire\w*|teenage\w*|seniors|decades?)\b", re.IGNORECASE)


def scenarios() -> list[dict[str, str]]:
    source = files("equipoise.probes.discrimination_tamkin") / "scenarios.csv"
    return list(csv.DictReader(io.StringIO(source.read_text(encoding="utf-8"), newline="")))


def outside_slots(text: str) -> str:
    return SLOT.sub("_", text.replace(INTRODUCTION, "_"))


def failing(check: re.Pattern[str]) -> dict[str, list[str]]:
    hits = {row["scenario"]: list(check.finditer(outside_slots(row["text"]))) for row in scenarios()}
    return {name: [hit[0] for hit in found] for name, found in hits.items() if found}


def test_rows_names_and_areas() -> None:
    rows = scenarios()
    assert list(rows[0]) == ["scenario", "area", "text"]
    names = [row["scenario"] for row in rows]
    assert len(names) == len(set(names)) == 70
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)
    areas = Counter(row["area"] for row in rows)
    assert set(areas) == AREAS
    assert min(areas.values()) >= 4


def test_plain_text_that_ends_with_its_only_question() -> None:
    for row in scenarios():
        text = row["text"]
        assert re.fullmatch(r"[ !#-~]+", text), row["scenario"]  # printable ASCII without double quotes
        assert text == " ".join(text.split()), row["scenario"]
        assert text.index("?") == len(text) - 1, row["scenario"]
        assert 45 <= len(text.split()) <= 110, row["scenario"]


def test_person_is_introduced_once_near_the_start() -> None:
    for row in scenarios():
        before, *after = row["text"].split(INTRODUCTION)
        assert len(after) == 1, row["scenario"]
        assert re.search(r"\b[Aa] $", before), row["scenario"]
        assert len(before.split()) <= 25, row["scenario"]
        assert not SLOT.search(before), row["scenario"]


def test_only_known_slots() -> None:
    for row in scenarios():
        slots = SLOT.findall(row["text"].replace(INTRODUCTION, ""))
        unknown = [slot for slot in slots if slot not in PRONOUNS and not VERB.fullmatch(slot)]
        assert not unknown, row["scenario"]
        assert sum(slot in PRONOUNS for slot in slots) >= 3, row["scenario"]
        assert not set("{}|") & set(SLOT.sub("", row["text"])), row["scenario"]


def test_verb_slots_hold_singular_then_plural() -> None:
    irregular = {"has|have", "is|are", "was|were", "does|do", "doesn't|don't"}
    for row in scenarios():
        for slot in SLOT.findall(row["text"]):
            if "|" in slot and slot not in irregular:
                singular, plural = slot.split("|")
                regular = {plural + "s", plural + "es", plural[:-1] + "ies"}
                assert singular in regular, (row["scenario"], slot)


def test_verbs_after_the_pronoun_agree() -> None:
    unmarked = re.compile(r"\{[Tt]hey\} (?:also |already |now |often )?(?:have|are|were|do|[a-z]+s)\b")
    assert not {row["scenario"]: found for row in scenarios() if (found := unmarked.findall(row["text"]))}


def test_no_gendered_word_or_stray_pronoun() -> None:
    assert failing(GENDERED) == {}


def test_no_word_that_fits_one_age_only() -> None:
    assert failing(AGED) == {}


def test_no_near_duplicates() -> None:
    texts = {row["scenario"]: outside_slots(row["text"]).lower() for row in scenarios()}
    words = {name: set(re.findall(r"[a-z']+", text)) for name, text in texts.items()}
    for (first, a), (second, b) in itertools.combinations(words.items(), 2):
        assert len(a & b) / len(a | b) < 0.4, (first, second)
