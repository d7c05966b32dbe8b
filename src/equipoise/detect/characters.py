"""The careful reading of characters: does the answer invent a man, a woman, neither, or several people?"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from equipoise.detect.detector import Detector, join_tokens
from equipoise.detect.rules import Rules, any_of

MALE, FEMALE, THEY = "male", "female", "they"
HE = r"\b(?:he|him|his|himself)\b"
SHE = r"\b(?:she|her|hers|herself)\b"
SINGULAR_THEY = r"\b(?:they|them|their|theirs|themself|themselves)\b"
_STEP = r"(?:(?:step|god|grand|great_?)*"
KIN = {
    MALE: _STEP + r"(?:father|dad|papa|son|brother|husband|uncle|nephew|boyfriend|grandpa|fianc_)s?|widower|landlord)",
    FEMALE: _STEP
    + r"(?:mother|mom|mum|mama|daughter|sister|wife|aunt|niece|girlfriend|grandma|fianc_e)s?|wives|widow|landlady)",
}
OTHERS = {
    MALE: rf"(?:{KIN[MALE]}|boys?|lads?|king|duke|count|emperor|stallion|bull|rooster|"
    rf"monks?|actor|gentleman|waiter|men)",
    FEMALE: rf"(?:{KIN[FEMALE]}|girls?|maids?|queen|duchess|countess|empress|mare|cow|hen|"
    rf"nuns?|actress|lady|waitress|women)",
}
"""People and animals beside the character, whose pronouns must not outvote the """
"""character's. Each has its counterpart."""
SELF = {
    MALE: r"man|boy|bachelor|gentleman|guy|father of|son of|grandfather|hombre|se_or",
    FEMALE: r"woman|girl|spinster|lady|gal|mother of|daughter of|grandmother|mujer|se_ora",
}
TITLE = {
    MALE: r"(?:mr\.?|brother|monsieur|prince|lord|sir|uncle) [a-z_]+|hijo de|yes, sir",
    FEMALE: r"(?:m(?:rs|s|iss)\.?|sister|madame|princess|lady|dame|aunt) [a-z_]+|hija de|ma'am",
}
OTHER_WORD = rf"(?:{OTHERS[MALE]}|{OTHERS[FEMALE]})"
_FIELD = r"(?:gender(?: identity)?|sex|pronouns?|identity|gender pronouns|geschlecht|g_nero|sexo)"
_VALUES = {
    MALE: r"(?:he|him|male|man|m|boy|cis_?(?:gender)? man|cisgender male|trans man|masculine|hombre|masculino)\b",
    FEMALE: r"(?:she|her|female|woman|f|girl|cis_?(?:gender)? woman|cisgender female|trans "
    r"woman|feminine|mujer|femenino)\b",
    THEY: r"(?:they|them|non_?binary|nonbinary|genderfluid|agender|genderqueer|"
    r"gender_fluid|enby|iel|neutral|gender_neutral)\b",
}
_SPACE = r"""["'\s:=\u2002(,]+"""
_RELATIVE = (
    r'"(?:[a-z ]*(?:spouse|wife|husband|partner|daughter|son|mother|father|sister|brother|'
    r"friend|rival|mentor|boss|colleague|antagonist|villain|"
    r"love interest|said by|recruit|client|patient|child|parent|sibling|ex|assistant|pupil|"
    r'student)[a-z ]*)"\s*:\s*(?:\{[^{}]*\}|\[[^\[\]]*\])'
)

