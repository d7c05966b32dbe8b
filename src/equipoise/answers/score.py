"""Answers from anywhere to a result: match them to a plan, evaluate, measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.matching import CANDIDATES, PLACE, RANK, ROW, PromptIndex, hash_keys, refuse_nothing_matched
from equipoise.answers.rows import Row, read_python, tabulate_rows
from equipoise.authoring import Probe
from equipoise.detect import Detector
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.measure import Part, measure
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.result import Matching, Result
from equipoise.measuring.threads import work_beside
from equipoise.schema import PROMPT, REPETITION

MAX_ITEMS_IN_MEMORY = 500_000
"""The prompts of up to this many items are kept while answers are read, some 200 bytes each."""


def score(probe: str | Probe, answers: Any, *, reading: str | None = None, **parameters: Any) -> Result:
    """Score answers from anywhere: rows with `id` or `prompt`, `answer` and perhaps `repetition`, as a table,
    mappings, or one mapping of id or prompt to answer; read as "careful" (the default) or as "specified".
    InputError if there are answers and none of them belongs to a planned prompt."""
    return score_rows(plan(probe, reading=reading, **parameters), read_python(answers))


def score_rows(planned: Plan, rows: Iterable[Row]) -> Result:
    """Score rows of answers against a plan."""
    return score_tables(planned, tabulate_rows(rows))


def score_tables(planned: Plan, tables: Iterable[pl.DataFrame]) -> Result:
    """Score tables of answers against a plan, matching them by id or text, with a few bytes of memory for each."""
    prompts = _PlannedPrompts(planned)
    with work_beside(partial(PromptIndex, keep=planned.probe.detector.uses), prompts.make()) as making_index:
        evaluations, assigned, matching = evaluate_rows(planned, making_index, tables)
    refuse_nothing_matched(matching)
    return measure(planned.setup, partial(_parts, prompts.repeat, evaluations, assigned), matching)


class _PlannedPrompts:
    """The prompts of a plan, which are needed twice: kept without their texts, or made again if there are too many."""

    def __init__(self, planned: Plan) -> None:
        self._planned = planned
        self._kept: list[pl.DataFrame] = []

    def make(self) -> Iterator[pl.DataFrame]:
        """All prompts with their texts, in batches."""
        for batch in self._planned.batches():
            if self._planned.items <= MAX_ITEMS_IN_MEMORY:
                self._kept.append(batch.drop(PROMPT))
            yield batch

    def repeat(self) -> Iterable[pl.DataFrame]:
        """The same without their texts."""
        return self._kept or (batch.drop(PROMPT) for batch in self._planned.batches())


def evaluate_rows(
    planned: Plan, making_index: Future[PromptIndex], tables: Iterable[pl.DataFrame]
) -> tuple[pl.DataFrame, pl.DataFrame, Matching]:
    """What each answer says, and which attempt it belongs to.

    An answer is evaluated as soon as its prompt is known, and its text is dropped. While the index is being made, those
    of a detector that uses nothing but the answer are evaluated without it. Where the detector uses the prompt, and
    several prompts have the text that the answer names, it must wait until all are assigned.
    """
    detector = planned.probe.detector
    read = 0
    without_index: list[pl.DataFrame] = []
    evaluated: list[pl.DataFrame] = []
    waiting: list[pl.DataFrame] = []
    for table in map(hash_keys, tables):
        read += table.height
        if not (detector.uses or making_index.done()):
            without_index.append(_evaluate_compactly(detector, table))
            continue
        index = making_index.result()
        evaluated += _find_all(index, without_index)
        found = index.find(table)
        waits = (pl.col(CANDIDATES) > 1) & bool(detector.uses)
        evaluated.append(_evaluate_compactly(detector, index.join_kept(found.filter(~waits))))
        waiting.append(found.filter(waits))
    index = making_index.result()
    evaluated += _find_all(index, without_index)
    early = pl.concat(evaluated, how="diagonal")  # those that were found after they were evaluated have another order
    late = pl.concat(waiting) if waiting else early.clear()
    keys = [PLACE, CANDIDATES, REPETITION, RANK]
    rows = pl.concat([early.select(keys), late.select(keys)])
    assigned = index.assign(rows, planned.repetitions)
    matching = index.count_matches(planned.repetitions, read=read, found=rows.height, assigned=assigned.height)
    evaluations = early.drop(keys)
    if late.height:
        evaluations, assigned = _evaluate_late(detector, index, evaluations, late, assigned)
    return evaluations, assigned, matching


def _find_all(index: PromptIndex, tables: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """The answers of these tables that belong to a prompt; the list is emptied."""
    found = [index.find(table) for table in tables]
    tables.clear()
    return found


def _evaluate_late(
    detector: Detector, index: PromptIndex, early: pl.DataFrame, late: pl.DataFrame, assigned: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Evaluate the answers that waited, now that each has its prompt, and let their rows follow the others."""
    is_late = assigned[ROW] >= early.height
    theirs = assigned.filter(is_late)
    answers = late[theirs[ROW] - early.height].drop(PLACE, CANDIDATES, REPETITION, RANK)
    evaluated = _evaluate_compactly(detector, index.join_kept_at(answers, theirs[PLACE].to_numpy()))
    rows = assigned[ROW].to_numpy().copy()
    rows[is_late.to_numpy()] = early.height + np.arange(theirs.height)
    return pl.concat([early, evaluated]), assigned.with_columns(pl.Series(ROW, rows))


def _evaluate_compactly(detector: Detector, answers: pl.DataFrame) -> pl.DataFrame:
    """The evaluated answers, without the columns of the prompt and with numbers for words."""
    return evaluate(detector, answers).drop(detector.uses).cast({pl.String: pl.Categorical})


def _parts(
    batches: Callable[[], Iterable[pl.DataFrame]], evaluations: pl.DataFrame, assigned: pl.DataFrame
) -> Iterator[Part]:
    """The batches of a plan, each with the evaluated attempts at its prompts."""
    places, start = assigned[PLACE].to_numpy(), 0
    for prompts in batches():
        first, end = np.searchsorted(places, (start, start + prompts.height))
        here = assigned[first:end].with_columns(pl.col(PLACE) - start)
        yield Part(prompts, join_prompts(prompts, evaluations, here))
        start += prompts.height


def join_prompts(prompts: pl.DataFrame, evaluations: pl.DataFrame, assigned: pl.DataFrame) -> pl.DataFrame:
    """Evaluated attempts with their prompts, as they are assigned to them: `place` among them, `row` of the answer."""
    outcomes = evaluations[assigned[ROW]].cast({pl.Categorical: pl.String})
    return prompts[assigned[PLACE]].hstack(assigned.select(REPETITION)).hstack(outcomes)
