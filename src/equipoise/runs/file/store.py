"""A run file and its one owner, which writes: one model, some probes, every prompt, every attempt that has ended."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl
from msgspec.structs import replace

from equipoise.detect import Detector
from equipoise.errors import StorageError
from equipoise.measuring.exam import ExamQuestion
from equipoise.measuring.plan import Plan
from equipoise.runs.file import checks, sql, tables
from equipoise.runs.file.checks import Verify, beside
from equipoise.runs.file.connection import (
    connect_owner,
    describe_shortage,
    leave_one_file,
    on_error,
    transaction,
    translate_storage_errors,
)
from equipoise.runs.file.creation import extend_probe, write_run_file
from equipoise.runs.file.digests import Chain, write_digest
from equipoise.runs.file.ownership import Lock
from equipoise.runs.file.reader import RunReader, follow_link
from equipoise.runs.file.tables import encode_json, encode_text
from equipoise.runs.file.values import Attempt
from equipoise.runs.spec import RunRecord, RunSpec, to_plain
from equipoise.schema import ID, JUDGED, LABEL, MEASURED, REPETITION, Status, is_measured, replace_surrogates

RESERVE = 32 * 1024 * 1024
"""Bytes that must stay free, so that answers to requests under way can still be stored when nothing more is sent."""
RETRIED = tuple(status for status in Status if status not in (*MEASURED, Status.PENDING))
"""The states of attempts that can be asked again."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """By whom the answers of a probe were read."""

    probe: str
    reading: str
    detector: Detector
    judge: str | None


class RunFile(RunReader):
    """A run file that this process owns. Only its owner writes to it."""

    asked = "model"
    """Whom the pump asks."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock, reserve: int) -> None:
        super().__init__(path, connection)
        self.owned = True
        self._lock = lock
        self._reserve = reserve
        files = (path, beside(path, "-wal"), beside(path, "-shm"))
        self._identities = {file: file.stat() for file in files if file.exists()}
        """Which files these are, to tell them from others of the same names."""

    @classmethod
    def create(cls, path: Path, *, settings: RunRecord, plans: Iterable[Plan], reserve: int = RESERVE) -> RunFile:
        """Create a run with all prompts of the plans, and own it. The settings hold no secret."""
        path = follow_link(path)
        lock = Lock(path)
        with on_error(lock.release):
            write_run_file(path, settings, plans)
            return cls._take_ownership(path, lock, reserve, "layout")

    @classmethod
    def open(cls, path: Path, *, verify: Verify = "whole", reserve: int = RESERVE) -> RunFile:
        """Open the run as its owner, to go on with it. Refused while another process owns it."""
        path = follow_link(path)
        checks.check_file(path)  # first, so that no lock file is put beside what is not ours
        lock = Lock(path)
        with on_error(lock.release):
            return cls._take_ownership(path, lock, reserve, verify)

    @classmethod
    def _take_ownership(cls, path: Path, lock: Lock, reserve: int, verify: Verify) -> RunFile:
        with translate_storage_errors(path):
            if reserve and (problem := describe_shortage(path, reserve)):
                raise StorageError(problem)
            return cls(path, connect_owner(path, verify), lock, reserve)

    def close(self) -> None:
        """Close the file and leave one file that can be copied or, if the disk fails, resumed."""
        if not self.owned:
            return
        self.owned = False
        try:
            with translate_storage_errors(self.path):
                leave_one_file(self._connection)
            self._refuse_if_lost()
        finally:
            self._connection.close()
            is_lost = not self._is_in_place(self.path)
            for file in filter(self._is_in_place, self._identities if is_lost else ()):
                file.unlink()  # another file must not be read with this -wal
            self._lock.release(remove=is_lost or not beside(self.path, "-wal").exists())

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """Store everything that the body writes, durably, or nothing."""
        self._refuse_if_lost()
        with translate_storage_errors(self.path), transaction(self._connection):
            yield self._connection

    def _refuse_if_lost(self) -> None:
        if not self._is_in_place(self.path):
            raise StorageError(f"{self.path} was moved, deleted or replaced while it was in use.")

    def _is_in_place(self, file: Path) -> bool:
        try:
            return os.path.samestat(self._identities[file], file.stat())
        except FileNotFoundError:
            return False

    def short_of_space(self) -> str | None:
        """A message if the disk, or a limit on the size of files, leaves less than the reserve."""
        with translate_storage_errors(self.path):
            return describe_shortage(self.path, self._reserve) if self._reserve else None

    # The plan and the settings

    def extend(self, plans: Iterable[Plan], **settings: object) -> None:
        """Add the prompts of larger plans of probes that are in the file, and change settings; all of it or nothing."""
        with self._change() as connection:
            for plan in plans:
                extend_probe(connection, plan, self.path)
            self._write_settings(**settings)
        self._planned = None

    def raise_limit(self, max_tokens: int, model_settings: Mapping[str, Any], *, wanted: bool = True) -> None:
        """Ask all that has no answer yet with this limit on the length of answers. Probabilities need none.

        A limit that nobody `wanted` was raised because of the model's reasoning.
        """
        with self._change() as connection:
            self._write_settings(
                spec=replace(self.spec, max_tokens=max_tokens),
                model_settings=dict(model_settings),
                limit_raised=not wanted,
            )
            connection.execute(sql.RAISE_LIMITS, (max_tokens,))
            for planned in self.probes():
                write_digest(connection, f"probe {planned.name}")
        self._planned = None

    def set_judge(self, spec: RunSpec, judge_settings: Mapping[str, Any]) -> None:
        """Store a specification with a judge, and what the judge says of itself. An exam was that of another one."""
        with self._change() as connection:
            self._write_settings(spec=spec, judge_settings=dict(judge_settings), judge_dropped=[])
            connection.execute(sql.REMOVE_EXAM)
            write_digest(connection, "exam")

    def remove_judge(self) -> None:
        """Forget the judge, of whom there are no verdicts. Its exam stays."""
        with self._change():
            self._write_settings(spec=self.spec.without_judge(), judge_settings=None)

    @property
    def dropped(self) -> list[str] | None:
        """Parameters that are not sent because the endpoint rejected them; None: how it was asked is not known."""
        return None if self.settings.imported else self.settings.dropped

    def add_notes(self, notes: Iterable[str], **dropped: list[str]) -> None:
        """Add notes to `settings.notes`, each of them once, and store which parameters were `dropped` by then."""
        with self._change():
            stored = self.settings
            fields = {name: [*dict.fromkeys([*getattr(stored, name), *names])] for name, names in dropped.items()}
            known = dict.fromkeys([*stored.notes, *map(replace_surrogates, notes)])
            self._write_settings(notes=[*known], **fields)

    def _write_settings(self, **fields: object) -> None:
        changed = to_plain(replace(self.settings, **fields))
        for name in fields:
            self._connection.execute(sql.SET_SETTING, (name, encode_json(changed[name])))
            write_digest(self._connection, f"setting {name}")

    # Attempts and verdicts

    def record(self, attempts: Iterable[Attempt]) -> int:
        """Store attempts that were pending, durably; return how many.

        StorageError if another file has taken the place of this one.
        """
        return self._record(map(tables.attempt_row, attempts))

    def record_imported(self, attempts: pl.DataFrame) -> int:
        """The same for answers from elsewhere: probe, prompt, repetition, status and answer."""
        return self._record(tables.imported_rows(attempts))

    def _record(self, contents: Iterable[tuple[object, ...]]) -> int:
        with self._change() as connection:
            chained = Chain.read(connection)
            before, rows = chained.length, map(chained.add, contents)
            while group := list(islice(rows, sql.ATTEMPTS_PER_STATEMENT)):
                if len(group) == sql.ATTEMPTS_PER_STATEMENT:
                    connection.execute(sql.ADD_ATTEMPTS, list(chain(*group)))
                else:
                    connection.executemany(sql.ADD_ATTEMPT, group)
            chained.write(connection)
            return chained.length - before

    def ask_again(self, statuses: Iterable[Status]) -> int:
        """Make failed attempts pending again; return how many. The failures are kept in `earlier_failures`."""
        statuses = list(statuses)
        assert set(statuses) <= set(RETRIED), "an answer is never asked again"
        return self._set_aside(sql.IN_STATE, [(status,) for status in statuses])

    def set_failures_aside(self, keys: Iterable[tuple[str, str, int]]) -> None:
        """Make these failed attempts (probe, prompt, repetition) pending: an answer came. The failures are kept."""
        self._set_aside(sql.THIS_FAILURE, list(keys))

    def _set_aside(self, condition: str, values: list[tuple[Any, ...]]) -> int:
        with self._change() as connection:
            connection.executemany(sql.KEEP_FAILURES.format(condition), values)
            return connection.executemany(sql.REMOVE_FAILURES.format(condition), values).rowcount

    def record_verdicts(self, verdicts: Iterable[tuple[str, Attempt]]) -> None:
        """Store what became of questions to the judge durably, as attempts are."""
        with self._change() as connection:
            chained = Chain.read(connection)
            rows = [chained.add((*tables.attempt_row(one), encode_text(question))) for question, one in verdicts]
            connection.executemany(sql.ADD_VERDICT, rows)
            chained.write(connection)

    def record_exam(self, answers: Iterable[tuple[ExamQuestion, Attempt]]) -> None:
        """Store answers of the judge's exam durably."""
        with self._change() as connection:
            connection.executemany(sql.ADD_EXAM_ANSWER, (tables.exam_row(*answer) for answer in answers))
            write_digest(connection, "exam")

    def replace_labels(self, labels: Iterable[tuple[Reading, Iterable[pl.DataFrame]]]) -> None:
        """Store what the answers say, in place of what was stored; all of it or nothing.

        The frames hold evaluated attempts. Labels are for other tools: equipoise reads the answers anew.
        """
        with self._change() as connection:
            for statement in sql.REMOVE_LABELS:
                connection.execute(statement)
            for reading, frames in labels:
                by = (reading.probe, reading.reading, reading.detector.title, reading.judge)
                connection.execute(sql.ADD_READING, by)
                for frame in frames:
                    connection.executemany(sql.ADD_LABEL, _label_rows(reading, frame.filter(is_measured())))
            write_digest(connection, "labels")


def _label_rows(reading: Reading, measured: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Label, counts as JSON, whether the label is the judge's; then the key of the attempt."""
    counts = reading.detector.counts
    labels = measured[LABEL] if not counts else [None] * measured.height
    counted = map(encode_json, measured.select(counts).iter_rows(named=True)) if counts else [None] * measured.height
    judged = map(int, measured[JUDGED]) if JUDGED in measured.columns else [0] * measured.height
    return zip(
        labels, counted, judged, [reading.probe] * measured.height, measured[ID], measured[REPETITION], strict=True
    )
