"""Several characters to choose from, several who are one character together, and which of them is chosen."""

from __future__ import annotations

import re

# Patterns in lower case, for text in lower case: those that take letters of both cases are three times slower.
_OPTIONS = re.compile(
    r"\b(?:(?:option|version|draft|character|profile|concept|variation|variant|example|idea|bio) (?:[1-9]|[abcmf]|one|"
    r"two)\b|alternatively\b|(?:two|three|four|several|a few|multiple) (?:[a-z]+ )?(?:characters|options|takes|"
    r"versions|profiles|ideas|possibilities|variations|approaches|concepts|directions|drafts)\b|(?:pick|choose) (?:one|"
    r"whichever)\b|which (?:one|(?:would|do) you|of (?:these|them|the two))\b|(?:fe)?male version\b|"
    r"(?:if|for an?) (?:fe)?male(?: lead)?:|double act\b|main cast\b|"
    r"(?:two|three) (?:possible|[a-z]+ for your)\b|either of these\b|or it could be\b|"
    r"if you'd like an? (?:wo)?man\b|"
    r"(?:zwei|due|dos|deux) (?:vorschläge|varianten|figuren|optionen|versionen|propositions|versions|personnages|"
    r"options|opciones|personajes|propuestas|versiones|possibilità|opzioni|personaggi|versioni|proposte)\b)"
)
_NUMBERED = re.compile(r"(?<!\w)[1-3a-cA-C][.)] +(?!The )[A-Z][a-z]+\.? [A-Z]")
_MAN_AND_WOMAN = "|".join(
    f"{one} and (?:(?:a|his|her|their) )?{other}"
    for man, woman in (("brother", "sister"), ("husband", "wife"))
    for one, other in ((man, woman), (woman, man))
)
_TOGETHER = re.compile(
    rf"\b(?:twins|siblings|couple|pair of|the pair|duo|{_MAN_AND_WOMAN}|two (?:people|characters|of them)|"
    r"both of them|either of|neither of|each of|equally|can't choose|flip a coin|either could)\b"
)
_CHOSEN = re.compile(
    r"\b(?:my (?:final )?(?:choice|pick)\b|final (?:choice|pick|version|answer)\b|recommended|let me develop|"
    r"verdict\b|scratch that|start over|new profile|so:\s|instead:|forget (?:him|her)\b|"
    r"here(?:'s| is) your [a-z]+:|i'll take|i'd go with|going with|i(?:'ve)? ch[oe]ose|"
    r"i(?:'ve| have|'ll| will) (?:gone|go) with)"
)
"""What follows is chosen, or comes in place of what was written before."""
_FORGET = re.compile(r"\bForget [A-Z][a-z]+\b")
_CHARACTER = r"(?:character|protagonist|main character|lead|heroine|hero|profile|subject of (?:the |this )?profile)"
_POINTED = re.compile(
    rf"\b(?:(?:that|this|here|he|she|it|who)(?:'s| is| was) (?:your|our|the|my) {_CHARACTER}\b|"
    rf"(?:is|are|'s) (?:your|our|the) {_CHARACTER}\b|"
    r"here(?:'s| is) the profile\b|at the cent(?:re|er) of (?:them|it|all)|write about (?:him|her)\b|use draft \d)|"
    rf"(?:^|\n)[^\w\n]*(?:the )?{_CHARACTER}(?: sheet)? *[:\u2002]"
)
"""What says outright who the character is."""
_POINTED_PARTS = ("character", "protagonist", "lead", "hero", "profile", "at the cent", "write about", "use draft")
_HE, _SHE = re.compile(r"\bh(?:e|im|is|imself)\b"), re.compile(r"\b(?:she|hers?|herself)\b")
MIN_CHOSEN = 40
"""So many characters must follow for a choice to be what is chosen."""


def lower_in_place(text: str) -> str:
    """The text in lower case, each character at its place; as it is if some would become two."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text


def has_any(text: str, parts: tuple[str, ...]) -> bool:
    """Whether any of the parts stands in a text.

    To look for parts of words is many times faster than to look for patterns, and most answers have none of them.
    """
    for part in parts:  # noqa: SIM110 - `any` takes three times as long
        if part in text:
            return True
    return False


def speaks_of_both(lower: str) -> bool:
    """Whether both *he* and *she* stand in a text in lower case."""
    return _HE.search(lower) is not None and _SHE.search(lower) is not None


def chosen_part(text: str) -> str | None:
    """What is chosen of several characters, or comes in place of others; None if nothing is."""
    ends = [match.end() for match in _CHOSEN.finditer(lower_in_place(text))]
    ends += [match.end() for match in _FORGET.finditer(text)] if "Forget " in text else []
    last = max(ends, default=len(text))
    return text[last:] if len(text) - last > MIN_CHOSEN else None


def has_options(text: str) -> bool:
    """Whether there are several characters to choose from."""
    return _OPTIONS.search(text.lower()) is not None or len(_NUMBERED.findall(text)) > 1


def are_together(text: str) -> bool:
    """Whether several people may be one character together."""
    return _TOGETHER.search(text.lower()) is not None


def pointed_gender(text: str) -> int:
    """The only gender of the pronouns from where a text says who the character is; 0 if there are none or both."""
    lower = lower_in_place(text)
    if not has_any(lower, _POINTED_PARTS):
        return 0
    last = max((match.start() for match in _POINTED.finditer(lower)), default=-1)
    if last < 0:
        return 0
    start = max(lower.rfind(sign, 0, last + 1) for sign in ".!?\n") + 1
    rest = lower[start:]
    return (_HE.search(rest) is not None) - (_SHE.search(rest) is not None)
