"""A run file and its one owner, which writes: one model, some probes, every prompt, every attempt that has ended."""

from __future__ import annotations

import resource
import shlex
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from msgspec.structs import replace

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, IntegrityError, ProbeError, StorageError
from equipoise.measuring.plan import Plan
from equipoise.models.protocol import Asking
from equipoise.runs.file import sql
from equipoise.runs.file.checks import BLOCK, Chain, name_blocks, start_chain, write_digest
from equipoise.runs.file.connection import (
    Lock,
    beside,
    check_file,
    connect,
    create_empty,
    is_same_file,
    on_error,
    translate_storage_errors,
)
from equipoise.runs.file.reader import RunReader, follow_link
from equipoise.runs.file.values import Attempt, StoredPlan, asking_of, attempt_row, encode_json, name_types, prompt_rows
from equipoise.runs.spec import RunRecord, RunSpec, to_plain
from equipoise.schema import ID, JUDGED, LABEL, MEASURED, REPETITION, SYSTEM, Status, is_measured, replace_surrogates

RESERVE = 32 * 1024 * 1024
"""Bytes that must stay free, so that answers to requests under way can still be stored when nothing more is sent."""
RETRIED = tuple(status for status in Status if status not in (*MEASURED, Status.PENDING))
"""The states of attempts that can be asked again."""


