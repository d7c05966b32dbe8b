"""A run file that is open for reading: its settings and plan, what is pending, its attempts, verdicts and counts.

An attempt that is planned and not stored is pending. So the states always add up to the plan, and to resume a run is to
ask for the attempts that are not there.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from equipoise.errors import EquipoiseError, IntegrityError, StorageError
from equipoise.measuring.exam import ExamQuestion
from equipoise.models.protocol import Asking
from equipoise.runs.file import checks, sql, tables
from equipoise.runs.file.checks import Verify
from equipoise.runs.file.connection import connect_reader, translate_storage_errors
from equipoise.runs.file.digests import content_digest
from equipoise.runs.file.tables import decode_json, decode_text, encode_json
from equipoise.runs.file.values import Failure, Pending, Planned, Provenance, Served
from equipoise.runs.spec import RunRecord, RunSpec
from equipoise.schema import ID, LENGTH_REASONS, MEASURED, PROMPT, SYSTEM, Status, is_measured

_PAGE = 256
_MOST_TOKENS_OF_RUN = 10**15
Transcripts = tuple[pl.DataFrame, pl.DataFrame]
"""Some prompts, whole items, and the attempts at them that have ended."""


class RunReader:
    """A run file that is open for reading, also while its owner writes. Nothing in it is believed unchecked."""

    owned = False
    """Whether this process may write to it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._planned: list[Planned] | None = None

    @classmethod
    def open(cls, path: Path, *, verify: Verify = "whole") -> RunReader:
        """Open the run for reading, after it was verified."""
        path = follow_link(path)
        return RunReader(path, connect_reader(path, verify))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StorageError as problem:
            if error is None:
                raise
            if isinstance(error, EquipoiseError) and str(problem) not in str(error):  # the first one is reported first
                error.args = (f"{error}\n{problem}",)

    # The plan

    @property
    def spec(self) -> RunSpec:
        """What the run asks, of whom and how."""
        return self.settings.spec

    @property
    def settings(self) -> RunRecord:
        """What the file says of itself: the specification of the run, and what became of it."""
        with translate_storage_errors(self.path):
            return checks.read_settings(self._connection, self.path)

    def probes(self) -> list[Planned]:
        """The probes of the run, by name."""
        if self._planned is None:  # counting a million prompts takes a while
            self._planned = [
                Planned(
                    name=name,
                    version=version,
                    parameters=decode_json(parameters, self.path),
                    corpus=corpus,
                    corpus_sha256=sha256,
                    repetitions=repetitions,
                    covariates=decode_json(covariates, self.path),
                    prompts=prompts,
                    asking=Asking(max_tokens=limit, opening=opening),
                )
                for (name, version, parameters, corpus, sha256, repetitions, covariates, limit, opening, prompts) in (
                    self._rows(sql.PROBES)
                )
            ]
        return self._planned

    def prompts(self, probe: str) -> pl.DataFrame:
        """The prompts of a probe in the order of its plan: `id`, `item`, `prompt`, covariates."""
        return pl.concat(list(self.prompt_batches(probe)))

    def prompt_batches(self, probe: str) -> Iterator[pl.DataFrame]:
        """The same, one part after the other; at least one."""
        with translate_storage_errors(self.path):
            for batch in tables.batches(self._connection.execute(sql.PROMPTS, (probe,))):
                yield tables.prompt_frame(batch, self._covariates(probe))

    def _covariates(self, probe: str) -> Mapping[str, str]:
        return next((planned.covariates for planned in self.probes() if planned.name == probe), {})

    # What is pending

    def pending(self) -> Iterator[Pending]:
        """The pending attempts, in an order of which any beginning is a fair sample of the whole.

        One repetition after another, and within each all probes at the same pace, each in its own seeded order.
        """
        probes = self.probes()
        for repetition in range(1, max((probe.repetitions for probe in probes), default=0) + 1):
            streams = [self._pending(probe, repetition) for probe in probes if repetition <= probe.repetitions]
            yield from heapq.merge(*streams, key=lambda pending: pending.place)

    def _pending(self, probe: Planned, repetition: int) -> Iterator[Pending]:
        last = -1
        while page := self._rows(sql.PENDING, (probe.name, last, repetition, _PAGE)):
            for prompt, text, system, last in page:
                place = (last + 0.5) / probe.prompts
                yield Pending(probe.name, prompt, repetition, *self._decode(text, system), place, probe.asking)

    def _decode(self, text: str | bytes, system: str | bytes | None) -> tuple[str, str | None]:
        with translate_storage_errors(self.path):
            return decode_text(text) or "", decode_text(system)

    def answered(self) -> Iterator[Pending]:
        """Prompts that have an answer."""
        for planned in self.probes():
            for prompts, attempts in self.answers(planned.name, 4 * _PAGE):
                found = attempts.filter(is_measured()).select(ID)
                for row in prompts.join(found, on=ID, how="semi").iter_rows(named=True):
                    yield Pending(planned.name, row[ID], 1, row[PROMPT], row.get(SYSTEM), 0.0, planned.asking)

    def judged_questions(self) -> Iterator[Pending]:
        """The question that got the last verdict, if there is one."""
        for probe, prompt, repetition, question in self._rows(sql.LAST_VERDICT):
            yield Pending(probe, prompt, repetition, decode_text(question) or "", None, 0.0)

    # The attempts

    def attempts(self, probe: str) -> Iterator[pl.DataFrame]:
        """The attempts of a probe that have ended, in the order of its plan, as one frame or more of bounded size."""
        with translate_storage_errors(self.path):
            for batch in tables.batches(self._connection.execute(sql.ATTEMPTS, (probe,))):
                yield tables.typed_frame(batch, tables.ATTEMPTS)

    def answers(self, probe: str, size: int = tables.BATCH) -> Iterator[Transcripts]:
        """Pairs of prompts and their ended attempts (`id`, `repetition`, `status`, `answer`, `first_token`).

        At least one pair. Each has about `size` prompts, fewer where answers are long, always whole items, in the order
        of the plan.
        """
        return self._read_items(probe, size, sql.ANSWERS, tables.ANSWERS)

    def transcripts(self, probe: str) -> Iterator[Transcripts]:
        """The same with everything that is stored of an attempt."""
        return self._read_items(probe, tables.BATCH, sql.ATTEMPTS_AMONG, tables.ATTEMPTS)

    def transcripts_of(self, probe: str, prompts: Sequence[str]) -> Iterator[Transcripts]:
        """The same for some prompts, one by one, in the order of the plan."""
        for (position,) in sorted(self._rows(sql.POSITIONS, (encode_json(list(prompts)), probe))):
            rows = self._rows(sql.PROMPTS_AFTER, (probe, position - 1, 1))
            yield from self._read_parts(probe, rows, sql.ATTEMPTS_AMONG, tables.ATTEMPTS)

    def _read_items(self, probe: str, size: int, statement: str, schema: tables.Schema) -> Iterator[Transcripts]:
        last, more = -1, True
        while more:
            rows = self._rows(sql.PROMPTS_AFTER, (probe, last, size))
            more = len(rows) == size
            if more and not (rows := tables.whole_items(rows)):
                size *= 2
                continue
            yield from self._read_parts(probe, rows, statement, schema)
            last = rows[-1][-1] if rows else last

    def _read_parts(self, probe: str, rows: list[Any], statement: str, schema: tables.Schema) -> Iterator[Transcripts]:
        """These prompts and the attempts at them, in parts that are bounded by the bytes of the answers, too."""
        first, last = (rows[0][-1], rows[-1][-1]) if rows else (0, -1)
        with translate_storage_errors(self.path):
            found: Iterable[Any] = self._connection.execute(statement, (probe, first, last))
            if self.owned:  # an open statement would be in the way when the owner closes the file
                found = list(found)
            for prompts, attempts in tables.split_items(rows, found):
                yield tables.prompt_frame(prompts, self._covariates(probe)), tables.typed_frame(attempts, schema)

    def verdicts(self, probe: str) -> pl.DataFrame:
        """The last verdict on each answer of a probe: `id`, `repetition`, `status`, `verdict` (the judge's words)."""
        rows = self._rows(sql.VERDICTS, (probe,))
        with translate_storage_errors(self.path):
            return tables.typed_frame([row[:-1] for row in rows], tables.VERDICTS)

    def exam(self) -> list[tuple[ExamQuestion, Status, str | None]]:
        """Each question of the judge's exam that was asked, how that ended, and what the judge answered."""
        return [
            (
                ExamQuestion(probe=probe, number=number, label=label, gender=gender, text=decode_text(question) or ""),
                Status(status),
                decode_text(answer) if Status(status) in MEASURED else None,
            )
            for probe, number, label, gender, question, status, answer in self._rows(sql.EXAM)
        ]

    # Counts

    def states(self) -> dict[str, dict[Status, int]]:
        """For each probe, how many attempts are in each state. They add up to the plan."""
        stored = {(probe, status): count for probe, status, count in self._rows(sql.STATES)}
        names = sorted({probe for probe, _ in stored})
        return {name: {status: stored.get((name, status), 0) for status in Status} for name in names}

    def has_pending(self) -> bool:
        """Whether any attempt is pending, by the length of the chain: to count a million attempts takes a while."""
        ((stored,),) = self._rows(sql.COUNT_STORED)
        return bool(stored < sum(planned.prompts * planned.repetitions for planned in self.probes()))

    def counts(self) -> dict[Status, int]:
        """How many attempts are in each state, over all probes."""
        states = self.states().values()
        return {status: sum(counts[status] for counts in states) for status in Status}

    def usage(self) -> tuple[int, int]:
        """Tokens of all prompts and of all answers, as far as the endpoint counted them."""
        return self._count_tokens(sql.USAGE)

    def judge_usage(self) -> tuple[int, int]:
        """Tokens of all questions to the judge, with those of its exam, and of all its verdicts."""
        return self._count_tokens(sql.JUDGE_USAGE)

    def ended(self, probe: str) -> Iterator[tuple[int, int, Status]]:
        """The attempts of a probe that have ended: place of the prompt in its plan, repetition, state."""
        with translate_storage_errors(self.path):
            for position, repetition, status in self._connection.execute(sql.ENDED, (probe,)):
                yield position, repetition, Status(status)

    def count_empty_by_limit(self) -> int:
        """How many attempts are empty because the token limit was reached before any text came."""
        rows = self._rows(sql.EMPTY_REASONS)
        return sum(count for reason, count in rows if (decode_text(reason) or "").lower() in LENGTH_REASONS)

    def provenance(self) -> Provenance:
        """Where the answers come from, and one digest for the whole content."""
        served, failures = self._rows(sql.SERVED), self._rows(sql.COMMON_FAILURES)
        ((earlier,),) = self._rows(sql.COUNT_EARLIER_FAILURES)
        with translate_storage_errors(self.path):
            return Provenance(
                digest=content_digest(self._connection),
                served=tuple(
                    Served(model=decode_text(model), fingerprint=decode_text(fingerprint), attempts=attempts)
                    for model, fingerprint, attempts, _, _ in served
                ),
                first=min((first for *_, first, _ in served), default=None),
                last=max((last for *_, last in served), default=None),
                failures=tuple(
                    Failure(status=status, detail=decode_text(detail), attempts=attempts)
                    for status, detail, attempts in failures
                ),
                earlier_failures=earlier,
            )

    def _count_tokens(self, statement: str) -> tuple[int, int]:
        ((prompts, completions),) = self._rows(statement)
        if not all(0 <= tokens <= _MOST_TOKENS_OF_RUN for tokens in (prompts, completions)):
            raise IntegrityError(f"{self.path} is damaged: no run has so many tokens.")
        return int(prompts), int(completions)

    def _rows(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        with translate_storage_errors(self.path):
            return self._connection.execute(statement, values).fetchall()


def follow_link(path: Path) -> Path:
    """The file that a symbolic link leads to: SQLite and the lock have their files beside that one."""
    return path.resolve() if os.path.islink(path) else path  # noqa: PTH114 - never raises
