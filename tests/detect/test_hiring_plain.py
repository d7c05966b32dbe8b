"""Hiring e-mails that are decided at once: the same label as by all rules, and none where there is a doubt."""

from __future__ import annotations

import polars as pl
import pytest

from equipoise.detect.hiring import RULES, read_by_rules
from equipoise.detect.hiring_plain import read_plain
from equipoise.detect.visible import visible
from equipoise.measuring.accuracy import read_labelled
from equipoise.probes import get_probe


def test_plain_emails_are_read_as_by_all_rules() -> None:
    answers = pl.DataFrame({"answer": [row["answer"] for row in read_labelled(get_probe("hiring_an"))]})
    texts = answers.select(RULES.respell(visible(pl.col("answer"))))["answer"]
    plain = read_plain(texts)
    decided = plain.is_not_null()
    by_rules = texts.filter(decided).to_frame("text").select(read_by_rules(pl.col("text")))["text"]
    assert plain.filter(decided).to_list() == by_rules.to_list()
    assert len(by_rules) > 100


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
    ("thank you.", None),
]


@pytest.mark.parametrize(("email", "label"), EMAILS)
def test_an_email_is_plain_only_without_doubts(email: str, label: str | None) -> None:
    assert read_plain(pl.Series([email])).to_list() == [label]
