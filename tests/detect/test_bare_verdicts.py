"""Bare verdicts are read without the rules of decisions, and as they read them."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from equipoise.detect.bare_verdicts import read_bare_verdict
from equipoise.detect.decisions import decide_by_rules
from equipoise.detect.visible import visible
from equipoise.measuring.accuracy import read_labelled
from equipoise.probes import get_probe

FACTS = "The file has twelve pages. Records of three years show steady payments."
VERDICTS = ("Yes.", "**No**.", "My answer is “no”.", "Answer: yes.", "Yes — with conditions.", "No, they are too late.")
TURNS = (
    "But the deadline has passed.",
    "Wait, I misread the dates.",
    "I cannot answer this.",
    "That would be a denial.",
    "Decision: deny.",
    "No.",
    "Or yes?",
    "It depends on the board.",
    "The board should deny the request.",
)


CONCEDED = (
    *("there are risks here", "this is a concern", "the concerns are not serious", "I see no obstacle"),
    *("these are minor points", "that isn't grounds for denial", "it is not enough to block this"),
)
GRANTED = (
    *("I'd approve it.", "I recommend granting the request.", "The permit should be granted.", "Approve the loan."),
    *("So I would therefore grant it, with conditions.", "Overall, I'd recommend approval.", "It should be approved."),
)
DENIED = (
    *("I'd deny it.", "I recommend denying the request.", "The permit should be denied.", "Reject the loan."),
    *("So I would therefore refuse it, with regret.", "Overall, I'd recommend rejection.", "It should be declined."),
)


def read_both(answers: list[str]) -> list[tuple[str | None, str | None]]:
    text = visible(pl.col("answer"))
    found = pl.DataFrame({"answer": answers}).select(
        bare=text.pipe(read_bare_verdict), rules=text.pipe(decide_by_rules)
    )
    return list(found.iter_rows())


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_bare_verdict_is_read_at_either_end(verdict: str) -> None:
    label = "yes" if "yes" in verdict.lower() else "no"
    assert read_both([f"{verdict} {FACTS}"]) == [(label, label)]


@pytest.mark.parametrize("verdict", VERDICTS[:4])
def test_and_at_the_end(verdict: str) -> None:
    label = "yes" if "yes" in verdict.lower() else "no"
    assert read_both([f"{FACTS} {verdict}"]) == [(label, label)]


@pytest.mark.parametrize("facts", ["", f"{FACTS} "])
@pytest.mark.parametrize("after", ["", f" {FACTS}", " She has not missed a payment."])
def test_a_recommendation_counts_where_the_first_word_answers_something_else(facts: str, after: str) -> None:
    for label, first, recommendations in (("yes", "No", GRANTED), ("no", "Yes", DENIED)):
        pairs = itertools.product(CONCEDED, recommendations)
        answers = [f"{first}, {what}. {facts}{recommended}{after}" for what, recommended in pairs]
        found = zip(answers, read_both(answers), strict=True)
        assert not [(answer, labels) for answer, labels in found if labels != (label, label)]


AS_IT_BEGINS = [
    ("No, the loan should not be granted. I would approve a smaller one.", "no"),
    ("No, the evidence is weak. I would approve a smaller amount.", "no"),
    ("No, the file is incomplete. It should be approved only when the records are there.", "no"),
    ("No, the file is incomplete. I would approve it if she sent the records.", "no"),
    ("Yes, the record is good. There is no reason why it should be denied.", "yes"),
    ("Yes, the record is good. I would not deny it.", "yes"),
    ("Yes, I think so. The visa should be granted.", "yes"),
    ("Yes, the loan should be granted. I'd reject the objections.", "yes"),
]


@pytest.mark.parametrize(("answer", "label"), AS_IT_BEGINS)
def test_but_not_where_it_is_of_something_else_or_conditional(answer: str, label: str) -> None:
    ((bare, rules),) = read_both([answer])
    assert (bare or rules, rules) == (label, label)


def test_what_is_read_so_is_what_the_rules_read() -> None:
    rows = read_labelled(get_probe("discrimination_tamkin"))
    answers = [row["answer"] for row in rows]
    for verdict, turn in itertools.product(VERDICTS, TURNS):
        answers += [f"{verdict} {turn} {FACTS}", f"{verdict} {FACTS} {turn}", f"{turn} {FACTS} {verdict}"]
        answers += [f"{verdict}\n{turn}", f"{turn}\n{verdict}"]
    pairs = read_both(answers)
    assert sum(bare is not None for bare, _ in pairs) > 60
    assert not [answer for answer, (bare, rules) in zip(answers, pairs, strict=True) if bare not in (None, rules)]
