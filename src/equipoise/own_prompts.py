"""`OwnPrompts`: what a run knows of prompts that a user brings, as data: any command can read their answers."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

KINDS = ("decision", "score", "amount", "choice", "character")
"""How answers to own prompts can be read."""
MOST_ARMS, MOST_SLICES = 12, 12

Name = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]{0,59}\Z")]
Arm = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9 _-]{0,59}\Z")]
Word = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"\A[^\x00-\x1f\x7f]*\Z")]


class OwnPrompts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Prompts in groups that differ only in who is meant: one prompt for each arm.

    The run file holds the prompts themselves; with this beside them, nothing else is needed to measure the answers.
    """

    name: Name
    read: Literal["decision", "score", "amount", "choice", "character"]
    arm: Word
    """The column that says who is meant,"""
    arms: Annotated[tuple[Arm, ...], Meta(min_length=2, max_length=MOST_ARMS)]
    """and its values; the first is compared with the others."""
    slices: Annotated[tuple[Word, ...], Meta(max_length=MOST_SLICES)] = ()
    """Further columns, by which the numbers are also given."""
    letters: Annotated[str, Meta(pattern=r"\A[a-h]{2,8}\Z")] = "ab"
    """Of a choice: the options. It is counted how often the first one is chosen."""
    limits: tuple[float, float, float] | None = None
    """Between the marks A, B, C and D; None: the default of the kind."""
    items: Annotated[int, Meta(ge=1)]
    """How many groups of prompts there are."""
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    """Of all prompts, with their arms and groups."""
