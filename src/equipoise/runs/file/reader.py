"""A run file that is open for reading: its settings and plan, what is pending, its attempts, verdicts and counts.

An attempt that is planned and not stored is pending. So the states always add up to the plan, and to resume a run is to
ask for the attempts that are not there.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from equipoise.errors import IntegrityError, StorageError
from equipoise.runs.file import checks, sql, values
from equipoise.runs.file.connection import connect, translate_storage_errors
from equipoise.runs.file.values import ANSWERS, Pending, Provenance, StoredPlan
from equipoise.runs.spec import RunRecord, RunSpec
from equipoise.schema import ID, LENGTH_REASONS, STATUS, SYSTEM, Counts, Status

BATCH = 20_000
"""Rows in one frame, about."""
BATCH_BYTES = 16_000_000
"""Bytes of text in one frame, about."""
_MOST_TOKENS = 10**15


class RunReader:
    """A run file that is open for reading, also while its owner writes. Nothing in it is believed unchecked."""

    owned = False
    """Whether this process may write to it."""
    prompts_checked = True
    """Whether all prompts were checked when it was opened, or since then."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: Path, *, already_checked: bool = False) -> RunReader:
        """Open the run for reading. Its content is checked, unless the caller has done that before."""
        path = follow_link(path)
        return RunReader(path, connect(path, owner=False, already_checked=already_checked))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        try:
            self.close()
        except StorageError:
            if error is None:  # else the first one is reported
                raise

    # The plan

    @property
    def spec(self) -> RunSpec:
        """What the run asks, of whom and how."""
        return self.record.spec

    @property
    def record(self) -> RunRecord:
        """What the file says of itself: the specification of the run, and what became of it."""
        with translate_storage_errors(self.path):
            return checks.read_settings(self._connection, self.path)

    def probes(self) -> list[StoredPlan]:
        """The probes of the run, by name."""
        with translate_storage_errors(self.path):
            return checks.read_plan(self._connection)

    def prompts(self, probe: str) -> Iterator[pl.DataFrame]:
        """The prompts of a probe in the order of its plan: `id`, `item`, `prompt`, covariates.

        As one frame or more of bounded size, always whole items.
        """
        return self._read_items(probe, sql.PROMPTS, {})

    # What is pending

    def pending(self) -> Iterator[Pending]:
        """The pending attempts, in an order of which any beginning is a fair sample of the whole.

        One repetition after another, and within each all probes at the same pace, each in its own seeded order.
        """
        probes = self.probes()
        for repetition in range(1, max((probe.repetitions for probe in probes), default=0) + 1):
            streams = [self._pending(probe, repetition) for probe in probes if repetition <= probe.repetitions]
            yield from heapq.merge(*streams, key=lambda pending: pending.place)

    def _pending(self, probe: StoredPlan, repetition: int) -> Iterator[Pending]:
        with translate_storage_errors(self.path):
            rows = self._connection.execute(sql.PENDING, (probe.name, repetition))
            positions = np.sort(np.fromiter((position for (position,) in rows), np.int64))
        for part in np.split(positions, np.flatnonzero(np.diff(positions // checks.BLOCK)) + 1):
            yield from self._prompts_at(probe, repetition, set(part.tolist()))

    def _prompts_at(self, probe: StoredPlan, repetition: int, positions: set[int]) -> Iterator[Pending]:
        """The prompts at these positions, all of one block, which is checked before any of them is asked."""
        part = checks.name_block(probe.name, max(positions, default=0) // checks.BLOCK)
        with translate_storage_errors(self.path):
            block = checks.read_part(self._connection, self.path, part)
        for _, prompt, position, _, _, text, system in block:
            if position in positions:
                place = (position + 0.5) / probe.prompts
                yield Pending(probe.name, prompt, repetition, text, system, place, probe.asking)

    def answered(self) -> Pending | None:
        """The prompt that was answered last, if there is one."""
        probes = {planned.name: planned for planned in self.probes()}
        for probe, repetition, position in self._rows(sql.LAST_ANSWER):
            return next(self._prompts_at(probes[probe], repetition, {position}), None)
        return None

    def judged(self) -> Pending | None:
        """The question that got the last verdict, if there is one."""
        return next((Pending(*row) for row in self._rows(sql.LAST_VERDICT)), None)

    # The attempts

    def attempts(
        self, probe: str, columns: values.Schema = ANSWERS, among: Sequence[str] | None = None
    ) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """Some prompts, whole items, and these columns of the attempts at them that have ended, beside their prompts.

        In the order of the plan, as one pair or more of bounded size; of all prompts, or of those with the ids `among`.
        """
        added = {name: kind for name, kind in columns.items() if name != ID}
        wanted = None if among is None else values.encode_json(list(among))
        for rows in self._read_items(probe, sql.ATTEMPTS.format(", ".join(added)), added, wanted):
            prompts = rows.drop(*added).unique(ID, keep="first", maintain_order=True)
            yield prompts, rows.filter(pl.col(STATUS).is_not_null())

    def _read_items(
        self, probe: str, statement: str, added: values.Schema, ids: str | None = None
    ) -> Iterator[pl.DataFrame]:
        """Rows of prompts, whole items, in frames of bounded size: an answer may have many megabytes.

        At least one frame. No statement is left open, which would be in the way when the owner closes the file.
        """
        if not self.prompts_checked:
            with translate_storage_errors(self.path):
                for part in checks.name_blocks(self.probes()):
                    checks.read_part(self._connection, self.path, part)
            self.prompts_checked = True
        types = next((planned.covariates for planned in self.probes() if planned.name == probe), {})
        last, is_more = -1, True
        while is_more:
            batch: list[Any] = []
            size, is_more = 0, False
            with translate_storage_errors(self.path):
                named = {"probe": probe, "last": last, "ids": ids}
                with closing(self._connection.execute(statement, named)) as rows:
                    for row in rows:
                        if (size > BATCH_BYTES or len(batch) >= BATCH) and row[1] != batch[-1][1]:
                            is_more = True
                            break
                        batch.append(row)
                        size += values.count_bytes(row)
                frame = values.read_prompts(batch, types, added)
            if missing := [column for column in types if column != SYSTEM and frame[column].null_count()]:
                raise IntegrityError(f"{self.path} is damaged: prompts of {probe} lack {', '.join(missing)}.")
            yield frame
            last = batch[-1][0] if batch else last

    def ended(self) -> pl.DataFrame:
        """The attempts that have ended: `probe`, `id`, `repetition`, `status`."""
        return pl.DataFrame(self._rows(sql.ENDED), schema=values.ENDED, orient="row")

    def verdicts(self, probe: str) -> pl.DataFrame:
        """What the judge of the run said: `id`, `repetition`, `status`, `verdict` (its words).

        The last verdict on each answer of a probe, and the answers of the exam, whose `id` is `exam`.
        """
        rows = self._rows(sql.VERDICTS, probe, self.record.judged_from)
        return pl.DataFrame([row[:-1] for row in rows], schema=values.VERDICTS, orient="row")

    # Counts

    def states(self) -> dict[str, Counts]:
        """For each probe, how many attempts are in each state. They add up to the plan."""
        states: dict[str, Counts] = {}
        for probe, status, count in self._rows(sql.STATES):
            states.setdefault(probe, Counts())[Status(status)] = count
        return states

    def counts(self) -> Counts:
        """How many attempts are in each state, over all probes."""
        states = self.states().values()
        return Counts({status: sum(counts[status] for counts in states) for status in Status})

    def usage(self, role: str = "model") -> tuple[int, int]:
        """Tokens of all prompts to the "model", or questions to a "judge", and of all answers, as far as counted."""
        ((prompts, completions),) = self._rows(sql.USAGE[role])
        if not 0 <= min(prompts, completions) <= max(prompts, completions) <= _MOST_TOKENS:
            raise IntegrityError(f"{self.path} is damaged: no run has so many tokens.")
        return int(prompts), int(completions)

    def provenance(self) -> Provenance:
        """Where the answers come from, what they took, and one digest for the whole content."""
        served = self._rows(sql.SERVED)
        ((earlier,),) = self._rows(sql.COUNT_EARLIER_FAILURES)
        ((spent_on_reasoning,),) = self._rows(sql.COUNT_EMPTY, values.encode_json(sorted(LENGTH_REASONS)))
        return Provenance(
            digest=checks.content_digest(self._connection),
            served=[row[:3] for row in served],
            first=min((first for *_, first, _ in served), default=None),
            last=max((last for *_, last in served), default=None),
            failures=self._rows(sql.COMMON_FAILURES),
            earlier_failures=earlier,
            spent_on_reasoning=spent_on_reasoning,
            usage=self.usage(),
            judge_usage=self.usage("judge"),
        )

    def _rows(self, statement: str, *given: object) -> list[Any]:
        with translate_storage_errors(self.path):
            return self._connection.execute(statement, given).fetchall()


def follow_link(path: Path) -> Path:
    """The file that a symbolic link leads to: SQLite and the lock have their files beside that one."""
    return path.resolve() if os.path.islink(path) else path  # noqa: PTH114 - never raises
