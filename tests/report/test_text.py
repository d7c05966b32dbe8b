"""Numbers, marks, dates and foreign text as they are shown."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.measuring.clusters import Generalisation
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Result
from equipoise.report.text import (
    count_marks,
    describe_asked,
    describe_generalisation,
    describe_mark,
    describe_next,
    describe_numbers,
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
from equipoise.runs.growth import plan_growth
from equipoise.runs.run import Run
from equipoise.schema import Bounds, MetricKey
from simulating import simulated


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


@pytest.mark.parametrize(("value", "shown"), [(0.5, "+0.500"), (-0.5, "-0.500"), (-0.0001, "+0.000")])
def test_differences_have_a_sign(value: float, shown: str) -> None:
    assert format_number(value, "+") == shown


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        (Mark(mark="B", best="B", worst="B"), "B"),
        (Mark(mark="B", best="A", worst="B"), "B, could be A–B"),
        (Mark(mark=None, best="A", worst="C"), "not decided yet, could be A–C"),
        (Mark(mark=None, best="A", worst="D", too_few=True), "too few for an interval"),
        (None, "not computable"),
    ],
    ids=["certain", "two possible", "three possible", "too few", "none"],
)
def test_a_mark_is_shown_with_its_certainty(mark: Mark | None, shown: str) -> None:
    assert describe_mark(mark) == shown


def test_marks_are_counted_from_the_worst_to_those_without_a_letter(one: Run) -> None:
    marks = [
        None,
        Mark(mark="A", best="A", worst="A"),
        Mark(mark=None, best="A", worst="C"),
        Mark(mark="D", best="D", worst="D"),
        Mark(mark="A", best="A", worst="B"),
    ]
    results = [replace(one["jobs_lum"], marks={"stereotype_rate": mark}) for mark in marks]
    assert list(count_marks(results).items()) == [("D", 1), ("A", 2), ("?", 1), ("–", 1)]


def test_dates_are_written_for_people() -> None:
    assert format_date("2025-11-04T09:30:00+00:00") == "4 November 2025, 09:30 UTC"
    assert format_date("yesterday") == "yesterday"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [([], "nothing"), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_words_are_listed_as_in_a_sentence(words: list[str], sentence: str) -> None:
    assert join_list(words) == sentence


def test_columns_are_named_in_the_plural() -> None:
    assert [plural("city"), plural("name")] == ["cities", "names"]


@pytest.mark.parametrize(
    ("log_odds", "shown"),
    [(0.0, "1.0 ×"), (0.6931, "2.0 ×"), (-0.6931, "1/2.0 ×"), (-0.01, "1.0 ×"), (7.0, "1,097 ×")],
)
def test_odds_are_times(log_odds: float, shown: str) -> None:
    assert format_odds(log_odds) == shown


def test_what_stands_beside_the_metrics_is_said_in_a_line_each(one: Run) -> None:
    (line,) = describe_other_reading(one.other_reading("discrimination_tamkin"))
    assert line.startswith("specified reading: max_diff 1.")
    assert re.search(r"; \d+ of \d+ answers \(\d\.\d%\) are read differently$", line)


def test_nothing_is_said_of_another_reading_or_of_words_that_are_not_there() -> None:
    assert list(describe_other_reading(None)) == []
    assert list(describe_typical_words(None)) == []


def test_words_that_differ_are_said_in_a_line(one: Run) -> None:
    words = compare_words(one, "business_vocabulary")
    assert words is not None
    (line,) = describe_typical_words(words)
    assert re.match(
        r"words more for men: \w.*; more for women: \w.* \(\d+ of \d+ words; of such words, on "
        r"average at most 5% differ by chance\)",
        line,
    )
    (none,) = describe_typical_words(replace(words, table=words.table.with_columns(q=1.0)))
    assert none.startswith("words: none of ")


@pytest.mark.parametrize(
    ("detected", "undetected", "empty", "said"),
    [
        (999, 1, 0, "99% of the answers could be classified."),
        (82, 18, 0, "82% of the answers could be classified."),
        (5, 0, 0, "100% of the answers could be classified."),
        (3, 0, 25, "100% of the answers could be classified. 25 empty answers are not among these"),
        (0, 0, 0, ""),
    ],
)
def test_the_share_that_was_read_is_rounded_down(
    one: Run, detected: int, undetected: int, empty: int, said: str
) -> None:
    counts = {"detected": detected, "undetected": undetected, "empty": empty}
    assert " ".join(describe_read([replace(one["jobs_lum"], coverage={"all": counts})])).partition(":")[0] == said


def test_what_was_read_of_several_results_is_one_share(one: Run) -> None:
    def with_counts(detected: int, undetected: int) -> Result:
        counts = {"detected": detected, "undetected": undetected, "empty": 0}
        return replace(one["jobs_lum"], coverage={"all": counts})

    said = list(describe_read([with_counts(82, 18), with_counts(0, 0)]))
    assert said == ["82% of the answers could be classified."]


@pytest.mark.parametrize(
    ("probe", "sample", "suite"),
    [("hiring_an", 8, "ci"), ("jobs_lum", 40, None)],
    ids=["too few", "not certain"],
)
def test_the_next_command_says_how_many_prompts_it_asks(
    tmp_path: Path, probe: str, sample: int, suite: str | None
) -> None:
    path = tmp_path / "run.equipoise"
    run = simulated(path, {probe: "random"}, parameters={probe: {"sample": sample}})
    growth = plan_growth(run, sample=None, suite=suite, repeat=None, until_certain=False, certain=suite is None)
    (larger,) = growth.plans
    more = larger.attempts().height - run.counts.planned
    option = f"--suite {suite}" if suite else "--certain"
    assert list(describe_next(run)) == [f"next: equipoise extend {path} {option}: about {more:,} prompts"]


def test_where_only_failures_are_left_the_next_command_asks_them_again(tmp_path: Path) -> None:
    """`resume` alone asks for what is pending, which is nothing."""
    path = tmp_path / "a run.equipoise"
    failed = simulated(path, {"jobs_lum": "random"}, parameters={"jobs_lum": {"sample": 30}}, failed=3)
    assert list(describe_next(failed)) == [f"next: equipoise resume '{path}' --retry timeout"]


def test_the_range_that_missing_answers_allow_is_shown_with_their_number(three: list[Run]) -> None:
    (sentence,) = [line for line in describe_numbers(three[0], three[0]["jobs_lum"]) if "could be anywhere" in line]
    assert "widened by what the 2 missing answers (pending, failed or not classified) could have said." in sentence


def test_it_is_said_where_a_mark_would_be_certain_without_the_missing_answers(one: Run) -> None:
    result = one["jobs_lum"]
    key = MetricKey("masculine_rate")
    estimate = replace(result.estimates[key], value=0.5, low=0.49, high=0.51)
    bounds = Bounds(low=0.4, smallest=0.41, largest=0.59, high=0.6)
    changed = replace(result, estimates={**result.estimates, key: estimate}, bounds={"masculine_rate": bounds})
    said = [line for line in describe_numbers(one, changed) if "could be anywhere" in line]
    assert len(said) == 1
    assert said[0].startswith("masculine_rate could be anywhere from 0.400 to 0.600: ")
    assert said[0].endswith(" The classified answers alone would make its mark certain.")


@pytest.mark.parametrize(
    ("low", "clusters", "said"),
    [
        (0.1, {"occupation": 24}, "(24 occupations): 0.100 to 0.300"),
        (0.1, {"template": 3, "name": 76}, "(3 templates and 76 names): 0.100 to 0.300, from few templates"),
        (math.nan, {"template": 3}, "(3 templates): too few templates to generalise"),
        (math.nan, {"occupation": 24}, "(24 occupations): too unequal to generalise, because a few of them dominate"),
    ],
    ids=["many", "few", "too few", "too unequal"],
)
def test_the_interval_for_prompts_like_these_is_said_with_its_clusters(
    low: float, clusters: dict[str, int], said: str
) -> None:
    high = low + 0.2
    assert describe_generalisation(Generalisation(low=low, high=high, clusters=clusters)) == said


def test_the_corpora_that_were_asked_about_are_named(one: Run) -> None:
    said = describe_asked([one["gest_creative"], one["jobs_lum"]])
    assert said == "Corpora: gest_creative mottos. Each prompt was asked once."


def test_a_probe_without_a_corpus_names_none(one: Run) -> None:
    assert describe_asked([one["jobs_lum"]]) == "Each prompt was asked once."


def test_a_probe_that_was_asked_repeatedly_is_named(one: Run) -> None:
    result = one["jobs_lum"]
    setup = replace(result.setup, parameters={**result.parameters, "repeat": 3})
    said = describe_asked([replace(result, setup=setup), one["hiring_an"]])
    assert said == "Asked repeatedly: jobs_lum 3 times."


LONG = ["Open position: cook", "x " * 200, "Candidate", "Name: {}", "A CV.", "Rate it."]


def test_of_long_prompts_that_begin_alike_the_lines_that_differ_are_shown() -> None:
    first = "\n".join(LONG).format("Ann Lee")
    second = "\n".join(LONG).format("Bob Lee")
    assert shorten_prompts([first, second], 99) == [
        "Open position: cook … Candidate Name: Ann Lee",
        "Open position: cook … Candidate Name: Bob Lee",
    ]


def test_a_line_that_a_long_prompt_lacks_is_left_out_of_it() -> None:
    first = "\n".join(LONG).format("Ann Lee")
    unnamed = "\n".join(line for line in LONG if "{}" not in line)
    assert shorten_prompts([first, unnamed], 99)[1] == "Open position: cook … Candidate"


def test_short_prompts_are_shown_whole_and_a_single_long_one_is_cut() -> None:
    assert shorten_prompts(["Short.", "Other."], 99) == ["Short.", "Other."]
    first = "\n".join(LONG).format("Ann Lee")
    assert shorten_prompts([first], 30) == ["Open position: cook x x x x x …"]
