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


def test_what_is_read_so_is_what_the_rules_read() -> None:
    answers = [row["answer"] for row in read_labelled(get_probe("discrimination_tamkin"))]
    for verdict, turn in itertools.product(VERDICTS, TURNS):
        answers += [f"{verdict} {turn} {FACTS}", f"{verdict} {FACTS} {turn}", f"{turn} {FACTS} {verdict}"]
        answers += [f"{verdict}\n{turn}", f"{turn}\n{verdict}"]
    pairs = read_both(answers)
    assert sum(bare is not None for bare, _ in pairs) > 100
    assert not [answer for answer, (bare, rules) in zip(answers, pairs, strict=True) if bare not in (None, rules)]
