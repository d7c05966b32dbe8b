"""A run file and its one owner, which writes: one model, some probes, every prompt, every attempt that has ended."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl
from msgspec.structs import replace

from equipoise.errors import IntegrityError, StorageError
from equipoise.measuring.exam import ExamQuestion
from equipoise.measuring.plan import Plan
from equipoise.runs.file import checks, creation, opening, sql, tables
from equipoise.runs.file.columns import encode_json
from equipoise.runs.file.digests import Chain, write_exam_digest, write_probe_digest, write_setting
from equipoise.runs.file.labels import Reading, write_labels
from equipoise.runs.file.lock import Lock
from equipoise.runs.file.reader import RunReader, follow_link
from equipoise.runs.file.space import describe_shortage
from equipoise.runs.file.storage_errors import translate_storage_errors
from equipoise.runs.file.undo import on_error
from equipoise.runs.file.values import Attempt, Verdict
from equipoise.runs.spec import RunRecord, RunSpec
from equipoise.schema import MEASURED, Status, replace_surrogates

RESERVE = 32 * 1024 * 1024
"""Bytes that must stay free, so that answers to requests under way can still be stored when nothing more is sent."""
RETRIED = tuple(status for status in Status if status not in (*MEASURED, Status.PENDING))
"""The states of attempts that can be asked again."""


class RunFile(RunReader):
    """A run file that this process owns. Only its owner writes to it."""

    asked = "model"
    """Whom the pump asks."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock, reserve: int) -> None:
        super().__init__(path, connection)
        self._lock: Lock | None = lock
        """None once the file is closed."""
        self._reserve = reserve
        self._identities = {path: path.stat()}
        """Which files the run file and what SQLite keeps beside it are, to tell them from others of the same names."""
        self._lost: str | None = None
        """What to say once the file is not where it was."""

    @classmethod
    def create(cls, path: Path, *, settings: RunRecord, plans: Iterable[Plan], reserve: int = RESERVE) -> RunFile:
        """Create a run with all prompts of the plans, and own it. The settings hold no secret."""
        path = follow_link(path)
        lock = Lock(path)
        with on_error(lock.release):
            creation.write_run_file(path, settings, plans)
        return cls._take_ownership(path, lock, reserve)

    @classmethod
    def open(cls, path: Path, *, whole: bool = True, reserve: int = RESERVE) -> RunFile:
        """Open the run as its owner, to go on with it. Refused while another process owns it.

        If not the `whole` file is verified first, what is asked from it is checked as it is read.
        """
        path = follow_link(path)
        checks.check_file(path)  # first, so that no lock file is put beside what is not ours
        return cls._take_ownership(path, Lock(path), reserve, whole=whole)

    @classmethod
    def _take_ownership(cls, path: Path, lock: Lock, reserve: int, *, whole: bool = True) -> RunFile:
        with on_error(lock.release):
            run = cls(path, opening.connect_owner(path, whole=whole), lock, reserve)
        try:
            run._mark_in_use(lock)
        except BaseException:
            with contextlib.suppress(StorageError, IntegrityError):
                run.close()
            raise
        return run

    def _mark_in_use(self, lock: Lock) -> None:
        if problem := self.short_of_space():
            raise StorageError(problem)
        with translate_storage_errors(self.path):
            lock.write_owner()
            opening.mark_in_use(self._connection)
            files = (self.path, checks.wal_path(self.path), self.path.with_name(self.path.name + "-shm"))
            self._identities = {file: file.stat() for file in files if file.exists()}

    @property
    def owned(self) -> bool:
        """Whether this process may write to it."""
        return self._lock is not None

    def close(self) -> None:
        """Close the file and leave one file that can be copied or, if the disk fails, resumed."""
        lock, self._lock, clean = self._lock, None, False
        try:
            if lock and self._lost is None:
                self._refuse_if_lost()
                with translate_storage_errors(self.path):
                    opening.release(self._connection)
                clean = True
        finally:
            self._connection.close()
            if lock:
                lock.release(clean=clean or self._lost is not None)

    def extend(self, plans: Iterable[Plan], **settings: object) -> None:
        """Add the prompts of larger plans of probes that are in the file, and change settings; all of it or nothing."""
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            for plan in plans:
                creation.extend_probe(self._connection, plan, self.path)
            self._write_settings(**settings)
        self._planned = None

    def record(self, attempts: Iterable[Attempt]) -> int:
        """Store attempts durably; return how many are new. An attempt that is already stored stays as it is.

        StorageError if another file has taken the place of this one.
        """
        self._refuse_if_lost()
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            chained, rows = Chain.read(self._connection), map(tables.attempt_row, attempts)
            before = chained.length
            while group := list(islice(rows, sql.ATTEMPTS_PER_STATEMENT)):
                new = [chained.add(row) for row in self._without_stored(group)]
                if len(new) == sql.ATTEMPTS_PER_STATEMENT:
                    self._connection.execute(sql.ADD_ATTEMPTS, list(chain(*new)))
                else:
                    self._connection.executemany(sql.ADD_ATTEMPT, new)
            chained.write(self._connection)
            return chained.length - before

    def _without_stored(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The rows whose attempts are not stored, each attempt once."""
        by_key = {row[:3]: row for row in reversed(rows)}
        statement, keys = sql.stored_among(len(by_key)), list(chain(*by_key))
        for stored in self._connection.execute(statement, keys).fetchall():
            del by_key[stored]
        return list(reversed(by_key.values()))

    def ask_again(self, statuses: Iterable[Status]) -> int:
        """Make failed attempts pending again; return how many. The failures are kept in `earlier_failures`."""
        statuses = list(statuses)
        assert set(statuses) <= set(RETRIED), "an answer is never asked again"
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            for status in statuses:
                self._connection.execute(sql.KEEP_FAILURES, (status,))
            return sum(self._connection.execute(sql.REMOVE_FAILURES, (status,)).rowcount for status in statuses)

    def raise_limit(self, max_tokens: int, model_settings: Mapping[str, Any], *, wanted: bool = True) -> None:
        """Ask all that has no answer yet with this limit on the length of answers. Probabilities need none.

        A limit that nobody `wanted` was raised because of the model's reasoning.
        """
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            self._write_settings(
                spec=replace(self.spec, max_tokens=max_tokens),
                model_settings=dict(model_settings),
                limit_raised=not wanted,
            )
            self._connection.execute(sql.RAISE_LIMITS, (max_tokens,))
            self._planned = None
            for planned in self.probes():
                write_probe_digest(self._connection, planned.name)

    def set_failures_aside(self, keys: Iterable[tuple[str, str, int]]) -> None:
        """Make these failed attempts (probe, prompt, repetition) pending: an answer came. The failures are kept."""
        keys = list(keys)
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            for statement in (sql.KEEP_FAILURE, sql.REMOVE_FAILURE):
                self._connection.executemany(statement, keys)

    def set_judge(self, spec: RunSpec, judge_settings: Mapping[str, Any]) -> None:
        """Store a specification with a judge, and what the judge says of itself. An exam was that of another one."""
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            self._write_settings(spec=spec, judge_settings=dict(judge_settings), judge_dropped=[])
            self._connection.execute(sql.REMOVE_EXAM)
            write_exam_digest(self._connection)

    def remove_judge(self) -> None:
        """Forget the judge, of whom there are no verdicts. Its exam stays."""
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            self._write_settings(spec=self.spec.without_judge(), judge_settings=None)

    def record_exam(self, answers: Iterable[tuple[ExamQuestion, Attempt]]) -> None:
        """Store answers of the judge's exam durably."""
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            self._connection.executemany(sql.ADD_EXAM_ANSWER, (tables.exam_row(*answer) for answer in answers))
            write_exam_digest(self._connection)

    def _write_settings(self, **fields: object) -> None:
        changed = replace(self.settings, **fields).to_json()
        for name in fields:
            write_setting(self._connection, name, encode_json(changed[name]))

    def record_verdicts(self, verdicts: Iterable[Verdict]) -> None:
        """Store verdicts durably, as attempts are."""
        self._refuse_if_lost()
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            chained = Chain.read(self._connection)
            rows = [chained.add(tables.verdict_row(verdict)) for verdict in verdicts]
            self._connection.executemany(sql.ADD_VERDICT, rows)
            chained.write(self._connection)

    def replace_labels(self, labels: Iterable[tuple[Reading, Iterable[pl.DataFrame]]]) -> None:
        """Store what the answers say by a reading of each probe, in place of what was stored; all of it or nothing."""
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            write_labels(self._connection, labels)

    @property
    def dropped(self) -> list[str] | None:
        """Parameters that are not sent because the endpoint rejected them; None: how it was asked is not known."""
        return None if self.settings.imported else self.settings.dropped

    def add_notes(self, notes: Iterable[str], **dropped: list[str]) -> None:
        """Add notes to `settings.notes`, each of them once, and store which parameters were `dropped` by then."""
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            known = self.settings.notes
            added = [note for note in map(replace_surrogates, notes) if note not in known]
            fields = {
                name: [*dict.fromkeys([*getattr(self.settings, name), *names])] for name, names in dropped.items()
            }
            self._write_settings(notes=[*known, *added], **fields)

    def short_of_space(self) -> str | None:
        """A message if the disk, or a limit on the size of files, leaves less than the reserve."""
        with translate_storage_errors(self.path):
            return describe_shortage(self.path, self._reserve) if self._reserve else None

    def _refuse_if_lost(self) -> None:
        """Refuse if the file was deleted, or another one has taken its place; save what it held under a new name."""
        if self._lost is None and not self._is_in_place(self.path):
            lost, self.path = self.path, _unused_name(self.path)
            opening.save_copy(self._connection, self.path)
            for file in filter(self._is_in_place, self._identities):  # another file must not be read with this -wal
                file.unlink()
            self._lost = f"{lost} was deleted or replaced while it was in use. What it held is in {self.path}."
        if self._lost:
            raise StorageError(self._lost)

    def _is_in_place(self, file: Path) -> bool:
        try:
            return os.path.samestat(self._identities[file], file.stat())
        except FileNotFoundError:
            return False


def _unused_name(path: Path) -> Path:
    names = (path.with_name(f"{path.stem}-saved{number}{path.suffix}") for number in ("", *range(2, 1000)))
    return next(name for name in names if not name.exists())
