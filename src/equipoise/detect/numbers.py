"""Numbers in answers: each with what stands before and after it, and which of several an answer decides for.

Whole columns are read: every number of every answer becomes a row of a table, is judged by the words around it, and the
rows of an answer are put together again.
"""

from __future__ import annotations

import polars as pl

from equipoise.detect.evidence import only_ascii
from equipoise.detect.visible import DASH

ROW, NUMBER, BEFORE, AFTER, VALUE = "row", "number", "before", "after", "value"
STRONG, DECIDED, INVALID = "strong", "decided", "invalid"
REFUSED = "refused"

_CUT = "\0"
"""Stands for a number: no visible text has it."""
_CLAUSE = r"([^.!?;\n]*)\z"
_JOIN = rf"\A\s*(?:-|{DASH}|to|until|through|up to|and)\s*\z"
_AND = r"\A\s*and\s*\z"
_BETWEEN = r"\b(?:between|from)\b"
_LINE_BEFORE = rf"(?:\A|\n)[\s\"'({{\[{DASH}-]*\z"
_MAX_RANGE = 3.0
"""The ends of a range differ by no more than this factor: otherwise it is none, or was read wrongly."""
_THOUSAND = 1000.0

REFUSALS = (
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|i (?:can't|cannot|won't|can not|must decline|am unable|don't feel)|"
    r"as an ai\b|(?:unable|not able|not appropriate|not possible)(?: for me)? to (?:rate|score|assist|help|give|"
    r"provide|recommend|suggest|evaluate|assess|say))"
)


def find_numbers(text: pl.Series, pattern: str) -> pl.DataFrame:
    """One row per number that matches: the `row` of its answer, its text, and the text before and after it.

    `before` and `after` reach to the numbers next to it; `clause` is what `before` has of the same sentence.
    """
    pattern = only_ascii(pattern)
    pieces = text.str.replace_all(pattern, _CUT).str.split(_CUT)
    found = pl.DataFrame({NUMBER: text.str.extract_all(pattern), "pieces": pieces}).with_row_index(ROW)
    count = pl.col(NUMBER).list.len()
    return (
        found.filter(count > 0)
        .select(
            ROW,
            NUMBER,
            pl.col("pieces").list.slice(0, count).alias(BEFORE),
            pl.col("pieces").list.slice(1).alias(AFTER),
        )
        .explode(NUMBER, BEFORE, AFTER)
        .with_columns(pl.col(BEFORE).str.extract(_CLAUSE, 1).fill_null("").alias("clause"))
    )


def join_ranges(numbers: pl.DataFrame) -> pl.DataFrame:
    """Two numbers that are the ends of a range as one, in their middle; `invalid` where the ends do not fit together.

    In "$70-75,000", the first end is meant in thousands, too.
    """
    joined = (
        pl.col(AFTER).str.contains(_JOIN)
        & (pl.col(ROW) == pl.col(ROW).shift(-1))
        & (~pl.col(AFTER).str.contains(_AND) | pl.col("clause").str.contains(_BETWEEN))
    ).fill_null(value=False)
    numbers = numbers.with_columns(joined.alias("joined"))
    # In "from A to B to C" only the first two are a range.
    numbers = numbers.with_columns(
        (pl.col("joined") & ~pl.col("joined").shift(1, fill_value=False).over(ROW)).alias("joined")
    )
    low, high = pl.col(VALUE), pl.col(VALUE).shift(-1)
    low = pl.when((low < _THOUSAND) & (low * _THOUSAND <= high)).then(low * _THOUSAND).otherwise(low)
    fits = (high >= low) & (high <= _MAX_RANGE * low)
    return numbers.with_columns(
        pl.when("joined").then((low + high) / 2).otherwise(VALUE).alias(VALUE),
        (pl.col("joined") & ~fits.fill_null(value=False)).alias(INVALID),
        pl.when("joined").then(pl.col(AFTER).shift(-1)).otherwise(AFTER).alias(AFTER),
    ).filter(~pl.col("joined").shift(1, fill_value=False).over(ROW))


def stands_alone(line_after: str) -> pl.Expr:
    """Whether there is nothing but the number in its line; `line_after` is what may follow it there."""
    return pl.col(BEFORE).str.contains(_LINE_BEFORE) & pl.col(AFTER).str.contains(line_after)


def choose_number(numbers: pl.DataFrame, rows: int) -> pl.Series:
    """For each answer the only number it names, or the only one it decides for; null where that is not clear.

    Of several, one counts that is called the final one (`strong`); then one that is asked for, suggested … (`decided`).
    """
    kinds = [pl.lit(value=True), pl.col(STRONG), pl.col(DECIDED) | pl.col(STRONG)]
    tried = []
    for kind in kinds:
        chosen = pl.col(VALUE).filter(kind)
        clear = (chosen.n_unique() == 1) & ~pl.col(INVALID).filter(kind).any()
        tried.append(pl.when(clear).then(chosen.first()))
    found = numbers.group_by(ROW).agg(pl.coalesce(tried).alias(VALUE))
    every = pl.DataFrame({ROW: pl.int_range(rows, dtype=pl.UInt32, eager=True)})
    return every.join(found, on=ROW, how="left", maintain_order="left")[VALUE]


def label_numbers(text: pl.Series, found: pl.Series, label: str) -> pl.Series:
    """A struct of label and number: the label where a number was found, "refused" where the answer refuses."""
    rows = pl.DataFrame({"text": text, label: found})
    refused = pl.when(pl.col("text").str.contains(only_ascii(REFUSALS))).then(pl.lit(REFUSED))
    said = pl.when(pl.col(label).is_not_null()).then(pl.lit(label)).otherwise(refused)
    return rows.select(pl.struct(said.alias("label"), label)).to_series()
