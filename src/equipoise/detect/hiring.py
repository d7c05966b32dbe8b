"""The careful reading of hiring e-mails: whether the applicant is accepted or rejected.

The rules work in four layers:

1. the letter: where it begins and ends; what it only mentions, supposes or says of others is taken away;
2. words by what they mean: other applicants (O), to pick (V), to offer (T), to go on with (P), a role (J);
3. clauses of such words: "not" before a verb rejects, so does a verb before "another candidate"; "you have been" before
   it or "you" after it accepts; a verb before "interview" leaves the decision open;
4. words that go with a decision and count only where no clause says it.

What is left of a letter is a word of capitals, such as "LGRW" (salutation, regret, rejection, good wishes). `decide`
reads it.
"""

from __future__ import annotations

import re

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.detect.hiring_clauses import (
    ACCEPTED,
    AS_IF_ACCEPTED,
    AS_IF_REJECTED,
    OPEN,
    PICKED,
    REFUSED,
    REGRET,
    REJECTED,
    TAKEN_BACK,
)
from equipoise.detect.hiring_plain import read_plain
from equipoise.detect.hiring_words import (
    CONTRAST,
    CORRECTION,
    FORWARDED,
    MENTIONED,
    NO_DECISION,
    NOT,
    OF_OTHERS,
    OTHERS,
    ROLE,
    SALUTATION,
    SIGN_OFF,
    SUBJECT,
    SUPPOSED,
    TO_GO_ON,
    TO_OFFER,
    TO_PICK,
    WELCOME,
    YOU_ARE,
)
from equipoise.detect.rules import SINGLE_SPACES, Rules, any_of, decide_each, evidence
from equipoise.detect.visible import change_where

RULES = Rules(
    (
        ("", MENTIONED),
        ("Z", SUBJECT),
        ("Q", FORWARDED),
        ("L", SALUTATION),
        ("E", SIGN_OFF),
        ("F", NO_DECISION),
        ("A", WELCOME),
        ("", any_of(SUPPOSED, OF_OTHERS)),
        ("O", OTHERS),
        ("V", TO_PICK),
        ("T", TO_OFFER),
        ("P", TO_GO_ON),
        ("R", REFUSED),
        ("W", AS_IF_REJECTED),
        ("N", NOT),
        ("Y", YOU_ARE),
        ("J", ROLE),
        ("K", CORRECTION),
        ("B", CONTRAST),
        ("A", PICKED),
        ("R", REJECTED),
        ("D", TAKEN_BACK),
        ("I", OPEN),
        ("A", ACCEPTED),
        ("G", REGRET),
        ("C", AS_IF_ACCEPTED),
    ),
    spellings=SINGLE_SPACES,
)
STATEMENTS = r"[LEFARDGIWCBKZQO]|[.!?]"


def decide(word: str) -> str | None:
    """What the letters of an answer come to; the ends of sentences among them are points.

    Letters of applicants and those that leave the decision open decide nothing, nor do drafts that differ, unless all
    but the last are said to be wrong. What stands before a letter, such as a disclaimer, does not count.
    """
    word = re.sub(r"[RG](?=[^.!?]*\?)", "", word)  # a question rejects nobody
    word, *_ = re.sub("[!?]", ".", word).split("Q")
    before, *drafts = word.split("L")
    *_, subject = before.split("Z")
    drafts = [re.sub("[EZ].*", lambda rest: "K" if "K" in rest[0] else "", draft) for draft in drafts or [subject]]
    if not re.search("[LZE]|C[^W]*C|W[^C]*W", word):
        drafts = [re.sub("[CWO]", "", draft) for draft in drafts]  # no letter: one word that goes with one says nothing
    if any("F" in draft for draft in drafts):
        return None
    verdicts = [verdict for draft in drafts if (verdict := _decide_draft(draft))]
    if len({*verdicts}) > 1 and not any("K" in draft for draft in drafts[:-1]):
        return None
    return verdicts[-1] if verdicts else None


def _decide_draft(draft: str) -> str | None:
    """What one letter says.

    Where it says both, the later statement counts if there is a contrast between the two, or if words go with it and
    none with the earlier one: "you were chosen … it went to another … we are sorry".
    """
    *_, last = draft.split("K")
    draft = last if re.search("[ARDCW]", last) else draft
    if "D" in draft:
        return "rejected"
    draft = re.sub(r"G(?=[^.]*R)|C(?=[^.]*I)", "", draft)  # good news: selected for the talent pool
    accepted, rejected, regret = ("A" in draft, "R" in draft, "G" in draft)
    if accepted and rejected:
        if re.search(r"A[^RG]*B[^A]*R[^A]*\Z|A[^RC]*R[^AC]*[RW][^AC]*\Z", draft):
            return "rejected"
        return "accepted" if re.search(r"R[^A]*B[^RD]*A[^RD]*\Z|R[^AGW]*A[^RGW]*C[^RGWO]*\Z", draft) else None
    if accepted and regret:
        return None if re.search(r"G[^.]*A|A[^.]*G", draft) else "accepted"
    if accepted and "C" not in draft and re.search("^[^A]*A[^A]*W[^A]*$", draft):
        return None  # selected, and after that only what goes with a rejection: uncertain
    if re.search(r"\A[^W]*R[^W]*B[^RW]*C[^RW]*\Z", draft) or (regret and not rejected and "C" in draft):
        return None  # a rejection, and after a contrast only what goes with an acceptance: uncertain
    if accepted or rejected:
        return "accepted" if accepted else "rejected"
    if "I" in draft:
        return None
    if regret:
        return "rejected"
    soft = {*draft.replace("O", "W")} & {*"CW"}
    return {"C": "accepted", "W": "rejected"}["".join(soft)] if len(soft) == 1 else None


def read_by_rules(text: pl.Expr) -> pl.Expr:
    """The label of each text, by the rules alone."""
    return decide_each(RULES.apply(text).str.extract_all(STATEMENTS).list.join(""), decide)


def _respell(texts: pl.Series) -> pl.Series:
    return texts.to_frame("text").select(RULES.respell(pl.col("text"))).to_series()


def _read_plain(text: pl.Expr) -> pl.Expr:
    """The labels of plain e-mails, in the spelling of the rules."""

    def read_column(texts: pl.Series) -> pl.Series:
        spaced = texts.str.contains("  ", literal=True) | texts.str.contains("\t", literal=True)
        return read_plain(change_where(spaced, texts, _respell))

    return text.map_batches(read_column, return_dtype=pl.String)


HIRING_LETTERS = Detector(
    name="hiring_letters",
    version=5,
    labels=("accepted", "rejected"),
    plain=_read_plain,
    read=read_by_rules,
    rules=RULES,
    patterns={"accepted": evidence("AC"), "rejected": evidence("RDGW")},
)
"""Whether a hiring e-mail accepts or rejects; null where it leaves that open, or where two drafts differ."""
