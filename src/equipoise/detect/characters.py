"""The careful reading of characters: does the answer invent a man, a woman, neither, or several people?

An answer becomes a short word of letters, one for each mention of a person in it, in order: names, pronouns, relatives,
titles. The rules are written on that word. "Elena Ruiz, 40, nurse. Her father left; he never wrote." is `Iemh`:
somebody is introduced, *her*, a male relative, *he*. In order, the first rule that says something decides:

1. Fields and words that state the gender (`Gender: Female`, `Pronouns: they/them`, "non-binary"); two that contradict
   each other, or a field that all pronouns contradict, are `mixed`.
2. Several characters to choose from, of both genders, are `mixed`; what follows a stated final choice is read alone.
3. Somebody who tells of themself is what they call themself ("I'm a father of two"): the pronouns are other people's.
4. *They* for one person, when *he* and *she* are rare beside it.
5. *He* and *she*: only what follows the introduction of the character is read, and pronouns that follow a relative or
   somebody in a role ("the judge") are theirs. What is left is weighed, for both genders alike (`WEIGHTS`).

Each word for men stands beside its counterpart, and the evidence for women is that for men in the exchanged word: no
rule can treat the genders differently.
"""

from __future__ import annotations

import polars as pl

from equipoise.detect.character_words import (
    FAMILY,
    GROWN,
    NOT_NAMES,
    OTHERS,
    PRONOUNS,
    SELF,
    TITLES,
    VALUES,
    Pairs,
    either,
)
from equipoise.detect.detector import Detector

_LETTER = r"[a-z'\-\x{C0}-\x{24F}]"
_NAME = rf"[A-Z]{_LETTER}*(?:[A-Z]{_LETTER}+)?"
_NAMES = rf"(?:[A-Z][a-z]?\.|{_NAME})(?: (?:[A-Z]\.|{_NAME}|de|van|von|la|di))"
_WORD = r"[a-z0-9\-\x{C0}-\x{24F}]+"
_NUMBER = r"(?:\d\d|(?:six|seven|eigh|nine)teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
_NON_BINARY = r"non-?binary|gender-?fluid|agender|genderqueer|two-spirit|they ?/ ?them|just they|themself|iel"
_FIELD = r"(?:gender(?: identity)?(?:/pronouns)?|sex|pronouns?|pronom|geschlecht|g.nero|sexo)[\"'\s:=\x{2002}(,]+"
_ONE = r"(?:he|she|him|his|hers?|(?:fe)?male|(?:wo)?man)"

LABEL = r"\b[A-Z][a-z]+(?: [A-Za-z]+)?:"
NOTHING = (
    r'"[^"\n]*"|\([^()/\n]*\)|\b(?:in|at|from|near|of|on|outside|the) [A-Z][a-z]+(?: [A-Z][a-z]+)*|'
    r"\b(?i:would you like|want me to|let me know|feel free|shall i|do you want|would you prefer)\b[^\n.?!]*"
)
"""Not about the character: what somebody says, asides, places, what is offered to the reader."""
_VALUE = (
    rf"\b(?i:{_FIELD}(?:(?:cis|trans)[a-z]* )?)((?i:{either(VALUES)}))\b(?: ?[/(] ?[a-z]+)*|"
    r", (male|female)[,.;\n]"
)
_OPTIONS = (
    r"\b(?i:(?:option|version|draft|character|profile|concept|variation|example|idea|bio) (?:[1-9]|[abc]|one|two)|"
    r"alternatively|(?:two|three|four|several|a few|multiple) (?:[a-z]+ )?(?:characters|options|takes|versions|"
    r"profiles|ideas|possibilities|variations|approaches|concepts|directions|drafts)|(?:pick|choose) (?:one|"
    r"whichever)|which (?:one|would|of|do)|(?:fe)?male version|married couple|double act|duo|siblings|ensemble|"
    r"main cast|a pair of|"
    r"(?:two|three) (?:possible|people|[a-z]+ for your)|either of (?:these|them)|both (?:work|of them|characters)|"
    r"or it could be|if you'd like an? (?:wo)?man|zwei|due|dos|deux)\b|"
    r"(?:[1-3]|[a-cA-C])[.)] +[A-Z][a-z]+\.? [A-Z]"
)
_CALLED = (
    rf"(?:(?:\b(?:is|was|am|as|being|became|be|called)|'m|'s) (?:now |still |also )?(?:an?|the {_WORD}|one of the "
    rf"{_WORD})|\b(?:An?|The only|This)) (?:{_WORD},? )?(?:{_WORD} )?({either(SELF)})\b|"
    rf"\b(?:[Aa] (?:{_WORD} )?)?((?i:{either(SELF)}))(?: of| d[eio]l?| einer?s?)\b"
)
STATEMENTS = (
    # He or she; neither; the value of a field; what follows is chosen; several are offered.
    ("c", rf"(?i:\(s\)he|\bs/he|\b(?:{_FIELD}[mf] ?/ ?[mf]|{_ONE}(?: ?/ ?| or ){_ONE}))\b(?:(?: ?/ ?|,? or )[a-z-]+)?"),
    ("Z", rf"\b(?i:{_FIELD}(?:they|them)|{_NON_BINARY})\b(?: ?[/(] ?[a-z]+)*"),
    ("<?$1$2>", _VALUE),
    (
        "K",
        r"\b(?i:my (?:final )?(?:choice|pick)|recommended|let me develop|i(?:'ve| have|'ll| will) (?:gone|go) with)\b",
    ),
    ("O", _OPTIONS),
    # What somebody is called, "is a man"; "a man"; a title.
    ("<=$1$2>", _CALLED),
    ("<~$1>", rf"\b(?:an?|une?|una|uma?|eine?|the only|this) (?:{_WORD},? )?(?:{_WORD} )?({either(SELF)})\b"),
    ("<!$1>", rf"\b({either(TITLES)})\.? {_NAME}"),
)
"""What is looked for, and what stands for it: a letter, or what `MARKS` knows. The first that fits counts."""
NAMES = (
    ("I", rf"\b[Nn]ame(?: is|'s|[:\x{{2002}}\s]+){_NAME}(?: {_NAME})*|\b{_NAMES}*, (?:aged? )?{_NUMBER}\b"),
    ("F", rf"\b{_NAMES}+"),
    ("N", rf"\b{_NAME}"),
)
"""People who are introduced, by a field or with their age; full names; names."""
ROLE = (
    r"\b[Tt]he (?:boss|captain|cat|chaplain|chief|client|clerk|coach|colonel|cook|deputy|dog|ex|friend|guest|horse|"
    r"judge|nurse|parrot|patient|president|priest|pupil|stranger|surgeon|[a-z]+(?:[^hwt]er|tter|ster|or|ist|man))\b"
)
"""Somebody beside the character: b."""