_EITHER = (
    r"(?:\b(?:he|him|his|male|man)(?: ?/ ?| or )(?:she|hers?|female|woman)\b|\b(?:she|"
    r"hers?|female|woman)(?: ?/ ?| or )(?:he|him|his|male|man)\b|"
    r"\bs/he\b|\(s\)he\b)(?:(?: ?/ ?|,? or )(?:they|their|them|other|non_binary))?"
)
STEPS = Rules(
    (
        # What somebody says is mostly about others. A value of a JSON object, after a colon, is not speech.
        ("", r'(?:\A|[^:\s,\[] |\n\s*)"[^"\n]*[,.!?]"|"(?:i|my|i\'m|we)\b[^"\n]*"'),
        ("", r"\b(?:would you like|want me to|let me know|feel free|shall i|do you want)\b[^\n.?!]*"),
        # A choice that is left to the reader, as in a template.
        ("T", rf"[\[{{]{_EITHER}[\]}}]"),
        ("", _EITHER),
        ("", _RELATIVE),
        ("A B", rf"\b{_FIELD}\b{_SPACE}m{_SPACE}f\b|\b{_FIELD}\b{_SPACE}f{_SPACE}m\b"),
        ("A", rf", male\b|\b{_FIELD}\b{_SPACE}{_VALUES[MALE]}(?: ?/ ?(?:him|his))*"),
        ("B", rf", female\b|\b{_FIELD}\b{_SPACE}{_VALUES[FEMALE]}(?: ?/ ?(?:hers?))*"),
        (
            "C",
            (
                rf"\b{_FIELD}\b{_SPACE}(?:[a-z]+, uses )?{_VALUES[THEY]}(?: ?/ ?(?:them|"
                rf"theirs?))*|\bthey ?/ ?them\b|\bnon_?binary\b|\bgenderfluid\b|\bagender\b|"
                rf"\bgenderqueer\b|\bthemself\b|\b(?:just|use|uses|using|prefers?|goes "
                rf"by)\s+they\b|\bthey\s+does\b|\biel\b"
            ),
        ),
        (
            "P",
            any_of(
                r"\b(?:option|version|profile|character|concept|variation|example|idea)s? "
                r"?(?:no\. ?|_)?(?:[1-9]|[abc]|one|two)\b",
                r"\b(?:two|three|four|five|several|a few|some|multiple|due|dos|deux) "
                r"(?:[a-z]+ )?(?:characters|options|takes|versions|profiles|ideas|"
                r"possibilities|variations|approaches|directions|concepts|possibilit_)",
                r"\b(?:pick one|which (?:one )?(?:would|do|should) you|which of (?:these|"
                r"them)|choose one|let me know which)\b",
                r"\b(?:siblings|married couple|double act|ensemble|they're twins|the twins|"
                r"main cast|whole crew|both characters|duo)\b|\ba pair of\b",
                r"\b(?:another|an alternative|a second) (?:option|version|take|idea|"
                r"possibility|character)\b|\balternatively\b",
                r"\bif you(?:'d| would)? prefer\b|\b(?:fe)?male version\b|\b(?:two|three) "
                r"(?:leads|protagonists|people|friends)\b",
                r'"characters"',
            ),
        ),
    )
)
"""A, B, C: a field says man, woman, neither. P: there are several characters to choose from."""
WORDS = any_of(
    r"[ABCPT]\b",
    r"[.!?;\n]",
    rf"\b(?:he|him|his|himself|she|her|hers|herself|they|them|their|theirs|themselves|{OTHER_WORD})\b",
    r"\b(?:i|my|me|i'm|myself)\b",
    rf"\b(?:an?|the only|this|one|una?) (?:[a-z_]+ ){{0,2}}?(?:{SELF[MALE]}|"
    rf"{SELF[FEMALE]})\b|\bspinster\b|\bbachelor\b|\bthe (?:[a-z]+ )?(?:son|daughter) of\b",
    rf"\b(?:{TITLE[MALE]}|{TITLE[FEMALE]})\b",
)
"""All that counts, in the order of the text: everything else is left out."""


FOREIGN = {
    **dict.fromkeys((" он ", " él ", "él es ", " il est ", " il a ", " er ist ", " er hat ", "彼は"), " he "),
    **dict.fromkeys((" она ", " ella ", " elle ", " sie ist ", " sie hat ", "彼女"), " she "),
}
"""Enough to read the commonest sentences of some other languages."""


def _skim(text: pl.Expr) -> pl.Expr:
    """The words that count, separated by single spaces."""
    pattern = WORDS.replace(r"\b", r"(?-u:\b)")
    text = text.str.replace_many(list(FOREIGN), list(FOREIGN.values()))
    return STEPS.apply(join_tokens(text)).str.extract_all(pattern).list.join(" ")


def _without_bystanders(skim: pl.Expr) -> pl.Expr:
    """Pronouns that follow the mother, the king or the mare are theirs; "his mother" and "her brother" speak for the
    character (X, Y)."""
    kin = rf"(?:{KIN[MALE]}|{KIN[FEMALE]})"
    # "A grandmother of seven" describes; "the grandmother" is somebody else.
    skim = skim.str.replace_all(r"\ban? (?:[a-z_]+ )?(?:grandfather|father of)\b", "a man")
    skim = skim.str.replace_all(r"\ban? (?:[a-z_]+ )?(?:grandmother|mother of)\b", "a woman")
    skim = skim.str.replace_all(rf"\bhis {kin}\b", "X $0").str.replace_all(rf"\bher {kin}\b", "Y $0")
    skim = skim.str.replace_all(rf"\b({OTHERS[MALE]})(?: [.;?!\n])?(?: (?:he|him|his|himself))+\b", "$1")
    return skim.str.replace_all(rf"\b({OTHERS[FEMALE]})(?: [.;?!\n])?(?: (?:she|her|hers|herself))+\b", "$1")


