"""From evaluated attempts to a result, with arms that are not genders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.authoring import Arms, Detector
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.measure import Batch, measure
from equipoise.measuring.plan import plan
from equipoise.measuring.summarise import answered_rows, item_rows, statistics
from equipoise.schema import ANSWER, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS, MetricKey, Status
from measuring.order_probe import ORDER_PROBE, ORDERS, SIZE

# q0 is asked twice in each order; q1 has no decision in the second order; q2 has a failure there, and one is pending.
EVALUATED = pl.DataFrame(
    [
        ("q0", "care", "first", "yes", "ok"),
        ("q0", "care", "second", "no", "ok"),
        ("q0", "care", "first", "yes", "truncated"),
        ("q0", "care", "second", "yes", "ok"),
        ("q1", "care", "first", "no", "ok"),
        ("q1", "care", "second", None, "ok"),
        ("q2", "trade", "first", "yes", "ok"),
        ("q2", "trade", "second", None, "timeout"),
        ("q2", "trade", "second", None, "pending"),
    ],
    schema=[ITEM, "topic", "order", LABEL, STATUS],
    orient="row",
)


# Arms


def test_item_rows_count_each_outcome_by_arm() -> None:
    """A missing answer was not classified: it is pending, failed, or was not detected."""
    columns = [f"{order}_{outcome}" for order in ORDERS for outcome in ("yes", "no", "attempts", "missing")]
    assert answered_rows(ORDER_PROBE, EVALUATED).select(ITEM, "topic", *columns).rows() == [
        ("q0", "care", 2, 0, 2, 0, 1, 1, 2, 0),
        ("q1", "care", 0, 1, 1, 0, 0, 0, 1, 1),
        ("q2", "trade", 1, 0, 1, 0, 0, 0, 0, 2),
    ]


def test_statistics_have_one_row_per_item_and_what_every_probe_counts() -> None:
    table = statistics(ORDER_PROBE, answered_rows(ORDER_PROBE, EVALUATED), {})
    assert table.columns == [
        *("n", "first_n", "first_score", "second_n", "second_score"),
        *("items", "attempts", "undetected", "undetected_items"),
    ]
    assert table.rows() == [
        (1.0, 1.0, 1.0, 1.0, 0.5, 1.0, 4.0, 0.0, 0.0),
        (1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 1.0, 0.0),
        (1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0),
    ]


def test_prefixes_of_arms_are_names_of_columns() -> None:
    arms = Arms("gender", ("non-binary", "Two words"))
    assert arms.prefixes == {"non-binary": "non_binary_", "Two words": "two_words_"}


def test_a_plan_has_a_row_for_each_item_whether_it_was_asked_or_not() -> None:
    """Of three planned items one was never asked, and of one the second order is missing."""
    prompts = plan(ORDER_PROBE).prompts()[:6]
    attempts = EVALUATED.filter(pl.col(ITEM) == "q0")
    known = prompts[ITEM].unique(maintain_order=True).to_list()
    attempts = attempts.with_columns(pl.lit(known[0]).alias(ITEM))
    rows = item_rows(ORDER_PROBE, prompts, attempts, 2)
    assert rows[ITEM].to_list() == known
    assert rows.select("first_attempts", "first_missing").rows() == [(2, 0), (0, 2), (0, 2)]
    assert rows.select("second_attempts", "second_missing").rows() == [(2, 0), (0, 2), (0, 2)]


def test_more_answers_than_were_planned_are_not_missing() -> None:
    """A prompt that was answered twice where once was planned."""
    prompts = EVALUATED.filter(pl.col(ITEM) == "q0").unique("order")
    rows = item_rows(ORDER_PROBE, prompts, EVALUATED.filter(pl.col(ITEM) == "q0"), 1)
    assert rows.select("first_attempts", "first_missing", "second_missing").rows() == [(2, 0, 0)]


def test_an_arm_without_answers_is_not_computable() -> None:
    prompts = plan(ORDER_PROBE).prompts()
    result = equipoise.score(ORDER_PROBE, dict.fromkeys(prompts.filter(order="first")[ID], "Yes."))
    assert result.metrics["first_rate"].value == 1.0
    assert math.isnan(result.metrics["second_rate"].value)
    assert result.marks["order_effect"] is None
    assert result.coverage["second"]["pending"] == SIZE


def test_metrics_tell_the_arms_apart() -> None:
    prompts = plan(ORDER_PROBE).prompts()
    answers = dict(zip(prompts[ID], ORDER_PROBE.simulate(prompts, "biased", np.random.default_rng(0)), strict=True))
    result = equipoise.score(ORDER_PROBE, answers)
    overall = {str(key): estimate for key, estimate in result.estimates.items() if key.slice is None}
    assert {name: estimate.value for name, estimate in overall.items()} == {
        "first_rate": 1.0,
        "second_rate": 0.0,
        "order_effect": 1.0,
        "undetected_rate_attempts": 0.0,
        "undetected_rate_items": 0.0,
    }
    assert {name: estimate.n for name, estimate in overall.items()} == {
        "first_rate": SIZE,
        "second_rate": SIZE,
        "order_effect": SIZE,
        "undetected_rate_attempts": 2 * SIZE,
        "undetected_rate_items": SIZE,
    }
    mark = result.marks["order_effect"]
    assert mark is not None
    assert (mark.mark, mark.too_few) == (None, True)
    assert result.slices["topic"]["trade"]["order_effect"].n == 2
    assert result.estimates[MetricKey("order_effect", "topic", "trade")].value == 1.0


def test_the_arm_is_part_of_the_id_of_a_prompt() -> None:
    """The same text in two arms is two prompts."""
    same_text = pl.lit("Yes or no?").alias(PROMPT)
    probe = replace(
        ORDER_PROBE,
        prompts=lambda items, parameters: ORDER_PROBE.prompts(items, parameters).with_columns(same_text),
    )
    assert plan(probe).prompts()[ID].n_unique() == 2 * SIZE


# Coverage

REPEATED = plan(ORDER_PROBE, repeat=2)


def batches() -> Iterator[Batch]:
    """The plan in three batches. Only the last holds prompts on "trade"; no attempt at the first prompt is there."""
    prompts = REPEATED.prompts().sort("topic", ITEM, "order")
    attempts = prompts.join(pl.DataFrame({REPETITION: [1, 2]}), how="cross").sort("topic", ITEM, "order", REPETITION)
    outcomes = pl.DataFrame(
        {
            ANSWER: ["Yes.", "No.", "Perhaps.", None] * SIZE,
            STATUS: [Status.OK, Status.TRUNCATED, Status.OK, Status.TIMEOUT] * SIZE,
        }
    )
    evaluated = evaluate(ORDER_PROBE.detector, attempts.hstack(outcomes))[2:]
    for items in (range(4), range(4, 10), range(10, SIZE)):
        batch = prompts[2 * items[0] : 2 * items[-1] + 2].drop(PROMPT)
        yield Batch(batch, evaluated.join(batch.select(ID), on=ID, how="semi", maintain_order="left").drop(PROMPT))


def test_coverage_is_counted_by_the_arm() -> None:
    assert [batch.prompts["topic"].unique().to_list() for batch in batches()] == [["care"], ["care"], ["trade"]]
    coverage = measure(REPEATED, batches).coverage
    counts = {group: {name: count for name, count in counts.items() if count} for group, counts in coverage.items()}
    # Of four attempts in turn one is a yes, one a truncated no, one undetected, one failed; the first two are missing.
    assert counts == {
        "all": {
            "planned": 48, "pending": 2, "ok": 23, "truncated": 11, "timeout": 12, "detected": 22, "undetected": 12
        },
        "first": {"planned": 24, "pending": 2, "ok": 11, "truncated": 11, "detected": 22},
        "second": {"planned": 24, "ok": 12, "timeout": 12, "undetected": 12},
    }  # fmt: skip
    for group in coverage.values():
        assert sum(group[status] for status in Status) == group["planned"]


def test_parts_give_the_same_result_as_the_whole() -> None:
    whole = Batch(pl.concat([batch.prompts for batch in batches()]), pl.concat([batch.attempts for batch in batches()]))
    assert measure(REPEATED, batches).to_dict() == measure(REPEATED, lambda: [whole]).to_dict()


def test_an_arm_that_is_not_planned_is_counted_as_nothing() -> None:
    def only_first(items: pl.DataFrame, parameters: object) -> pl.DataFrame:
        return ORDER_PROBE.prompts(items, {}).filter(order="first")

    coverage = equipoise.score(replace(ORDER_PROBE, prompts=only_first), {}).coverage
    assert list(coverage) == ["all", "first", "second"]
    assert set(coverage["second"].values()) == {0}
    assert coverage["first"]["planned"] == coverage["all"]["planned"] == SIZE


# Detectors that use the prompt

AGREES = Detector(
    name="agrees",
    version=1,
    labels=("yes", "no"),
    uses=("order",),
    # In the second order the question is turned round, and so is its answer.
    read=lambda text: (
        pl.when(text.str.contains("yes") == (pl.col("order") == "first")).then(pl.lit("yes")).otherwise(pl.lit("no"))
    ),
)


@pytest.mark.parametrize("key", [ID, PROMPT])
def test_a_detector_can_use_the_prompt(key: str, tmp_path: Path) -> None:
    """The same when answers are scored and when they come from a run file."""
    probe = replace(ORDER_PROBE, detector=AGREES)
    rows = plan(probe).prompts().select(key, pl.lit("Yes.").alias(ANSWER))
    scored = equipoise.score(probe, rows)
    assert scored.metrics["order_effect"].value == 1.0
    asked = equipoise.audit(lambda prompt: "Yes.", probes=[probe], out=tmp_path / "run.equipoise")
    assert asked["order"].to_dict()["metrics"] == scored.to_dict()["metrics"]


def test_a_detector_can_tell_prompts_with_the_same_text_apart() -> None:
    """Answers that are matched by text wait until each has its prompt."""
    same_text = pl.lit("Yes or no?").alias(PROMPT)
    probe = replace(
        ORDER_PROBE,
        detector=AGREES,
        prompts=lambda items, parameters: ORDER_PROBE.prompts(items, parameters).with_columns(same_text),
    )
    answers = [{PROMPT: "Yes or no?", ANSWER: "Yes."}] * (2 * SIZE)
    assert equipoise.score(probe, answers).metrics["order_effect"].value == 1.0
