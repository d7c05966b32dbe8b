"""Some of the answers to a plan, to a partial. Only as much of the plan is made as the answers need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.files import NO_NAMES, Names, read_tables
from equipoise.answers.matching import PLACE, PromptIndex
from equipoise.answers.parquet import SUFFIX, read_item_numbers
from equipoise.answers.rows import read_python, tabulate_rows
from equipoise.answers.score import evaluate_rows, join_prompts
from equipoise.authoring import Probe
from equipoise.errors import NoAnswers
from equipoise.measuring.blocks import ITEMS_PER_BLOCK, PlannedBlock, count_blocks, number_attempts, take_block
from equipoise.measuring.coverage import add_coverage, count_attempts
from equipoise.measuring.partials import ATTEMPT, OF_ITEM, Partial, split_items
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.ranges import Ranges
from equipoise.measuring.sums import add_sums, sum_items
from equipoise.measuring.threads import at_hand
from equipoise.schema import ITEM, PROMPT, REPETITION

BLOCKS_IN_MEMORY = 10
"""The prompts of so many blocks are kept; those of more are made again when their answers are joined to them."""
ATTEMPTS_AT_A_TIME = 100_000
"""How many attempts are summed up at a time. It bounds the memory and does not change the numbers."""

Tables = Callable[[], Iterable[pl.DataFrame]]


def score_part(probe: str | Probe, answers: Any, *, reading: str | None = None, **parameters: Any) -> Partial:
    """Score some of the answers: as for `score`, or a `Path` to a file of them. Partials are added with `+`.

    Each answer must be in one part only. Where prompts are asked several times and their answers are in different
    parts, each must say its `repetition`.
    """
    scorer = PartScorer(plan(probe, reading=reading, **parameters))
    if isinstance(answers, Path):
        return scorer.score_file(answers)
    tables = list(tabulate_rows(read_python(answers)))
    return scorer.score_tables(lambda: tables)


class PartScorer:
    """Scores one part after the other against one plan; what it has made of the plan serves the next part."""

    def __init__(self, planned: Plan) -> None:
        self.planned = planned
        self._whole: _BlockIndex | None = None

    def score_file(self, path: Path, names: Names = NO_NAMES) -> Partial:
        """The partial of a file of answers. A column `item_number` says which part of the plan is enough for it."""
        blocks = None
        if path.suffix.lower() == SUFFIX and (numbers := read_item_numbers(path)) is not None:
            inside = numbers[(numbers >= 0) & (numbers < self.planned.items)]
            blocks = np.unique(inside // ITEMS_PER_BLOCK).tolist()
        try:
            return self.score_tables(lambda: read_tables(path, names), blocks)
        except NoAnswers:  # a shard may be empty; whoever adds them says if all are
            return self.score_tables(lambda: tabulate_rows(()), [0])

    def score_tables(self, tables: Tables, blocks: Sequence[int] | None = None) -> Partial:
        """The partial of tables of answers, which probably belong to these blocks of the plan."""
        whole = range(count_blocks(self.planned.items))
        if self._whole is None and blocks and len(blocks) < len(whole):
            scored = _score(_BlockIndex(self.planned, blocks, texts=False), tables())
            if not scored.unknown:
                return scored
        self._whole = self._whole or _BlockIndex(self.planned, whole, texts=True)
        return _score(self._whole, tables())


class _BlockIndex:
    """Some blocks of a plan: where each prompt stands in them, and what they hold."""

    def __init__(self, planned: Plan, numbers: Sequence[int], *, texts: bool) -> None:
        self.planned = planned
        self.numbers = numbers
        self._kept: dict[int, pl.DataFrame] = {}
        self.blocks: dict[int, PlannedBlock] = {}
        slices: list[pl.DataFrame] = []

        def make_blocks() -> Iterator[pl.DataFrame]:
            for number in numbers:
                prompts = take_block(planned, number)
                self.blocks[number] = PlannedBlock.of(planned.probe, prompts)
                slices.append(prompts.select(planned.probe.slices).unique())
                if len(numbers) <= BLOCKS_IN_MEMORY:
                    self._kept[number] = prompts.drop(PROMPT)
                yield prompts

        self.index = PromptIndex(make_blocks(), keep=planned.probe.detector.uses, texts=texts)
        self.slices = pl.concat(slices).unique()
        sizes = [self.blocks[number].size for number in numbers]
        self.starts = [0, *accumulate(sizes)]

    def join(self, evaluations: pl.DataFrame, assigned: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The evaluated attempts with their prompts and numbers, block by block, where there are any."""
        bounds = np.searchsorted(assigned[PLACE].to_numpy(), self.starts)
        for number, start, first, end in zip(self.numbers, self.starts, bounds, bounds[1:], strict=False):
            if first == end and number != self.numbers[0]:  # without any answer, one table says which columns there are
                continue
            prompts = self._kept[number] if self._kept else take_block(self.planned, number).drop(PROMPT)
            here = assigned[first:end].with_columns(pl.col(PLACE) - start)
            repetitions = self.planned.repetitions
            of_item = (prompts.select(pl.len().over(ITEM)).to_series() * repetitions)[here[PLACE]]
            attempt = number_attempts(number, here[PLACE], here[REPETITION], repetitions)
            numbers = pl.DataFrame({ATTEMPT: attempt, OF_ITEM: of_item})
            yield join_prompts(prompts, evaluations, here).hstack(numbers)


def _score(index: _BlockIndex, tables: Iterable[pl.DataFrame]) -> Partial:
    planned = index.planned
    probe, parameters = planned.probe, planned.parameters
    evaluations, assigned, matching = evaluate_rows(planned, at_hand(index.index), tables)
    sums, coverage, still_open, seen = [], [], [], []
    for attempts in _gather(index.join(evaluations, assigned)):
        whole, rest = split_items(attempts)
        sums.append(sum_items(probe, whole, parameters))
        coverage.append(count_attempts(probe, attempts))
        still_open.append(rest)
        seen.append(attempts[ATTEMPT].to_numpy())
    return Partial(
        setup=planned.setup,
        items=planned.items,
        answers=matching.read,
        unknown=matching.unknown,
        surplus=matching.surplus,
        seen=Ranges.of(np.concatenate(seen)),
        blocks=index.blocks,
        slices=index.slices,
        coverage=add_coverage(coverage),
        sums=add_sums(sums),
        open=pl.concat(still_open),
    )


def _gather(tables: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows in fewer tables: many small sums cost more than one of them all."""
    gathered: list[pl.DataFrame] = []
    for table in tables:
        gathered.append(table)
        if sum(map(len, gathered)) >= ATTEMPTS_AT_A_TIME:
            yield pl.concat(gathered)
            gathered = []
    if gathered:
        yield pl.concat(gathered)
