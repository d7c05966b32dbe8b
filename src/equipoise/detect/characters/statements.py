"""What of an answer is about the character: no speech, no offers to the reader, no options that were given up.

And what is stated outright: fields such as `Gender: Female`, *he/she*, several characters to choose from.
"""

from __future__ import annotations

import re

from equipoise.detect.character_words import TITLE_GENDERS, VALUES, either

NON_BINARY = r"non-?binary|gender-?fluid|agender|genderqueer|two-spirit|they ?/ ?them|just they|themself|iel|mx"
FIELD_NAMES = r"(?:gender(?: identity)?(?:/pronouns)?|sex|pronouns?|pronom|geschlecht|g.nero|sexo)[\"'\s:=\u2002(,]+"
_MAN, _WOMAN = r"(?:he|him|his|male|man)", r"(?:she|hers?|female|woman)"
_OR = r"(?: ?/ ?| or )"

EITHER = re.compile(
    rf"\(s\)he\b|\bs/he\b|\b(?:{_MAN}{_OR}{_WOMAN}|{_WOMAN}{_OR}{_MAN}|{FIELD_NAMES}[mf] ?/ ?[mf])\b", re.I
)
"""He or she: nothing is chosen."""
IS_NON_BINARY = re.compile(rf"\b(?:{NON_BINARY})\b", re.I)
FIELD = re.compile(
    rf"\b{FIELD_NAMES}(?:(?:cis|trans)[a-z]* )?({either(VALUES)}|they|them)\b|, (male|female)[,.;\n]", re.I
)
_OPTIONS = re.compile(
    r"\b(?:(?:option|version|draft|character|profile|concept|variation|example|idea|bio) (?:[1-9]|[abc]|one|two)|"
    r"alternatively|(?:two|three|four|several|a few|multiple) (?:[a-z]+ )?(?:characters|options|takes|versions|"
    r"profiles|ideas|possibilities|variations|approaches|concepts|directions|drafts)|(?:pick|choose) (?:one|"
    r"whichever)|which (?:one|would|of|do)|(?:fe)?male version|(?:if|for an?) (?:fe)?male(?: lead)?:|double act|"
    r"main cast|(?:two|three) (?:possible|people|[a-z]+ for your)|either of (?:these|them)|"
    r"or it could be|if you'd like an? (?:wo)?man|zwei|due|dos|deux)\b"
)
_OPTION_PARTS = (
    *("option ", "version", "draft", "character", "profile", "concept", "variation", "example ", "idea", "bio "),
    *(
        "alternatively",
        "possib",
        "takes",
        "approaches",
        "directions",
        "pick ",
        "choose ",
        "which ",
        "male:",
        "male lead",
    ),
    *("double act", "main cast", " people", " for your", "either of", "or it could", "if you'd like", "zwei", "due"),
    *("dos", "deux"),
)
_NUMBERED = re.compile(r"[1-3a-cA-C][.)] +[A-Z][a-z]+\.? [A-Z]")
"""Several characters to choose from."""
_TOGETHER = re.compile(
    r"\b(?:twins|siblings|couple|pair of|duo|brother and (?:a |his )?sister|husband and wife|two (?:people|characters|"
    r"mouths|of them)|both of them|either of|neither of|each of|equally|wrote two|can't choose|flip a coin|doubled|"
    r"either could|let each|give each)\b"
)
"""Several who may be one character together."""
_TOGETHER_PARTS = (
    *("twins", "siblings", "couple", "pair of", "duo", "sister", "wife", "two ", "both of", "either of", "neither of"),
    *("each", "equally", "can't choose", "flip a coin", "doubled", "either could"),
)
CHOSEN = re.compile(
    r"\b(?i:my (?:final )?(?:choice|pick)\b|final (?:choice|pick|version|answer)\b|recommended|let me develop|"
    r"verdict\b|scratch that|start over|new profile|so:\s|so, quite simply:|instead:|forget (?:him|her)\b|"
    r"here(?:'s| is) your [a-z]+:|i'll take|i'd go with|going with|i(?:'ve)? ch[oe]ose|"
    r"i(?:'ve| have|'ll| will) (?:gone|go) with)|\bForget [A-Z][a-z]+\b"
)
"""What follows is chosen, or comes in place of what was written before."""
_CHOSEN_PARTS = (
    *(
        "choice",
        "pick",
        "final",
        "recommended",
        "let me develop",
        "verdict",
        "scratch that",
        "start over",
        "new profile",
    ),
    *(
        "so:",
        "so, quite",
        "instead:",
        "forget ",
        "here's your ",
        "here is your ",
        "i'll take",
        "i'd go",
        "going with",
        "choose",
        "chose",
    ),
    *("going with", "choose", "chose", "gone with", "go with"),
)
_OFFER_PARTS = ("would you", "want", "let me know", "feel free", "shall i")
_OFFER = re.compile(
    r"\b(?:would you like|want me to|let me know|feel free|shall i|do you want|would you prefer)\b[^\n.?!]*", re.I
)
_SPEECH = re.compile(r'"([^"\n]*)"')
_SIGNED = re.compile(rf"\n[ (]*({'|'.join(TITLE_GENDERS)})\b[.) ]+[^\n]{{0,40}}\s*\Z")
_OTHERS = re.compile(
    r'"(?:[a-z]+ )?(?:spouse|wife|husband|partner|daughter|son|mother|father|sister|brother|friend|rival|mentor|boss|'
    r"colleague|employer|ward|antagonist|villain|said.by|recruit|client|patient|child|parent|sibling|ex|assistant|pupil|"
    r'student)s?(?: [a-z]+)?"\s*:\s*(?:\{[^{}]*\}|\[[^\[\]]*\]|"[^"]*")'
)
"""A part of a JSON object about somebody else."""
_NEXT_FIELD = re.compile(r'"\s*[,}\]]+\s*[{\[]*\s*"')
_HE, _SHE = re.compile(r"\b[Hh](?:e|im|is)\b"), re.compile(r"\b(?:[Ss]he|[Hh]ers?)\b")
_NON_BINARY_PARTS = ("binary", "fluid", "gender", "two-spirit", "/", "just they", "themself", "iel", "mx")
_FIELD_PARTS = ("gender", "sex", "prono", "geschlecht", "nero", ", male", ", female")
_MEN = frozenset(man.lower() for man, _ in VALUES)
_WOMEN = frozenset(woman.lower() for _, woman in VALUES)


