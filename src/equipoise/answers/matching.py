"""Answers matched to the prompts of a plan by id or by text, never by the order of the file.

Ids and texts are compared by their 64-bit hashes, and from then on an answer is known by its place in the plan, so that
millions of prompts and answers need a few bytes each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.errors import InputError
from equipoise.measuring.result import Matching
from equipoise.schema import ID, PROMPT, REPETITION, STATUS, Status, is_measured

PLACE = "place"
CANDIDATES = "candidates"
ROW = "row"
RANK = "rank"
"""Which of several rows for an attempt is kept: 0 an answer to measure, 1 a failure, 2 what was never asked."""
Numbers = NDArray[np.integer[Any]]
PROMPTS_PER_STEP = 100_000
"""How many prompts are matched at a time. It bounds the memory."""
_NO_REPETITION = np.iinfo(np.int64).max
"""Stands for a repetition that is not given, and sorts last."""
_UNRANKED = pl.lit(0, pl.UInt8).alias(RANK)


def refuse_nothing_matched(matching: Matching) -> None:
    """Refuse answers of which none belongs to the plan: a result without answers would say nothing."""
    if matching.read and not matching.matched:
        raise InputError(
            f"None of the {matching.read:,} answers belongs to a planned prompt. "
            "Were the prompts planned with another probe, or other parameters (--sample, --seed, --set, --suite)?"
        )


def hash_keys(answers: pl.DataFrame) -> pl.DataFrame:
    """The answers with the hashes of `id` and `prompt` in their place; null stays null."""
    return answers.with_columns(pl.when(pl.col(name).is_not_null()).then(pl.col(name).hash()) for name in (ID, PROMPT))


class HashIndex:
    """Where in a plan a hash stands, or several prompts with the same hash."""

    def __init__(self, parts: list[NDArray[np.uint64]]) -> None:
        hashes = np.concatenate(parts)
        self.order = np.argsort(hashes, kind="stable").astype(np.uint32)
        self._sorted = hashes[self.order]
        self._are_unique = bool((self._sorted[1:] != self._sorted[:-1]).all())

    def find(self, values: pl.Series) -> tuple[Numbers, Numbers]:
        """For each hash its first position in `order`, and how many there are; no position for a null."""
        hashes = values.fill_null(0).to_numpy()
        first = np.searchsorted(self._sorted, hashes)
        if self._are_unique and len(self._sorted):
            count = (self._sorted[np.minimum(first, len(self._sorted) - 1)] == hashes).astype(np.int64)
        else:
            count = np.searchsorted(self._sorted, hashes, "right") - first
        return first, np.where(values.is_not_null().to_numpy(), count, 0)


class PromptIndex:
    """Where each id and each text stands in a plan. The columns named in `keep` are kept for every prompt.

    Without `texts`, answers are found by their ids alone.
    """

    def __init__(self, prompts: Iterable[pl.DataFrame], keep: Sequence[str] = (), *, texts: bool = True) -> None:
        ids: list[NDArray[np.uint64]] = []
        hashed_texts: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
        kept: list[pl.DataFrame] = []
        for batch in prompts:
            ids.append(batch[ID].hash().to_numpy())
            if texts:
                hashed_texts.append(batch[PROMPT].hash().to_numpy())
            kept.append(batch.select(keep))
        self.size = sum(map(len, ids))
        self._hashed_ids, self._hashed_texts = np.concatenate(ids), hashed_texts
        self._next = 0
        """The place after the last one that was found by its id."""
        self._kept = pl.concat(kept)

    @cached_property
    def _ids(self) -> HashIndex:
        """Sorted when answers come in another order than that of the plan for the first time; many do not."""
        return HashIndex([self._hashed_ids])

    @cached_property
    def _texts(self) -> HashIndex:
        """Sorted when an answer is found by its text for the first time; most have an id."""
        return HashIndex(self._hashed_texts)

    def find(self, answers: pl.DataFrame) -> pl.DataFrame:
        """The answers that belong to a prompt: the hashes of `id` and `prompt` are replaced by where that stands.

        For an id, `place` is the place in the plan and `candidates` is 0. For a text, `place` is the position among the
        sorted texts, and `candidates` is the number of prompts that have this text. `rank` is by the status, if it is
        there.
        """
        place, by_id = self._find_ids(answers[ID])
        candidates = np.zeros(len(place), dtype=np.int64)
        if not by_id.all():
            place[~by_id], candidates[~by_id] = self._texts.find(answers[PROMPT].filter(pl.Series(~by_id)))
        places = pl.DataFrame({PLACE: place, CANDIDATES: candidates}, schema={PLACE: pl.UInt32, CANDIDATES: pl.UInt32})
        ranked = answers.drop(ID, PROMPT).with_columns(_rank() if STATUS in answers.columns else _UNRANKED)
        return ranked.hstack(places).filter(pl.Series(by_id | (candidates > 0)))

    def _find_ids(self, ids: pl.Series) -> tuple[Numbers, NDArray[np.bool_]]:
        """For the hash of each id its place in the plan, and whether it has one."""
        start, end = self._next, self._next + len(ids)
        place: Numbers
        if not ids.has_nulls() and np.array_equal(self._hashed_ids[start:end], ids.to_numpy()):
            place, found = np.arange(start, end), np.ones(len(ids), dtype=bool)
        else:
            place, count = self._ids.find(ids)
            found = count > 0
            place[found] = self._ids.order[place[found]]
        self._next = int(place[found][-1]) + 1 if found.any() else start
        return place, found

    def join_kept(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Add the kept columns of their prompts to found answers that have at most one candidate."""
        places = answers[PLACE].to_numpy().copy()
        by_text = answers[CANDIDATES].to_numpy() > 0
        if by_text.any():
            places[by_text] = self._texts.order[places[by_text]]
        return self.join_kept_at(answers, places)

    def join_kept_at(self, answers: pl.DataFrame, places: Numbers) -> pl.DataFrame:
        """Add the kept columns of the prompts at these places of the plan."""
        return answers.hstack(self._kept[places]) if self._kept.width else answers

    def assign(self, answers: pl.DataFrame, repetitions: int) -> pl.DataFrame:
        """Assign found answers to attempts: `row` of the answer, its `place` in the plan, its `repetition`.

        Answers with the same text go to its prompts in the order of the plan, repetition by repetition. If there are
        more answers than were planned, or several for one repetition, answers are kept before failures (`rank`), then
        the first, and those with an id come first. The table is in the order of the plan.
        """
        place, candidates, rank = (answers[name].to_numpy() for name in (PLACE, CANDIDATES, RANK))
        given = answers[REPETITION].fill_null(_NO_REPETITION).to_numpy()
        with_id, with_text = np.flatnonzero(candidates == 0), np.flatnonzero(candidates)
        numbered = bool((given[with_id] >= 1).all() and (given[with_id] <= repetitions).all())
        with_id = with_id[np.argsort(place[with_id], kind="stable")]
        steps = range(PROMPTS_PER_STEP, self.size, PROMPTS_PER_STEP)
        assigned = []
        for rows in np.split(with_id, np.searchsorted(place[with_id], steps)):
            row, turn = _take_turns(rows, place, candidates, given, rank)
            # Without numbers, or with numbers of another kind (from 0, say), they only say which comes first.
            assigned.append(_attempts(row, place[row], given[row] if numbered else turn + 1, repetitions))
        if len(with_text):
            row, turn = _take_turns(with_text, place, candidates, given, rank)
            places = self._texts.order[place[row] + turn % candidates[row]]
            assigned.append(_attempts(row, places, turn // candidates[row] + 1, repetitions))
            both = pl.concat(assigned)
            both = both[np.argsort(rank[both[ROW].to_numpy()], kind="stable")]
            return both.unique([PLACE, REPETITION], keep="first").sort(PLACE, REPETITION)
        return pl.concat(assigned)

    def count_matches(self, repetitions: int, *, read: int, found: int, assigned: int) -> Matching:
        """What became of the answers that were read."""
        return Matching(
            read=read,
            matched=assigned,
            surplus=found - assigned,
            unknown=read - found,
            missing=self.size * repetitions - assigned,
        )


def _rank() -> pl.Expr:
    pending = pl.col(STATUS) == Status.PENDING.value
    return pl.when(is_measured()).then(0).when(pending).then(2).otherwise(1).cast(pl.UInt8).alias(RANK)


def _take_turns(
    rows: Numbers, group: Numbers, candidates: Numbers, given: Numbers, rank: Numbers
) -> tuple[Numbers, Numbers]:
    """The rows by group, in the order of their repetitions, their rank and the file, and the turn of each in its group.

    A repetition that is given more often than the group has prompts is left out from then on.
    """
    in_order = group[rows]
    if (in_order[1:] > in_order[:-1]).all():  # one row for each group, as in most files
        return rows, np.zeros(len(rows), np.int64)
    rows = rows[np.lexsort((rank[rows], given[rows], in_order))]
    repeated = (given[rows] != _NO_REPETITION) & (
        _count_equal_before(group[rows], given[rows]) >= np.maximum(candidates[rows], 1)
    )
    rows = rows[~repeated]
    return rows, _count_equal_before(group[rows])


def _attempts(rows: Numbers, places: Numbers, numbers: Numbers, repetitions: int) -> pl.DataFrame:
    """The rows whose repetition is planned, as a table."""
    planned = numbers <= repetitions
    return pl.DataFrame(
        {ROW: rows[planned], PLACE: places[planned], REPETITION: numbers[planned]},
        schema={ROW: pl.UInt32, PLACE: pl.UInt32, REPETITION: pl.Int64},
    )


def _count_equal_before(*columns: Numbers) -> Numbers:
    """For each row of sorted columns how many rows with the same values stand before it."""
    place = np.arange(len(columns[0]))
    return place - np.maximum.accumulate(np.where(_differs_from_previous(*columns), place, 0))


def _differs_from_previous(*columns: Numbers) -> NDArray[np.bool_]:
    """For each row whether it differs from the one before it."""
    differs = np.ones(len(columns[0]), dtype=bool)
    differs[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return differs