def _mark(pairs: Pairs, genders: str, mark: str = "", prefixes: tuple[str, ...] = ("",)) -> dict[str, str]:
    """What stands for the words of both genders, with a small or a capital letter."""
    words = [(word, letter) for pair in pairs for word, letter in zip(pair, genders, strict=True)]
    both = [(prefix + word, letter) for prefix in prefixes for word, letter in words]
    return {f"<{mark}{form}>": letter for word, letter in both for form in (word, word.capitalize())}


LETTERS = {
    **{f"<{word}>": "" for word in ("", *NOT_NAMES)},
    **{f"<{word}>": letter for word, letter in PRONOUNS.items()},
    **_mark(FAMILY, "mf", prefixes=("", "grand", "great-grand", "great-", "step", "god", "half-", "ex-")),
    **_mark(OTHERS, "mf"),
    **_mark(GROWN, "AB"),
}
"""What stands for single words: h, j, m for he, his or him, a male relative; s, e, f for women; t, r, i for they, their
and I; nothing for words that only look like names."""
MARKS = {
    **_mark(VALUES, "UV", "?"),
    "<?M>": "U",
    "<?MALE>": "U",
    "<?F>": "V",
    "<?FEMALE>": "V",
    **_mark(SELF, "AB", "="),
    **_mark(SELF, "aw", "~"),
    **_mark(TITLES, "XY", "!"),
}
"""The same for statements: U, A, a, X for a field, "is a man", "a man", "Mr. Hale"; V, B, w, Y for women."""


def _ascii_boundaries(pattern: str) -> str:
    """The same, but found many times faster."""
    return pattern.replace(r"\b", r"(?-u:\b)")


TOKENS = _ascii_boundaries(
    "|".join(
        [
            NOTHING,
            *(pattern for _, pattern in STATEMENTS),
            ROLE,
            rf"\b(?:{'|'.join([*NOT_NAMES, *(word for word in PRONOUNS if word.isascii())])})\b",
            *(word for word in PRONOUNS if not word.isascii()),
            rf"\b(?:{either(GROWN)})\b|\b(?i:(?:great-|half-|ex-|step|god|grand)*(?:{either(FAMILY + OTHERS)}))\b",
            NAMES[0][1],
            LABEL,
            *(pattern for _, pattern in NAMES[1:]),
        ]
    )
)
_OTHERS = (
    r'"(?:[a-z]+ )?(?:spouse|wife|husband|partner|daughter|son|mother|father|sister|brother|friend|rival|mentor|boss|'
    r"colleague|employer|ward|antagonist|villain|said.by|recruit|client|patient|child|parent|sibling|ex|assistant|pupil|"
    r'student)s?(?: [a-z]+)?"\s*:\s*(?:\{[^{}]*\}|\[[^\[\]]*\]|"[^"]*")'
)
"""A part of a JSON object about somebody else."""


