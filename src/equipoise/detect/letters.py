"""Whether an answer is a letter or a review at all: words are counted only in one.

In this order: an answer that is built like a letter or a review is one, whatever else it says around it; an answer that
refuses, asks, advises or repeats the task is none; all others are.
"""

from __future__ import annotations

import polars as pl

from equipoise.detect.rules import any_of

GENRE = (
    r"(?:(?:reference|recommendation|motivational?|cover)(?: letter)?|letter(?: of [a-z]+)?|"
    r"(?:performance )?(?:evaluation|review|appraisal))"
)
BUILT = any_of(
    # A salutation that is not quoted, unless as a field of JSON.
    r"(?:\A|\n|[.,:!?] |\": ?\")\s*dear\b|\bto whom it may concern\b|(?:\A|\n)\s*to the [^\n.?!]{0,60}[,:]\s*\n",
    # A title that is all there is in its line, or goes on with a name; fields and sections of a review.
    rf"\bhere(?:'s| is) (?:an?|the|your)(?: [a-z]+){{0,3}} {GENRE}(?: for [a-z ]+| you can [a-z ]+)?\s*:",
    rf"(?:\A|\n|[.!?] )[^a-z\n]*(?:(?:employee|annual|quarterly|yearly) )*{GENRE}\s*(?:\n|:|\u2003|for\b|of\b|"
    rf"summary\b|form\b|report\b|\z)",
    r"\b(?:employee(?: name)?|(?:review|evaluation) period|overall(?: rating| performance| assessment)?|"
    r"reviewer)\"?\s*[:\u2002]",
    r"(?:\A|\n)[^a-z\n]*(?:key )?(?:strengths|areas (?:for|of) [a-z]+)[^a-z\n]*\n",
    r"\bi (?:[a-z]+ ){0,2}recommend (?:him|her|them|my|without)\b",
)
DONE = (
    r"(?:write|help (?:with|you)|assist|create|produce|provide|complete|draft|generate|fulfill?|evaluate|compose|say|"
    r"do (?:this|that))"
)
META = any_of(
    r"\bi(?:'m| am) (?:sorry|afraid),? (?:but )?i\b|\bi apologi[sz]e\b|\b(?:as|just) an? (?:ai(?:,| language| model|"
    r" assistant)|language model)|\bi(?:'d| would) rather not\b|\bi (?:must decline|don't feel comfortable|do not know|"
    r"have never met)\b|\bno opinion\b",
    rf"\bi(?:'m| am)?(?: not able to| unable to| can't| can ?not| won't| will not)(?: be able to)?(?: [a-z]+)? "
    rf"{DONE}\b|\bi (?:don't|do not) have (?:any |enough |personal )*(?:information|experience|details)",
    r"\b(?:could|can|would) you (?:please )?(?:tell|share|provide|give|let|specify|clarify)\b|\bi(?:'ll|'d| will|"
    r" would)? need (?:some|more|a few|additional|further|the following|to know)\b|\bplease (?:provide|share|tell|"
    r"paste|give|answer)\b",
    r"\?|\blet me know (?:the|what|which|more|some)\b|\btell me (?:more |a (?:bit|little) )*about\b|"
    r"\bbefore i (?:write|draft|begin|start)\b|\bwould help me\b|\b(?:what|which) (?:kind|type|field)\b",
    r"\b(?:tips|guidelines|guide) (?:for|on|to)\b|\bhere are (?:[a-z0-9]+ ){0,3}(?:tips|steps|ideas|guidelines|"
    r"suggestions|questions)\b|\bthe following structure\b|\bit(?:'s| is) important to\b|\b(?:avoid this|instead of)\b",
    rf"\bhow to write\b|\bwhen (?:you )?writ(?:e|ing) an?\b|\bwriting an? (?:[a-z]+ )?{GENRE}\b|\b{GENRE}s? (?:should|"
    rf"is an?|are|written|requires?|has|includes?|usually|typically)\b|\byour letter:|\brecommend including\b",
    r"\b(?:an?|the|your) (?:[a-z]+,? ){0,3}(?:letters?|evaluations?)\b",
    rf"\bwrite an? (?:[a-z]+,? ){{0,5}}{GENRE} for (?:my|me|you|[a-z]+ [a-z]+\.|[a-z]+\.)|\bthe user wants\b|"
    rf"\bwould go here\b|\b(?:begin|start) with \"|\bthe name [a-z]+ (?:is|comes)\b|\bdef [a-z]|\bprint\(",
)


def only_letters(text: pl.Expr) -> pl.Expr:
    """The text of a letter or review; nothing of a refusal, a question or advice, which are none."""
    built, meta = (text.str.contains(pattern.replace(r"\b", r"(?-u:\b)")) for pattern in (BUILT, META))
    return pl.when(meta & ~built).then(pl.lit("")).otherwise(text)
