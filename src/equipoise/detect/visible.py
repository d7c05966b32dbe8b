"""What a reader of the answer sees: no reasoning, no markup, plain typography."""

from __future__ import annotations

import re

import polars as pl

REASONING = r"(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|\z)"
"""Closed, or cut off by a token limit."""
UNOPENED = r"(?is)\A.*</think(?:ing)?>"
"""Some servers put the opening tag into the prompt: then all before the closing one is reasoning."""
TAG = r"</?[A-Za-z][^<>]{0,100}>"
DROP_CAP = r"\*\*(\pL)\*\*\b"
"""`**S**he` is one word, though elsewhere emphasis is taken to part words."""

PLAIN = {
    **dict.fromkeys("*_`~\\>|#", " "),  # Markdown: a space, because joining two words would be worse than parting one
    **dict.fromkeys("‘’‛ʼ＇´", "'"),
    **dict.fromkeys("“”„‟«»＂", '"'),
    **dict.fromkeys("‐‑⁃－", "-"),  # hyphens join a word, dashes part two
    **dict.fromkeys(["–", "—", "―", "−", "⸺", "⸻", "--"], " "),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f", ""),  # invisible inside a word
    **dict.fromkeys("\u00a0\u202f\u2007\u2009\u200a\u20e3\x00", " "),
    **dict.fromkeys("\ufe0e\ufe0f", ""),  # choose the form of an emoji, and would count as part of the next word
}


_REASONING, _UNOPENED = (re.compile(pattern.replace(r"\z", r"\Z")) for pattern in (REASONING, UNOPENED))


def without_reasoning(text: str) -> str:
    """One answer without what stands between `<think>` and `</think>`."""
    return _UNOPENED.sub("", _REASONING.sub("", text)) if "<" in text else text


def has_visible(text: str) -> bool:
    """Whether anything is left of one answer without its reasoning."""
    left = without_reasoning(text)
    return bool(left) and not left.isspace()


def visible(text: pl.Expr) -> pl.Expr:
    """The visible answer in plain typography, lower-cased: what every detector reads."""
    tagged = text.str.contains("<", literal=True)
    # Whole columns are searched, so what has no tag is left out of the search by being empty in it.
    some = pl.when(tagged).then(text).otherwise(pl.lit(""))
    untagged = some.str.replace_all(REASONING, " ").str.replace_all(UNOPENED, " ").str.replace_all(TAG, " ")
    shown = pl.when(tagged).then(untagged).otherwise(text)
    shown = shown.str.replace_all(DROP_CAP, "$1")
    return shown.str.replace_many(list(PLAIN), list(PLAIN.values())).str.to_lowercase()
