"""Some of the answers to a plan, to a partial. Only as much of the plan is made as the answers need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.files import NO_NAMES, Names, read_tables
from equipoise.answers.parquet import SUFFIX, read_item_numbers
from equipoise.answers.rows import read_python, tabulate_rows
from equipoise.answers.score import IndexedBlocks
from equipoise.authoring import Probe
from equipoise.errors import NoAnswers
from equipoise.measuring.blocks import ITEMS_PER_BLOCK, Ranges, count_blocks
from equipoise.measuring.coverage import add_coverage, count_attempts
from equipoise.measuring.measure import add_sums, sum_items
from equipoise.measuring.partials import ATTEMPT, OF_ITEM, Partial, split_items
from equipoise.measuring.plan import Plan, plan
from equipoise.schema import ITEM

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
        self._whole: IndexedBlocks | None = None

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
            scored = _score(IndexedBlocks(self.planned, blocks, texts=False), tables())
            if not scored.unknown:
                return scored
        self._whole = self._whole or IndexedBlocks(self.planned, whole)
        return _score(self._whole, tables())


def _score(indexed: IndexedBlocks, tables: Iterable[pl.DataFrame]) -> Partial:
    planned, probe = indexed.planned, indexed.planned.probe
    answers = indexed.evaluate(tables)
    sums, slices, coverage, still_open, seen = [], [], [], [], []
    for part, places, numbers in indexed.join(answers):
        of_item = part.prompts.select(pl.len().over(ITEM) * planned.repetitions).to_series()[places]
        whole, rest = split_items(part.attempts.with_columns(pl.Series(ATTEMPT, numbers), of_item.alias(OF_ITEM)))
        sums.append(sum_items(probe, whole, planned.parameters))
        slices.append(part.prompts.select(probe.slices).unique())
        coverage.append(count_attempts(probe, part.attempts))
        still_open.append(rest)
        seen.append(numbers)
    return Partial(
        setup=planned.setup,
        items=planned.items,
        answers=answers.matching.read,
        unknown=answers.matching.unknown,
        surplus=answers.matching.surplus,
        seen=Ranges.of(np.concatenate(seen)),
        blocks=indexed.blocks,
        slices=pl.concat(slices).unique(),
        coverage=add_coverage(coverage),
        sums=add_sums(sums),
        open=pl.concat(still_open),
    )
