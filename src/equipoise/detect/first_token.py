"""Reading the probabilities of an answer's first token: a share between 0 and 1 for each label, not one drawn answer.

An endpoint that is asked for log-probabilities says how likely each first token was. Each of these tokens is read as if
it were the whole answer, after the opening if the probe has one ("Gender: Female"), by the probe's own detector. What
is on tokens that decide nothing, and what the endpoint does not list, is on neither. `docs/method.md` says what becomes
of it.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.detect.visible import visible
from equipoise.schema import FIRST_TOKEN, LABEL, NEITHER, PROBABILITY_COLUMN, is_measured

DECIDED_FLOOR = 0.05
"""With less than this probability on the words of all labels together, an answer decides nothing."""
MAX_SUM = 1.02
"""Probabilities that add up to more than this, beyond any rounding, are none."""
TOKEN, PROBABILITY = "token", "p"
STORED = pl.List(pl.Struct({TOKEN: pl.String, PROBABILITY: pl.Float64}))
"""How the column `first_token` is stored, as JSON: the most probable tokens, each with its probability."""

# Some endpoints show the space or the newline before a word as a character of its own: "▁yes", "Ġyes", "Ċyes".
_BEFORE_WORD = r"\A(?:[ĠĊ]|[^\p{L}\p{N}])+"
_AFTER_WORD = r"[^\p{L}\p{N}]+\z"


def first_token_detector(detector: Detector, opening: str) -> Detector:
    """The detector that gives each label the probability of the tokens which this detector reads as that label."""
    return replace(detector, name=f"{detector.name}_first_token", opening=opening, other_labels=(NEITHER,), patterns={})


def bare_word(token: pl.Expr) -> pl.Expr:
    """A token without the spaces and punctuation around it."""
    return token.str.replace(_BEFORE_WORD, "").str.replace(_AFTER_WORD, "")


def read_first_tokens(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
    """For each attempt the most probable label (or "neither") and the probability of each; null where there is none.

    A number, and the shares that a decided answer has beside its label, are those that are to be expected.
    """
    names = {label: PROBABILITY_COLUMN.format(label) for label in (*detector.labels, NEITHER)}
    probability, decides = pl.col(PROBABILITY), pl.col(LABEL).is_in(detector.labels)
    tokens = pl.when(is_measured()).then(FIRST_TOKEN).str.json_decode(STORED).alias("tokens")
    listed = attempts.select(tokens, *detector.uses).with_row_index("place").explode("tokens").unnest("tokens")
    words = _read_words(detector, listed.select(TOKEN, *detector.uses).unique(maintain_order=True))
    listed = listed.join(words, on=[TOKEN, *detector.uses], how="left", nulls_equal=True, maintain_order="left")
    sums = listed.group_by("place", maintain_order=True).agg(
        (probability.is_between(0.0, 1.0) & (probability.sum() <= MAX_SUM)).fill_null(value=False).all().alias("valid"),
        *(probability.filter(pl.col(LABEL) == label).sum().alias(names[label]) for label in detector.labels),
        *(
            ((probability * pl.col(name)).filter(decides).sum() / probability.filter(decides).sum()).alias(name)
            for name in detector.numbers
        ),
    )
    decided = [names[label] for label in detector.labels]
    most_probable = pl.concat_list(decided).list.arg_max()
    label = pl.when(pl.sum_horizontal(decided) >= DECIDED_FLOOR).then(
        most_probable.replace_strict(dict(enumerate(detector.labels)), return_dtype=pl.String, default=None)
    )
    masses = sums.with_columns((1.0 - pl.sum_horizontal(decided)).clip(0.0, 1.0).alias(names[NEITHER]))
    return masses.select(
        pl.when("valid").then(label.otherwise(pl.lit(NEITHER))).alias(LABEL),
        *(pl.when("valid").then(name).alias(name) for name in (*detector.numbers, *names.values())),
    )


def _read_words(detector: Detector, words: pl.DataFrame) -> pl.DataFrame:
    """What each of these tokens says as an answer, beside the columns of the prompt that the detector uses."""
    answer = (pl.lit(f"{detector.opening} ") + bare_word(pl.col(TOKEN))).str.strip_chars()
    shown = words.with_columns(visible(answer, cased=detector.cased).alias("answer"))
    read = shown.select(pl.when(pl.col(TOKEN).is_not_null()).then(detector.evaluation(pl.col("answer"))).alias(LABEL))
    return words.hstack(read.unnest(LABEL) if detector.is_struct else read)
