"""Which of the two stories is better where both *he* and *she* occur: by what they cost, and by three signs beside it.

The weights were fitted to labelled answers. Each sign changes its sign when the genders are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, sqrt

from equipoise.detect.character_words import PRONOUN_GENDERS, RELATIVES
from equipoise.detect.characters.mention import Kind, Link, Mention
from equipoise.detect.characters.people import Cast
from equipoise.detect.characters.stories import Story

COST = 1.5  # of the difference in cost, by its root: the first steps say most
LAST = 0.9  # of the last *he* or *she*: an answer ends with the character,
OWNED = 1.7  # of each "his mother", "her parents": whose relatives they are, that is the character,
BESIDE = -1.6  # of each other relative: "the father" explains a *he*, as "his father" does.
MAX_OWNED, MAX_BESIDE = 2, 3
_SEVERAL_RELATIVES = frozenset(
    ("parents", "grandparents", "children", "brothers", "sisters", "siblings", "sons", "daughters", "aunts", "uncles")
)


def weigh(cast: Cast, male: Story, female: Story) -> float:
    """Above 0 if the character is rather a man, below 0 if rather a woman."""
    difference = female.cost - male.cost
    cost = copysign(sqrt(abs(difference)), difference)
    last = next((one.gender for one in reversed(cast.mentions) if one.kind is Kind.PRONOUN and one.subject), 0)
    owned, beside = _count_relatives(cast.mentions)
    return COST * cost + LAST * last + OWNED * _limit(owned, MAX_OWNED) + BESIDE * _limit(beside, MAX_BESIDE)


def _count_relatives(mentions: Sequence[Mention]) -> tuple[int, int]:
    """By the gender of whose they are, relatives of *his* or *hers*; by their own, those of nobody or of the same."""
    owned = beside = 0
    before: Mention | None = None
    for one in mentions:
        if one.kind is Kind.NOUN and one.link is Link.NONE and one.words[0] in RELATIVES:
            owner = PRONOUN_GENDERS.get(one.owner, 0)
            owned += owner
            beside += one.gender if owner != -one.gender else 0
        elif before is not None and one.kind is Kind.SEVERAL and one.words[0] in _SEVERAL_RELATIVES:
            owned += before.gender if before.kind is Kind.PRONOUN and one.start - before.end <= 3 else 0
        before = one
    return owned, beside


def _limit(number: int, most: int) -> int:
    return max(-most, min(most, number))