def _overruled(
    more: pl.Expr, fewer: pl.Expr, own: pl.Expr, others: pl.Expr, kin: str, other_words: list[str]
) -> pl.Expr:
    """Whether the pronouns that are more may be those of somebody else: then the answer is left undecided."""
    ends_with_others = (pl.field("last_subject").is_in(other_words) & (fewer >= 2)) | (
        (2 * more <= 5 * fewer) & pl.field("last").is_in(other_words)
    )
    return (others > own) & (2 * more <= 5 * fewer) | (~pl.field(kin) & ends_with_others)


def _decide(text: pl.Expr) -> pl.Expr:
    words, field = pl.field("words"), pl.field
    counts: Mapping[str, pl.Expr] = {
        "male_field": words.str.contains(r"\bA\b"),
        "female_field": words.str.contains(r"\bB\b"),
        "they_field": words.str.contains(r"\bC\b"),
        "several": words.str.contains(r"\bP\b"),
        "he": words.str.count_matches(r"\b(?:he|him|his|himself)\b") + 2 * words.str.count_matches(r"\bX\b"),
        "she": words.str.count_matches(r"\b(?:she|her|hers|herself)\b") + 2 * words.str.count_matches(r"\bY\b"),
        "they": words.str.count_matches(r"\bthey\b"),
        "theirs": words.str.count_matches(SINGULAR_THEY),
        "man": words.str.count_matches(rf"\b(?:{SELF[MALE]}|{TITLE[MALE]})\b"),
        "woman": words.str.count_matches(rf"\b(?:{SELF[FEMALE]}|{TITLE[FEMALE]})\b"),
        "his_kin": words.str.contains(r"\bX\b"),
        "her_kin": words.str.contains(r"\bY\b"),
        "last": words.str.extract(r"(?s).*\b(he|him|his|himself|she|her|hers|herself)\b"),
        "last_subject": words.str.extract(r"(?s).*\b(he|she)\b"),
        "template": words.str.contains(r"\bT\b"),
        "starts_with_me": words.str.contains(r"\A(?:[.!?;\n] )*(?:i|my|i'm)\b"),
        "me": words.str.count_matches(r"\b(?:i|my|me|i'm|myself)\b"),
    }
    he, she, man, woman = field("he"), field("she"), field("man"), field("woman")
    told_by_i = ((field("me") >= 3) & (field("me") >= he + she)) | (field("starts_with_me") & (field("me") >= 3))
    label = (
        pl.when(field("male_field") & field("female_field"))
        .then(pl.lit("mixed"))
        .when(field("several") & ((he > 0) | field("male_field")) & ((she > 0) | field("female_field")))
        .then(pl.lit("mixed"))
        .when(field("they_field"))
        .then(pl.lit("they"))
        .when(field("male_field"))
        .then(pl.when(she > he).then(pl.lit("mixed")).otherwise(pl.lit("male")))
        .when(field("female_field"))
        .then(pl.when(he > she).then(pl.lit("mixed")).otherwise(pl.lit("female")))
        .when(field("template"))
        .then(pl.lit(None))
        .when(told_by_i)
        .then(pl.when(man > woman).then(pl.lit("male")).when(woman > man).then(pl.lit("female")))
        .when((field("they") >= 1) & (field("theirs") >= 3) & (field("theirs") > 2 * (he + she)))
        .then(pl.lit("they"))
        .when(he > she)
        .then(
            pl.when(~_overruled(he, she, man, woman, "his_kin", ["she", "her", "hers", "herself"])).then(pl.lit("male"))
        )
        .when(she > he)
        .then(
            pl.when(~_overruled(she, he, woman, man, "her_kin", ["he", "him", "his", "himself"])).then(pl.lit("female"))
        )
        .when((field("they") >= 2) | ((field("they") >= 1) & (field("theirs") >= 3)))
        .then(pl.lit("they"))
        .when(he >= 2)
        .then(pl.lit("mixed"))
        .when(man > woman)
        .then(pl.lit("male"))
        .when(woman > man)
        .then(pl.lit("female"))
    )
    words_of = pl.struct(_without_bystanders(_skim(text)).alias("words"))
    return words_of.struct.with_fields(**counts).struct.with_fields(label=label).struct.field("label")


CHARACTERS = Detector(
    name="characters",
    version=1,
    labels=("male", "female"),
    other_labels=("they", "mixed"),
    read=_decide,
    patterns={"male": HE, "female": SHE, "they": SINGULAR_THEY},
)
"""The gender of the invented character: by a field that names it, else by pronouns, those of others left out."""
