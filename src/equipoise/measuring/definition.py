"""Trying a probe on a few simulated answers, so that a mistake in it is found before a model is asked."""

from __future__ import annotations

import numpy as np
import orjson
import polars as pl

from equipoise.authoring import Items, Parameters, Probe, Totals
from equipoise.authoring.sampling import Places
from equipoise.errors import ProbeError
from equipoise.measuring.calling import certain_token, running, simulate_answers
from equipoise.measuring.evaluate import apply_detector
from equipoise.measuring.interval import measure_totals, prepare_cells
from equipoise.measuring.summarise import cells, item_rows, statistics, with_reading
from equipoise.schema import (
    ATTEMPT_COLUMNS,
    FIRST_TOKEN,
    ITEM,
    LABEL,
    PROMPT,
    STATUS,
    Status,
    text_column,
)

ITEMS = 6
RESERVED = {"items", "attempts", "undetected", "undetected_items"}
"""Statistics that every probe has."""
ROWS = 3
"""Totals are measured several at once, as for derivatives."""


def check_definition(probe: Probe, parameters: Parameters, population: Items) -> None:
    """Plan, simulate, evaluate and measure a few items and none; ProbeError if that fails or does not fit together."""
    prompts = make_prompts(probe, population, np.arange(min(population.size, ITEMS)), parameters)
    if outside := [column for column in (*probe.slices, *probe.strata) if column not in probe.covariates]:
        _refuse(probe, f"its slices and strata must be covariates, and {', '.join(outside)} is none")
    with running(probe, "statistics"):
        taken = RESERVED & {*probe.statistics(with_reading(probe, parameters))}
    if taken:
        _refuse(probe, f"its statistics use names that every probe has already: {', '.join(sorted(taken))}")
    for column in probe.needed_columns:
        if column not in prompts.columns:
            _refuse(probe, f"its prompts have no column {column!r}. There are: {', '.join(prompts.columns)}")
    if hiding := sorted({*prompts.columns} & {*ATTEMPT_COLUMNS, *probe.detector.columns}):
        _refuse(probe, f"its prompts have columns that attempts have, too: {', '.join(hiding)}")
    if probe.arms and (unknown := set(prompts[probe.arms.column]) - set(probe.arms.values)):
        _refuse(probe, f"its prompts have arms that it does not name: {', '.join(sorted(map(str, unknown)))}")
    if probe.words and not {name for name, _ in probe.words.sides} <= {*(probe.arms.values if probe.arms else ())}:
        _refuse(probe, "its words are compared between sides that are no arms of it")
    if probe.arms and "all" in probe.arms.values:
        _refuse(probe, "one of its arms is called 'all', as all attempts together are")
    attempts = _simulate(probe, prompts)
    with running(probe, f"detector {probe.detector.name!r}"):
        evaluated = apply_detector(probe.detector, attempts)
    if probe.detector.labels:
        unknown = set(evaluated[LABEL].drop_nulls()) - {*probe.detector.labels, *probe.detector.other_labels}
        if unknown:
            _refuse(probe, f"its detector gives labels that it does not name: {', '.join(sorted(unknown))}")
    rows = item_rows(probe, evaluated)
    whole, alone = (statistics(probe, some, parameters) for some in (rows, rows[:1]))
    if not whole[:1].equals(alone):
        _refuse(probe, "its statistics of an item depend on other items; they must be computed row by row")
    for some in (rows[:0], rows):
        _check_metrics(probe, some, parameters)


def make_prompts(probe: Probe, population: Items, places: Places, parameters: Parameters) -> pl.DataFrame:
    """The prompts of the items at these places; ProbeError if they are no table, or an item or a prompt is missing."""
    with running(probe, "prompts"):
        items = population.take(places, int(parameters["seed"]))
        prompts = probe.prompts(items, parameters)
        if not isinstance(prompts, pl.DataFrame):
            raise TypeError(f"it must give a polars DataFrame, not {type(prompts).__name__}")
    for column in (ITEM, PROMPT):
        if column not in prompts.columns:
            _refuse(probe, f"its prompts have no column {column!r}. There are: {', '.join(prompts.columns)}")
        if prompts[column].null_count():
            _refuse(probe, f"its prompts have a null in {column!r}")
    return prompts


def _simulate(probe: Probe, prompts: pl.DataFrame) -> pl.DataFrame:
    stance = next(iter(probe.stances()), "unbiased")
    answers = simulate_answers(probe, prompts, stance, np.random.default_rng(0))
    tokens = [orjson.dumps(certain_token(answer)).decode() for answer in answers]
    return prompts.with_columns(answers, text_column(FIRST_TOKEN, tokens), pl.lit(Status.OK.value).alias(STATUS))


def _check_metrics(probe: Probe, rows: pl.DataFrame, parameters: Parameters) -> None:
    found = prepare_cells(probe, cells(rows), parameters)
    total = Totals(found.names, np.tile(found.weight @ found.columns, (ROWS, 1)))
    values = measure_totals(probe, total, parameters)
    declared = [metric.name for metric in probe.all_metrics()]
    if set(values) != set(declared):
        missing, unknown = sorted(set(declared) - set(values)), sorted(set(values) - set(declared))
        _refuse(
            probe, f"measure must give the metrics that are declared: it lacks {missing}, and {unknown} are unknown"
        )
    for metric in probe.all_metrics():
        for name in (*metric.denominators, *metric.support):
            if name not in total:
                _refuse(probe, f"the metric {metric.name!r} counts its items by {name!r}, which is no total")
        others = (*metric.range_of, *(metric.distance_of or ())[:1])
        if unknown_names := [name for name in others if name not in declared]:
            _refuse(
                probe, f"the metric {metric.name!r} refers to {', '.join(map(str, unknown_names))}, which is no metric"
            )
        shape = np.shape(values[metric.name])
        if shape != (ROWS,):
            _refuse(
                probe, f"the metric {metric.name!r} must have one value per row of totals, but its shape is {shape}"
            )
        if rows.is_empty() and not np.isnan(values[metric.name]).all():
            _refuse(probe, f"the metric {metric.name!r} has a value where there is no item; it must be NaN")


def _refuse(probe: Probe, reason: str) -> None:
    raise ProbeError(f"The probe {probe.name!r} cannot be used: {reason}.")
