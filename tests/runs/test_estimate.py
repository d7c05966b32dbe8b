"""What a run would take, and what tokens cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.errors import BadParameter
from equipoise.runs.estimate import TokenPrice, parse_price
from equipoise.runs.imports import import_answers
from equipoise.schema import ANSWER, ID, text_column


def test_a_metric_without_a_value_does_not_decide_how_many_items_are_planned(tmp_path: Path) -> None:
    """The pilot has no answers to prompts with "they", so `they_gap` has no value; `neo_gap` needs a single item."""
    pilot = tmp_path / "pilot.equipoise"
    planned = equipoise.plan("pronoun_fidelity", sample=24)
    prompts = planned.prompts()
    texts = planned.probe.simulate(prompts, planned.probe.stances()[0], np.random.default_rng(1))
    answers = prompts.with_columns(text_column(ANSWER, texts)).filter(pl.col("family") != "they")
    import_answers(answers.select(ID, ANSWER), pilot, probes="pronoun_fidelity", sample=24)

    found = equipoise.estimate("custom/model", probes="pronoun_fidelity", precision=0.9, pilot=pilot)
    [row] = found.probes
    assert [(need.metric, need.items) for need in row.needs] == [("they_gap", None), ("neo_gap", 1)]
    assert row.items == 1


def test_a_price_is_dollars_for_a_million_tokens_of_prompts_and_of_answers() -> None:
    assert parse_price("0.15,0.60") == TokenPrice(prompt=0.15, completion=0.6)
    assert parse_price("0,0")(1_000, 1_000) == 0


@pytest.mark.parametrize("given", ["-1,2", "1,-2", "nan,2", "1,nan", "inf,2", "1,inf", "1", "1,2,3", "a,b", ""])
def test_a_price_that_is_no_pair_of_amounts_is_refused(given: str) -> None:
    with pytest.raises(BadParameter, match="two numbers, dollars for a million tokens"):
        parse_price(given)
