"""The run file: one model, some probes, every prompt, every attempt that has an end, and the results.

What is planned and has no attempt is pending, so the states always add up to the plan and resuming is asking for what
is not there.
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

import orjson
import polars as pl

from equipoise.errors import IntegrityError, StorageError
from equipoise.frames import RESULTS, Status, well_formed
from equipoise.plans import Plan
from equipoise.runs import opening, planning, sql, tables
from equipoise.runs.exact import from_column
from equipoise.runs.faults import told
from equipoise.runs.lock import Lock
from equipoise.runs.values import Attempt, Pending, Planned

RESERVE = 32 * 1024 * 1024
"""Bytes that must be free, so that what is under way can still be stored when nothing more is sent."""
_PAGE = 256
_LARGEST = 2**63 - 1


class RunFile:
    """An open run file. Only the owner (`create`, `open`) writes; `read` opens it for reading."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None, reserve: int = 0) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        self._reserve = reserve

    @classmethod
    def create(
        cls, path: Path, *, settings: Mapping[str, object], plans: Iterable[Plan], reserve: int = RESERVE
    ) -> RunFile:
        """A new run with all prompts of the plans, as its owner. The settings hold no secret."""
        lock = Lock(path)
        with _given_back(lock):
            planning.write(path, settings, plans)
        return cls._own(path, lock, reserve)

    @classmethod
    def open(cls, path: Path, *, reserve: int = RESERVE) -> RunFile:
        """The run as its owner, to go on with it. Refused while another process owns it."""
        opening.check_header(path, older=True)  # nothing is put beside a file that is not ours
        return cls._own(path, Lock(path), reserve)

    @classmethod
    def _own(cls, path: Path, lock: Lock, reserve: int) -> RunFile:
        with _given_back(lock):
            run = cls(path, opening.owner(path), lock, reserve)
        try:
            run._occupy(lock)
        except BaseException:
            with contextlib.suppress(StorageError, IntegrityError):
                run.close()
            raise
        return run

    def _occupy(self, lock: Lock) -> None:
        if short := self.short_of_space():
            raise StorageError(short)
        with told(self.path):
            lock.sign()
            opening.occupy(self._connection)

    @classmethod
    def read(cls, path: Path) -> RunFile:
        """The run for reading, also while its owner writes. Nothing in the file is believed unchecked."""
        return cls(path, opening.reader(path), None)

    @property
    def owned(self) -> bool:
        """Whether this process may write to it."""
        return self._lock is not None

    def close(self) -> None:
        """End the use. The owner leaves one file that can be copied; if the disk fails, one that can be resumed."""
        lock, self._lock, clean = self._lock, None, False
        try:
            if lock:
                with told(self.path):
                    opening.vacate(self._connection)
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
            if error is None:  # else the first fault is the one to tell
                raise

    # What is planned

    @property
    def settings(self) -> dict[str, Any]:
        """What the run was started with."""
        return {key: self._json(value) for key, value in self._rows(sql.SETTINGS)}

    def probes(self) -> list[Planned]:
        """The probes of the run, by name."""
        return [
            Planned(
                name=name,
                version=version,
                parameters=self._json(parameters),
                corpus=corpus,
                corpus_sha256=corpus_sha256,
                repetitions=repetitions,
                covariates=self._json(covariates),
                prompts=prompts,
            )
            for name, version, parameters, corpus, corpus_sha256, repetitions, covariates, prompts in self._rows(
                sql.PROBES
            )
        ]

    def prompts(self, probe: str) -> pl.DataFrame:
        """The prompts of a probe in the order of its plan: `id`, `item`, `prompt`, covariates."""
        with told(self.path):
            return tables.prompts(self._connection.execute(sql.PROMPTS, (probe,)), self._covariates(probe))

    def _covariates(self, probe: str) -> Mapping[str, str]:
        return next((planned.covariates for planned in self.probes() if planned.name == probe), {})

    def pending(self) -> Iterator[Pending]:
        """What has no end yet, in an order of which any beginning is a fair sample of the whole.

        Repetition by repetition, and within one all probes at the same pace, each in its own seeded order.
        """
        probes = self.probes()
        for repetition in range(1, max((probe.repetitions for probe in probes), default=0) + 1):
            streams = [self._pending(probe, repetition) for probe in probes if repetition <= probe.repetitions]
            yield from heapq.merge(*streams, key=lambda pending: pending.place)

    def _pending(self, probe: Planned, repetition: int) -> Iterator[Pending]:
        ((ended,),) = self._rows(sql.ENDED, (probe.name, repetition))
        pages = self._few if ended > probe.prompts / 2 else self._many
        for page in pages(probe.name, repetition):
            with told(self.path):
                texts = [from_column(value) for _, value, _ in page]
            for (prompt, _, place), text in zip(page, texts, strict=True):
                assert text is not None
                yield Pending(probe.name, prompt, repetition, text, (place + 0.5) / probe.prompts)

    def _many(self, probe: str, repetition: int) -> Iterator[list[Any]]:
        """What is pending, found by going through the plan."""
        last = -1
        while page := self._rows(sql.PENDING, (probe, last, repetition, _PAGE)):
            yield page
            last = page[-1][-1]

    def _few(self, probe: str, repetition: int) -> Iterator[list[Any]]:
        """The same when little is left: found at once, or one would go through all that has ended."""
        ids = [prompt for (prompt,) in self._rows(sql.PENDING_IDS, (probe, probe, repetition))]
        places = sorted(place for (place,) in self._rows(sql.PLACES, (planning.as_json(ids), probe)))
        for start in range(0, len(places), _PAGE):
            wanted = planning.as_json(places[start : start + _PAGE])
            yield self._rows(sql.PROMPTS_AT, (probe, wanted))

    # What became of it

    def record(self, attempts: Iterable[Attempt]) -> int:
        """Store attempts, durably when it returns; give how many are new. What is there already stays as it is."""
        with told(self.path), opening.transaction(self._connection):
            rows, new = map(tables.attempt_row, attempts), 0
            while len(some := list(islice(rows, sql.TOGETHER))) == sql.TOGETHER:
                new += self._connection.execute(sql.ADD_ATTEMPTS, list(chain(*some))).rowcount
            return new + self._connection.executemany(sql.ADD_ATTEMPT, some).rowcount

    def add_notes(self, notes: Iterable[str]) -> None:
        """Keep what the user was told while asking, once each, in `settings["notes"]`."""
        with told(self.path), opening.transaction(self._connection):
            known = self.settings.get("notes", [])
            value = planning.as_json([*known, *(note for note in map(well_formed, notes) if note not in known)])
            self._connection.execute(sql.SET_SETTING, ("notes", value))

    def attempts(self, probe: str) -> Iterator[pl.DataFrame]:
        """The attempts of a probe that have an end, in the order of its plan, as frames of bounded size."""
        with told(self.path):
            yield from tables.attempts(self._connection.execute(sql.ATTEMPTS, (probe,)))

    def answers(self, probe: str, size: int = tables.BATCH) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        """Prompts and the attempts at them that have an end (`id`, `repetition`, `status`, `answer`), about so many
        prompts at a time, whole items, in the order of the plan; at least once."""
        covariates, last = self._covariates(probe), -1
        while True:
            rows = self._rows(sql.PROMPTS_AFTER, (probe, last, size))
            more = len(rows) == size
            if more and not (rows := tables.whole_items(rows)):
                size *= 2
                continue
            first, last = (rows[0][-1], rows[-1][-1]) if rows else (0, -1)
            with told(self.path):
                prompts = tables.prompt_batch(rows, covariates)
                yield prompts, tables.typed(self._rows(sql.ANSWERS, (probe, first, last)), tables.ANSWERS)
            if not more:
                return

    def states(self) -> dict[str, dict[Status, int]]:
        """For each probe how many attempts are in each state; they add up to the plan."""
        found = {(probe, status): count for probe, status, count in self._rows(sql.STATES)}
        names = sorted({probe for probe, _ in found})
        return {name: {status: found.get((name, status), 0) for status in Status} for name in names}

    def counts(self) -> dict[Status, int]:
        """How many attempts are in each state, over all probes."""
        states = self.states().values()
        return {status: sum(counts[status] for counts in states) for status in Status}

    def usage(self) -> tuple[int, int]:
        """Tokens of all prompts and of all answers, as far as the endpoint counted them."""
        ((prompts, completions),) = self._rows(sql.USAGE)
        return int(prompts), int(completions)

    def write_results(self, probe: str, results: pl.DataFrame) -> None:
        """Store the metrics of a probe (`Result.to_frame()`) in place of what was there."""
        with told(self.path), opening.transaction(self._connection):
            self._connection.execute(sql.CLEAR_RESULTS, (probe,))
            self._connection.executemany(sql.ADD_RESULT, results.select(list(RESULTS)).iter_rows())

    def results(self) -> pl.DataFrame:
        """The stored metrics, a row each."""
        return pl.DataFrame(self._rows(sql.RESULTS), schema=RESULTS, orient="row")

    def short_of_space(self) -> str | None:
        """Say so when the disk, or a limit on the size of files, leaves less than the reserve."""
        if not self._reserve:
            return None
        with told(self.path):
            main, wal = opening.sizes(self.path)  # what is in the -wal needs its room in the main file too
            free = min(shutil.disk_usage(self.path.parent).free, _size_limit() - main) - wal
        if free >= self._reserve:
            return None
        return (
            f"{self.path}: only {max(free, 0) / 2**20:.0f} MB can still be written there, and a run keeps "
            f"{self._reserve / 2**20:.0f} MB free so that no answer is lost. Make room first."
        )

    def _rows(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        with told(self.path):
            return self._connection.execute(statement, values).fetchall()

    def _json(self, value: str) -> Any:
        try:
            return orjson.loads(value)
        except ValueError as error:
            raise IntegrityError(f"{self.path} is damaged: {error}.") from None


@contextmanager
def _given_back(lock: Lock) -> Iterator[None]:
    try:
        yield
    except BaseException:
        lock.release()
        raise


def _size_limit() -> int:
    """How large a file of this process may become."""
    if sys.platform == "win32":
        return _LARGEST
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return _LARGEST if limit == resource.RLIM_INFINITY else limit
