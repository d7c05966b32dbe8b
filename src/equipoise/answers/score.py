"""Answers from anywhere to a result: match them to a plan, evaluate, measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from equipoise.answers.matching import CANDIDATES, PLACE, RANK, ROW, PromptIndex, hash_keys, refuse_nothing_matched
from equipoise.answers.rows import Row, read_python, tabulate_rows
from equipoise.authoring import Probe
from equipoise.detect import Detector
from equipoise.measuring.blocks import Numbers, PlannedBlock, count_blocks, number_attempts, take_block
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.measure import Part, measure
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.result import Matching, Result
from equipoise.schema import PROMPT, REPETITION

BLOCKS_IN_MEMORY = 100
"""The prompts of so many blocks are kept without their texts, some 200 bytes for each item; those of more are made
again when their answers are joined to them."""
BLOCKS_AT_A_TIME = 10
"""How many are joined and summed up at a time: many small sums cost more than one of them all."""
_KEYS = (PLACE, CANDIDATES, REPETITION, RANK)


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
    blocks = IndexedBlocks(planned, range(count_blocks(planned.items)))
    answers = blocks.evaluate(tables)
    refuse_nothing_matched(answers.matching)
    return measure(planned.setup, lambda: (joined.part for joined in blocks.join(answers)), answers.matching)


class EvaluatedAnswers(NamedTuple):
    """What answers were found to say, and which attempt each belongs to."""

    evaluations: pl.DataFrame
    assigned: pl.DataFrame
    """In the order of the plan: the `row` of an evaluation, the `place` of its prompt, its `repetition`."""
    matching: Matching


class JoinedBlocks(NamedTuple):
    """Prompts with the attempts at them: the place of each attempt among these prompts, and its number in the plan."""

    part: Part
    places: pl.Series
    numbers: Numbers


class IndexedBlocks:
    """Some blocks of a plan: what they hold, and where each prompt stands in them, by id and, with `texts`, by text."""

    def __init__(self, planned: Plan, numbers: Sequence[int], *, texts: bool = True) -> None:
        self.planned = planned
        self._numbers = numbers
        self._kept: dict[int, pl.DataFrame] = {}
        self.blocks: dict[int, PlannedBlock] = {}
        self._index = PromptIndex(self._make_blocks(), keep=planned.probe.detector.uses, texts=texts)
        self._starts = [0, *accumulate(self.blocks[number].size for number in numbers)]

    def _make_blocks(self) -> Iterator[pl.DataFrame]:
        for number in self._numbers:
            prompts = take_block(self.planned, number)
            self.blocks[number] = PlannedBlock.of(self.planned.probe, prompts)
            if len(self._numbers) <= BLOCKS_IN_MEMORY:
                self._kept[number] = prompts.drop(PROMPT)
            yield prompts

    def evaluate(self, tables: Iterable[pl.DataFrame]) -> EvaluatedAnswers:
        """Evaluate answers, table by table, so that their texts need not stay in memory.

        Only where the detector uses the prompt, and several prompts have the text that an answer names, must the answer
        wait until all are assigned.
        """
        detector, read = self.planned.probe.detector, 0
        evaluated: list[pl.DataFrame] = []
        waiting: list[pl.DataFrame] = []
        for table in tables:
            read += table.height
            found = self._index.find(hash_keys(table))
            waits = (pl.col(CANDIDATES) > 1) & bool(detector.uses)
            evaluated.append(_evaluate_compactly(detector, self._index.join_kept(found.filter(~waits))))
            waiting.append(found.filter(waits))
        early, late = pl.concat(evaluated), pl.concat(waiting)
        rows = pl.concat([early.select(_KEYS), late.select(_KEYS)])
        assigned = self._index.assign(rows, self.planned.repetitions)
        matching = self._index.count_matches(
            self.planned.repetitions, read=read, found=rows.height, assigned=assigned.height
        )
        evaluations = early.drop(_KEYS)
        if late.height:
            evaluations, assigned = self._evaluate_late(evaluations, late, assigned)
        return EvaluatedAnswers(evaluations, assigned, matching)

    def _evaluate_late(
        self, early: pl.DataFrame, late: pl.DataFrame, assigned: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Evaluate the answers that waited, now that each has its prompt, and let their rows follow the others."""
        is_late = assigned[ROW] >= early.height
        theirs = assigned.filter(is_late)
        answers = late[theirs[ROW] - early.height].drop(_KEYS)
        joined = self._index.join_kept_at(answers, theirs[PLACE].to_numpy())
        rows = assigned[ROW].to_numpy().copy()
        rows[is_late.to_numpy()] = early.height + np.arange(theirs.height)
        evaluated = _evaluate_compactly(self.planned.probe.detector, joined)
        return pl.concat([early, evaluated]), assigned.with_columns(pl.Series(ROW, rows))

    def join(self, answers: EvaluatedAnswers) -> Iterator[JoinedBlocks]:
        """The prompts of a few blocks at a time, with the evaluated attempts at them."""
        bounds = np.searchsorted(answers.assigned[PLACE].to_numpy(), self._starts)
        for first in range(0, len(self._numbers), BLOCKS_AT_A_TIME):
            end = min(first + BLOCKS_AT_A_TIME, len(self._numbers))
            prompts = pl.concat(self._take(number) for number in self._numbers[first:end])
            assigned = answers.assigned[int(bounds[first]) : int(bounds[end])]
            places = assigned[PLACE] - self._starts[first]
            outcomes = answers.evaluations[assigned[ROW]].cast({pl.Categorical: pl.String})
            attempts = prompts[places].hstack(assigned.select(REPETITION)).hstack(outcomes)
            yield JoinedBlocks(Part(prompts, attempts), places, self._number_attempts(assigned))

    def _take(self, number: int) -> pl.DataFrame:
        return self._kept[number] if self._kept else take_block(self.planned, number).drop(PROMPT)

    def _number_attempts(self, assigned: pl.DataFrame) -> Numbers:
        """The numbers of these attempts in the whole plan."""
        places, starts = assigned[PLACE].to_numpy().astype(np.int64), np.array(self._starts)
        block = np.searchsorted(starts, places, "right") - 1
        numbers = np.array(self._numbers, dtype=np.int64)[block]
        return number_attempts(numbers, places - starts[block], assigned[REPETITION], self.planned.repetitions)


def _evaluate_compactly(detector: Detector, answers: pl.DataFrame) -> pl.DataFrame:
    """The evaluated answers, without the columns of the prompt and with numbers for words."""
    return evaluate(detector, answers).drop(detector.uses).cast({pl.String: pl.Categorical})
