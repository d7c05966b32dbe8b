"""Trying a probe on a few simulated answers, so that a mistake in it is found before a model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import orjson
import polars as pl

from equipoise.authoring import Items, Parameters, Probe, Totals
from equipoise.authoring.sampling import Places
from equipoise.errors import ProbeError
from equipoise.measuring.calling import certain_token, running, simulate_answers
from equipoise.measuring.cells import measure_totals, prepare_cells
from equipoise.measuring.evaluate import apply_detector
from equipoise.measuring.summarise import cells, item_rows, statistics, with_reading
from equipoise.schema import ATTEMPT_COLUMNS, FIRST_TOKEN, ITEM, LABEL, PROMPT, STATUS, Status, text_column

ITEMS = 6
RESERVED = {"items", "attempts", "undetected", "undetected_items"}
"""Statistics that every probe has."""
ROWS = 3
"""Totals are measured several at once, as for derivatives."""


def check_definition(probe: Probe, parameters: Parameters, population: Items) -> None:
    """Plan, simulate, evaluate and measure a few items and none; ProbeError if that fails or does not fit together."""
    prompts = make_prompts(probe, population, np.arange(min(population.size, ITEMS)), parameters)
    for mistake in _find_mistakes(probe, prompts, parameters):
        raise ProbeError(f"The probe {probe.name!r} cannot be used: {mistake}.")


def make_prompts(probe: Probe, population: Items, places: Places, parameters: Parameters) -> pl.DataFrame:
    """The prompts of the items at these places; ProbeError if they are no table, or an item or a prompt is missing."""
    with running(probe, "prompts"):
        items = population.take(places, int(parameters["seed"]))
        prompts = probe.prompts(items, parameters)
        if not isinstance(prompts, pl.DataFrame):
            raise TypeError(f"it must give a polars DataFrame, not {type(prompts).__name__}")
    for name in (ITEM, PROMPT):
        if name not in prompts.columns or prompts[name].null_count():
            raise ProbeError(f"The probe {probe.name!r} cannot be used: {_lacks(prompts, name)}.")
    return prompts


def _lacks(prompts: pl.DataFrame, column: str) -> str:
    nulls = " without nulls" if column in prompts.columns else ""
    return f"its prompts have no column {column!r}{nulls}. There are: {', '.join(prompts.columns)}"


def _find_mistakes(probe: Probe, prompts: pl.DataFrame, parameters: Parameters) -> Iterator[str]:
    """What is wrong with a probe; each check assumes that those before it found nothing."""
    arms, detector = probe.arms.values if probe.arms else (), probe.detector
    with running(probe, "statistics"):
        totals = {*probe.statistics(with_reading(probe, parameters))}
    if outside := {*probe.slices, *probe.strata} - {*probe.covariates}:
        yield f"its slices and strata must be covariates, and {_list(outside)} is none"
    for column in probe.needed_columns:
        if column not in prompts.columns:
            yield _lacks(prompts, column)
    if taken := RESERVED & totals:
        yield f"its statistics use names that every probe has already: {_list(taken)}"
    if hiding := {*prompts.columns} & {*ATTEMPT_COLUMNS, *detector.columns}:
        yield f"its prompts have columns that attempts have, too: {_list(hiding)}"
    if probe.arms and (unknown := set(prompts[probe.arms.column]) - {*arms}):
        yield f"its prompts have arms that it does not name: {_list(unknown)}"
    if probe.words and not {name for name, _ in probe.words.sides} <= {*arms}:
        yield "its words are compared between sides that are no arms of it"
    if "all" in arms:
        yield "one of its arms is called 'all', as all attempts together are"
    attempts = _simulate(probe, prompts)
    with running(probe, f"detector {detector.name!r}"):
        evaluated = apply_detector(detector, attempts)
    labels = {*detector.labels, *detector.other_labels}
    if labels and (unknown := set(evaluated[LABEL].drop_nulls()) - labels):
        yield f"its detector gives labels that it does not name: {_list(unknown)}"
    rows = item_rows(probe, prompts, evaluated, 1)
    if not statistics(probe, rows, parameters)[:1].equals(statistics(probe, rows[:1], parameters)):
        yield "its statistics of an item depend on other items; they must be computed row by row"
    for some in (rows[:0], rows):
        yield from _find_mistakes_of_metrics(probe, some, parameters)


def _find_mistakes_of_metrics(probe: Probe, rows: pl.DataFrame, parameters: Parameters) -> Iterator[str]:
    found = prepare_cells(probe, cells(rows), parameters)
    total = Totals(found.names, np.tile(found.weight @ found.columns, (ROWS, 1)))
    values = measure_totals(probe, total, parameters)
    declared = {metric.name for metric in probe.all_metrics()}
    if {*values} != declared:
        missing, unknown = sorted(declared - {*values}), sorted({*values} - declared)
        yield f"measure must give the metrics that are declared: it lacks {missing}, and {unknown} are unknown"
    for metric in probe.all_metrics():
        shape = np.shape(values[metric.name])
        for name in (*metric.denominators, *metric.support):
            if name not in total:
                yield f"the metric {metric.name!r} counts its items by {name!r}, which is no total"
        if unknown_names := {*metric.range_of, *(metric.distance_of or ())[:1]} - declared:
            yield f"the metric {metric.name!r} refers to {_list(unknown_names)}, which is no metric"
        if metric.bands and metric.distance_of:
            yield f"the metric {metric.name!r} is a distance and has marks; mark {metric.distance_of[0]!r} instead"
        if metric.bands and metric.range_of and metric.bands.centre:
            yield f"the metric {metric.name!r} is a range, so that its marks must be centred at 0"
        if metric.range_of and metric.domain[0] != 0:
            yield f"the metric {metric.name!r} is a range, so that the smallest value of its domain must be 0"
        if shape != (ROWS,):
            yield f"the metric {metric.name!r} must have one value per row of totals, but its shape is {shape}"
        if rows.is_empty() and not np.isnan(values[metric.name]).all():
            yield f"the metric {metric.name!r} has a value where there is no item; it must be NaN"


def _simulate(probe: Probe, prompts: pl.DataFrame) -> pl.DataFrame:
    stance = next(iter(probe.stances()), "unbiased")
    answers = simulate_answers(probe, prompts, stance, np.random.default_rng(0))
    tokens = [orjson.dumps(certain_token(answer)).decode() for answer in answers]
    return prompts.with_columns(answers, text_column(FIRST_TOKEN, tokens), pl.lit(Status.OK.value).alias(STATUS))


def _list(names: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, names)))
