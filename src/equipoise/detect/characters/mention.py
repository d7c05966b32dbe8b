"""A mention of somebody in an answer: what kind it is, and how it is joined to others."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What kind of mention it is."""

    NAME = "Ada Lunt"
    PRONOUN = "she"
    THEY = "they"
    ME = "I"
    NOUN = "his sister, a woman"
    ROLE = "the judge"
    SEVERAL = "the neighbours"
    GROWN = "nacida: a word that shows the gender of whom it is about"
    LINE = "the beginning of a line, where the character is what it is about"


class Link(Enum):
    """How a noun is joined to somebody who was mentioned, or a name introduced."""

    NONE = ""
    IS = "she is a widow"
    BESIDE = "Ada Lunt, a widow"
    STARTS = "A widow at forty, she"
    OPENS = "There once lived a woman"
    OF = "father of two"
    AS = "As a midwife's daughter, she"
    SHOWN = "That was Giles"
    HEADING = "a line that is a name"
    AGE = "Ada Lunt, 44"
    NAMED = "a man called Clive"
    CALLED = "his name is Clive"
    FIELD = "Name: Ada Lunt"


class Mention(NamedTuple):
    """One mention of somebody.

    gender    1 for a man, -1 for a woman, 0 if the mention does not say
    start     the number of its first word, `end` of its last one
    subject   whether it begins its clause or is a subject's pronoun
    owner     what stands before a noun: "his", "the", "a", "'s" for "Ada's"; empty if nothing does
    aside     whether it begins an aside: "the chaplain (she was a chef)"
    """

    kind: Kind
    words: tuple[str, ...]
    gender: int
    start: int
    end: int
    sentence: int
    clause: int
    subject: bool = False
    owner: str = ""
    link: Link = Link.NONE
    aside: bool = False