class RunFile(RunReader):
    """A run file that this process owns. Only its owner writes to it."""

    role = "model"
    """Whom the pump asks."""

    def __init__(self, path: Path, lock: Lock, *, already_checked: bool) -> None:
        super().__init__(path, connect(path, owner=True, already_checked=already_checked))
        self.owned, self.prompts_checked = True, already_checked
        self._lock = lock
        self._identity = path.stat()
        """Which file this is, to tell it from another of the same name."""
        if problem := self.short_of_space():
            self._connection.close()
            raise StorageError(problem)

    @classmethod
    def create(cls, path: Path, *, record: RunRecord, plans: Iterable[Plan]) -> RunFile:
        """Create a run with all prompts of the plans, and own it. The record holds no secret."""
        path = follow_link(path)
        lock = Lock(path)
        with on_error(lock.release):
            _write_run_file(path, record, plans)
            return cls(path, lock, already_checked=True)

    @classmethod
    def open(cls, path: Path) -> RunFile:  # type: ignore[override]
        """Open the run as its owner, to go on with it. Refused while another process owns it."""
        path = follow_link(path)
        check_file(path)  # first, so that no lock file is put beside what is not ours
        lock = Lock(path)
        with on_error(lock.release):
            return cls(path, lock, already_checked=False)

    def close(self) -> None:
        """Close the file."""
        if not self.owned:
            return
        self.owned = False
        self._connection.close()
        self._lock.release()
        self._refuse_if_lost()

    @contextmanager
    def _begin(self) -> Iterator[sqlite3.Connection]:
        """Store everything that the body writes, durably, or nothing."""
        self._refuse_if_lost()
        with translate_storage_errors(self.path), self._connection as connection:
            connection.execute(sql.BEGIN)
            yield connection

    def _refuse_if_lost(self) -> None:
        if not is_same_file(self._identity, self.path):
            raise StorageError(f"{self.path} was moved, deleted or replaced while it was in use.")

    def short_of_space(self) -> str | None:
        """A message if the disk, or a limit on the size of files, leaves less than the reserve."""
        self._refuse_if_lost()
        with translate_storage_errors(self.path):
            limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
            free = shutil.disk_usage(self.path.parent).free
            if limit != resource.RLIM_INFINITY:
                free = min(free, limit - self.path.stat().st_size)
        if free >= RESERVE:
            return None
        return (
            f"{self.path}: only {max(free, 0) / 2**20:.0f} MB can still be written there, and a run keeps "
            f"{RESERVE / 2**20:.0f} MB free so that no answer is lost. Make room first."
        )

    # The plan and the settings

    def change(self, plans: Iterable[Plan] = (), **settings: object) -> None:
        """Change settings, and add the prompts of larger plans of probes that are in the file; all of it or nothing."""
        with self._begin() as connection:
            stored = {planned.name: planned for planned in self.probes()}
            for plan in plans:
                held = stored[plan.probe.name]
                _write_probe(connection, plan, held.asking, held.prompts)
            self._set(**settings)

    def raise_limit(self, max_tokens: int, *, wanted: bool = True) -> None:
        """Ask all that has no answer yet with this limit on the length of answers. Probabilities need none.

        A limit that nobody `wanted` was raised because of the model's reasoning.
        """
        with self._begin() as connection:
            self._set(spec=replace(self.spec, max_tokens=max_tokens), limit_raised=not wanted)
            for planned in self.probes():
                if not planned.asking.probabilities:
                    _write_plan(connection, replace(planned, asking=Asking(max_tokens=max_tokens)))

    def set_judge(self, spec: RunSpec, judge_settings: Mapping[str, Any]) -> None:
        """Store a specification with a judge, and what the judge says of itself. Verdicts until now are of others."""
        with self._begin() as connection:
            judged_from = Chain.read(connection).length
            self._set(spec=spec, judge_settings=dict(judge_settings), judge_dropped=[], judged_from=judged_from)

    @property
    def dropped(self) -> list[str] | None:
        """Parameters that are not sent because the endpoint rejected them; None: how it was asked is not known."""
        return None if self.record.imported else self.record.dropped

    def add_notes(self, notes: Iterable[str], **dropped: list[str]) -> None:
        """Add notes to `settings.notes`, each of them once, and store which parameters were `dropped` by then."""
        added = {"notes": map(replace_surrogates, notes), **dropped}
        with self._begin():
            stored = self.record
            self._set(**{name: [*dict.fromkeys([*getattr(stored, name), *new])] for name, new in added.items()})

    def _set(self, **fields: object) -> None:
        changed = to_plain(replace(self.record, **fields))
        _write_settings(self._connection, {name: changed[name] for name in fields})

    # Attempts and verdicts

    def store(self, attempts: Iterable[Attempt], role: str = "model") -> int:
        """Store attempts that were pending, or verdicts of the "judge", durably; return how many.

        StorageError if another file has taken the place of this one.
        """
        rows = (attempt_row(attempt, attempt.text if role == "judge" else None) for attempt in attempts)
        with self._begin() as connection:
            chain = Chain.read(connection)
            added = connection.executemany(sql.ADD_ENDED[role], map(chain.add, rows)).rowcount
            chain.write(connection)
            return added

    def ask_again(self, statuses: Iterable[Status]) -> int:
        """Make failed attempts pending again; return how many. The failures are kept in `earlier_failures`."""
        statuses = list(statuses)
        assert set(statuses) <= set(RETRIED), "an answer is never asked again"
        return self._set_aside(sql.IN_STATE, [(status,) for status in statuses])

    def set_failures_aside(self, keys: Iterable[tuple[str, str, int]]) -> None:
        """Make these failed attempts (probe, prompt, repetition) pending: an answer came. The failures are kept."""
        self._set_aside(sql.THIS_FAILURE, list(keys))

    def _set_aside(self, condition: str, values: list[tuple[Any, ...]]) -> int:
        with self._begin() as connection:
            connection.executemany(sql.KEEP_FAILURES.format(condition), values)
            return connection.executemany(sql.REMOVE_FAILURES.format(condition), values).rowcount

    def replace_labels(self, labels: Iterable[tuple[Probe, Iterable[pl.DataFrame]]]) -> None:
        """Store what the answers say, in place of what was stored; all of it or nothing.

        The frames hold evaluated attempts. Labels are for other tools: equipoise reads the answers anew.
        """
        # All of them are read before the first is written: readers and the owner wait for each other.
        rows = [_label_rows(probe, frame.filter(is_measured())) for probe, frames in labels for frame in frames]
        with self._begin() as connection:
            connection.execute(sql.REMOVE_LABELS)
            for part in rows:
                connection.executemany(sql.ADD_LABEL, part.iter_rows())