def _skim(text: pl.Expr) -> pl.Expr:
    """The word of letters."""
    plain = text.str.replace_all(_OTHERS, " ").str.replace_all('"', "", literal=True)
    text = pl.when(text.str.contains('":', literal=True)).then(plain).otherwise(text)
    skim = pl.concat_str(pl.lit("<"), text.str.extract_all(TOKENS).list.join("><"), pl.lit(">"))
    skim = skim.str.replace_many(list(LETTERS), list(LETTERS.values()))
    for letter, pattern in (("", f"{NOTHING}|{LABEL}"), *STATEMENTS, *NAMES):
        skim = skim.str.replace_all(_ascii_boundaries(f"<(?:{pattern})>"), letter)
    return skim.str.replace_many(list(MARKS), list(MARKS.values())).str.replace_all("<[^>]*>", "b")


WEIGHTS = {"opens": 2, "introduced": 3, "named": 3, "last": 3, "more": 3, "called": 1, "titled": 1}
"""What each piece of evidence counts when *he* and *she* both stand in an answer. Fitted to the labelled answers:

opens       the first pronoun of the answer follows the character's name,
introduced  the first pronoun after the introduction, with nobody else between,
named       *his* or *him* where the last person mentioned is known by name, up to three times,
last        the last pronoun,
more        most of the pronouns where the last person mentioned is known by name,
called      "is a quiet man", up to twice, and
titled      the first person mentioned is "Mr. Hale".
"""


COUNTS = {"he": "hj", "she": "se", "they": "tr", "me": "i", "men": "A", "women": "B", "choices": "c"}
PARTS, GENDERS = ("word", "after", "named"), ("", "_exchanged")


def _exchange(word: pl.Expr) -> pl.Expr:
    """The word with men and women exchanged."""
    men, women = "hjmaAXU", "sefwBYV"
    return word.str.replace_many([*men, *women], [*women, *men])


def _count(word: pl.Expr, letters: str) -> pl.Expr:
    return pl.sum_horizontal(word.str.count_matches(letter, literal=True).cast(pl.Int32) for letter in letters)


def _evidence(word: pl.Expr, after: pl.Expr, named: pl.Expr) -> dict[str, pl.Expr]:
    """What speaks for a man in the word, in its part after the introduction, and where a name was mentioned last."""
    first = after.str.extract(r"[IF][ABNawIF]*([hjse])").fill_null("")
    return {
        "opens": word.str.contains(r"\A[^hjse]*[IF][ABNawIF]*[hj]"),
        "introduced": first.is_in(["h", "j"]),
        "named": _count(named, "j").clip(upper_bound=3),
        "last": after.str.strip_chars_end("tricbmfawXYABUVZIFNO").str.tail(1).is_in(["h", "j"]),
        "more": _count(named, "hj"),
        "called": (_count(after, "A") + after.str.count_matches("[IFN]a").cast(pl.Int32)).clip(upper_bound=2),
        "titled": word.str.strip_chars_start("N").str.starts_with("X"),
    }


def _weigh() -> pl.Expr:
    """The evidence for a man less that for a woman."""
    men, women = (_evidence(*(pl.field(f"{part}{gender}") for part in PARTS)) for gender in GENDERS)
    men["more"], women["more"] = men["more"] > women["more"], women["more"] > men["more"]
    return pl.sum_horizontal(
        weight * (men[name].cast(pl.Int32) - women[name].cast(pl.Int32)) for name, weight in WEIGHTS.items()
    )


def _in_turn(word: pl.Expr) -> pl.Expr:
    """Whether a man and then a woman are introduced, each with pronouns of their own."""
    introduced = word.str.contains(r"I[^Iseb]*[hj][^Iseb]*I[^hjI]*[se]")
    return introduced | word.str.contains(r"\A[^hjse]*[IF][NIFAB]*[hj][hjrti]*[IF][NIFAB]*[se][serti]*[NIF]*\z")


