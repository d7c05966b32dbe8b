"""Answers matched to the prompts of a plan by id or by text, never by the order of the file.

Ids and texts are compared by their 64-bit hashes, and from then on an answer is known by its place in the plan, so that
millions of prompts and answers need a few bytes each. Scoring, partials and imports all match in this way: every table
of answers goes through `PromptIndex.find`, then all of them together through `PromptIndex.assign`.
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
KEYS = (PLACE, CANDIDATES, REPETITION, RANK)
"""What is known of a found answer, and all that is needed to assign it; `place` is final only after `assign`."""
Numbers = NDArray[np.integer[Any]]
_NO_REPETITION = np.iinfo(np.int64).max
"""Stands for a repetition that is not given, and sorts last."""


def refuse_nothing_matched(matching: Matching) -> None:
    """Refuse answers of which none belongs to the plan: a result without answers would say nothing."""
    if matching.read and not matching.matched:
        raise InputError(
            f"None of the {matching.read:,} answers belongs to a planned prompt. "
            "Were the prompts planned with another probe, or other parameters (--sample, --seed, --set, --suite)?"
        )


class HashIndex:
    """Where in a plan a hash stands, or several prompts with the same hash."""

    def __init__(self, hashes: NDArray[np.uint64]) -> None:
        self.order = np.argsort(hashes, kind="stable").astype(np.uint32)
        self._sorted = hashes[self.order]

    def find(self, hashes: pl.Series) -> tuple[Numbers, Numbers]:
        """For each hash its first position in `order`, and how many there are; none for a null."""
        values = hashes.fill_null(0).to_numpy()
        first = np.searchsorted(self._sorted, values)
        count = np.searchsorted(self._sorted, values, "right") - first
        return first, np.where(hashes.is_not_null().to_numpy(), count, 0)


class PromptIndex:
    """Where each id and each text stands in a plan. The columns named in `keep` are `kept` for every prompt.

    `repetitions` says how often each prompt is asked, or all of them. Without `texts`, answers are found by id alone.
    """

    def __init__(
        self,
        prompts: Iterable[pl.DataFrame],
        repetitions: int | Numbers = 1,
        keep: Sequence[str] = (),
        *,
        texts: bool = True,
    ) -> None:
        ids, hashed_texts, kept = [], [np.zeros(0, np.uint64)], []
        for batch in prompts:
            ids.append(batch[ID].hash().to_numpy())
            if texts:
                hashed_texts.append(batch[PROMPT].hash().to_numpy())
            kept.append(batch.select(keep))
        self._ids = HashIndex(np.concatenate(ids))
        self._hashed_texts = hashed_texts
        self.kept = pl.concat(kept)
        self.repetitions = np.broadcast_to(repetitions, len(self._ids.order))

    @cached_property
    def _texts(self) -> HashIndex:
        """Sorted when an answer is found by its text for the first time; most have an id."""
        return HashIndex(np.concatenate(self._hashed_texts))

    def find(self, answers: pl.DataFrame) -> pl.DataFrame:
        """The answers that belong to a prompt, with `KEYS` in place of `id` and `prompt`.

        For an id, `place` is the place in the plan and `candidates` is 0. For a text, `place` is the position among the
        sorted texts, and `candidates` is the number of prompts that have this text. `rank` is by the status, if it is
        there.
        """
        ids, texts = (
            answers.select(pl.when(pl.col(name).is_not_null()).then(pl.col(name).hash())).to_series()
            for name in (ID, PROMPT)
        )
        place, found = self._ids.find(ids)
        by_id = found > 0
        place[by_id] = self._ids.order[place[by_id]]
        candidates = np.zeros(len(place), dtype=np.int64)
        if not by_id.all():
            place[~by_id], candidates[~by_id] = self._texts.find(texts.filter(pl.Series(~by_id)))
        places = pl.DataFrame({PLACE: place, CANDIDATES: candidates}, schema={PLACE: pl.UInt32, CANDIDATES: pl.UInt32})
        rank = _rank_states() if STATUS in answers.columns else pl.lit(0, pl.UInt8)
        ranked = answers.drop(ID, PROMPT).with_columns(rank.alias(RANK))
        return ranked.hstack(places).filter(pl.Series(by_id | (candidates > 0)))

    def join_kept(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Add the kept columns of their prompts to found answers that have at most one candidate."""
        places = answers[PLACE].to_numpy().copy()
        by_text = answers[CANDIDATES].to_numpy() > 0
        if by_text.any():
            places[by_text] = self._texts.order[places[by_text]]
        return answers.hstack(self.kept[places])

    def assign(self, answers: pl.DataFrame, read: int) -> tuple[pl.DataFrame, Matching]:
        """Assign found answers to attempts: `row` of the answer, its `place` in the plan, its `repetition`.

        Answers with the same text go to its prompts in the order of the plan, repetition by repetition. If there are
        more answers than were planned, or several for one repetition, answers are kept before failures (`rank`), then
        the first, and those with an id come first. The table is in the order of the plan. Also says what became of the
        answers, of which so many were `read`.
        """
        place, candidates, rank = (answers[name].to_numpy() for name in (PLACE, CANDIDATES, RANK))
        given = answers[REPETITION].fill_null(_NO_REPETITION).to_numpy()
        by_text = candidates > 0
        group = place + by_text * np.uint64(len(self.repetitions))
        prompts = np.maximum(candidates, 1)
        rows: Numbers = np.arange(len(group))
        if not (group[1:] > group[:-1]).all():  # else there is one answer for each prompt, in order, as in most files
            rows = np.lexsort((rank, given, group))
            is_given = given[rows] != _NO_REPETITION
            too_often = is_given & (_count_equal_before(group[rows], given[rows]) >= prompts[rows])
            rows = rows[~too_often]
        turn = _count_equal_before(group[rows])
        places, repetition = place[rows], turn // prompts[rows] + 1
        with_text = by_text[rows]
        if with_text.any():
            places[with_text] = self._texts.order[place[rows] + turn % prompts[rows]][with_text]
        # Numbers of another kind (from 0, say) only say which comes first.
        stated, most = given[rows][~with_text], self.repetitions[places[~with_text]]
        if ((stated >= 1) & (stated <= most)).all():
            repetition[~with_text] = stated
        assigned = pl.DataFrame(
            {ROW: rows, PLACE: places, REPETITION: repetition},
            schema={ROW: pl.UInt32, PLACE: pl.UInt32, REPETITION: pl.Int64},
        ).filter(pl.Series(repetition <= self.repetitions[places]))
        if with_text.any():
            ranked = assigned[np.argsort(rank[assigned[ROW].to_numpy()], kind="stable")]
            assigned = ranked.unique([PLACE, REPETITION], keep="first").sort(PLACE, REPETITION)
        return assigned, Matching(
            read=read,
            matched=assigned.height,
            surplus=answers.height - assigned.height,
            unknown=read - answers.height,
            missing=int(self.repetitions.sum()) - assigned.height,
        )


def _rank_states() -> pl.Expr:
    pending = pl.col(STATUS) == Status.PENDING.value
    return pl.when(is_measured()).then(0).when(pending).then(2).otherwise(1).cast(pl.UInt8)


def _count_equal_before(*columns: Numbers) -> Numbers:
    """For each row of sorted columns how many rows with the same values stand before it."""
    place = np.arange(len(columns[0]))
    differs = np.ones(len(place), dtype=bool)
    differs[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return place - np.maximum.accumulate(np.where(differs, place, 0))
