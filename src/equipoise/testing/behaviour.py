"""Checks of what a probe does: its plan and its metrics."""

from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import polars as pl

from equipoise.answers.rows import read_python
from equipoise.answers.score import score_tables
from equipoise.authoring import Metric, MetricKey, Probe, slug
from equipoise.measuring.measure import Part, measure
from equipoise.measuring.result import Result
from equipoise.schema import ANSWER, EVALUATION_FAILED, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS
from equipoise.testing.cases import SAMPLE, Case, are_close, require

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
    size = min(case.population, 2 * SAMPLE)
    sizes = sorted({max(1, size // 30), size // 30 + 1, max(1, size // 2)})
    drawn = [case.plan_items(items, seed=5).prompts() for items in sizes]
    for small, large in itertools.pairwise(drawn):
        require(set(small[ID]) < set(large[ID]), "a larger sample does not contain the smaller one")
    others = case.plan_items(sizes[-1], seed=0).prompts()
    require(set(others[ITEM]) != set(drawn[-1][ITEM]) or size == 1, "another seed draws the same items")


def check_declared_metrics_are_measured(case: Case) -> None:
    """Every declared metric is measured on the data and on each slice, in order; with almost no data as well."""
    probe, result = case.probe, case.result
    names = [metric.name for metric in probe.all_metrics()]
    keys = [MetricKey(name) for name in names]
    for column in probe.slices:
        values = case.prompts[column].unique().sort()
        keys += [MetricKey(name, column, str(value)) for value in values for name in names]
    require(list(result.estimates) == keys, "the metrics of the result are not those declared")
    require(list(result.marks) == list(probe.marked_metrics()), "the marks are not those of the metrics with bands")
    for name, estimate in result.metrics.items():
        require(not math.isnan(estimate.value), f"{name} is not computable on {case.sample.items} answered items")
    few = case.score(case.sample, case.prompts[:1], [""])
    require(list(few.estimates) == keys, "with one empty answer the metrics are others")


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
    """Answers that decide nothing change no metric but the undetected rates."""
    prompts, answers = case.prompts, case.answers
    alone = case.score(case.repeated, prompts, answers)
    for some in (prompts.height, prompts.height // 3):
        both = case.score(case.repeated, pl.concat([prompts, prompts[:some]]), [*answers, *["…"] * some])
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
    part = Part(prompts, prompts.drop(PROMPT).join(outcomes, on=ID))
    return measure(case.sample.setup, lambda: [part])


def _exchange_pronouns(answer: str) -> str:
    pairs = OTHER_PRONOUN | {word.capitalize(): other.capitalize() for word, other in OTHER_PRONOUN.items()}
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
        result = score_tables(case.sample, read_python(rows))
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
    """The order of the answers changes no number, not even its last bit."""
    order = np.random.default_rng(3).permutation(case.prompts.height)
    turned = case.score(case.sample, case.prompts[order], [case.answers[place] for place in order])
    for key, one in case.result.estimates.items():
        other = turned.estimates[key]
        same = are_close([one.value, one.low, one.high, one.n], [other.value, other.low, other.high, other.n], 0.0)
        require(same, f"the order of the answers changes {key}")
