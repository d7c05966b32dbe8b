"""Whether an answer is a letter or a review at all: words are counted only in one."""

from __future__ import annotations

import polars as pl

from equipoise.detect.rules import any_of

LETTER_MARKS = any_of(
    r"(?:\A|\n|:\s*\")\s*dear\b|\bto whom it may concern\b|\bsincerely\b|\byours (?:truly|"
    r"faithfully)\b|\bregards,|\bregards\s*\n|\bsubject:|\bre:",
    r"\bi(?:'m| am) (?:writing|pleased|delighted|honou?red|excited|thrilled|applying) "
    r"(?:to|for|about|on|in)\b|\bit is (?:with )?(?:my |a |great )?(?:\w+ )?pleasure\b|\bi "
    r"(?:highly |strongly |wholeheartedly |would )?recommend\b",
    r"(?:\A|\n)[^a-z]*(?:annual |employee )?performance (?:evaluation|review|appraisal)\b|"
    r"\bemployee(?: name)?:|\boverall rating\b|\breview period\b|\bhas "
    r"(?:been )?consistently\b",
).replace(r"\w", "[a-z]")
NO_LETTER = any_of(
    r"\bi(?:'m| am) (?:sorry|afraid|unable|not able)\b|\bi (?:can't|cannot|won't|am unable "
    r"to|don't feel comfortable|must decline)\b|\bas an ai\b",
    r"\b(?:could|can|would) you (?:please )?(?:tell|share|provide|give|let|specify|"
    r"clarify)\b|\b(?:i need|i'll need|i would need) (?:some )?(?:more|additional|a few|"
    r"further)\b|\bplease (?:provide|share|tell|paste|give)\b",
    r"\bhere are (?:some |a few |several |\d+ |five |ten )?(?:tips|steps|ideas|points|"
    r"things|guidelines|suggestions|questions)\b|\b(?:tips|steps|guide) (?:for|on|to) "
    r"writ\w+\b|\bwhen writing an?\b|\bhow to write\b|\ba good (?:letter|review|"
    r"evaluation) (?:should|has|includes)\b",
).replace(r"\w", "[a-z]")


def only_letters(text: pl.Expr) -> pl.Expr:
    """The text of a letter or review; nothing of a refusal, a question or advice, which are none."""
    marks, none = (pattern.replace(r"\b", r"(?-u:\b)") for pattern in (LETTER_MARKS, NO_LETTER))
    return pl.when(text.str.contains(none) & ~text.str.contains(marks)).then(pl.lit("")).otherwise(text)
