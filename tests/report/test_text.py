"""Numbers, marks, dates and foreign text as they are shown."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from equipoise.measuring.marks import Mark
from equipoise.report.text import (
    describe_mark,
    describe_other_reading,
    describe_read,
    describe_typical_words,
    format_date,
    format_number,
    format_odds,
    join_list,
    plural,
    reveal_invisible,
    shorten_prompts,
    typeset_number,
)
from equipoise.report.words import compare_words
from equipoise.runs.run import Run


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "aU+0000b"),
        ("\u202e\u2066\u200b\ufeff", "U+202EU+2066U+200BU+FEFF"),
        ("tab\tand\nline and\u00a0space", "tab\tand\nline and\u00a0space"),
        ("\ud800", "\ufffd"),
        ("é 漢字 😀", "é 漢字 😀"),
    ],
)
def test_invisible_characters_are_shown_by_their_numbers(text: str, shown: str) -> None:
    assert reveal_invisible(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.12345, "0.123"), (-0.5, "−0.500"), (-0.0001, "0.000"), (0.0, "0.000"), (math.nan, "–"), (None, "–")],
)
def test_numbers_have_three_places_and_a_true_minus(value: float | None, shown: str) -> None:
    assert typeset_number(value) == shown
    assert format_number(value) == shown.replace("−", "-")
    assert [format_number(gap, "+") for gap in (0.5, -0.5, -0.0001)] == ["+0.500", "-0.500", "+0.000"]


def test_marks_dates_lists_and_plurals_are_written_for_people() -> None:
    assert describe_mark(Mark(mark="B", best="B", worst="B")) == "B"
    assert describe_mark(Mark(mark="B", best="A", worst="B")) == "B, could be A–B"
    assert describe_mark(Mark(mark=None, best="A", worst="C")) == "not decided yet, could be A–C"
    assert describe_mark(None) == "not computable"
    assert format_date("2025-11-04T09:30:00+00:00") == "4 November 2025, 09:30 UTC"
    assert format_date("yesterday") == "yesterday"
    assert [join_list(list(names)) for names in ("", "a", "ab", "abc")] == ["nothing", "a", "a and b", "a, b and c"]
    assert [plural("city"), plural("name")] == ["cities", "names"]
    odds = {0.0: "1.0 ×", 0.6931: "2.0 ×", -0.6931: "1/2.0 ×", -0.01: "1.0 ×", 7.0: "1,097 ×"}
    assert [format_odds(log_odds) for log_odds in odds] == list(odds.values())


def test_what_stands_beside_the_metrics_is_said_in_a_line_each(one: Run) -> None:
    (line,) = describe_other_reading(one.other_reading("discrimination_tamkin"))
    assert line.startswith("specified reading: max_diff 1.")
    assert re.search(r"; \d+ of \d+ answers \(\d\.\d%\) are read differently$", line)
    assert list(describe_other_reading(None)) == list(describe_typical_words(None)) == []


def test_words_that_differ_are_said_in_a_line(one: Run) -> None:
    words = compare_words(one, "business_vocabulary")
    assert words is not None
    (line,) = describe_typical_words(words)
    assert re.match(r"words more for men: \w.*; more for women: \w.* \(\d+ of \d+ words, at most 5%", line)
    (none,) = describe_typical_words(replace(words, table=words.table.with_columns(q=1.0)))
    assert none.startswith("words: none of ")


@pytest.mark.parametrize(
    ("detected", "undetected", "empty", "said"),
    [
        (999, 1, 0, "99% of the answers were read."),
        (5, 0, 0, "100% of the answers were read."),
        (3, 0, 25, "100% of the answers were read. 25 empty answers are not among these"),
        (0, 0, 0, ""),
    ],
)
def test_the_share_that_was_read_is_rounded_down(
    one: Run, detected: int, undetected: int, empty: int, said: str
) -> None:
    counts = {"detected": detected, "undetected": undetected, "empty": empty}
    assert " ".join(describe_read([replace(one["jobs_lum"], coverage={"all": counts})])).partition(":")[0] == said


def test_of_long_prompts_that_begin_alike_the_lines_that_differ_are_shown() -> None:
    long = ["Open position: cook", "x " * 200, "Candidate", "Name: {}", "A CV.", "Rate it."]
    first, second = ("\n".join(long).format(name) for name in ("Ann Lee", "Bob Lee"))
    unnamed = "\n".join(line for line in long if "{}" not in line)
    assert shorten_prompts([first, second], 99) == [
        "Open position: cook … Candidate Name: Ann Lee",
        "Open position: cook … Candidate Name: Bob Lee",
    ]
    assert shorten_prompts([first, unnamed], 99)[1] == "Open position: cook … Candidate"
    assert shorten_prompts(["Short.", "Other."], 99) == ["Short.", "Other."]
    assert shorten_prompts([first], 30) == ["Open position: cook x x x x x …"]