def _label_rows(probe: Probe, measured: pl.DataFrame) -> pl.DataFrame:
    """Label, counts as JSON, whether the label is the judge's; then the key of the attempt."""
    counts, nothing = probe.detector.counts, pl.lit(None, pl.String)
    return measured.select(
        label=nothing if counts else pl.col(LABEL),
        counts=pl.struct(counts).struct.json_encode() if counts else nothing,
        judged=pl.col(JUDGED) if JUDGED in measured.columns else pl.lit(value=False),
        probe=pl.lit(probe.name),
        prompt=pl.col(ID),
        repetition=pl.col(REPETITION),
    )


def _write_run_file(path: Path, record: RunRecord, plans: Iterable[Plan]) -> None:
    """Write a run file that gets its name only when it is complete. The caller holds the lock."""
    if path.exists() or path.is_symlink():
        raise StorageError(
            f"{path} already exists. To go on with it: equipoise resume {shlex.quote(str(path))}. "
            "Or choose another name."
        )
    if beside(path, "-journal").exists():
        raise StorageError(
            f"{beside(path, '-journal')} is left of another run file of that name, and would spoil a new one. "
            "Delete it, or choose another name."
        )
    draft = beside(path, ".unfinished")
    unfinished = (draft, beside(draft, "-journal"))
    with translate_storage_errors(path):
        for left_by_kill in unfinished:
            left_by_kill.unlink(missing_ok=True)
        try:
            with closing(create_empty(draft)) as connection, connection:
                start_chain(connection)
                _write_settings(connection, to_plain(record))
                for plan in plans:
                    _write_probe(connection, plan, asking_of(plan.probe, record.spec.max_tokens))
            draft.replace(path)
        finally:
            for file in unfinished:
                file.unlink(missing_ok=True)


def _write_settings(connection: sqlite3.Connection, settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        connection.execute(sql.SET_SETTING, (name, encode_json(value)))
    write_digest(connection, "settings")


def _write_plan(connection: sqlite3.Connection, planned: StoredPlan) -> None:
    connection.execute(sql.SET_PLAN, (planned.name, planned.repetitions, encode_json(to_plain(planned))))
    write_digest(connection, "probes")


def _write_probe(connection: sqlite3.Connection, plan: Plan, asking: Asking, held: int = 0) -> None:
    """Store a probe, and all prompts that are not there yet: the file holds the first ones."""
    name, position = plan.probe.name, 0
    for batch in plan.batches():
        _refuse_gaps(name, batch)
        rows = ((name, key, place, *rest) for place, (key, *rest) in enumerate(prompt_rows(batch), position))
        connection.executemany(sql.ADD_PROMPT, rows)
        position += batch.height
    if position * plan.repetitions > sql.MAX_PLANNED:
        raise BadParameter(
            f"A run has at most {sql.MAX_PLANNED:,} attempts of a probe. Got {plan.repetitions:,} repetitions of "
            f"{position:,} prompts of {name} instead."
        )
    if connection.execute(sql.COUNT_PLACES, (name,)).fetchone()[0] != position:
        raise IntegrityError(f"The file holds other prompts of {name} than are planned now, and was not extended.")
    planned = StoredPlan(
        name=name,
        version=plan.probe.version,
        parameters=dict(plan.parameters),
        population=plan.population,
        corpus=plan.corpus,
        corpus_sha256=plan.corpus_sha256,
        covariates=name_types(plan.take(0, 1)),
        prompts=position,
        asking=asking,
    )
    _write_plan(connection, planned)
    for part in name_blocks([planned])[held // BLOCK :]:
        write_digest(connection, part)


def _refuse_gaps(probe: str, prompts: pl.DataFrame) -> None:
    """Refuse prompts that lack a covariate: nobody could say to which group their answers belong."""
    gaps = prompts.drop(SYSTEM, strict=False).fill_nan(None).null_count()
    if missing := [column for column in gaps.columns if gaps[column][0]]:
        raise ProbeError(f"The prompts of {probe} need a value in each column. Some lack: {', '.join(missing)}.")
