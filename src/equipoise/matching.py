"""Answers dealt to the prompts of a plan, by id or by text, never by the order of the file.

Ids and texts are compared by their 64-bit hashes, and an answer is known by its place in the plan from then on, so that
millions of prompts and answers need a few bytes each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.frames import ID, PROMPT, REPETITION

PLACE = "place"
OF = "of"
ROW = "row"
Numbers = NDArray[np.integer[Any]]
STEP = 100_000
"""How many prompts are dealt at a time: bounds the memory."""
_NONE = np.iinfo(np.int64).max
"""Stands for a repetition that is not given, and comes last."""


@dataclass(frozen=True, kw_only=True)
class Matching:
    """How many answers were read, and what became of them; and how many planned attempts have none."""

    read: int
    matched: int
    surplus: int
    unknown: int
    missing: int

    @classmethod
    def whole(cls, planned: int, missing: int) -> Matching:
        """When every answer is at its place already."""
        there = planned - missing
        return cls(read=there, matched=there, surplus=0, unknown=0, missing=missing)


class Index:
    """Where in a plan a hash stands, or several prompts with the same one."""

    def __init__(self, parts: list[NDArray[np.uint64]]) -> None:
        hashes = np.concatenate(parts)
        self.order = np.argsort(hashes, kind="stable").astype(np.uint32)
        self._sorted = hashes[self.order]

    def find(self, values: pl.Series) -> tuple[Numbers, Numbers]:
        """For each value its first place in `order`, and how many there are; none of a null."""
        hashes = values.hash().to_numpy()
        first, end = (np.searchsorted(self._sorted, hashes, side) for side in ("left", "right"))
        return first, np.where(values.is_not_null().to_numpy(), end - first, 0)


class Places:
    """Where each id and each text stands in a plan."""

    def __init__(self, prompts: Iterable[pl.DataFrame]) -> None:
        ids: list[NDArray[np.uint64]] = []
        texts: list[NDArray[np.uint64]] = []
        for batch in prompts:
            ids.append(batch[ID].hash().to_numpy())
            texts.append(batch[PROMPT].hash().to_numpy())
        self.size = sum(map(len, ids))
        self._ids, self._texts = Index(ids), Index(texts)

    def find(self, answers: pl.DataFrame) -> pl.DataFrame:
        """The answers that belong to a prompt: `id` and `prompt` give way to where that stands.

        With an id it is a place in the plan, and `of` is 0; else a place among the texts in order, of which `of` are
        the same.
        """
        place, count = self._ids.find(answers[ID])
        by_id = count > 0
        place[by_id] = self._ids.order[place[by_id]]
        of = np.zeros(len(place), dtype=np.int64)
        if not by_id.all():
            place[~by_id], of[~by_id] = self._texts.find(answers[PROMPT].filter(pl.Series(~by_id)))
        found = pl.DataFrame({PLACE: place, OF: of}, schema={PLACE: pl.UInt32, OF: pl.UInt32})
        return answers.drop(ID, PROMPT).hstack(found).filter(pl.Series(by_id | (of > 0)))

    def deal(self, answers: pl.DataFrame, repetitions: int) -> pl.DataFrame:
        """Give answers that were found to attempts: `row` of the answer, its `place` in the plan, its `repetition`.

        Those of one text are dealt to its prompts in the order of the plan, repetition by repetition. Of more answers
        than were planned, or of the same repetition, the first stay, and those with an id come first. The table is in
        the order of the plan.
        """
        place, of = answers[PLACE].to_numpy(), answers[OF].to_numpy()
        given = answers[REPETITION].fill_null(_NONE).to_numpy()
        with_id, with_text = np.flatnonzero(of == 0), np.flatnonzero(of)
        numbered = bool((given[with_id] >= 1).all() and (given[with_id] <= repetitions).all())
        with_id = with_id[np.argsort(place[with_id], kind="stable")]
        dealt = []
        for rows in np.split(with_id, np.searchsorted(place[with_id], range(STEP, self.size, STEP))):
            row, turn = _turns(rows, place, of, given)
            # Without numbers, or with numbers of another kind (from 0, say), they only say what comes first.
            dealt.append(_attempts(row, place[row], given[row] if numbered else turn + 1, repetitions))
        if len(with_text):
            row, turn = _turns(with_text, place, of, given)
            places = self._texts.order[place[row] + turn % of[row]]
            dealt.append(_attempts(row, places, turn // of[row] + 1, repetitions))
            return pl.concat(dealt).unique([PLACE, REPETITION], keep="first").sort(PLACE, REPETITION)
        return pl.concat(dealt)

    def matching(self, repetitions: int, *, read: int, found: int, dealt: int) -> Matching:
        """What became of the answers that were read."""
        return Matching(
            read=read,
            matched=dealt,
            surplus=found - dealt,
            unknown=read - found,
            missing=self.size * repetitions - dealt,
        )


def _turns(rows: Numbers, group: Numbers, of: Numbers, given: Numbers) -> tuple[Numbers, Numbers]:
    """The rows by group, in the order of their repetitions and then of the file, and the turn of each in its group.

    A repetition that is there once more for each prompt of the group is left out.
    """
    rows = rows[np.lexsort((given[rows], group[rows]))]
    again = (given[rows] != _NONE) & (_turn(group[rows], given[rows]) >= np.maximum(of[rows], 1))
    rows = rows[~again]
    return rows, _turn(group[rows])


def _attempts(rows: Numbers, places: Numbers, numbers: Numbers, repetitions: int) -> pl.DataFrame:
    """A table of what is planned of these."""
    planned = numbers <= repetitions
    return pl.DataFrame(
        {ROW: rows[planned], PLACE: places[planned], REPETITION: numbers[planned]},
        schema={ROW: pl.UInt32, PLACE: pl.UInt32, REPETITION: pl.Int64},
    )


def _turn(*columns: Numbers) -> Numbers:
    """How many rows with the same values stand before each, in sorted columns."""
    place = np.arange(len(columns[0]))
    return place - np.maximum.accumulate(np.where(_begins(*columns), place, 0))


def _begins(*columns: Numbers) -> NDArray[np.bool_]:
    """Whether a row differs from the one before it."""
    begins = np.ones(len(columns[0]), dtype=bool)
    begins[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return begins
