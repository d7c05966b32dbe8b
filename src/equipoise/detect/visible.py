"""What a reader of the answer sees: no reasoning, no markup, plain typography.

`visible` does it for whole columns; `trace_visible` does the same for one answer and remembers where each character
came from. A test holds the two together.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from itertools import accumulate
from typing import TypeVar

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

Matches = list[tuple[int, int]]
"""Where a pattern matches in a text."""
T = TypeVar("T")
Search = Generator[tuple[str, str], Matches, T]
"""Work on one text that asks for the matches of one pattern after another: it yields a text and a pattern."""

_REASONING, _UNOPENED = (re.compile(pattern.replace(r"\z", r"\Z")) for pattern in (REASONING, UNOPENED))
_PLAIN = re.compile("|".join(map(re.escape, PLAIN)))
_ASCII = [sign for sign in PLAIN if sign.isascii()]
_SIGNS = "|".join(
    [
        f"(?-u)[<{re.escape(''.join(sign for sign in _ASCII if len(sign) == 1))}]",
        *(re.escape(sign) for sign in _ASCII if len(sign) > 1),
    ]
)
"""All ASCII that is to change, as a set of bytes, which is searched for the fastest."""


def without_reasoning(text: str) -> str:
    """One answer without what stands between `<think>` and `</think>`."""
    return _UNOPENED.sub("", _REASONING.sub("", text)) if "<" in text else text


def has_visible_text(text: str) -> bool:
    """Whether anything is left of one answer without its reasoning."""
    rest = without_reasoning(text)
    return bool(rest) and not rest.isspace()


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


def trace_visible(answer: str) -> Search[tuple[str, list[int]]]:
    """The visible text of one answer, and for each of its characters the place in the answer it comes from."""
    text, origins = answer.replace("\0", " "), list(range(len(answer)))
    if "<" in text:
        for pattern in (REASONING, UNOPENED, TAG):
            text, origins = replace_traced(text, origins, [(*match, " ") for match in (yield text, pattern)])
    drop_caps = (yield text, DROP_CAP) if "**" in text else []
    asterisks = [(place, place + 2, "") for start, end in drop_caps for place in (start, end - 2)]
    text, origins = replace_traced(text, origins, asterisks)
    text, origins = replace_traced(text, origins, [(*match.span(), PLAIN[match[0]]) for match in _PLAIN.finditer(text)])
    if text.isascii():
        return text.lower(), origins
    # Lower-cased as a whole, because an S at the end of a Greek word has a form of its own; and by character, because
    # some letters become two.
    lowered = pl.Series([text, *text]).str.to_lowercase()
    lengths = lowered[1:].str.len_chars()
    return lowered[0], [place for place, length in zip(origins, lengths, strict=True) for _ in range(length)]


def run_searches(searches: Sequence[Search[T]]) -> list[T]:
    """The results of many searches. Those that ask for the same pattern are answered together.

    A call of polars takes a fifth of a millisecond, whether it searches one text or hundreds.
    """
    results: dict[int, T] = {}
    replies: dict[int, Matches | None] = dict.fromkeys(range(len(searches)))
    while replies:
        asked: defaultdict[str, dict[int, str]] = defaultdict(dict)
        for number, reply in replies.items():
            try:
                text, pattern = next(searches[number]) if reply is None else searches[number].send(reply)
                asked[pattern][number] = text
            except StopIteration as end:
                results[number] = end.value
        replies = {}
        for pattern, texts in asked.items():
            replies |= dict(zip(texts, find_matches(list(texts.values()), pattern), strict=True))
    return [results[number] for number in range(len(searches))]


def find_matches(texts: Sequence[str], pattern: str) -> list[Matches]:
    """Where a pattern matches in texts without NUL, exactly as in a column: Python has other word boundaries."""
    marked = pl.Series(texts, dtype=pl.String).str.replace_all(pattern, "\0${0}\0")
    pieces = (text.split("\0") for text in marked)
    ends = [list(accumulate(map(len, parts))) for parts in pieces]
    return [list(zip(places[::2], places[1::2], strict=False)) for places in ends]


def replace_traced(text: str, origins: list[int], edits: Sequence[tuple[int, int, str]]) -> tuple[str, list[int]]:
    """Replace `text[start:end]` for each edit. The new text comes from where the old starts, its last character (if it
    has more than one) from where the old ends."""
    if not edits:
        return text, origins
    pieces: list[str] = []
    places: list[int] = []
    rest = 0
    for start, end, new in edits:
        pieces += [text[rest:start], new]
        places += [*origins[rest:start], *[origins[start]] * len(new)]
        if len(new) > 1:
            places[-1] = origins[end - 1]
        rest = end
    return "".join([*pieces, text[rest:]]), places + origins[rest:]
