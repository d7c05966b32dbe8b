"""Some of the answers to a plan, to a partial. Only as much of the plan is made as the answers need."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from equipoise.answers.files import NO_NAMES, Names, read_tables
from equipoise.answers.parquet import SUFFIX, read_item_range
from equipoise.answers.rows import read_python, tabulate_rows
from equipoise.answers.score import IndexedPlan
from equipoise.authoring import Probe
from equipoise.errors import NoAnswers
from equipoise.measuring.partials import Partial, make_partial, number_prompts
from equipoise.measuring.plan import Plan, plan
from equipoise.schema import ITEM


def score_part(probe: str | Probe, answers: Any, *, reading: str | None = None, **parameters: Any) -> Partial:
    """Score some of the answers: as for `score`, or a `Path` to a file of them. Partials are added with `+`.

    Each answer must be in one part only. Where prompts are asked several times and their answers are in different
    parts, each must say its `repetition`.
    """
    scorer = PartScorer(plan(probe, reading=reading, **parameters))
    if isinstance(answers, Path):
        return scorer.score_file(answers)
    return _score(scorer.whole, tabulate_rows(read_python(answers)))


class PartScorer:
    """Scores one part after the other against one plan; what it has made of the plan serves the next part."""

    def __init__(self, planned: Plan) -> None:
        self.planned = planned

    @cached_property
    def whole(self) -> IndexedPlan:
        """All of the plan, once it is needed."""
        return IndexedPlan(self.planned)

    def score_file(self, path: Path, names: Names = NO_NAMES) -> Partial:
        """The partial of a file of answers. A column `item_number` says which part of the plan is enough for it."""
        items = read_item_range(path) if path.suffix.lower() == SUFFIX else None
        try:
            if items and items.stop <= self.planned.items and "whole" not in vars(self):
                scored = _score(IndexedPlan(self.planned, items), read_tables(path, names))
                if not scored.unknown:
                    return scored
            return _score(self.whole, read_tables(path, names))
        except NoAnswers:  # a shard may be empty; whoever adds them says if all are
            return _score(IndexedPlan(self.planned, range(1)), tabulate_rows(()))


def _score(indexed: IndexedPlan, tables: Iterable[pl.DataFrame]) -> Partial:
    planned, first = indexed.planned, indexed.items.start
    answers = indexed.evaluate(tables)
    attempts = []
    for part, places in indexed.join(answers):
        attempts.append(part.attempts.hstack([number_prompts(part.prompts, first)[places]]))
        first += part.prompts[ITEM].n_unique()
    return make_partial(planned, answers.matching, attempts)