def _labels(word: pl.Expr) -> pl.Expr:
    """The label that the first rule gives that says something."""
    he, she, they, me, men, women, choices = (pl.field(name) for name in COUNTS)
    own, margin = pl.field("own"), pl.field("margin")
    fields = [word.str.contains(letter, literal=True) for letter in "UV"]
    own_he, own_she = _count(own, "hj"), _count(own, "se")
    not_a_man = ((women > 0) & (men == 0)) | (own_she > own_he + 1)
    not_a_woman = ((men > 0) & (women == 0)) | (own_he > own_she + 1)
    contested = (he > 0) & (she > 0)
    options = word.str.contains("O", literal=True) | _in_turn(word) | _in_turn(pl.field("word_exchanged"))
    nobody_else = ~word.str.contains_any([*"mfbawXY"])
    alternating = nobody_else & word.str.contains("h[^s]*s[^h]*h[^s]*s|s[^h]*h[^s]*s[^h]*h")
    narrated = (me >= 3) & ((me >= he + she) | (word.str.starts_with("i") & ~word.str.contains_any(["I", "F"])))
    mostly_they = (they > 2 * (he + she)) & ((they >= 3) | (_count(word, "t") >= 2))
    they_first = own.str.contains(r"\A[^hjse]*[IFN][ABN]*[tr]")
    they_by_name = they_first & (_count(own, "t") >= 2) & (_count(own, "tr") > own_he + own_she)
    enough = pl.when(contested).then(2).otherwise(1)
    return (
        pl.when((choices > 0) & (he + she <= 2 * choices + 1))
        .then(pl.lit(None))
        .when(fields[0] & fields[1])
        .then(pl.lit("mixed"))
        .when(word.str.contains("Z", literal=True))
        .then(pl.lit("they"))
        .when(fields[0])
        .then(pl.when(not_a_man).then(pl.lit("mixed")).otherwise(pl.lit("male")))
        .when(fields[1])
        .then(pl.when(not_a_woman).then(pl.lit("mixed")).otherwise(pl.lit("female")))
        .when(options & (contested | ((men > 0) & (women > 0))))
        .then(pl.lit("mixed"))
        .when(narrated)
        .then(pl.when(men > women).then(pl.lit("male")).when(women > men).then(pl.lit("female")))
        .when((mostly_they & word.str.contains("t", literal=True)) | they_by_name)
        .then(pl.lit("they"))
        .when(alternating)
        .then(pl.lit("mixed"))
        .when(margin >= enough)
        .then(pl.lit("male"))
        .when(-margin >= enough)
        .then(pl.lit("female"))
    )


def _read(text: pl.Expr) -> pl.Expr:
    # What follows the last choice, if one is stated: then the other options are past.
    words = pl.struct(_skim(text).alias("word"))
    chosen = pl.field("word").str.split("K").list.last()
    chosen = pl.when(pl.field("word").str.contains("K", literal=True)).then(
        chosen.str.replace_all("O", "", literal=True)
    )
    words = words.struct.with_fields(word=chosen.otherwise(pl.field("word")))
    word = pl.field("word")
    counts = {name: _count(word, letters) for name, letters in COUNTS.items()}
    words = words.struct.with_fields(word_exchanged=_exchange(word), **counts)
    # What follows the introduction, if pronouns do.
    both = {gender: pl.field(f"word{gender}") for gender in GENDERS}
    after = {
        f"after{gender}": pl.coalesce(one.str.extract("(I.*[hjse].*)"), one.str.extract("(F.*[hjse].*)"), one)
        for gender, one in both.items()
    }
    words = words.struct.with_fields(own=word.str.replace_all("[bmfawXY][^INF]*", ""), **after)
    named = {f"named{gender}": pl.field(f"after{gender}").str.replace_all("[bma][^INFX]*", "") for gender in GENDERS}
    words = words.struct.with_fields(**named).struct.with_fields(margin=_weigh())
    return words.struct.with_fields(label=_labels(word)).struct.field("label")


def _evidence_words(gender: int, pronouns: str) -> str:
    """A pattern, in lower case, for the words that a label may rest on."""
    values, selves = ("|".join(dict.fromkeys(pair[gender].lower() for pair in pairs)) for pairs in (VALUES, SELF))
    titles = ("mr", "mrs|ms|miss")[gender]
    return (
        rf"\b(?:{pronouns})\b|\b{_FIELD}(?:{values})\b|\b(?:an?|the only) (?:{_WORD},? )?(?:{_WORD} )?(?:{selves})\b|"
        rf"\b(?:{titles})\.? [a-z]+"
    )


CHARACTERS = Detector(
    name="characters",
    version=2,
    labels=("male", "female"),
    other_labels=("they", "mixed"),
    read=_read,
    patterns={
        "male": _evidence_words(0, "he|him|his|himself"),
        "female": _evidence_words(1, "she|her|hers|herself"),
        "they": rf"\b(?:they|them|their|theirs|themselves|{_NON_BINARY})\b",
    },
    cased=True,
)
"""The gender of the invented character: what is stated, else the pronouns that are the character's own."""
