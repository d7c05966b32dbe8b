"""Some of the answers to a plan, to a partial; and answers in many files, with one file in memory at a time.

Only as much of the plan is made as the answers need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from equipoise.answers.files import NO_NAMES, PARQUET, Names, read_python, read_tables, tabulate_rows
from equipoise.answers.score import IndexedPlan
from equipoise.authoring import Probe
from equipoise.errors import BadFile, NoAnswers
from equipoise.measuring.partials import SUFFIX as PARTIAL
from equipoise.measuring.partials import Partial, make_partial, number_prompts
from equipoise.measuring.plan import Plan, plan
from equipoise.schema import ITEM, ITEM_NUMBER

ENDINGS = (PARQUET, ".jsonl", ".jsonl.out", ".csv", ".tsv", PARTIAL)
"""What is read from a folder; Bedrock names its output `.jsonl.out`. A single file may have any name."""
_PATTERN = "*?["


def score_part(probe: str | Probe, answers: Any, *, reading: str | None = None, **parameters: Any) -> Partial:
    """Score some of the answers: as for `score`, or a `Path` to a file of them. Partials are added with `+`.

    Each answer must be in one part only. Where prompts are asked several times and their answers are in different
    parts, each must say its `repetition`.
    """
    scorer = PartScorer(plan(probe, reading=reading, **parameters))
    if isinstance(answers, Path):
        return scorer.score_file(answers)
    return _score(scorer.whole, read_python(answers))


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
        items = _read_item_range(path) if path.suffix.lower() == PARQUET else None
        try:
            if items and items.stop <= self.planned.items and "whole" not in vars(self):
                scored = _score(IndexedPlan(self.planned, items), read_tables(path, names))
                if not scored.values.matching.unknown:
                    return scored
            return _score(self.whole, read_tables(path, names))
        except NoAnswers:  # a shard may be empty; whoever adds them says if all are
            return _score(IndexedPlan(self.planned, range(1)), tabulate_rows(()))


def _read_item_range(path: Path) -> range | None:
    """The range of the items that a file says its answers belong to; None if it does not say it of all of them."""
    try:
        stored = pl.scan_parquet(path, glob=False)
        if not stored.collect_schema().get(ITEM_NUMBER, pl.Null()).is_integer():
            return None
        number = pl.col(ITEM_NUMBER).cast(pl.Int64, strict=False)
        first, last, gaps = (
            stored.select(number.min(), number.max().alias("last"), number.null_count().alias("gaps")).collect().row(0)
        )
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None  # whoever reads the answers says what is wrong with the file
    return range(first, last + 1) if first is not None and first >= 0 and not gaps else None


def _score(indexed: IndexedPlan, tables: Iterable[pl.DataFrame]) -> Partial:
    planned, first = indexed.planned, indexed.items.start
    answers = indexed.evaluate_and_match(tables)
    attempts = []
    for batch, places in indexed.join(answers):
        attempts.append(batch.attempts.hstack([number_prompts(batch.prompts, first)[places]]))
        first += batch.prompts[ITEM].n_unique()
    return make_partial(planned, answers.matching, attempts)


def find_shards(sources: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The files that are meant: named themselves, in a folder, or by a pattern such as `answers/*.parquet`.

    Also what is in these folders and not read, but for names that begin with "." or "_": notes of other tools.
    """
    files: list[Path] = []
    left_out: list[Path] = []
    for source in sources:
        if source.is_dir():
            inside = sorted(path for path in source.iterdir() if path.name[0] not in "._")
            read = [path for path in inside if path.name.lower().endswith(ENDINGS) and path.is_file()]
            if not read:
                raise BadFile(f"The folder {source} holds no answers: no file that ends with {', '.join(ENDINGS)}.")
            files += read
            left_out += [path for path in inside if path not in read]
        elif any(letter in str(source) for letter in _PATTERN) and not source.exists():
            base = Path(source.anchor)
            fitting = [path for path in base.glob(str(source.relative_to(base))) if path.is_file()]
            files += sorted(fitting) or [source]  # whoever reads it says that there is no such file
        else:
            files.append(source)
    return files, left_out


def score_shards(planned: Plan, files: Sequence[Path], names: Names = NO_NAMES) -> Iterator[Partial]:
    """The partial of each file, scored one after the other in this process."""
    scorer = PartScorer(planned)
    return (scorer.score_file(path, names) for path in files)
