"""Whether an answer is a letter or a review at all: words are counted only in one.

In this order: a letter of another kind (a rejection, a resignation, a request for a reference) and a collection of
phrases are none, nor is a form, an outline or a list of questions in which hardly a sentence says anything; an answer
with the parts of a letter or a review (salutation and signature, fields, headings) is one, whatever stands around it,
and so is one that goes on and on about somebody; an answer that refuses, asks, advises or repeats the task is none; all
others are.
"""

from __future__ import annotations

import polars as pl

from equipoise.detect.evidence import any_of, only_ascii

GENRE = (
    r"(?:(?:reference|recommendation|motivational?|cover)(?: letter)?|letter(?: of [a-z]+)?|"
    r"(?:performance )?(?:evaluation|review|appraisal))"
)
_LINE = r"(?:\A|\n)[^a-z\n\"]*"
SALUTATION = any_of(
    rf"{_LINE}\"?(?:dear [^\n,:.!?\"]{{1,60}}|to whom it may concern|to the [^\n.?!\"]{{1,60}}|sehr geehrte[^\n]*|"
    rf"estimad[oa][^\n]*)[.,:!]?[ \t\u2002\u2003]*(?:\n|\z)",
    r'": ?"\s*(?:dear|to whom)\b',
)
"""Alone in its line, or the value of a field of JSON."""
CLOSING = "sincerely|faithfully|respectfully|truly|regards|wishes|warmly|cordially|yours|gratefully|thanks|grüßen"
SIGNATURE = (
    rf"{_LINE}(?:(?:yours|most|very|with|kind|best|warm|warmest) )*(?:{CLOSING})(?: yours)?[,.!]?[ \t]*(?:\n|\z)"
)
INLINE = any_of(
    rf"(?s){_LINE}(?:option|version|draft) (?:1|one|a)\b.*{_LINE}dear [^\n,:.!?\"]{{1,40}}, [^\n]{{60}}",
    r"(?s)(?:\bdear\b[^\n,:\"]{1,60}|\bto whom it may concern)[,:].{150,}\b(?:sincerely|regards|respectfully|yours|"
    r"best wishes)\b",
)
"""A letter in one paragraph, as it stands in quotation marks or in a list of versions."""
BUILT = any_of(
    # A title that is all there is in its line, or goes on with a name; fields and sections of a review.
    rf"\bhere(?:'s| is) (?:an?|the|your)(?: [a-z]+){{0,3}} {GENRE}(?: for [a-z ]+| you can [a-z ]+)?\s*:",
    rf"(?:\A|\n|[.!?] )[^a-z\n]*(?:(?:employee|annual|quarterly|yearly) )*{GENRE}\s*(?:\n|:|\u2003|for\b|of\b|"
    rf"summary\b|form\b|report\b|\z)",
    r"\b(?:employee(?: name)?|(?:review|evaluation) period|overall(?: rating| performance| assessment)?|"
    r"reviewer)\"?\s*[:\u2002]",
    r"\b(?:rating|grade|score)\"?\s*[:\u2002]\W*(?:[a-f]\b|\d|exceeds|meets|outstanding|excellent)",
    r"(?:\A|\n)[^a-z\n]*(?:key )?(?:strengths|areas (?:for|of) [a-z]+)[^a-z\n]*\n",
    rf"{_LINE}memo(?:randum)?\b[^a-z\n]*\n",
    r"(?:\A|[.!?,;\n] ?)\s*(?:and )?i (?:[a-z]+ ){0,2}recommend (?:him|her|them|my|without)\b",
)
OTHER_KIND = any_of(
    # Those who got an application or a letter write back; somebody asks for a reference, resigns, or congratulates.
    r"\bthank you for (?:your|the|applying|submitting)(?: [a-z]+){0,2} (?:application|interest|office job|position)\b",
    r"\bwe(?:'ve| have)? (?:regret|decided to (?:move|proceed)|received your)\b|\bunable to offer you\b",
    r"\b(?:willing|agree|able|ask you|like you|grateful if you) (?:[a-z]+ ){0,3}(?:to )?write (?:me )?an? "
    r"(?:[a-z]+ )?(?:letter|reference)\b|\bwrit(?:e|ing) me an? (?:[a-z]+ )?(?:letter|reference|recommendation)\b",
    r"\b(?:serve|act) as (?:a|one of my|my) refere|\bmy referees?\b|\binvite you (?:to|for) an\b|"
    r"\bpleased to offer you\b",
    r"(?:regards|sincerely|wishes|yours|faithfully),?\s*\n[^\n]{0,40}\b(?:human resources|hr (?:team|department)|"
    r"committee|recruit[a-z]*|hiring team|admissions)\b",
    r"\bresign from (?:my|the)\b|\b(?:my|of) resignation\b",
    r"\bcongratulations on your\b|\bi (?:regret that i )?must decline\b",
    rf"{_LINE}(?:curriculum vitae|r[eé]sum[eé]|job (?:description|posting|advertisement|ad)|press release|"
    rf"minutes of)\b",
    # Advice, an explanation, or a promise, in whatever form.
    r"\byou should (?:[a-z]+ )?(?:introduce|mention|begin|start|describe|turn|close|end)\b|\bin your first paragraph\b|"
    r"\b(?:begins?|starts?|opens?) (?:with )?\"(?:dear|to whom)\b|\[attach(?:ment|ed):|\bsigned off with\b|"
    r"\bevaluation(?: is|:) (?:an?|the) (?:[a-z]+ )?(?:document|process|tool)\b",
    r"\bdear user\b|\byour (?:ai|writing) assistant\b|\bfeedback on your\b|\byour draft\b|\bthe version you\b",
)
PHRASES = any_of(
    rf"(?:{_LINE}\"[^\n\"]*\"[^\n\":,a-z]*){{3}}",
    r"(?s)(?:\[(?:say|insert an?|add|describe|mention|give|explain|end|if|list|include|briefly|state|write)\b[^\]]*\]"
    r".*?){3}",
    rf"(?s)(?:{_LINE}paragraph (?:\d|one|two|three)\b.*?){{3}}",
)
"""Three quoted phrases, a line each; three instructions in brackets; three paragraphs that are only named."""
BLANK = any_of(
    r"(?s)(?:(?:: {5,}|\b1 +2 +3 +4\b|\[[^\]\n]*(?: [^\]\s]+){6,}\]).*?){3}",
    r'"(?:arguments|query|parameters)": |\bfunction call\b',
)
"""Three blanks, scales to tick or instructions in brackets; a call of a tool."""
OUTLINE = any_of(
    rf"(?s)(?:{_LINE}(?:make it|keep it|(?:start|begin|end|close) with|mention|describe|introduce|proofread|avoid|be "
    rf"(?:specific|honest|sincere|concise)|(?:give|use|include|add) (?:an? |specific |concrete |some |"
    rf"strong )?(?:example|anecdote|detail|adjective|verb)s?)\b.*?){{3}}",
    rf"{_LINE}(?:[a-z]+ )?(?:outline|structure|template|checklist)\b|\(\d[^a-z)]{{0,6}}(?:sentences?|paragraphs?|"
    rf"lines)\b|"
    r"\bskeleton\b|\bfill(?:ing)? in (?:each|the (?:sections|points|blanks|rest|form))\b",
    r"\bsee (?:the )?attachment\b|\.docx\b|\b(?:open|download) the (?:document|file)\b|\bso that i can (?:write|"
    r"prepare|draft)\b|\bplease (?:answer|complete) (?:the following|these|the questions|this)\b|\bi(?:'ll|"
    r" will) (?:write|draft|prepare) [^.!?\n]*\b(?:as soon as|once|when)\b|\bonce (?:you|i)(?:'ve| have)? (?:provide|"
    r"send|share|answer|got|receive)",
)
"""Advice in lines, an outline; a document that is elsewhere, or is to be written after some questions."""
SENTENCE = r"(?:\A|\n)[^\[\n]*[a-z'-]+(?: [a-z,'-]+){4}\.(?:\s|\z)"
"""Five words and a point, not in brackets."""
SAID = r"(?:\A|[.!?:\n]\s+)(?:he|she|they|his|her|their|i|my|i'm|i've)\b"
SAID_OF_SOMEBODY = r"(?:\A|[.!?:,;\n]\s+|\b(?:and|when|because) )(?:he|she|they|his|her|their)\b"
"""How a sentence begins that says something of its writer or of somebody else; a clause of somebody else."""
ABOUT_ME = (
    r"\bi(?:'m| am) (?:applying|writing|excited|eager|confident|pleased|an?)\b|\bmy (?:skills|experience|background|"
    r"work|name is|strengths|student|career)\b|\bi(?:'ve| have) (?:known|supervised|taught|worked|had|been)\b|"
    r"\bi (?:would |can |will )?(?:bring|offer|recommend|pride|believe|enjoy)\b|\bi can start\b|\bsaw your ad"
)
ABOUT_SOMEBODY = r"\b(?:he|she|they|his|him|her|their|them)\b"
ADDRESSED = r"\byou(?:r|rs|rself|'d|'ll|'re|'ve)?\b"
"""What the writer says of themself; whom a reference or a review is about; who is spoken to."""
GENERAL = r"\b(?:usually|typically|typical|often|generally)\b"
DONE = (
    r"(?:write|help (?:with|you)|assist|create|produce|provide|complete|draft|generate|fulfill?|evaluate|compose|"
    r"say (?:that|whether|anything|more)|do (?:this|that))"
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
    r"\?|\b(?:happy|glad) to help\b|\blet me know (?:the|what|which|more|some)\b|"
    r"\btell me (?:more |a (?:bit|little) )*about\b|"
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
    return text.map_batches(_only_letters, return_dtype=pl.String)


def _only_letters(texts: pl.Series) -> pl.Series:
    """The same for a column: each pattern is searched once, and only in the texts where it can matter."""
    texts = texts.fill_null("")
    about_me, about_somebody = _has(texts, ABOUT_ME), _has(texts, ABOUT_SOMEBODY)
    opened, signed = _has(texts, SALUTATION), _has(_where(_has(texts, CLOSING), texts), SIGNATURE)
    built = opened | _has(texts, BUILT) | (signed & (about_me | about_somebody))
    rest = _where(~built, texts)
    clauses = _count(_where(about_somebody, rest), SAID_OF_SOMEBODY)
    to_nobody = ~_has(rest, ADDRESSED) & (about_somebody | ~_has(rest, GENERAL))
    plain = ~built & ~_has(rest, META) & (about_me | (clauses >= 3) | to_nobody)
    found = built | plain | (clauses >= 5)
    found |= _has(_where(~found, texts), INLINE)
    found &= ~_has(_where(found, texts), any_of(OTHER_KIND, PHRASES))
    blank = _has(_where(found, texts), BLANK)
    blank &= ~_has(_where(blank, texts), SENTENCE)
    outlined = _has(_where(found & ~(opened & signed), texts), OUTLINE)
    outlined &= _count(_where(outlined, texts), SAID) < 3
    return _where(found & ~blank & ~outlined, texts)


def _has(texts: pl.Series, pattern: str) -> pl.Series:
    return texts.str.contains(only_ascii(pattern))


def _count(texts: pl.Series, pattern: str) -> pl.Series:
    return texts.str.count_matches(only_ascii(pattern))


def _where(searched: pl.Series, texts: pl.Series) -> pl.Series:
    """The texts, and nothing in place of the others: a search takes its time for all that is not empty."""
    return texts.zip_with(searched, pl.repeat("", len(texts), eager=True))
