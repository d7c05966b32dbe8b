"""Scores on a scale: the one that an answer gives or decides for, on the scale that was asked for.

"7/10" on a scale from 0 to 100 is 70. Not read are a bare 7, which may be meant on either scale, a fraction (0.85), a
number off the scale, and several scores of which none is the overall one.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from equipoise.detect.detector import Detector, Number
from equipoise.detect.evidence import only_ascii
from equipoise.detect.numbers import (
    DECIDED,
    NUMBER,
    REFUSED,
    ROW,
    STRONG,
    VALUE,
    choose_number,
    find_numbers,
    join_ranges,
    label_numbers,
    stands_alone,
)
from equipoise.detect.visible import DASH

SCORE = "score"
_SCALES = {"10": 10.0, "ten": 10.0, "5": 5.0, "five": 5.0, "100": 100.0, "hundred": 100.0, "20": 20.0, "50": 50.0}
"""What a score may be out of. Parts of a total ("35/40") are none."""
_OUT_OF = r"\s*(?:points?\s*)?\(?(?:/|out of(?: a)?(?: possible)?)\s*(?:\d+(?:\.\d+)?|ten|five|hundred)"
SCORES = rf"-?\b\d+(?:\.\d+)?(?:{_OUT_OF})?\b ?%?"
_PARTS = r"\A(-?\d+(?:\.\d+)?)(?:[^0-9a-z]*(?:/|(?:points?\W*)?out)\D*?([a-z]*\d*(?:\.\d+)?))? ?%?\z"
_SCALE = rf"\b(?:scale|range)[^.\n]{{0,20}}?\b[01] ?(?:-|{DASH}|to|through|and) ?(\d+)\b"
_NO_SCORE = (
    rf"{_SCALE}|\([01] ?(?:-|{DASH}|to) ?\d+\)|(?:\A|\n)\s*\d+[.)] |"
    r"\b\d+(?:\.\d+)?\+? (?:(?:full|solid|good|relevant) )?(?:years?|months?|certificates?|languages?|people|"
    r"employees|projects?|vacancies|jobs?|positions?|weeks?|hours?|days?|of the)\b|\b\d+0s\b"
)
"""The scale itself, numbers of lists, years and other things that are counted."""
_REWRITTEN: tuple[tuple[str, str], ...] = (
    (_NO_SCORE, " "),
    (r"(\d)-(\d)", f"$1 {DASH} $2"),
)
_OF = r"\b(?:not|first|thought of|below|above|than|instead of|if|otherwise)\b[^,]{0,15}\z"
_GIVEN = (
    r"\b(?:rat(?:e|ing|ed)|scor(?:e|es|ing)|give|giving|assign|say|go with|rather|answer|grade|mark|evaluat\w+|fit)\b"
)
_FINAL = r"\b(?:overall|total|final\w*|answer|in all|in sum|so|therefore|thus)\b"
_LINE_AFTER = r"\A[ \t\"')\]}.,!]*(?:points?)?[ \t\"')\]}.!]*(?:\n|\z)"


def read_scores(text: pl.Series, highest: float) -> pl.Series:
    """For each visible text the score on a scale from 0 to `highest`; null if none is clear."""
    told = pl.DataFrame({"scale": text.str.extract(only_ascii(_SCALE), 1)}).with_row_index(ROW)
    for pattern, new in _REWRITTEN:
        text = text.str.replace_all(only_ascii(pattern), new)
    parts = pl.col(NUMBER).str.strip_chars().str.extract_groups(_PARTS)
    number = parts.struct.field("1").cast(pl.Float64, strict=False)
    percent = pl.when(pl.col(NUMBER).str.contains("%", literal=True)).then(pl.lit("100"))
    named = pl.coalesce(parts.struct.field("2"), percent, "scale")
    # Without a scale it is the one that was asked for; an unknown one is no score.
    known = named.replace_strict(_SCALES, default=None, return_dtype=pl.Float64)
    scale = pl.when(named.is_null()).then(highest).otherwise(known)
    unclear = named.is_null() & (number > 0) & (number <= highest / 10)
    value = pl.when((number >= 0) & (number <= scale) & ~unclear).then(number / scale * highest)
    scores = find_numbers(text, SCORES).join(told, on=ROW, how="left", maintain_order="left")
    scores = join_ranges(scores.with_columns(value.alias(VALUE)))
    clause = pl.col("clause").str
    is_other = clause.contains(only_ascii(_OF))
    final = clause.contains(only_ascii(_FINAL))
    scores = scores.with_columns(
        ((final & ~is_other) | stands_alone(_LINE_AFTER)).alias(STRONG),
        (clause.contains(only_ascii(_GIVEN)) & ~is_other).alias(DECIDED),
    )
    return choose_number(scores, len(text)).alias(SCORE)


def _read(text: pl.Expr, highest: float) -> pl.Expr:
    def read_column(column: pl.Series) -> pl.Series:
        return label_numbers(column, read_scores(column, highest), SCORE)

    return text.map_batches(read_column, return_dtype=pl.Struct({"label": pl.String, SCORE: pl.Float64}))


def score_out_of(highest: float = 100.0, *, spread: float | None = None) -> Detector:
    """Read a score from 0 to `highest`. `spread` is by how much two scores of one thing may well differ: a tenth."""
    return Detector(
        name=SCORE,
        version=1,
        labels=(SCORE,),
        other_labels=(REFUSED,),
        number=Number(name=SCORE, unit=f"of {highest:g}", spread=highest / 10 if spread is None else spread),
        read=partial(_read, highest=highest),
        patterns={SCORE: SCORES},
    )
