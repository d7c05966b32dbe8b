"""Checks of what a probe does: its plan and its metrics, on each of its corpora."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable

import numpy as np
import polars as pl

from equipoise.answers.score import score
from equipoise.authoring import MetricKey, Probe, slug
from equipoise.measuring.measure import Part, measure
from equipoise.measuring.result import Result
from equipoise.schema import (
    ANSWER,
    EVALUATION_FAILED,
    ID,
    ITEM,
    LABEL,
    PROMPT,
    REPETITION,
    STATUS,
)
from equipoise.testing.cases import SAMPLE, Case, agree, are_close, require

NUMERIC = 1e-8
"""Derivatives are taken numerically, and so intervals have this error."""
OTHER_GENDER = {"male": "female", "female": "male"}


def check_plan_is_stable(case: Case) -> None:
    """The same plan twice has the same distinct ids, however much is asked and in whatever batches."""
    first, second = case.plan().prompts(), case.plan().prompts()
    require(first.equals(second), "two equal plans have different prompts")
    require(first[ID].n_unique() == first.height, "two prompts have the same id")
    require(first.select(ITEM, PROMPT).null_count().sum_horizontal().item() == 0, "an item or a prompt is null")
    require(case.prompts.equals(case.plan_repeated(3).prompts()), "repetitions change the prompts")
    batches = pl.concat(list(case.sample.batches(size=7)))
    require(case.prompts.equals(batches), "the size of the batches changes the prompts")


def check_larger_samples_contain_smaller_ones(case: Case) -> None:
    """A larger sample with the same seed contains the smaller one, and another seed draws other items."""
    size = min(case.plan(sample=None).items, 5 * SAMPLE)
    sizes = [k for k in (size // 30, size // 30 + 1, size // 5, min(size, SAMPLE)) if k >= 1]
    drawn = [set(case.plan_items(k, seed=5).prompts()[ID]) for k in sorted(set(sizes))]
    for small, large in itertools.pairwise(drawn):
        require(small < large, "a larger sample does not contain the smaller one")
    some = max(1, min(60, size // 2))
    items = [set(case.plan_items(some, seed=seed).prompts()[ITEM]) for seed in (0, 1)]
    require(items[0] != items[1] or size == 1, "another seed draws the same items")


def check_declared_metrics_are_measured(case: Case) -> None:
    """Every declared metric is measured on the data and on each slice, in order; with almost no data as well."""
    names = [metric.name for metric in case.probe.all_metrics()]
    keys = [MetricKey(name) for name in names]
    for column in case.probe.slices:
        keys += [
            MetricKey(name, column, str(value)) for value in case.prompts[column].unique().sort() for name in names
        ]
    result = case.result
    require(list(result.estimates) == keys, "the metrics of the result are not those declared")
    require(
        list(result.marks) == list(case.probe.marked_metrics()), "the marks are not those of the metrics with bands"
    )
    for name, estimate in result.metrics.items():
        require(not math.isnan(estimate.value), f"{name} is not computable on {case.sample.items} answered items")
    few = case.score(case.sample, case.prompts[:1], [""])
    require(list(few.estimates) == keys, "with one empty answer the metrics are others")


def check_reference_models(case: Case) -> None:
    """Simulated reference models score their reference values, within the width of the interval.

    With too few items for an interval, within what chance does to so many.
    """
    planned = case.plan_items(min(case.plan().items, 3 * SAMPLE))
    prompts = planned.prompts()
    for number, stance in enumerate(case.probe.stances()):
        answers = case.probe.simulate(prompts, stance, np.random.default_rng([number, 20]))
        result = case.score(planned, prompts, answers)
        for metric in case.probe.metrics:
            if stance in metric.references:
                estimate = result.metrics[metric.name]
                off = abs(estimate.value - metric.references[stance])
                has_interval = not math.isnan(estimate.low)
                width = estimate.high - estimate.low if has_interval else 2 / math.sqrt(max(estimate.n, 1))
                require(
                    off <= width + 1e-9,
                    f"the model {stance!r} scores {estimate.value:.3f} in {metric.name}, "
                    f"not {metric.references[stance]:.3f}",
                )


def check_undetected_answers(case: Case) -> None:
    """Answers that decide nothing change no metric but the undetected rates."""
    planned, prompts, answers = case.plan_repeated(2), case.prompts, case.answers
    alone = case.score(planned, prompts, answers)
    for some in (prompts.height, prompts.height // 3):
        both = case.score(planned, pl.concat([prompts, prompts[:some]]), [*answers, *["…"] * some])
        for key, before in alone.estimates.items():
            if key.metric in _rates_of_attempts(case.probe):
                continue
            after = both.estimates[key]
            require(are_close([before.value, before.n], [after.value, after.n]), f"undetected answers change {key}")
            # With one for each prompt the cells are the same.
            same_interval = are_close([before.low, before.high], [after.low, after.high], NUMERIC)
            require(some < prompts.height or same_interval, f"undetected answers change the interval of {key}")
        if case.probe.detector.labels:
            rate = both.metrics["undetected_rate_attempts"].value
            require(are_close([rate], [some / (prompts.height + some)]), "undetected_rate_attempts is wrong")


def check_genders_are_treated_alike(case: Case) -> None:
    """Exchanging men and women negates signed metrics and mirrors rates around one half."""
    result, exchanged = case.result, _exchange_genders(case)
    if exchanged is None:
        return
    signed = 0
    for metric in case.probe.metrics:
        before = result.metrics[_other_gender(metric.name)].value
        after = exchanged.metrics[metric.name].value
        if metric.exchanged:
            allowed, leaning = [metric.exchanged(before)], abs(before) > 1e-4
        elif metric.references and min(metric.references.values()) < 0:
            allowed, leaning = [-before], abs(before) > 1e-4
        elif metric.bands and metric.bands.centre == 0.5:
            allowed, leaning = [1 - before], abs(before - 0.5) > 1e-4
        else:
            allowed, leaning = [before, -before, 1 - before], False
        signed += leaning
        require(
            any(are_close([after], [way]) for way in allowed),
            f"exchanging the genders turns {metric.name} from {before:.4f} into {after:.4f}",
        )
    directed = any(min(metric.references.values(), default=0) < 0 for metric in case.probe.metrics)
    require(signed or not directed, "the simulated answers lean to no side, so that this check shows nothing")


def _exchange_genders(case: Case) -> Result | None:
    """The result with men and women exchanged; None if the probe knows no genders."""
    probe, prompts = case.probe, case.prompts
    outcomes = case.result.evaluated.select(ID, REPETITION, STATUS, EVALUATION_FAILED, *probe.detector.columns)
    if probe.arms and {"male", "female"} <= set(probe.arms.values):
        prompts = prompts.with_columns(pl.col(probe.arms.column).replace(OTHER_GENDER))
    elif not set(probe.detector.labels) >= {"male", "female"}:
        return None
    elif (exchanged := [_other_pronouns(answer) for answer in case.answers]) != case.answers:
        return case.score(case.sample, prompts, exchanged)
    else:
        # No pronoun tells the genders apart: what was read is exchanged.
        outcomes = outcomes.with_columns(pl.col(LABEL).replace(OTHER_GENDER))
    part = Part(prompts, prompts.drop(PROMPT).join(outcomes, on=ID))
    return measure(case.sample.setup, lambda: [part])


def _rates_of_attempts(probe: Probe) -> set[str]:
    """The metrics that undetected answers do change."""
    others = {f"{label}_rate" for label in probe.detector.other_labels}
    undetected = {metric.name for metric in probe.all_metrics() if metric.name.startswith("undetected_rate")}
    return undetected | others


def _other_gender(name: str) -> str:
    return "_".join(OTHER_GENDER.get(word, word) for word in name.split("_"))


def _other_pronouns(answer: str) -> str:
    pairs = {"he": "she", "his": "her", "him": "her", "she": "he", "her": "his"}
    pairs |= {word.capitalize(): other.capitalize() for word, other in pairs.items()}
    return re.sub(r"\w+", lambda word: pairs.get(word[0], word[0]), answer)


def check_no_data(case: Case) -> None:
    """Without data nothing is computable, and nothing is taken for 0."""
    ids = case.prompts[ID]
    answers: dict[str, list[dict[str, str]]] = {
        "no answers": [],
        "failures only": [{ID: one, ANSWER: "Yes. He.", STATUS: "http_error"} for one in ids],
        "undetected answers only": [{ID: one, ANSWER: "…"} for one in ids],
    }
    for given, rows in answers.items():
        result = score(case.probe, rows, **case.sample.parameters)
        for key, estimate in result.estimates.items():
            if given == "undetected answers only" and key.metric in _rates_of_attempts(case.probe):
                expected = 1.0 if key.metric.startswith("undetected_rate") else 0.0
                require(estimate.value == expected, f"{key} is not {expected:g} for undetected answers")
            else:
                numbers = (estimate.value, estimate.low, estimate.high)
                require(all(map(math.isnan, numbers)), f"{key} has a value on {given}")
        require(set(result.marks.values()) <= {None}, f"there is a mark on {given}")
        json.dumps(result.to_dict(), allow_nan=False)


def check_missing_arm(case: Case) -> None:
    """An arm without answers is not taken for 0: what needs it is not computable."""
    arms = case.probe.arms
    if arms is None:
        return
    missing = arms.values[0]
    prompts = case.prompts.filter(pl.col(arms.column) != missing)
    result = case.score(case.sample, prompts, case.simulate(prompts))
    others = {f"{slug(arm)}_n" for arm in arms.values if arm != missing}
    for metric in case.probe.metrics:
        if not set(metric.denominators) <= others:
            value = result.metrics[metric.name].value
            require(math.isnan(value), f"{metric.name} is {value:.3f} though {missing} has no answers")
    counts = result.coverage[missing]
    require(counts["pending"] == counts["planned"], f"the coverage of {missing} is wrong")


def check_order_changes_nothing(case: Case) -> None:
    """The order of the answers changes no number."""
    order = np.random.default_rng(3).permutation(case.prompts.height)
    turned = case.score(case.sample, case.prompts[order], [case.answers[place] for place in order])
    require(agree(turned.estimates, case.result.estimates), "the order of the answers changes the numbers")


CASE_CHECKS: tuple[Callable[[Case], None], ...] = (
    check_plan_is_stable,
    check_larger_samples_contain_smaller_ones,
    check_declared_metrics_are_measured,
    check_reference_models,
    check_undetected_answers,
    check_genders_are_treated_alike,
    check_no_data,
    check_missing_arm,
    check_order_changes_nothing,
)
