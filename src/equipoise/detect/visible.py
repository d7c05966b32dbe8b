"""What a reader of the answer sees: no reasoning, no markup, plain typography.

`visible` does it for whole columns; `trace_visible` does the same for one answer and remembers where each character
came from. A test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

REASONING = r"(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|\z)"
"""Closed, or cut off by a token limit."""
UNOPENED = r"(?is)\A.*</think(?:ing)?>"
"""Some servers put the opening tag into the prompt: then everything before the closing one is reasoning."""
TAG = r"</?[A-Za-z][^<>]{0,100}>"
DROP_CAP = r"\*\*(\pL)\*\*\b"
"""`**S**he` is one word, though elsewhere emphasis separates words."""

DASH, CELL = "\u2003", "\u2002"
"""A dash, and the border of a cell in a table: white space, but a reader of sentences can tell it from a space."""

PLAIN = {
    **dict.fromkeys("*_`~\\>#", " "),  # Markdown: a space, because joining two words would be worse than splitting one
    **dict.fromkeys("‘’‛ʼ＇´", "'"),
    **dict.fromkeys("“”„‟«»＂", '"'),
    **dict.fromkeys("‐‑⁃－", "-"),  # a hyphen joins a word, a dash separates two
    **dict.fromkeys(["–", "—", "―", "−", "⸺", "⸻", "--"], DASH),
    "|": CELL,
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f", ""),  # invisible inside a word
    **dict.fromkeys("\u00a0\u202f\u2007\u2009\u200a\u20e3\x00", " "),
    **dict.fromkeys("\ufe0e\ufe0f", ""),  # choose the form of an emoji, and would count as part of the next word
}

_HIDDEN = [re.compile(pattern.replace(r"\z", r"\Z")) for pattern in (REASONING, UNOPENED, TAG)]
_DROP_CAP = re.compile(r"\*\*([^\W\d_])\*\*\b")
_DROPPED = "\u200b"
"""A sign that `PLAIN` leaves out."""
_SIGNS = r"(?-u)[<>*_`~\\#|\x00]|--"
"""All ASCII that is to change, as a set of bytes, which is searched for the fastest."""


def has_visible_text(text: str) -> bool:
    """Whether anything is left of one answer without its reasoning."""
    if "<" in text:
        for pattern in _HIDDEN[:2]:
            text = pattern.sub("", text)
    return bool(text) and not text.isspace()


def visible(text: pl.Expr, *, cased: bool = False) -> pl.Expr:
    """The visible answer in plain typography, lower-cased unless `cased`: what every detector reads."""
    shown = text.map_batches(_show, return_dtype=pl.String, is_elementwise=True)
    return shown if cased else shown.str.to_lowercase()


def _show(texts: pl.Series) -> pl.Series:
    """The same for a column."""
    return change_where(is_foreign(texts) | texts.str.contains(_SIGNS), texts, _make_plain)


def _make_plain(texts: pl.Series) -> pl.Series:
    texts = change_where(texts.str.contains("<", literal=True), texts, _without_tags)
    capped = texts.str.contains("**", literal=True)
    texts = change_where(capped, texts, lambda some: some.str.replace_all(DROP_CAP, "$1"))
    return texts.str.replace_many(list(PLAIN), list(PLAIN.values()))


def _without_tags(texts: pl.Series) -> pl.Series:
    for pattern in (REASONING, UNOPENED, TAG):
        texts = texts.str.replace_all(pattern, " ")
    return texts


def is_foreign(texts: pl.Series) -> pl.Series:
    """Which texts are not all ASCII."""
    return texts.str.len_bytes() != texts.str.len_chars()


def change_where(needed: pl.Series, texts: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """The texts, of which some need a change: a search takes its time for every text that it is given."""
    places = needed.arg_true()
    return texts.clone().scatter(places, change(texts[places])) if len(places) else texts


def trace_visible(answer: str) -> tuple[str, list[int]]:
    """The visible text of one answer in lower case, and for each of its characters the place it comes from."""
    for pattern in _HIDDEN:
        answer = pattern.sub(lambda hidden: " ".ljust(len(hidden[0]), _DROPPED), answer)
    answer = _DROP_CAP.sub(rf"{_DROPPED * 2}\1{_DROPPED * 2}", answer).replace("--", DASH + _DROPPED)
    pieces = [PLAIN.get(sign, sign).lower() for sign in answer]
    return "".join(pieces), [place for place, piece in enumerate(pieces) for _ in piece]
