"""What a reader of the answer sees: no reasoning, no markup, plain typography.

`visible` does it for whole columns; `trace_visible` does the same and remembers where each character came from. A test
holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

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
Traced = tuple[str, list[int]]
"""A text, and for each of its characters the place in the answer it comes from."""

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


def trace_visible(answers: Sequence[str]) -> list[Traced]:
    """The visible text of each answer, and for each of its characters the place in the answer it comes from."""
    traced: list[Traced] = [(answer.replace("\0", " "), list(range(len(answer)))) for answer in answers]
    for pattern in (REASONING, UNOPENED, TAG):
        traced = replace_matches(traced, pattern, " ")
    drop_caps = find_matches([text for text, _ in traced], DROP_CAP)
    return [_trace_plain(*each, caps) for each, caps in zip(traced, drop_caps, strict=True)]


def _trace_plain(text: str, origins: list[int], drop_caps: Matches) -> Traced:
    """The text in plain typography and lower case."""
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


def replace_matches(traced: Sequence[Traced], pattern: str, new: str) -> list[Traced]:
    """The texts with `new` in place of each match."""
    found = find_matches([text for text, _ in traced], pattern)
    return [
        replace_traced(*each, [(*match, new) for match in matches]) for each, matches in zip(traced, found, strict=True)
    ]


def find_matches(texts: Sequence[str], pattern: str) -> list[Matches]:
    """Where a pattern matches in texts without NUL, exactly as in a column: Python has other word boundaries."""
    marked = pl.Series(texts, dtype=pl.String).str.replace_all(pattern, "\0${0}\0")
    pieces = (text.split("\0") for text in marked)
    ends = [list(accumulate(map(len, parts))) for parts in pieces]
    return [list(zip(places[::2], places[1::2], strict=False)) for places in ends]


def replace_traced(text: str, origins: list[int], edits: Sequence[tuple[int, int, str]]) -> Traced:
    """Replace `text[start:end]` for each edit. The new text comes from where the old starts."""
    if not edits:
        return text, origins
    pieces: list[str] = []
    places: list[int] = []
    rest = 0
    for start, end, new in edits:
        pieces += [text[rest:start], new]
        places += [*origins[rest:start], *[origins[start]] * len(new)]
        rest = end
    return "".join([*pieces, text[rest:]]), places + origins[rest:]
