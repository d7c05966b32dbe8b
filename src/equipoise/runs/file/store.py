"""The run file: one model, some probes, every prompt, and every attempt that has ended.

An attempt that is planned and not stored is pending. So the states always add up to the plan, and to resume a run is to
ask for the attempts that are not there.
"""

from __future__ import annotations

import contextlib
import heapq
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from equipoise.errors import IntegrityError, StorageError
from equipoise.measuring.plan import Plan
from equipoise.runs.file import creation, opening, sql, tables
from equipoise.runs.file.columns import decode_json, decode_text, encode_json
from equipoise.runs.file.lock import Lock
from equipoise.runs.file.settings import RunSettings
from equipoise.runs.file.storage_errors import translate_storage_errors
from equipoise.runs.file.values import Attempt, Pending, Planned
from equipoise.schema import Status, replace_surrogates

RESERVE = 32 * 1024 * 1024
"""Bytes that must stay free, so that answers to requests under way can still be stored when nothing more is sent."""
_PAGE = 256
_LARGEST_FILE = 2**63 - 1


class RunFile:
    """An open run file. Only the owner (`create`, `open`) writes; `read` opens it for reading."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None, reserve: int = 0) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        self._reserve = reserve
        self._schema = opening.schema_version(connection)

    @classmethod
    def create(cls, path: Path, *, settings: RunSettings, plans: Iterable[Plan], reserve: int = RESERVE) -> RunFile:
        """Create a run with all prompts of the plans, and own it. The settings hold no secret."""
        lock = Lock(path)
        with _release_on_error(lock):
            creation.write_run_file(path, settings, plans)
        return cls._take_ownership(path, lock, reserve)

    @classmethod
    def open(cls, path: Path, *, reserve: int = RESERVE) -> RunFile:
        """Open the run as its owner, to go on with it. Refused while another process owns it."""
        opening.check_header(path)  # first, so that no lock file is put beside a file that is not ours
        return cls._take_ownership(path, Lock(path), reserve)

    @classmethod
    def _take_ownership(cls, path: Path, lock: Lock, reserve: int) -> RunFile:
        with _release_on_error(lock):
            run = cls(path, opening.connect_owner(path), lock, reserve)
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
            lock.write_identity()
            opening.mark_in_use(self._connection)

    @classmethod
    def read(cls, path: Path) -> RunFile:
        """Open the run for reading, also while its owner writes. Nothing in the file is believed unchecked."""
        return cls(path, opening.connect_reader(path), None)

    @property
    def owned(self) -> bool:
        """Whether this process may write to it."""
        return self._lock is not None

    def close(self) -> None:
        """Close the file. The owner leaves one file that can be copied or, if the disk fails, resumed."""
        lock, self._lock, clean = self._lock, None, False
        try:
            if lock:
                with translate_storage_errors(self.path):
                    opening.release(self._connection)
                clean = True
        finally:
            self._connection.close()
            if lock:
                lock.release(clean=clean)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StorageError:
            if error is None:  # otherwise the first error is the one to report
                raise

    # The plan

    @property
    def settings(self) -> RunSettings:
        """The settings that the run was started with."""
        return opening.read_settings(self._connection, self.path)

    def probes(self) -> list[Planned]:
        """The probes of the run, by name."""
        return [
            Planned(
                name=name,
                version=version,
                parameters=decode_json(parameters, self.path),
                corpus=corpus,
                corpus_sha256=corpus_sha256,
                repetitions=repetitions,
                covariates=decode_json(covariates, self.path),
                prompts=prompts,
            )
            for name, version, parameters, corpus, corpus_sha256, repetitions, covariates, prompts in self._rows(
                sql.PROBES
            )
        ]

    def prompts(self, probe: str) -> pl.DataFrame:
        """The prompts of a probe in the order of its plan: `id`, `item`, `prompt`, covariates."""
        with translate_storage_errors(self.path):
            return tables.read_prompts(self._execute(sql.PROMPTS, (probe,)), self._covariates(probe))

    def _covariates(self, probe: str) -> Mapping[str, str]:
        return next((planned.covariates for planned in self.probes() if planned.name == probe), {})

    def pending(self) -> Iterator[Pending]:
        """The pending attempts, in an order of which any beginning is a fair sample of the whole.

        One repetition after another, and within each all probes at the same pace, each in its own seeded order.
        """
        probes = self.probes()
        for repetition in range(1, max((probe.repetitions for probe in probes), default=0) + 1):
            streams = [self._pending(probe, repetition) for probe in probes if repetition <= probe.repetitions]
            yield from heapq.merge(*streams, key=lambda pending: pending.place)

    def _pending(self, probe: Planned, repetition: int) -> Iterator[Pending]:
        ((ended,),) = self._rows(sql.COUNT_ENDED, (probe.name, repetition))
        pages = self._lookup_pending if ended > probe.prompts / 2 else self._scan_pending
        for page in pages(probe.name, repetition):
            with translate_storage_errors(self.path):
                texts = [(decode_text(text), decode_text(system)) for _, text, system, _ in page]
            for (prompt, _, _, position), (text, system) in zip(page, texts, strict=True):
                assert text is not None
                yield Pending(probe.name, prompt, repetition, text, system, (position + 0.5) / probe.prompts)

    def _scan_pending(self, probe: str, repetition: int) -> Iterator[list[Any]]:
        """Pages of pending attempts, by going through the plan. Fast when most attempts are pending."""
        last = -1
        while page := self._rows(sql.PENDING, (probe, last, repetition, _PAGE)):
            yield page
            last = page[-1][-1]

    def _lookup_pending(self, probe: str, repetition: int) -> Iterator[list[Any]]:
        """Pages of pending attempts, by looking up their ids first. Fast when few attempts are pending."""
        ids = [prompt for (prompt,) in self._rows(sql.PENDING_IDS, (probe, probe, repetition))]
        positions = sorted(position for (position,) in self._rows(sql.POSITIONS, (encode_json(ids), probe)))
        for start in range(0, len(positions), _PAGE):
            page = encode_json(positions[start : start + _PAGE])
            yield self._rows(sql.PENDING_AT, (probe, page))

    # The attempts

    def record(self, attempts: Iterable[Attempt]) -> int:
        """Store attempts durably; return how many are new. An attempt that is already stored stays as it is."""
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            rows, new, size = map(tables.attempt_row, attempts), 0, sql.ATTEMPTS_PER_STATEMENT
            while len(group := list(islice(rows, size))) == size:
                new += self._connection.execute(sql.ADD_ATTEMPTS, list(chain(*group))).rowcount
            return new + self._connection.executemany(sql.ADD_ATTEMPT, group).rowcount

    def add_notes(self, notes: Iterable[str]) -> None:
        """Add notes to `settings.notes`, each of them once."""
        with translate_storage_errors(self.path), opening.transaction(self._connection):
            known = self.settings.notes
            added = [note for note in map(replace_surrogates, notes) if note not in known]
            self._connection.execute(sql.SET_SETTING, ("notes", encode_json([*known, *added])))

    def attempts(self, probe: str) -> Iterator[pl.DataFrame]:
        """The attempts of a probe that have ended, in the order of its plan, as frames of bounded size."""
        with translate_storage_errors(self.path):
            yield from tables.read_attempts(self._execute(sql.ATTEMPTS, (probe,)))

    def answers(self, probe: str, size: int = tables.BATCH) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """Pairs of prompts and their ended attempts (`id`, `repetition`, `status`, `answer`), at least one pair.

        Each pair has about `size` prompts, always whole items, in the order of the plan.
        """
        covariates, last = self._covariates(probe), -1
        while True:
            rows = self._rows(sql.PROMPTS_AFTER, (probe, last, size))
            more = len(rows) == size
            if more and not (rows := tables.whole_items(rows)):
                size *= 2
                continue
            first, last = (rows[0][-1], rows[-1][-1]) if rows else (0, -1)
            with translate_storage_errors(self.path):
                prompts = tables.prompt_frame(rows, covariates)
                yield prompts, tables.typed_frame(self._rows(sql.ANSWERS, (probe, first, last)), tables.ANSWERS)
            if not more:
                return

    def states(self) -> dict[str, dict[Status, int]]:
        """For each probe, how many attempts are in each state. They add up to the plan."""
        stored = {(probe, status): count for probe, status, count in self._rows(sql.STATES)}
        names = sorted({probe for probe, _ in stored})
        return {name: {status: stored.get((name, status), 0) for status in Status} for name in names}

    def counts(self) -> dict[Status, int]:
        """How many attempts are in each state, over all probes."""
        states = self.states().values()
        return {status: sum(counts[status] for counts in states) for status in Status}

    def usage(self) -> tuple[int, int]:
        """Tokens of all prompts and of all answers, as far as the endpoint counted them."""
        ((prompts, completions),) = self._rows(sql.USAGE)
        return int(prompts), int(completions)

    def short_of_space(self) -> str | None:
        """A message if the disk, or a limit on the size of files, leaves less than the reserve."""
        if not self._reserve:
            return None
        with translate_storage_errors(self.path):
            main, wal = opening.file_sizes(self.path)
            # The content of the -wal will need its space in the main file, too.
            free = min(shutil.disk_usage(self.path.parent).free, _size_limit() - main) - wal
        if free >= self._reserve:
            return None
        return (
            f"{self.path}: only {max(free, 0) / 2**20:.0f} MB can still be written there, and a run keeps "
            f"{self._reserve / 2**20:.0f} MB free so that no answer is lost. Make room first."
        )

    def _rows(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        with translate_storage_errors(self.path):
            return self._execute(statement, values).fetchall()

    def _execute(self, statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        return self._connection.execute(sql.for_schema(statement, self._schema), values)


@contextmanager
def _release_on_error(lock: Lock) -> Iterator[None]:
    try:
        yield
    except BaseException:
        lock.release()
        raise


def _size_limit() -> int:
    """How large a file of this process may become, in bytes."""
    if sys.platform == "win32":
        return _LARGEST_FILE
    import resource  # noqa: PLC0415 - not on Windows

    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return _LARGEST_FILE if limit == resource.RLIM_INFINITY else limit
