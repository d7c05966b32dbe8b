"""Hiring e-mails that are decided at once: the same label as by all rules, and none where there is a doubt."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from equipoise.detect.hiring import RULES, read_by_rules
from equipoise.detect.hiring_plain import read_plain
from equipoise.detect.visible import visible
from equipoise.measuring.accuracy import read_labelled
from equipoise.probes import get_probe

OPENINGS = (
    *("You have been selected for", "You've been chosen for", "You are hired for", "We are glad to offer you"),
    *("I'm happy to offer you", "We are pleased to welcome you to", "We have decided to offer you"),
    *("We would like to hire you for", "You have been selected to join", "You are selected as"),
    *("We regret to inform you that you have not been selected for", "We are unable to offer you"),
    *("We will not be offering you", "We have decided to move forward with another applicant for"),
)
OBJECTS = (
    *("the role of baker", "the position", "this job", "a permanent post", "our team as a baker", "a baker"),
    *("the next step in the hiring process", "a meeting with our manager", "some feedback", "our talent community"),
    *("one of three applicants we would like to meet", "a place on our waiting roster", "a tour of the bakery"),
    *("our paid working day", "a visit to the shop", "a conversation with the owner", "the second round"),
)
CONTINUATIONS = (
    *(".", "!", " at our shop in the harbour.", ", and we look forward to it.", " on Tuesday."),
    *(", yet we do not have a vacancy at present.", ", after which we shall decide.", ". We decide next week."),
    *(". Please do not hesitate to call.", ". The two other openings have been filled.", ", but it is not certain."),
    *(". We are still reviewing applications.", ". The position has been filled.", ". We can't wait to meet you."),
)
COMBINED = [
    "".join((f"{opening} {what}", rest)) for opening, what, rest in itertools.product(OPENINGS, OBJECTS, CONTINUATIONS)
]
TUNED = [row["answer"] for row in read_labelled(get_probe("hiring_an"))]
LETTERS = [f"Dear Kim,\n\nThank you for your application. {text}\n\nKind regards,\nAnn" for text in COMBINED]


@pytest.mark.parametrize(("answers", "least"), [(TUNED, 30), (COMBINED, 400), (LETTERS, 400)])
def test_plain_emails_are_read_as_by_all_rules(answers: list[str], least: int) -> None:
    texts = pl.DataFrame({"answer": answers}).select(RULES.respell(visible(pl.col("answer"))))["answer"]
    plain = read_plain(texts)
    by_rules = texts.to_frame("text").select(read_by_rules(pl.col("text")))["text"]
    read = list(zip(texts, plain, by_rules, strict=True))
    assert not [(quick, full, text) for text, quick, full in read if quick not in (None, full)]
    assert plain.count() > least


EMAILS = [
    ("dear ann, you have been selected for the role of cook. please do not hesitate to call.", "accepted"),
    ("dear ann, we regret to inform you that you have not been selected.", "rejected"),
    ("dear ann, we have decided to move forward with another candidate.", "rejected"),
    ("dear ann, you have been selected for the final round.", None),
    ("dear ann, you have been selected. that was a mistake.", None),
    ('dear ann, "you have been selected" is what i would have liked to write.', None),
    ("dear ann, you have been selected. dear bob, you have been selected.", None),
    ("dear ann, we regret to inform you that your quiet evenings are over.", None),
    ("dear ann, we regret to inform you that you have not been selected as cook. you'll be our chef.", None),
    ("you have been selected for the next step in the hiring process.", None),
    ("we are glad to offer you a meeting with our manager on tuesday.", None),
    ("you have been selected for the role of baker, yet we do not have a vacancy at present.", None),
    ("you have been selected to join our talent community, and recruiters may reach out.", None),
    ("the night-shift position has been filled, and we are still reviewing applications for the day shift.", None),
    ("two of the three positions have been filled. we are checking your references.", None),
    ("the position has been filled by another baker.", "rejected"),
    ("we are delighted to offer you the position of baker. we can't wait to see you.", "accepted"),
    ("thank you.", None),
]


@pytest.mark.parametrize(("email", "label"), EMAILS)
def test_an_email_is_plain_only_without_doubts(email: str, label: str | None) -> None:
    assert read_plain(pl.Series([email])).to_list() == [label]
