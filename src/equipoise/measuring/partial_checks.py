"""Whether a partial that was read from a file can come from answers to its plan. Anybody may have written the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from equipoise.measuring.blocks import PlannedBlock, Ranges, count_blocks, locate_attempts
from equipoise.measuring.coverage import ALL, Coverage
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.measure import Sums, sum_items
from equipoise.measuring.outcomes import ATTEMPTS
from equipoise.measuring.plan import Plan
from equipoise.measuring.summarise import WEIGHT
from equipoise.schema import ANSWER, FIRST_TOKEN, PROMPT, REPETITION, STATUS, Status


class Forged(ValueError):
    """What no partial holds."""


def require(holds: bool, problem: str) -> None:
    """Raise Forged with this problem if something does not hold."""
    if not holds:
        raise Forged(problem)


def make_no_attempts(planned: Plan) -> pl.DataFrame:
    """A table of evaluated attempts without a row: its columns are those that evaluated answers to this plan have."""
    prompts = planned.take(0, 1)[:0]
    unread = {REPETITION: pl.Int64, STATUS: pl.String, ANSWER: pl.String, FIRST_TOKEN: pl.String}
    answered = prompts.with_columns(pl.lit(None, kind).alias(name) for name, kind in unread.items())
    return evaluate(planned.probe.detector, answered).drop(PROMPT)


def check_table(name: str, table: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Refuse a table with other columns, or with numbers that are none."""
    require(list(table.schema.items()) == list(expected.schema.items()), f"the table {name} has other columns")
    numbers = table.select(pl.selectors.float())
    finite = numbers.select(pl.all().is_finite().fill_null(value=True).all())
    require(not numbers.width or all(finite.row(0)), f"the table {name} has numbers that are none")


def check_sums(planned: Plan, sums: Sums, items_open: int, attempts: int) -> None:
    """Refuse sums of more items or attempts than there are, or of other things than the probe sums."""
    expected = sum_items(planned.probe, make_no_attempts(planned), planned.parameters)
    check_table("cells", sums.cells, expected.cells)
    for name, table in sums.clusters.items():
        check_table(f"clusters/{name}", table, expected.clusters[name])
    require((sums.selections is None) == (expected.selections is None), "other selections than the probe has")
    if sums.selections and expected.selections:
        check_table("selections", sums.selections.folded, expected.selections.folded)
        require({*sums.selections.by_set} == {*expected.selections.by_set}, "sets that the probe does not have")
        for name, table in sums.selections.by_set.items():
            check_table(f"sets/{name}", table, expected.selections.by_set[name])
    weights = sums.cells[WEIGHT]
    require(not weights.null_count() and (weights > 0).all(), "weights that are not positive")
    require(int(weights.cast(pl.Int128).sum()) + items_open <= planned.items, "more items than are planned")
    counted = sums.cells.select(
        (pl.col(f"{prefix}{ATTEMPTS}").cast(pl.Int128) * pl.col(WEIGHT)).sum() for prefix in planned.probe.prefixes
    )
    require(sum(counted.row(0)) <= attempts, "more attempts summed up than seen")


def check_seen(seen: Ranges, blocks: Mapping[int, PlannedBlock], repetitions: int) -> None:
    """Refuse attempts that stand twice, or outside the blocks of the plan."""
    starts, ends = seen.starts, seen.ends
    require(bool((starts < ends).all() and (starts[1:] > ends[:-1]).all()), "attempts in disorder")
    first, last = locate_attempts(starts), locate_attempts(ends - 1)
    sizes = np.array([blocks[number].size if number in blocks else 0 for number in first[0].tolist()], dtype=np.int64)
    fits = (first[0] == last[0]) & (first[1] >= 0) & (last[1] < sizes * repetitions)
    require(bool(fits.all()), "attempts that are not planned")


def check_blocks(planned: Plan, blocks: Mapping[int, PlannedBlock]) -> None:
    """Refuse blocks that the plan does not have, and counts of prompts that are none."""
    known = range(count_blocks(planned.items))
    columns = {ALL, *planned.probe.coverage_columns}
    for number, block in blocks.items():
        require(number in known and isinstance(block.digest, str), "blocks that are not planned")
        require({*block.prompts} == columns, "counts of other groups than the probe has")
        check_counts(block.prompts)
        size = block.size
        require(all(sum(counts.values()) <= size for counts in block.prompts.values()), "groups larger than all")


def check_coverage(coverage: Coverage, attempts: int) -> None:
    """Refuse counts of attempts by state that do not add up."""
    check_counts(coverage)
    states = {status.value for status in Status}
    for counts in coverage.values():
        require(counts.keys() == coverage[ALL].keys() and states < counts.keys(), "counts of other states")
        require(max(counts.values()) <= attempts, "more attempts counted than seen")
    require(sum(coverage[ALL][state] for state in states) == attempts, "states that do not add up")


def check_counts(counts: Any) -> None:
    """Refuse what is not a count by group and kind."""
    fits = isinstance(counts, dict) and all(
        isinstance(kinds, dict) and all(type(count) is int and 0 <= count < 2**53 for count in kinds.values())
        for kinds in counts.values()
    )
    require(fits and ALL in counts and bool(counts[ALL]), "counts that are none")
