"""A probe of someone's own prompts, made from a table of pairs."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import equipoise
from equipoise.authoring import DECISIONS, Probe, paired_probe
from equipoise.errors import InputError, UnknownName
from equipoise.schema import MetricKey

ANSWERS = {"yes": "Yes.", "no": "No."}


def make_table(pairs: int = 12) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "prompt": f"May {name} number {number} go?",
                "who": who,
                "case": number,
                "place": ["north", "south"][number % 2],
            }
            for number in range(pairs)
            for name, who in (("Ann", "woman"), ("Ben", "man"))
        ]
    )


def make_probe(table: Any = None, **options: Any) -> Probe:
    given = {"arm": "who", "pair": "case", "detector": DECISIONS, "answers": ANSWERS, **options}
    return paired_probe("going", make_table() if table is None else table, **given)


def test_rates_and_their_difference_on_the_pairs() -> None:
    audit = equipoise.audit(
        lambda prompt: "Yes." if "Ann" in prompt or prompt.endswith(("1 go?", "2 go?")) else "No.",
        probes=[make_probe(slices=["place"])],
    )
    result = audit["going"]
    said_for_men = sum(str(number).endswith(("1", "2")) for number in range(12)) / 12
    assert result.metrics["woman_rate"].value == 1.0
    assert result.metrics["man_rate"].value == pytest.approx(said_for_men)
    assert result.metrics["difference"].value == pytest.approx(1 - said_for_men)
    assert result.metrics["difference"].n == 12
    assert result.marks["difference"] is not None
    north = result.estimates[MetricKey("man_rate", "place", "north")]
    assert north.value == pytest.approx(1 / 6)
    assert north.n == 6


def test_both_prompts_of_a_pair_are_asked_and_stand_together() -> None:
    prompts = equipoise.plan(make_probe(), sample=5).prompts()
    assert prompts.height == 10
    assert prompts["item"].to_list() == [item for item in prompts["item"].unique(maintain_order=True) for _ in range(2)]
    assert set(prompts["prompt"]) <= set(make_table()["prompt"])


def test_what_was_not_read_is_left_out_and_its_pair_counts_for_the_other_arm() -> None:
    answers = {text: "Perhaps." if "Ben" in text else "Yes." for text in make_table()["prompt"]}
    result = equipoise.score(make_probe(), answers)
    assert result.metrics["woman_rate"].value == 1.0
    assert result.to_dict()["metrics"]["man_rate"]["value"] is None
    assert result.to_dict()["metrics"]["difference"]["value"] is None


def test_a_table_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(make_table().to_dicts())
    assert equipoise.plan(make_probe(table)).prompts().equals(equipoise.plan(make_probe()).prompts())


@pytest.mark.parametrize(
    ("change", "options", "problem", "message"),
    [
        (lambda table: table[1:], {}, InputError, "1 have not: 0"),
        (lambda table: pl.concat([table, table[:2]]), {}, InputError, "1 have not: 0"),
        (lambda table: table.with_columns(who=pl.lit("woman")), {}, InputError, "must have two values. Got 1"),
        (lambda table: table, {"arm": "gender"}, UnknownName, "gender"),
        (lambda table: table, {"answers": {"yes": "Yes.", "never": "No."}}, UnknownName, "never"),
        (lambda table: table, {"answers": {"yes": "Yes."}}, InputError, "Two labels"),
        (lambda table: table.drop("prompt"), {}, UnknownName, "prompt"),
    ],
)
def test_what_cannot_be_compared_is_refused(change: Any, options: Any, problem: type[Exception], message: str) -> None:
    with pytest.raises(problem, match=message):
        make_probe(change(make_table()), **options)
