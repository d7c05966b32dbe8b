"""What of an answer is about the character: no speech, no offers to the reader, no options that were given up.

And what is stated outright: fields such as `Gender: Female`, and *he/she*.
"""

from __future__ import annotations

import re

from equipoise.detect.character_words import TITLE_GENDERS, VALUES, either
from equipoise.detect.characters.choosing import chosen_part, has_any, lower_in_place, speaks_of_both

NON_BINARY = r"non-?binary|gender-?fluid|agender|genderqueer|two-spirit|they ?/ ?them|just they|themself|iel|mx"
FIELD_NAMES = r"(?:gender(?: identity)?(?:/pronouns)?|sex|pronouns?|pronom|geschlecht|g.nero|sexo)[\"'\s:=\u2002(,]+"
_MAN, _WOMAN = r"(?:he|him|his|male|man)", r"(?:she|hers?|female|woman)"
_OR = r"(?: ?/ ?| or )"

EITHER = re.compile(rf"\(s\)he\b|\bs/he\b|\b(?:{_MAN}{_OR}{_WOMAN}|{_WOMAN}{_OR}{_MAN}|{FIELD_NAMES}[mf] ?/ ?[mf])\b")
"""He or she, in lower case: nothing is chosen."""
IS_NON_BINARY = re.compile(rf"\b(?:{NON_BINARY})\b", re.I)
_VALUE = rf"({either(VALUES)}|they|them)"
FIELD = re.compile(
    rf"\b{FIELD_NAMES}(?:(?:cis|trans)[a-z]* )?{_VALUE}\b(?: ?/ ?[a-z]+)*(?: *\([^()\n]*\))?"
    rf"(?:\s*\u2002\s*{_VALUE}\b)?|, (male|female)[,.;\n]",
    re.I,
)
_OFFER_PARTS = ("would you", "want", "let me know", "feel free", "shall i")
_OFFER = re.compile(
    r"\b(?:would you like|want me to|let me know|feel free|shall i|do you want|would you prefer)\b[^\n.?!]*", re.I
)
_SPEECH = re.compile(r'"([^"\n]*)"')
_SIGNED = re.compile(rf"\n[^\n]{{0,40}}?\b({'|'.join(TITLE_GENDERS)})\b[^\n]{{0,40}}\s*\Z")
_SOMEBODY = (
    r"(?:spouse|wife|husband|partner|daughter|son|mother|father|sister|brother|uncle|aunt|cousin|grandmother|"
    r"grandfather|friend|rival|mentor|boss|colleague|employer|supervisor|manager|neighbou?r|predecessor|ward|antagonist|villain|"
    r"said.by|recruit|client|patient|child|parent|sibling|ex|assistant|pupil|student|household|love interest|"
    r"known associate|associate|supporting cast|supporting character|side character|dog|cat|horse)s?"
)
_OTHERS = re.compile(rf'"(?:[a-z]+ )?{_SOMEBODY}(?: [a-z]+){{0,2}}"\s*:\s*(?:\{{[^{{}}]*\}}|\[[^\[\]]*\]|"[^"]*")')
"""A part of a JSON object about somebody else."""
_OTHERS_LINE = re.compile(
    rf"(?:^|(?<=\n))[^\w\n]*(?:the |his |her |their |my )?(?:[a-z]+ )?{_SOMEBODY}(?: first)?"
    r"(?: ?\([^()\n]*\))? *[:\u2002][^\n]*"
)
"""A line of a profile about somebody else, in lower case: "Boss: Mr. Haugen. He wants roads"."""
_NEXT_FIELD = re.compile(r'"\s*[,}\]]+\s*[{\[]*\s*"')
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
    lower = lower_in_place(text)
    if has_any(lower, _OFFER_PARTS):
        text = _OFFER.sub(" ", text)
        lower = lower_in_place(text)
    if not speaks_of_both(lower):
        return text, False
    text = _without_others(text, lower)
    chosen = chosen_part(text)
    return (text, False) if chosen is None else (chosen, True)


def _without_others(text: str, lower: str) -> str:
    """The text without the lines that are about others."""
    if ":" not in lower and "\u2002" not in lower:
        return text
    for line in reversed(list(_OTHERS_LINE.finditer(lower))):
        text = text[: line.start()] + text[line.end() :]
    return text


def count_either(text: str) -> int:
    """How often nothing is chosen: *he/she*, "man or woman"."""
    return len(EITHER.findall(text.lower())) if "/" in text or " or " in text or "(s)he" in text else 0


def is_non_binary(text: str) -> bool:
    """Whether somebody is said to be neither a man nor a woman."""
    return has_any(text.lower(), _NON_BINARY_PARTS) and IS_NON_BINARY.search(text) is not None


def find_fields(text: str) -> tuple[set[int], str]:
    """What fields say: 1 for a man, -1 for a woman, 0 for neither; and the text without them."""
    if not has_any(text.lower(), _FIELD_PARTS):
        return set(), text
    values = [value.lower() for found in FIELD.findall(text) for value in found if value]
    return {1 if value in _MEN else -1 if value in _WOMEN else 0 for value in values}, FIELD.sub(" ", text)


def signature(text: str) -> int:
    """The gender of the title in the last line, with which a letter is signed: "Mrs. Assumpta Gill"."""
    signed = _SIGNED.search(text)
    return TITLE_GENDERS[signed[1]] if signed else 0


def is_letter(text: str) -> bool:
    """Whether an answer begins like a letter."""
    return text.lstrip().startswith(("Dear", "My dear", "To "))
