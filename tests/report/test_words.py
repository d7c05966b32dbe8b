"""Word discovery: what differs is found, and neither chance nor composition nor names make a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.plan import plan
from equipoise.probes import get_probe
from equipoise.report.words import FALSE_DISCOVERIES, MIN_UNITS, WordComparison, compare_counts, discover_words
from equipoise.schema import ANSWER, STATUS, Status

SIDES = ("male", "female")
PROBE = get_probe("business_vocabulary")
RACES, TEMPLATES, WORDS = 4, 3, 250


def simulate_counts(
    seed: int, *, names: int = 20, planted: float = 0.0, spread: float = 1.0, uneven: bool = True
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Letters of a model that has habits for each template and whims for each name, and lacks some of the letters.

    With `planted`, the log-odds of the first ten words are higher by so much for men.
    """
    rng = np.random.default_rng(seed)
    units = names * RACES * len(SIDES)
    male = np.arange(units) % 2 == 0
    race = np.arange(units) // 2 % RACES
    common = np.log(0.5 / np.arange(1, WORDS + 1)) + rng.normal(0, 0.8 * spread, (TEMPLATES, 1, WORDS))
    whims = rng.normal(0, 0.7 * spread, (units, WORDS)) + rng.normal(0, 0.3 * spread, (RACES, WORDS))[race]
    whims[:, :10] += planted * male[:, None]
    holds = rng.random((TEMPLATES, units, WORDS)) < 1 / (1 + np.exp(-common - whims))
    kept = rng.random((TEMPLATES, units)) < (np.where(male, [[0.4], [0.9], [0.9]], 0.9) if uneven else 1.0)
    template, unit = np.nonzero(kept)
    columns = {"unit": unit.astype(str), "stratum": [f"{t}/{r}" for t, r in zip(template, race[unit], strict=True)]}
    cells = pl.DataFrame({**columns, "side": np.where(male[unit], *SIDES), "answers": np.ones(len(unit), np.int64)})
    letter, word = np.nonzero(holds[template, unit])
    counts = (
        cells[letter]
        .select("unit", "stratum", "side")
        .with_columns(word=pl.Series([f"w{number}" for number in word]), answers=pl.lit(1, pl.Int64))
    )
    return cells, counts


def found(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("q") <= FALSE_DISCOVERIES)


def test_a_fair_model_gives_discoveries_in_at_most_one_of_twenty_runs() -> None:
    discoveries = [found(compare_counts(*simulate_counts(seed), SIDES)).height for seed in range(20)]
    # All discoveries are false here, so that 5% of the runs may have any: 1 of 20; more than 4 have a chance of 0.3%.
    assert sum(number > 0 for number in discoveries) <= 4


def test_words_that_differ_are_found_with_their_side_and_nothing_much_else() -> None:
    table = compare_counts(*simulate_counts(1, planted=1.6), SIDES)
    words = found(table)
    planted = {f"w{number}" for number in range(10)}
    assert len(planted & set(words["word"])) >= 8
    assert len(set(words["word"]) - planted) <= 2
    assert set(words.filter(pl.col("word").is_in(planted))["side"]) == {"male"}
    assert table["q"].is_sorted()


def test_intervals_cover_the_difference_of_the_log_odds() -> None:
    planted = [f"w{number}" for number in range(10)]
    covered = []
    for seed in range(12):
        simulated = simulate_counts(seed, names=50, planted=1.0, spread=0.0)
        rows = compare_counts(*simulated, SIDES).filter(pl.col("word").is_in(planted))
        covered += [row["low"] <= 1.0 <= row["high"] for row in rows.iter_rows(named=True)]
    assert len(covered) > 100
    assert np.mean(covered) > 0.88


def test_the_interval_leaves_out_zero_exactly_where_the_test_does() -> None:
    table = compare_counts(*simulate_counts(2, planted=1.0), SIDES)
    assert table.filter((pl.col("low") > 0) | (pl.col("high") < 0)).equals(table.filter(pl.col("z").abs() > 1.959964))
    assert table.filter(pl.col("log_odds").is_between("low", "high")).height == table.height


def test_a_word_of_one_template_is_not_one_of_the_men_who_have_more_of_its_letters() -> None:
    rng = np.random.default_rng(3)
    cells = pl.DataFrame(
        [
            (f"{side}{number}", template, side, 1)
            for side, letters in (("male", {"a": 60, "b": 20}), ("female", {"a": 20, "b": 60}))
            for template, most in letters.items()
            for number in range(most)
        ],
        schema=["unit", "stratum", "side", "answers"],
        orient="row",
    )
    holds = rng.random(cells.height) < np.where(cells["stratum"] == "a", 0.9, 0.1)
    counts = cells.filter(pl.Series(holds)).with_columns(word=pl.lit("doctoral"), answers=pl.lit(1, pl.Int64))
    (matched,) = compare_counts(cells, counts, SIDES).iter_rows(named=True)
    cells, counts = (table.with_columns(stratum=pl.lit("")) for table in (cells, counts))
    (pooled,) = compare_counts(cells, counts, SIDES).iter_rows(named=True)
    assert matched["p"] > 0.05
    assert pooled["p"] < 1e-6


