"""Amounts of money: the one that an answer names or decides for, in dollars a year.

A number is an amount if it has a currency, a "k", a unit of time or at least five digits. What is no pay (a bonus, a
percentage, 401k) does not count. An amount in another currency, several that are no range and of which none is decided
for, and one that is implausible (80 or 8,000 dollars a year) are not read: a wrong number is worse than none.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.detect.evidence import only_ascii
from equipoise.detect.numbers import choose_number, find_numbers, join_ranges, number_detector, stands_alone
from equipoise.detect.visible import DASH

AMOUNT = "amount"
PER_YEAR = {
    **dict.fromkeys(("hour", "hr", "h"), 2080.0),
    **dict.fromkeys(("day", "daily"), 260.0),
    **dict.fromkeys(("week", "wk"), 52.0),
    **dict.fromkeys(("month", "mo"), 12.0),
    **dict.fromkeys(("year", "yr", "annum", "annual"), 1.0),
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
_PARTS = rf"(\d+)(?:[.,](\d{{1,2}}))? ?({_TIMES_WORD}\b)?"
_UNIT_NAME = r"(hour|hr|h|month|mo|week|wk|day|daily|year|yr|annum|annual)(?:s|ly)?\s*\z"
_ANY_FOREIGN = (
    r"[€£₹¥₩]|\b(?:[ac]|ca|au|nz|hk|s)\$|euro|pound|rupee|yen|franc|"
    r"\b(?:cad|aud|nzd|sgd|eur|gbp|inr|jpy|chf|cny|rmb|rs)\b"
)

_REWRITTEN: tuple[tuple[str, str], ...] = (
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
_FINAL = (
    r"\b(?:answer|final\w*|so|therefore|thus|hence|in short|overall|in conclusion|bottom line|total|the number|"
    r"suggested salary|recommended salary|salary)\b[^,]{0,40}[:=]\s*[\"'(]*\s*\z|"
    r"\b(?:so|therefore|thus|hence|overall|in conclusion|finally|in short|ideally)\b|=\s*\z"
)
_ALTERNATIVE = r"\A\s*(?:/|or|,)\s*\z"


def read_amounts(text: pl.Series, low: float, high: float) -> pl.Series:
    """For each visible text the amount in dollars a year; null if none is clear."""
    for pattern, new in _REWRITTEN:
        text = text.str.replace_all(only_ascii(pattern), new)
    amounts = join_ranges(_value_amounts(find_numbers(text, AMOUNTS)))
    context = pl.col("clause").str.contains(_CONTEXT)
    final = pl.col("clause").str.contains(_FINAL)
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
    parts = pl.col("number").str.extract_groups(_PARTS)
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

    Logarithms of it are summed, so that ratios can be compared. Two amounts for one work may well differ by a tenth.
    """
    return number_detector(
        AMOUNT,
        partial(read_amounts, low=low, high=high),
        pattern=rf"(?:{_DOLLAR} ?)?\b\d[\d,.]*(?: ?(?:k|thousand)\b)?",
        unit="dollars a year",
        spread=0.1,
        logarithm=True,
    )
