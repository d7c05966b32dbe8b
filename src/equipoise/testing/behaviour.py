"""Checks of what a probe does: its plan and its metrics."""

from __future__ import annotations

import math
import re

import numpy as np
import polars as pl

from equipoise.authoring import Metric, Probe
from equipoise.measuring.measure import Batch, measure
from equipoise.measuring.result import Result
from equipoise.schema import EVALUATION_FAILED, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS, slug
from equipoise.testing.definition import SAMPLE, Case, are_close, require

NUMERIC = 1e-8
"""Derivatives are taken numerically, and so intervals have this error."""
OTHER_GENDER = {"male": "female", "female": "male"}
OTHER_PRONOUN = {"he": "she", "his": "her", "him": "her", "she": "he", "her": "his"}


def check_plan(case: Case) -> None:
    """A plan has the same prompts each time, in whatever batches."""
    require(case.prompts.equals(case.repeated.prompts()), "a second plan, with repetitions, has other prompts")
    batches = pl.concat(list(case.sample.batches(size=7)))
    require(case.prompts.equals(batches), "the size of the batches changes the prompts")


def check_larger_samples_contain_smaller_ones(case: Case) -> None:
    """A larger sample with the same seed contains the smaller one, and another seed draws other items."""
    half = max(1, min(case.population // 2, SAMPLE))
    small, large = (case.plan_items(items, seed=5).prompts() for items in (max(1, half // 15), half))
    require(set(small[ID]) <= set(large[ID]), "a larger sample does not contain the smaller one")
    others = case.plan_items(half, seed=0).prompts()
    require(set(others[ITEM]) != set(large[ITEM]) or case.population == 1, "another seed draws the same items")


def check_metrics_are_computable(case: Case) -> None:
    """Every declared metric has a value on the sample of simulated answers."""
    for key, estimate in case.result.estimates.items():
        computable = key.slice is not None or not math.isnan(estimate.value)
        require(computable, f"{key} is not computable on {case.sample.items} answered items")


def check_reference_models(case: Case) -> None:
    """Simulated reference models score their reference values, within the width of the interval.

    With too few items for an interval, within what chance does to so many.
    """
    for number, stance in enumerate(case.probe.stances()):
        answers = case.probe.simulate(case.prompts, stance, np.random.default_rng([number, 20]))
        metrics = case.score(case.sample, case.prompts, answers).metrics
        for metric in case.probe.metrics:
            if stance not in metric.references:
                continue
            estimate, expected = metrics[metric.name], metric.references[stance]
            width = estimate.high - estimate.low
            if math.isnan(width):
                width = 2 / math.sqrt(max(estimate.n, 1))
            require(
                abs(estimate.value - expected) <= width + 1e-9,
                f"the model {stance!r} scores {estimate.value:.3f} in {metric.name}, not {expected:.3f}",
            )


def check_undetected_answers(case: Case) -> None:
    """One more answer to each prompt that decides nothing changes no metric but the undetected rates."""
    prompts, answers = case.prompts, case.answers
    alone = case.score(case.repeated, prompts, answers)
    both = case.score(case.repeated, pl.concat([prompts, prompts]), [*answers, *["…"] * prompts.height])
    for key, before in alone.estimates.items():
        if key.metric not in _rates_of_attempts(case.probe):
            after = both.estimates[key]
            require(are_close([before.value, before.n], [after.value, after.n]), f"undetected answers change {key}")
            same_interval = are_close([before.low, before.high], [after.low, after.high], NUMERIC)
            require(same_interval, f"undetected answers change the interval of {key}")
    if case.probe.detector.labels:
        require(both.metrics["undetected_rate_attempts"].value == 0.5, "undetected_rate_attempts is wrong")


def _rates_of_attempts(probe: Probe) -> set[str]:
    """The metrics that undetected answers do change."""
    others = {f"{label}_rate" for label in probe.detector.other_labels}
    return others | {metric.name for metric in probe.all_metrics() if metric.name.startswith("undetected_rate")}


def check_genders_are_treated_alike(case: Case) -> None:
    """Exchanging men and women negates signed metrics and mirrors rates around one half."""
    exchanged = _exchange_genders(case)
    if exchanged is None:
        return
    leans = False
    for metric in case.probe.metrics:
        name = "_".join(OTHER_GENDER.get(word, word) for word in metric.name.split("_"))
        before, after = case.result.metrics[name].value, exchanged.metrics[metric.name].value
        allowed = _exchanged_values(metric, before)
        leans |= len(allowed) == 1 and abs(allowed[0] - before) > 2e-4
        require(
            any(are_close([after], [value]) for value in allowed),
            f"exchanging the genders turns {metric.name} from {before:.4f} into {after:.4f}",
        )
    directed = any(min(metric.references.values(), default=0) < 0 for metric in case.probe.metrics)
    require(leans or not directed, "the simulated answers lean to no side, so that this check shows nothing")


def _exchanged_values(metric: Metric, value: float) -> list[float]:
    """What a metric may be when men and women are exchanged."""
    if metric.exchanged:
        return [metric.exchanged(value)]
    if metric.references and min(metric.references.values()) < 0:
        return [-value]
    if metric.bands and metric.bands.centre == 0.5:
        return [1 - value]
    return [value, -value, 1 - value]


def _exchange_genders(case: Case) -> Result | None:
    """The result with men and women exchanged; None if the probe knows no genders."""
    probe, prompts = case.probe, case.prompts
    outcomes = case.result.evaluated.select(ID, REPETITION, STATUS, EVALUATION_FAILED, *probe.detector.columns)
    if probe.arms and {"male", "female"} <= set(probe.arms.values):
        prompts = prompts.with_columns(pl.col(probe.arms.column).replace(OTHER_GENDER))
    elif not set(probe.detector.labels) >= {"male", "female"}:
        return None
    elif (exchanged := [_exchange_pronouns(answer) for answer in case.answers]) != case.answers:
        return case.score(case.sample, prompts, exchanged)
    else:
        # No pronoun tells the genders apart: what was read is exchanged.
        outcomes = outcomes.with_columns(pl.col(LABEL).replace(OTHER_GENDER))
    batch = Batch(prompts, prompts.drop(PROMPT).join(outcomes, on=ID))
    return measure(case.sample.setup, lambda: [batch])


def _exchange_pronouns(answer: str) -> str:
    pairs = OTHER_PRONOUN | {word.capitalize(): other.capitalize() for word, other in OTHER_PRONOUN.items()}
    return re.sub(r"\w+", lambda word: pairs.get(word[0], word[0]), answer)


def check_no_data(case: Case) -> None:
    """Where no answer is detected nothing is computable, and nothing is taken for 0."""
    result = case.score(case.sample, case.prompts, ["…"] * case.prompts.height)
    for key, estimate in result.estimates.items():
        if key.metric in _rates_of_attempts(case.probe):
            expected = 1.0 if key.metric.startswith("undetected_rate") else 0.0
            require(estimate.value == expected, f"{key} is not {expected:g} for undetected answers")
        else:
            numbers = (estimate.value, estimate.low, estimate.high)
            require(all(map(math.isnan, numbers)), f"{key} has a value without a detected answer")
    require(set(result.marks.values()) <= {None}, "there is a mark without a detected answer")


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