def without_speech(text: str) -> str:
    """The text without what somebody says in it; names and single words in quotation marks stay."""
    if '"' not in text:
        return text
    rest = _SPEECH.sub(_keep_name, text)
    return rest if len(rest) > 0.4 * len(text) else text.replace('"', " ")


def _keep_name(speech: re.Match[str]) -> str:
    said = speech[1]
    is_name = said.count(" ") <= 1 and said[:1].isupper() and not said.endswith((".", ",", "!", "?"))
    return f" {said} " if is_name else ' " '


def plain_json(text: str) -> str:
    """JSON as lines of `field: value`, without the objects that are about others."""
    return _NEXT_FIELD.sub("\n", _OTHERS.sub(" ", text)).replace('"', "") if '":' in text else text


def about_character(text: str) -> tuple[str, bool]:
    """What of an answer is about the character, and whether it is what was chosen of several."""
    text = without_speech(plain_json(text))
    lower = text.lower()
    if _has_any(lower, _OFFER_PARTS):
        text = _OFFER.sub(" ", text)
    if _has_any(lower, _CHOSEN_PARTS) and _HE.search(text) and _SHE.search(text):
        chosen = list(CHOSEN.finditer(text))
        if chosen and len(text) - chosen[-1].end() > 40:
            return text[chosen[-1].end() :], True
    return text, False


def _has_any(text: str, parts: tuple[str, ...]) -> bool:
    """Whether any of the parts stands in a text.

    To look for parts of words is many times faster than to look for patterns, and most answers have none of them.
    """
    for part in parts:  # noqa: SIM110 - `any` takes three times as long
        if part in text:
            return True
    return False


def has_options(text: str) -> bool:
    """Whether there are several characters to choose from."""
    lower = text.lower()  # patterns that tell letters of both cases apart are three times faster
    found = _has_any(lower, _OPTION_PARTS) and _OPTIONS.search(lower) is not None
    return found or _NUMBERED.search(text) is not None


def are_together(text: str) -> bool:
    """Whether several people may be one character together."""
    lower = text.lower()
    return _has_any(lower, _TOGETHER_PARTS) and _TOGETHER.search(lower) is not None


def count_either(text: str) -> int:
    """How often nothing is chosen: *he/she*, "man or woman"."""
    return len(EITHER.findall(text)) if "/" in text or " or " in text or "(s)he" in text else 0


def is_non_binary(text: str) -> bool:
    """Whether somebody is said to be neither a man nor a woman."""
    return _has_any(text.lower(), _NON_BINARY_PARTS) and IS_NON_BINARY.search(text) is not None


def find_fields(text: str) -> set[int]:
    """What fields say: 1 for a man, -1 for a woman, 0 for neither."""
    if not _has_any(text.lower(), _FIELD_PARTS):
        return set()
    values = [(first or second).lower() for first, second in FIELD.findall(text)]
    return {1 if value in _MEN else -1 if value in _WOMEN else 0 for value in values}


def signature(text: str) -> int:
    """The gender of the title in the last line, with which a letter is signed: "Mrs. Assumpta Gill"."""
    signed = _SIGNED.search(text)
    return TITLE_GENDERS[signed[1]] if signed else 0


def is_letter(text: str) -> bool:
    """Whether an answer begins like a letter."""
    return text.lstrip().startswith(("Dear", "My dear", "To "))