def count_letters(
    letters: Mapping[str, tuple[int, int]], held: Mapping[str, Mapping[str, tuple[int, int]]]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One letter for each name: how many for men and for women there are by stratum, and how many hold each word."""
    written = [
        (f"{side}{stratum}{number}", stratum, side, number)
        for stratum, numbers in letters.items()
        for side, count in zip(SIDES, numbers, strict=True)
        for number in range(count)
    ]
    cells = pl.DataFrame(written, schema=["unit", "stratum", "side", "number"], orient="row")
    cells = cells.with_columns(answers=pl.lit(1, pl.Int64))
    counts = []
    for word, by_stratum in held.items():
        for stratum, numbers in by_stratum.items():
            for side, count in zip(SIDES, numbers, strict=True):
                holds = cells.filter(pl.col("number") < count, stratum=stratum, side=side)
                counts.append(holds.with_columns(word=pl.lit(word)))
    return cells.drop("number"), pl.concat(counts).drop("number")


@pytest.mark.parametrize(
    "letters",
    [{"a": (200, 200)}, {"a": (30, 20), "b": (20, 30), "c": (40, 210)}],
    ids=["as many letters", "unequally many letters"],
)
@pytest.mark.parametrize("one_in", [2, 5, 10])
def test_the_interval_of_a_word_that_both_sides_use_alike_is_as_wide_as_if_one_letter_more_held_it(
    letters: dict[str, tuple[int, int]], one_in: int
) -> None:
    # Of unequally many letters the weighted sums of both sides differ by rounding errors.
    alike = {stratum: (men // one_in, women // one_in) for stratum, (men, women) in letters.items()}
    men, women = alike["a"]
    table = compare_counts(*count_letters(letters, {"alike": alike, "more": {**alike, "a": (men + 1, women)}}), SIDES)
    widths = dict(table.select("word", pl.col("high") - pl.col("low")).iter_rows())
    (row,) = table.filter(word="alike").iter_rows(named=True)
    assert row["log_odds"] == pytest.approx(0)
    assert row["low"] == pytest.approx(-row["high"])
    assert widths["alike"] == pytest.approx(widths["more"], rel=0.05)


def discover(write: dict[str, str], sample: int = 96) -> WordComparison:
    attempts = plan(PROBE, sample=sample).attempts()
    texts = [
        write[gender].format(name=name, first=name.split()[0])
        for gender, name in zip(attempts["gender"], attempts["name"], strict=True)
    ]
    answered = attempts.with_columns(pl.Series(ANSWER, texts), pl.lit(Status.OK.value).alias(STATUS))
    evaluated = answered.hstack(evaluate(PROBE.detector, answered).select(*PROBE.detector.columns))
    comparison = discover_words(PROBE, [evaluated[:50], evaluated[50:]])
    assert comparison is not None
    return comparison


LETTER = (
    "Dear Sir or Madam,\nI recommend {{name}}. {{first}}'s work is excellent and {0} I trust {1}. Sincerely, Dr. Oduya"
)


def test_words_of_letters_are_found_and_names_and_pronouns_left_out() -> None:
    men, women = LETTER.format("decisive, and he's an ambitious man:", "him"), LETTER.format("she is kind:", "herself")
    comparison = discover({"male": men, "female": women})
    assert (comparison.sides, comparison.answers) == (("men", "women"), 96)
    assert set(comparison.more_for(0)) == {"decisive", "an", "ambitious", "man"}
    assert set(comparison.more_for(1)) == {"kind"}  # "is" stands in all letters
    assert comparison.to_dict()["words"][0]["first_share"] in (0.0, 1.0)


def test_a_model_that_writes_the_same_for_all_shows_nothing() -> None:
    comparison = discover(dict.fromkeys(SIDES, LETTER.format("kind:", "this person")))
    assert comparison.found.is_empty()
    assert comparison.more_for(0) == comparison.more_for(1) == []


def test_few_letters_refusals_and_other_probes_give_no_words() -> None:
    letters = {"male": LETTER.format("bold:", "him"), "female": LETTER.format("kind:", "her")}
    assert discover(letters, sample=2 * MIN_UNITS - 2).table.is_empty()
    refusals = dict.fromkeys(SIDES, "I'm sorry, but I can't help with that.")
    assert discover(refusals).answers == 0
    assert discover_words(get_probe("jobs_lum"), []) is None


@pytest.mark.parametrize("text", ["\u202eevil\u202c", "=1+1", "<script>", "x" * 100_000, "\ud83d"])
def test_hostile_words_are_letters_only_and_short(text: str) -> None:
    table = discover(
        {"male": f"{LETTER.format('kind', 'him')} {text}".replace("\ud83d", "\ufffd"), "female": "kind"}
    ).table
    assert all(word.replace("-", "").isalpha() and len(word) <= 40 for word in table["word"])


def test_words_of_more_than_40_letters_are_left_out() -> None:
    men = LETTER.format(f"{'x' * 40} {'y' * 41}", "him")
    table = discover({"male": men, "female": LETTER.format("kind", "her")}).table
    assert "x" * 40 in table["word"]
    assert "y" * 41 not in table["word"]


def test_sides_that_are_no_arms_are_refused() -> None:
    assert PROBE.words is not None
    wrong = replace(PROBE, words=replace(PROBE.words, sides=(("men", "men"), ("women", "women"))))
    with pytest.raises(equipoise.EquipoiseError, match="no arms"):
        plan(wrong, sample=6)
