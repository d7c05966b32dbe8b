"""Reading the probabilities of an answer's first token: a share between 0 and 1 for each label, not one drawn answer.

An endpoint that is asked for log-probabilities says how likely each first token was. Tokens that are the same word
but for case, spaces and punctuation count together: "Yes", " yes", "YES." and "▁yes" are all "yes". What is on no word
of a label, and what the endpoint does not list, is on neither. `docs/method.md` says what becomes of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.schema import FIRST_TOKEN, LABEL, NEITHER, PROBABILITY_COLUMN, is_measured

DECIDED_FLOOR = 0.05
"""With less than this probability on the words of all labels together, an answer decides nothing."""
MAX_SUM = 1.02
"""Probabilities that add up to more than this, beyond any rounding, are none."""
TOKEN, PROBABILITY = "token", "p"
STORED = pl.List(pl.Struct({TOKEN: pl.String, PROBABILITY: pl.Float64}))
"""How the column `first_token` is stored, as JSON: the most probable tokens, each with its probability."""

# Some endpoints show the space or the newline before a word as a character of its own: "▁yes", "Ġyes", "Ċyes".
_BEFORE_WORD = r"\A(?:[ġċ]|[^\p{L}\p{N}])+"
_AFTER_WORD = r"[^\p{L}\p{N}]+\z"


def first_token_detector(labels: tuple[str, ...], words: Mapping[str, tuple[str, ...]]) -> Detector:
    """The detector that gives each label the probability of its words."""
    return Detector(
        name="first_token", version=1, read=_read_no_text, labels=labels, other_labels=(NEITHER,), words=dict(words)
    )


def _read_no_text(text: pl.Expr) -> pl.Expr:
    """Nothing: one drawn token says less than the probabilities of all."""
    return pl.when(text.is_null() & text.is_not_null()).then(text)


def bare_word(token: pl.Expr) -> pl.Expr:
    """A token without case, and without spaces and punctuation around it."""
    return token.str.to_lowercase().str.replace(_BEFORE_WORD, "").str.replace(_AFTER_WORD, "")


def read_first_tokens(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
    """For each attempt the most probable label (or "neither") and the probability of each; null where there is none."""
    labels = {word: label for label, words in detector.words.items() for word in words}
    names = {label: PROBABILITY_COLUMN.format(label) for label in (*detector.labels, NEITHER)}
    probability = pl.col(PROBABILITY)
    listed = (
        attempts.select(pl.when(is_measured()).then(FIRST_TOKEN).str.json_decode(STORED).alias("tokens"))
        .with_row_index("place")
        .explode("tokens")
        .unnest("tokens")
        .with_columns(bare_word(pl.col(TOKEN)).replace_strict(labels, default=NEITHER).alias(LABEL))
    )
    sums = listed.group_by("place", maintain_order=True).agg(
        (probability.is_between(0.0, 1.0) & (probability.sum() <= MAX_SUM)).fill_null(value=False).all().alias("valid"),
        *(probability.filter(pl.col(LABEL) == label).sum().alias(names[label]) for label in detector.labels),
    )
    decided = [names[label] for label in detector.labels]
    most_probable = pl.concat_list(decided).list.arg_max()
    label = pl.when(pl.sum_horizontal(decided) >= DECIDED_FLOOR).then(
        most_probable.replace_strict(dict(enumerate(detector.labels)), return_dtype=pl.String, default=None)
    )
    masses = sums.with_columns((1.0 - pl.sum_horizontal(decided)).clip(0.0, 1.0).alias(names[NEITHER]))
    return masses.select(
        pl.when("valid").then(label.otherwise(pl.lit(NEITHER))).alias(LABEL),
        *(pl.when("valid").then(name).alias(name) for name in names.values()),
    )
