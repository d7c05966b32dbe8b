"""A mistake in a probe is found when it is planned, before a model is asked, and is reported as the probe's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.authoring import Arms, Array, Corpus, Detector, Items, Parameters, Probe, Totals
from equipoise.detect import YES_NO
from equipoise.errors import BadParameter, ProbeError
from equipoise.measuring.calling import certain_token
from equipoise.measuring.plan import plan
from equipoise.probes import find_probes
from measuring.order_probe import ORDER_PROBE, measure


def fail(*_arguments: object) -> NoReturn:
    raise ZeroDivisionError("division by zero")


def failing_items(_parameters: Parameters, _corpus: pl.DataFrame | None) -> Items:
    """Nine items that cannot be made."""
    return Items(size=9, take=fail)


def one_number(_text: pl.Expr) -> pl.Expr:
    """What a detector finds that counts nothing by name."""
    return pl.lit(1)


def metrics_with(**changes: Any) -> Any:
    """The function `measure` of the probe, with other values for some metrics."""

    def changed(total: Totals, parameters: Parameters) -> Mapping[str, Array]:
        return {**measure(total, parameters), **{name: value(total) for name, value in changes.items()}}

    return changed


def counting(names: tuple[str, ...] = ("yes", "no"), **counts: pl.Expr) -> Detector:
    """A detector that should count these names, and gives these columns."""
    struct = pl.struct([column.alias(name) for name, column in counts.items()])
    return Detector(name="counter", version=1, counts=names, read=lambda _text: struct)


DIVISION = "ZeroDivisionError: division by zero"
# What is changed in a sound probe: what the message says.
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "items raises": ({"items": fail}, f"mistake in its items: {DIVISION}"),
    "taking items raises": ({"items": failing_items}, f"mistake in its prompts: {DIVISION}"),
    "prompts raises": ({"prompts": fail}, f"mistake in its prompts: {DIVISION}"),
    "reading the corpus raises": (
        {"corpora": (Corpus(name="texts", read=fail, file=Path(__file__)),)},
        f"mistake in its corpus 'texts': {DIVISION}",
    ),
    "no texts": (
        {"prompts": lambda items, _: items.with_columns(order=pl.lit("first"))},
        "its prompts have no column 'prompt'. There are: item, topic, order.",
    ),
    "no such covariate": ({"covariates": ("topic", "tpyo")}, "its prompts have no column 'tpyo'"),
    "no such slice": ({"slices": ("tpyo",)}, "its slices and strata must be covariates, and tpyo is none"),
    "a slice that is no covariate": (
        {"covariates": ()},
        "its slices and strata must be covariates, and topic is none.",
    ),
    "a stratum that is no covariate": (
        {"strata": ("item",)},
        "its slices and strata must be covariates, and item is none.",
    ),
    "no such arm column": (
        {"arms": Arms("tpyo", ("first", "second"))},
        "its prompts have no column 'tpyo'",
    ),
    "the detector uses no such column": (
        {"detector": replace(YES_NO, uses=("tpyo",))},
        "its prompts have no column 'tpyo'",
    ),
    "a column that attempts have": (
        {"prompts": lambda items, _: ORDER_PROBE.prompts(items, {}).with_columns(answer=pl.lit("Yes."))},
        "its prompts have columns that attempts have, too: answer.",
    ),
    "a column that the detector gives": (
        {"detector": counting(topic=pl.lit(1), no=pl.lit(0), names=("topic", "no"))},
        "its prompts have columns that attempts have, too: topic.",
    ),
    "an arm that is not named": (
        {"arms": Arms("order", ("first", "last"))},
        "its prompts have arms that it does not name: second.",
    ),
    "the detector raises": ({"detector": replace(YES_NO, read=fail)}, f"mistake in its detector 'yes_no': {DIVISION}"),
    "the detector reads no such column": (
        {"detector": replace(YES_NO, read=lambda _: pl.col("tpyo"))},
        "mistake in its detector 'yes_no': ColumnNotFoundError: unable to find column \"tpyo\"",
    ),
    "labels that are not named": (
        {"detector": replace(YES_NO, labels=("yes", "nope"))},
        "its detector gives labels that it does not name: no.",
    ),
    "counts that are not named": (
        {"detector": counting(yes=pl.lit(1), nope=pl.lit(0))},
        'mistake in its detector, covariates or arms: ColumnNotFoundError: unable to find column "no"',
    ),
    "no counts": (
        {"detector": Detector(name="counter", version=1, counts=("yes", "no"), read=one_number)},
        "mistake in its detector 'counter': InvalidOperationError",
    ),
    "counts that are no numbers": (
        {"detector": counting(yes=pl.lit(1), no=pl.lit("none"))},
        "mistake in its detector, covariates or arms: ComputeError: cannot compare string with numeric",
    ),
    "simulated answers that are no text": (
        {"simulate": lambda prompts, *_: [1] * prompts.height},
        "mistake in its simulate: TypeError",
    ),
    "simulate raises": ({"simulate": fail}, f"mistake in its simulate: {DIVISION}"),
    "too few simulated answers": ({"simulate": lambda *_: ["Yes."]}, "simulate gave 1 answers to 12 prompts"),
    "statistics raises": ({"statistics": fail}, f"mistake in its statistics: {DIVISION}"),
    "statistics of no such column": (
        {"statistics": lambda _: {"n": pl.col("third_yes")}},
        'mistake in its statistics: ColumnNotFoundError: unable to find column "third_yes"',
    ),
    "statistics of several items": (
        {"statistics": lambda _: {"n": pl.len() + pl.col("first_yes")}},
        "its statistics of an item depend on other items; they must be computed row by row",
    ),
    "measure raises": ({"measure": fail}, f"mistake in its measure: {DIVISION}"),
    "no such total": (
        {"measure": lambda total, _: {"first_rate": total.tpyo}},
        "mistake in its measure: AttributeError: There is no total called 'tpyo'. There are: n, first_n",
    ),
    "a metric is missing": (
        {"measure": lambda total, parameters: {"first_rate": measure(total, parameters)["first_rate"]}},
        "it lacks ['order_effect', 'second_rate'], and [] are unknown",
    ),
    "a metric is not declared": (
        {"measure": metrics_with(tpyo=lambda total: total.n)},
        "it lacks [], and ['tpyo'] are unknown",
    ),
    "a metric counts by no total": (
        {"metrics": (*ORDER_PROBE.metrics[:2], replace(ORDER_PROBE.metrics[2], n="tpyo"))},
        "the metric 'order_effect' counts its items by 'tpyo', which is no total",
    ),
    "a metric counts by several totals, of which one is none": (
        {"metrics": (*ORDER_PROBE.metrics[:2], replace(ORDER_PROBE.metrics[2], n=("first_n", "tpyo")))},
        "the metric 'order_effect' counts its items by 'tpyo', which is no total",
    ),
    "a metric is one number": (
        {"measure": metrics_with(second_rate=lambda _: 0.5)},
        "the metric 'second_rate' must have one value per row of totals, but its shape is ()",
    ),
    "a metric has the wrong shape": (
        {"measure": metrics_with(second_rate=lambda total: total.n[:1])},
        "the metric 'second_rate' must have one value per row of totals, but its shape is (1,)",
    ),
    "a metric is 0 on no items": (
        {"measure": metrics_with(order_effect=lambda total: np.zeros_like(total.n))},
        "the metric 'order_effect' has a value where there is no item; it must be NaN",
    ),
}


def test_the_unchanged_probe_is_sound() -> None:
    assert plan(ORDER_PROBE).items == 12


@pytest.mark.parametrize(("changes", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_with_the_name_of_the_probe(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ProbeError) as error:
        plan(replace(ORDER_PROBE, **changes))
    assert str(error.value).startswith("The probe 'order' ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_what_was_raised_is_the_cause() -> None:
    with pytest.raises(ProbeError, match="EQUIPOISE_TRACEBACK=1 shows where") as error:
        plan(replace(ORDER_PROBE, measure=fail))
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    assert error.value.exit_code == 1


def test_an_error_that_is_meant_for_the_user_passes() -> None:
    def refuse(*_arguments: object) -> NoReturn:
        raise BadParameter("The 'topic' parameter must be shorter.")

    with pytest.raises(BadParameter, match="must be shorter"):
        plan(replace(ORDER_PROBE, prompts=refuse))


def test_no_model_is_asked_by_a_probe_with_a_mistake() -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return "Yes."

    probe = replace(ORDER_PROBE, measure=metrics_with(tpyo=lambda total: total.n))
    with pytest.raises(ProbeError, match="tpyo"):
        equipoise.audit(model, probes=[probe])
    assert asked == []
    audit = equipoise.audit(model, probes=[ORDER_PROBE])
    assert audit.counts.answered == audit.counts.planned == len(asked) == 24


@pytest.mark.parametrize("probe", find_probes().values(), ids=find_probes())
def test_the_installed_probes_are_sound(probe: Probe) -> None:
    """And a mistake in any of them would be found."""
    packaged = [corpus.name for corpus in probe.corpora if corpus.file is not None]
    if probe.corpora and not packaged:
        pytest.skip("The corpus of this probe is fetched.")
    parameters: dict[str, Any] = {"sample": 24}
    if packaged:
        parameters["corpus"] = packaged[0]
    assert plan(probe, **parameters).items > 0
    with pytest.raises(ProbeError, match=f"The probe '{probe.name}' has a mistake in its measure"):
        plan(replace(probe, measure=fail), **parameters)


def test_a_simulated_answer_is_read_as_a_token_that_is_certain() -> None:
    assert certain_token("Yes") == [{"token": "Yes", "p": 1.0}]
