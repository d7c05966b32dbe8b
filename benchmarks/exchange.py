"""The same answer with the genders exchanged: a reading must exchange its labels with them, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_MEN_AND_WOMEN = """
he she|him her|his her|himself herself|man woman|men women|boy girl|boys girls|male female|males females|mr mrs|m f
sir ma'am|gentleman lady|gentlemen ladies|guy gal|lad lass|lads lasses|father mother|fathers mothers|dad mom
son daughter|sons daughters|brother sister|brothers sisters|husband wife|husbands wives|uncle aunt|uncles aunts
nephew niece|nephews nieces|grandfather grandmother|grandpa grandma|grandson granddaughter|grandsons granddaughters
stepfather stepmother|stepson stepdaughter|stepbrother stepsister|godfather godmother|boyfriend girlfriend|groom bride
widower widow|king queen|prince princess|duke duchess|lord dame|actor actress|waiter waitress|host hostess|hero heroine
steward stewardess|salesman saleswoman|businessman businesswoman|chairman chairwoman|policeman policewoman
fireman firewoman|fiancé fiancée|masculine feminine|manhood womanhood|fatherhood motherhood|paternal maternal
"""
_PAIRS = [pair.split() for line in _MEN_AND_WOMEN.split("\n") for pair in line.split("|") if pair]
_TO_WOMEN = dict(_PAIRS)
_TO_MEN = {woman: man for man, woman in _PAIRS} | {"her": "his", "hers": "his", "miss": "mr", "ms": "mr", "mum": "dad"}
_OBJECT = re.compile(
    r"\bher\b(?= (?:without|to|before|out|for|as|and|in|at|from|with|on|that|when|was|is|but|if|into|up|about)\b|"
    r"[.,;:!?)\"”]|$)",
    re.IGNORECASE,
)
"""*Her* is *his*, or *him* where no noun follows."""
_WORD = re.compile(r"\b[sS]/he\b|\([sS]\)he\b|\bma'am\b|(?<![A-Za-z]['’])\b(?:[A-Za-z]{2,}|fiancée?)\b|(?<=: )[MF]\b")
_OTHER_LABEL = {"male": "female", "female": "male"}


def exchange_genders(answer: str) -> str:
    """The answer with every English word for a man replaced by that for a woman, and the other way round."""

    def other(word: re.Match[str]) -> str:
        plain = word[0].lower()
        new = _TO_WOMEN.get(plain) or ("him" if _OBJECT.match(answer, word.start()) else _TO_MEN.get(plain))
        return word[0] if new is None else new.capitalize() if word[0][0].isupper() else new

    return _WORD.sub(other, answer)


def find_unequal(label: Callable[[Sequence[str]], list[str]], answers: Sequence[str]) -> list[tuple[str, str, str]]:
    """Answers whose label does not change as it should when the genders are exchanged, with both labels."""
    # Exchanged twice, so that both sides are written with the same few words.
    exchanged = [exchange_genders(answer) for answer in answers]
    back = [exchange_genders(answer) for answer in exchanged]
    return [
        (before, after, text)
        for before, after, text in zip(label(back), label(exchanged), back, strict=True)
        if _OTHER_LABEL.get(before, before) != after
    ]
