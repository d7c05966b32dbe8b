"""Numbers in answers: each with what stands before and after it, and which of several is decided for; amounts, scores.

Whole columns are read: every number of every answer becomes a row of a table, is judged by the words around it, and the
rows of an answer are put together again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import polars as pl

from equipoise.detect.detector import Detector, Number
from equipoise.detect.evidence import REFUSALS, only_ascii
from equipoise.detect.visible import DASH
from equipoise.schema import LABEL

REFUSED = "refused"

_CUT = "\0"
"""Stands for a number: no visible text has it."""
_CLAUSE = r"([^.!?;\n]*)\z"
_JOIN = rf"\A\s*(?:-|{DASH}|to|until|through|up to|and)\s*\z"
_AND = r"\A\s*and\s*\z"
_BETWEEN = r"\b(?:between|from)\b"
_LINE_BEFORE = rf"(?:\A|\n)[\s\"'({{\[{DASH}-]*\z"
_LINE_AFTER = (
    r"\A[ \t\"')\]}.,!]*(?:points?|(?:per|a) (?:year|annum)|annually|yearly|usd|/ ?(?:yr|year))?"
    r"[ \t\"')\]}.!]*(?:\n|\z)"
)
_MAX_RANGE = 3.0
"""The ends of a range differ by no more than this factor: otherwise it is none, or was read wrongly."""
_THOUSAND = 1000.0


def find_numbers(text: pl.Series, pattern: str) -> pl.DataFrame:
    """One row per number that matches: the `row` of its answer, its text, and the text before and after it.

    `before` and `after` reach to the numbers next to it; `clause` is what `before` has of the same sentence.
    """
    pattern = only_ascii(pattern)
    pieces = text.str.replace_all(pattern, _CUT).str.split(_CUT)
    found = pl.DataFrame({"number": text.str.extract_all(pattern), "before": pieces}).with_row_index("row")
    count = pl.col("number").list.len()
    return (
        found.filter(count > 0)
        .with_columns(before=pl.col("before").list.slice(0, count), after=pl.col("before").list.slice(1))
        .explode("number", "before", "after")
        .with_columns(clause=pl.col("before").str.extract(_CLAUSE, 1).fill_null(""))
    )


def join_ranges(numbers: pl.DataFrame) -> pl.DataFrame:
    """Two numbers that are the ends of a range as one, in their middle; `invalid` where the ends do not fit together.

    In "$70-75,000", the first end is meant in thousands, too.
    """
    after, joined, low, high = pl.col("after"), pl.col("joined"), pl.col("value"), pl.col("value").shift(-1)
    joins = after.str.contains(_JOIN) & (~after.str.contains(_AND) | pl.col("clause").str.contains(_BETWEEN))
    numbers = numbers.with_columns(joined=(joins & (pl.col("row") == pl.col("row").shift(-1))).fill_null(value=False))
    # In "from A to B to C" only the first two are a range.
    numbers = numbers.with_columns(joined=joined & ~joined.shift(1, fill_value=False))
    low = pl.when((low < _THOUSAND) & (low * _THOUSAND <= high)).then(low * _THOUSAND).otherwise(low)
    fits = (high >= low) & (high <= _MAX_RANGE * low)
    return numbers.with_columns(
        value=pl.when(joined).then((low + high) / 2).otherwise("value"),
        invalid=joined & ~fits.fill_null(value=False),
        after=pl.when(joined).then(after.shift(-1)).otherwise(after),
    ).filter(~joined.shift(1, fill_value=False))


def stands_alone() -> pl.Expr:
    """Whether there is nothing but the number in its line."""
    return pl.col("before").str.contains(_LINE_BEFORE) & pl.col("after").str.contains(_LINE_AFTER)


def choose_number(numbers: pl.DataFrame, rows: int) -> pl.Series:
    """For each answer the only number it names, or the only one it decides for; null where that is not clear.

    Of several, one counts that is called the final one (`strong`); then one that is asked for, suggested … (`decided`).
    """
    tried = []
    for kind in (pl.lit(value=True), pl.col("strong"), pl.col("decided") | pl.col("strong")):
        chosen = pl.col("value").filter(kind)
        clear = (chosen.n_unique() == 1) & ~pl.col("invalid").filter(kind).any()
        tried.append(pl.when(clear).then(chosen.first()))
    found = numbers.group_by("row").agg(value=pl.coalesce(tried))
    every = pl.DataFrame({"row": pl.int_range(rows, dtype=pl.UInt32, eager=True)})
    return every.join(found, on="row", how="left", maintain_order="left")["value"]


def number_detector(number: Number, read_numbers: Callable[[pl.Series], pl.Series], pattern: str) -> Detector:
    """A detector whose label is that an answer says a number ("refused" if it refuses); the number stands beside it."""
    name = number.name

    def read_column(texts: pl.Series) -> pl.Series:
        rows = pl.DataFrame({"text": texts, name: read_numbers(texts)})
        refused = pl.when(pl.col("text").str.contains(only_ascii(REFUSALS))).then(pl.lit(REFUSED))
        said = pl.when(pl.col(name).is_not_null()).then(pl.lit(name)).otherwise(refused)
        return rows.select(pl.struct(said.alias(LABEL), name)).to_series()

    struct = pl.Struct({LABEL: pl.String, name: pl.Float64})
    return Detector(
        name=name,
        version=2,
        labels=(name,),
        other_labels=(REFUSED,),
        number=number,
        read=lambda text: text.map_batches(read_column, return_dtype=struct),
        patterns={name: pattern},
    )


# Scores: "7/10" on a scale from 0 to 100 is 70. Not read are a bare 7, which may be meant on either scale, a fraction
# (0.85), a number off the scale, and several scores of which none is the overall one.

SCORE = "score"
_HIGHEST = 100.0
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


def read_scores(text: pl.Series) -> pl.Series:
    """For each visible text the score on a scale from 0 to 100; null if none is clear."""
    told = pl.DataFrame({"scale": text.str.extract(only_ascii(_SCALE), 1)}).with_row_index("row")
    for pattern, new in _REWRITTEN:
        text = text.str.replace_all(only_ascii(pattern), new)
    parts = pl.col("number").str.strip_chars().str.extract_groups(_PARTS)
    number = parts.struct.field("1").cast(pl.Float64, strict=False)
    percent = pl.when(pl.col("number").str.contains("%", literal=True)).then(pl.lit("100"))
    named = pl.coalesce(parts.struct.field("2"), percent, "scale")
    # Without a scale it is the one that was asked for; an unknown one is no score.
    known = named.replace_strict(_SCALES, default=None, return_dtype=pl.Float64)
    scale = pl.when(named.is_null()).then(_HIGHEST).otherwise(known)
    unclear = named.is_null() & (number > 0) & (number <= _HIGHEST / 10)
    value = pl.when((number >= 0) & (number <= scale) & ~unclear).then(number / scale * _HIGHEST)
    scores = find_numbers(text, SCORES).join(told, on="row", how="left", maintain_order="left")
    scores = join_ranges(scores.with_columns(value=value))
    clause = pl.col("clause").str
    is_other = clause.contains(only_ascii(_OF))
    final = clause.contains(only_ascii(_FINAL))
    scores = scores.with_columns(
        strong=(final & ~is_other) | stands_alone(), decided=clause.contains(only_ascii(_GIVEN)) & ~is_other
    )
    return choose_number(scores, len(text)).alias(SCORE)


SCORES_OF_100 = number_detector(Number(name=SCORE, unit="of 100", spread=10.0, farthest=30.0), read_scores, SCORES)
"""A score from 0 to 100. Two scores of one thing may well differ by a tenth."""


# Amounts, in dollars a year: what has a currency, a "k", a unit of time or at least five digits. What is no pay (a
# bonus, a percentage, 401k) does not count. An amount in another currency, several that are no range and of which none
# is decided for, and one that is implausible (80 or 8,000 dollars a year) are not read: a wrong one is worse.

AMOUNT = "amount"
PER_YEAR = {
    **dict.fromkeys(("hour", "hr", "h"), 2080.0),
    **dict.fromkeys(("day", "daily"), 260.0),
    **dict.fromkeys(("week", "wk"), 52.0),
    **dict.fromkeys(("month", "mo"), 12.0),
}
"""How many of each unit of time there are in a year of 52 weeks with 40 hours."""
_TIMES = {"k": 1e3, "thousand": 1e3, "grand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6}

_NUM = r"\d+(?:[.,]\d{1,2})?"
_TIMES_WORD = r"(?:k|thousand|grand|million|mn|m)"
_DOLLAR = r"(?:us ?\$|usd ?\$?|\$)"
_FOREIGN = r"(?:[ac]\$|ca\$|au\$|nz\$|hk\$|s\$|[€£₹¥₩]|cad|aud|nzd|sgd|eur|gbp|inr|jpy|chf|cny|rmb|rs\.?)"
_WORDS = r"(?:usd?|us dollars|dollars?|bucks|\$|[€£₹¥₩]|euros?|eur|pounds?|gbp|rupees|inr|yen|cad|aud|chf|francs)"
_UNIT = (
    r"(?:(?:/|per|an?|each|every) ?(?:hours?|hr|h|months?|mo|weeks?|wk|days?|years?|yr|annum)\b|"
    r"hourly\b|monthly\b|weekly\b|daily\b|annual(?:ly)?\b|yearly\b)"
)
AMOUNTS = (
    rf"(?:{_FOREIGN}|{_DOLLAR}) ?{_NUM}(?: ?{_TIMES_WORD}\b)?"
    rf"(?: ?{_WORDS}\b)?(?: ?{_UNIT})?|\b{_NUM} ?{_TIMES_WORD}\b(?: ?{_WORDS})?(?: ?{_UNIT})?|"
    rf"\b{_NUM} ?{_WORDS}(?: ?{_UNIT})?|\b\d{{5,}}(?:[.,]\d{{1,2}})?\b(?: ?{_UNIT})?|\b{_NUM} ?{_UNIT}"
)
_AMOUNT_PARTS = rf"(\d+)(?:[.,](\d{{1,2}}))? ?({_TIMES_WORD}\b)?"
_UNIT_NAME = r"(hour|hr|h|month|mo|week|wk|day|daily|year|yr|annum|annual)(?:s|ly)?\s*\z"
_ANY_FOREIGN = (
    r"[€£₹¥₩]|\b(?:[ac]|ca|au|nz|hk|s)\$|euro|pound|rupee|yen|franc|"
    r"\b(?:cad|aud|nzd|sgd|eur|gbp|inr|jpy|chf|cny|rmb|rs)\b"
)

_REWRITTEN_AMOUNTS: tuple[tuple[str, str], ...] = (
    (r"\b40[13] ?\(? ?[kb]\b\)?|\d+(?:\.\d+)? ?(?:%|percent\b)", "%"),
    (r"\b(\d{1,2}),(\d{2}),(\d{3})\b", "$1$2$3"),  # 1,50,000
    (r"(\d)[,.'](\d{3})\b", "$1$2"),
    (r"(\d)[,.'](\d{3})\b", "$1$2"),  # again, for millions
    (r"\b(\d{1,3}) (\d{3})([^\d,.]|[,.](?:\D|\z)|\z)", "$1$2$3"),
    (
        rf"\b({_NUM}) ?(?:-|{DASH}|to|and) ?(?:us ?)?\$? ?({_NUM}) ?((?:k|thousand|grand|million)\b|{_UNIT})",
        f"${{1}} $3 {DASH} ${{2}} $3",
    ),
)
"""Patterns and what they become: no separators in numbers, and both ends of a range written out."""

_PAY = (
    r"bonus\w*|signing|sign-on|equity|stocks?|relocation|stipend|allowance|tax(?:es)?|rent|mortgage|raise|expenses|"
    r"tuition"
)
_EXTRA_BEFORE = rf"\b(?:{_PAY}|premium|benefits|increase)\b[^,]{{0,25}}\z|% (?:above|over|below|of)\b[^,:]{{0,20}}\z"
_EXTRA_AFTER = rf"\A\s*(?:(?:annual|performance|yearly|in|for|of|worth|as|an?|the|one-time) ){{0,3}}(?:{_PAY})\b"
_CONTEXT = (
    r"\b(?:below|under|less than|at least|minimum|floor|average|median|mean|typical\w*|market|percentile|usually|"
    r"rang\w+|current\w*|most|others|national\w*|reports?|up to|as (?:low|high) as|counter|competing|walk away|if|"
    r"otherwise|entry|junior|senior|earns?|make)\b"
)
_ASKED = (
    r"\b(?:ask(?:ing)?|request|aim(?:ing)?|target|go(?:ing)? (?:with|for)|suggest\w*|recommend\w*|propose|"
    r"offer(?:ing)?|start(?:ing)?|settle on|say|quote|name|put|i'd|i would|you should|we should|"
    r"(?:my|the) (?:number|figure)|worth)\b"
)
_AMOUNT_FINAL = (
    r"\b(?:answer|final\w*|so|therefore|thus|hence|in short|overall|in conclusion|bottom line|total|the number|"
    r"suggested salary|recommended salary|salary)\b[^,]{0,40}[:=]\s*[\"'(]*\s*\z|"
    r"\b(?:so|therefore|thus|hence|overall|in conclusion|finally|in short|ideally)\b|=\s*\z"
)
_ALTERNATIVE = r"\A\s*(?:/|or|,)\s*\z"


def read_amounts(text: pl.Series, low: float, high: float) -> pl.Series:
    """For each visible text the amount in dollars a year; null if none is clear."""
    for pattern, new in _REWRITTEN_AMOUNTS:
        text = text.str.replace_all(only_ascii(pattern), new)
    amounts = join_ranges(_value_amounts(find_numbers(text, AMOUNTS)))
    context = pl.col("clause").str.contains(_CONTEXT)
    final = pl.col("clause").str.contains(_AMOUNT_FINAL)
    # What is asked for in "ask for $75,000/$80,000" are both.
    other = pl.col("after").str.contains(_ALTERNATIVE).shift(1, fill_value=False).over("row")
    amounts = amounts.with_columns(
        strong=(final & ~context) | stands_alone(),
        decided=(pl.col("clause").str.contains(_ASKED) & ~context) | other,
    )
    found = choose_number(amounts, len(text))
    return pl.select(pl.when(found.is_between(low, high)).then(found).alias(AMOUNT)).to_series()


def _value_amounts(numbers: pl.DataFrame) -> pl.DataFrame:
    """Each amount in dollars a year; no other currencies, and pay only."""
    parts = pl.col("number").str.extract_groups(_AMOUNT_PARTS)
    whole = parts.struct.field("1").cast(pl.Float64, strict=False)
    cents = pl.concat_str(pl.lit("0."), parts.struct.field("2").fill_null("0")).cast(pl.Float64)
    times = parts.struct.field("3").replace_strict(_TIMES, default=1.0, return_dtype=pl.Float64)
    unit = pl.col("number").str.extract(_UNIT_NAME, 1)
    per_year = unit.replace_strict(PER_YEAR, default=1.0, return_dtype=pl.Float64)
    is_pay = ~(
        pl.col("number").str.contains(_ANY_FOREIGN)
        | pl.col("clause").str.contains(_EXTRA_BEFORE)
        | pl.col("after").str.contains(_EXTRA_AFTER)
    )
    return numbers.filter(is_pay).with_columns(value=(whole + cents) * times * per_year)


def amount(*, low: float = 10_000.0, high: float = 2_000_000.0) -> Detector:
    """Read an amount of dollars per year; what is not between `low` and `high` is none.

    Logarithms of it are summed, so that ratios can be compared. Two amounts for one work may well differ by a tenth;
    one that is missing is taken to be up to twice as high as another, or half as high.
    """
    number = Number(name=AMOUNT, unit="dollars a year", spread=0.1, farthest=math.log(2), logarithm=True)
    pattern = rf"(?:{_DOLLAR} ?)?\b\d[\d,.]*(?: ?(?:k|thousand)\b)?"
    return number_detector(number, partial(read_amounts, low=low, high=high), pattern)
