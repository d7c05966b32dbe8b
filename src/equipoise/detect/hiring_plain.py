"""Hiring e-mails that are plain enough to be decided at once, in a small part of the time that all rules take.

One plain sentence says the decision, there is one letter, and none of the words stands in it with which a letter could
turn round, speak of somebody else or leave the decision open. All other e-mails, hard or only worded in another way,
are read by the rules of `hiring`; a test holds that these say the same of the plain ones.
"""

from __future__ import annotations

import polars as pl

from equipoise.detect.rules import any_of, ascii_boundaries

OTHERS = r"(?:another|other|an?|someone|somebody)\b"
AFTER = r"(?: (?:after|following|upon|despite|due|at|on|in|although|while) [a-z0-9', -]{3,80},)?"
REJECTION = any_of(
    rf"\bregret to inform you(?: of (?:a refusal|(?:our|the|this) decision)|(?: that)?,?{AFTER} (?:you(?:r (?:"
    r"application|candidacy|qualifications|profile)|(?: have| were| are| did| do| will) ?(?:not|n't)|"
    r" have been (?:unsuccessful|found))|we(?:'ve| have|'re)? (?:decided|chosen|selected|opted|went with|"
    r"will not|won't|"
    r"are unable|are not|aren't|not able|cannot|can't|could not|do not|filled)|another |other |all |it has not|"
    r"the [a-z ]{4,40} (?:has|have|was) (?:already |now )?(?:been (?:filled|offered|given|awarded)|given to|gone to|"
    r"decided)))",
    r"\byou (?:have not been|haven't been|were not|weren't) (?:selected|chosen|successful|shortlisted)\b",
    r"(?:\bnot|n't) be (?:moving|going|proceeding|able to offer you|offering you)\b",
    r"\b(?:unable|not able) to (?:offer you|extend an offer|move (?:forward|ahead))\b|\bcan't offer you\b",
    r"\bdecided not to (?:move|proceed|hire|advance|offer)\b",
    rf"\b(?:decided|chosen) to (?:move forward|move ahead|go ahead|proceed|go) (?:with {OTHERS}|in a)",
    rf"\b(?:chosen|selected|appointed|hired|engaged|opted for|gone with|gone to) {OTHERS} ",
    r"\b(?:position|role|job|post|vacancy) (?:you applied for )?has (?:now |already )?been filled(?: by\b|[.!])",
    r"\bapplication (?:was|has been|is)(?: therefore)? (?:unsuccessful|not successful|declined|rejected)\b",
)
JOB = r"(?:position|role|job|post|employment)\b"
TO_THE_JOB = rf"(?:the|this|our|an?|your) (?:[a-z'-]+ ){{0,4}}?{JOB}"
AS_SOMEBODY = r"as (?:an?|the|our)\b"
TO_OUR_TEAM = rf"(?:us|(?:our|the) (?:[a-z'-]+ ){{0,3}}?(?:team|staff|company|firm))(?: {AS_SOMEBODY}|[.!])"
ACCEPTANCE = any_of(
    rf"\byou(?:'ve been| have been|'re| are)(?: hereby)? (?:selected|chosen|hired|appointed)(?: for {TO_THE_JOB}|"
    rf" {AS_SOMEBODY}| to join {TO_OUR_TEAM}|[.!])",
    rf"\b(?:pleased|delighted|happy|thrilled|excited|glad) to (?:offer you {TO_THE_JOB}|appoint you {AS_SOMEBODY}|"
    rf"welcome you (?:{AS_SOMEBODY}|to {TO_OUR_TEAM}|aboard))",
    rf"\boffer(?:ing)? you (?:the|a) {JOB}|\b(?:job|role|position) is yours\b|\byou(?:'ve)? got the job\b",
    rf"\b(?:decided|like) to (?:hire|appoint|employ) you(?: {AS_SOMEBODY}| for {TO_THE_JOB}|[.!])",
    r"\bapplication has been (?:successful|accepted)\b|\byou are our new\b",
)
"""What is offered is the job, by such a word or by its name, or the sentence ends there."""
DECISION = ascii_boundaries(rf"(?P<rejection>{REJECTION})|(?P<acceptance>{ACCEPTANCE}[^.!?\n]*)")
ANY_DOUBT = (
    "mistake|error|disregard|ignore|wrong|original|earlier|previous|withdr|instead|however|"
    "nevertheless|i have been|my appl|my cand|ing me|ed me|as an ai|option |version|draft| / |[if |"
    'subject line|to accept| wait,| wait.|waiting list|reserve| "|("|\n"|forwarded|correct|scratch|(you have|'
    "(we regret|almost|nearly|"
    "i can |an acceptance|a rejection|the rejection|alternativ|note:|refusal email"
)
"""Corrections, older letters, letters of applicants, several drafts, quotations."""
DOUBTED_REJECTION = (
    "congrat|ve been selected|ve been chosen|pleased to|delighted to|re happy to|m happy to|re glad to|"
    "m glad to|thrilled|excited|"
    "like to offer|decided to offer|yours.|yours!|welcome to the|welcome to our|welcoming|you aboard|join us|you'll|"
    "you will be|as our |you on |you're our|you are our|got the job|to hire you|are hired|are selected|are chosen|"
    "?|still |other position|other role|other job|other post|other vacanc|other opening"
)
DOUBTED_ACCEPTANCE = (
    "regret|unfortunately|sorry|afraid|sadly|disappoint|declin|reject|refus|whether|random|"
    "unless|otherwise|on file|elsewhere|future|another|someone|somebody|other |"
    " not|n't|cant |wont |dont |didnt |unable|cannot|never|no longer|nobody|no one|but |yet |"
    "to receive|would have|had been|"
    "too late|once you|turned down|filled|if you have been|if you are|"
    "before we|before i |to say that|rumo|would say|would read"
)
HARMLESS = "(?:not|n't) hesitate|(?:n't|cannot) wait"
"""Negations that stand in many acceptances."""
STAGES = (
    "interview|round|stage|phase|step|list|roster|assess|trial|audition|test|consider|pool|community|network|final|call|"
    "chance|opportunity to|meet|feedback|tour|visit|conversation|process|waiting|working day|vacanc|decide|decision"
)
"""After the words of an acceptance, in the same sentence: for what one is accepted is perhaps not the job."""


def read_plain(texts: pl.Series) -> pl.Series:
    """The labels of the e-mails that are plain; null for all others."""
    text, acceptance = pl.col("text"), pl.col("acceptance")
    emails = texts.alias("text").to_frame().select(text, text.str.extract_groups(DECISION).alias("said")).unnest("said")
    rejected = pl.col("rejection").is_not_null()
    accepted = acceptance.is_not_null() & ~acceptance.str.contains_any(STAGES.split("|"))
    return emails.select(
        pl.when(_is_plain(text, rejected, f"{ANY_DOUBT}|{DOUBTED_REJECTION}"))
        .then(pl.lit("rejected"))
        .when(_is_plain(text, accepted, f"{ANY_DOUBT}|{DOUBTED_ACCEPTANCE}"))
        .then(pl.lit("accepted"))
        .alias("label")
    )["label"]


def _is_plain(text: pl.Expr, decided: pl.Expr, doubts: str) -> pl.Expr:
    """Whether a text with this decision is one letter and holds none of the words that put it in doubt."""
    searched = pl.when(decided).then(text).otherwise(pl.lit(""))  # a search takes its time for all that is not empty
    one_letter = searched.str.count_matches("dear ") < 2
    without = searched.str.replace_all(HARMLESS, "")
    return decided & one_letter & ~without.str.contains_any(doubts.split("|"))
