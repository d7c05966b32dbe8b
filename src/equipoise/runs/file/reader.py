"""A run file that is open for reading: its settings and plan, what is pending, its attempts, verdicts and counts.

An attempt that is planned and not stored is pending. So the states always add up to the plan, and to resume a run is to
ask for the attempts that are not there.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from equipoise.errors import EquipoiseError, IntegrityError, StorageError
from equipoise.models.protocol import Asking
from equipoise.runs.file import checks, opening, sql, tables
from equipoise.runs.file.columns import decode_json, decode_text, encode_json
from equipoise.runs.file.provenance import Provenance, read_provenance
from equipoise.runs.file.storage_errors import translate_storage_errors
from equipoise.runs.file.values import ExamAnswer, Pending, Planned
from equipoise.runs.spec import RunRecord, RunSpec
from equipoise.schema import ID, LENGTH_REASONS, MEASURED, PROMPT, SYSTEM, Status, is_measured

_PAGE = 256
_MOST_TOKENS = 10**15
Transcripts = tuple[pl.DataFrame, pl.DataFrame]
"""Some prompts, whole items, and the attempts at them that have ended."""


class RunReader:
    """A run file that is open for reading, also while its owner writes. Nothing in it is believed unchecked."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._planned: list[Planned] | None = None
        self.arms: Mapping[str, str | None] = {}
        """For each probe the column of its arm, or None: the pending prompts of these are held against their ids."""

    @classmethod
    def open(cls, path: Path, *, whole: bool = True) -> RunReader:
        """Open the run for reading, after the `whole` of it was verified, or only what going on with it needs."""
        path = follow_link(path)
        return RunReader(path, opening.connect_reader(path, whole=whole))

    @property
    def owned(self) -> bool:
        """Whether this process may write to it."""
        return False

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
            if isinstance(error, EquipoiseError):  # the first error is the one to report
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
            self._planned = self._read_probes()
        return self._planned

    def _read_probes(self) -> list[Planned]:
        return [
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

    def prompts(self, probe: str) -> pl.DataFrame:
        """The prompts of a probe in the order of its plan: `id`, `item`, `prompt`, covariates."""
        return pl.concat(list(self.prompt_batches(probe)))

    def prompt_batches(self, probe: str) -> Iterator[pl.DataFrame]:
        """The same, one part after the other; at least one."""
        with translate_storage_errors(self.path):
            yield from tables.read_prompts(self._execute(sql.PROMPTS, (probe,)), self._covariates(probe))

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
        ((ended,),) = self._rows(sql.COUNT_ENDED, (probe.name, repetition))
        pages = self._lookup_pending if ended > probe.prompts / 2 else self._scan_pending
        for page in pages(probe.name, repetition):
            with translate_storage_errors(self.path):
                texts = [(decode_text(text), decode_text(system)) for _, _, text, system, _, _ in page]
            for (prompt, item, _, _, covariates, position), (text, system) in zip(page, texts, strict=True):
                assert text is not None
                self._check_prompt(probe, prompt, item, covariates, text, system)
                place = (position + 0.5) / probe.prompts
                yield Pending(probe.name, prompt, repetition, text, system, place, probe.asking)

    def _check_prompt(
        self, probe: Planned, key: str, item: str, covariates: str, text: str, system: str | None
    ) -> None:
        """Refuse a prompt that is not the one its id was made of: it would be asked instead."""
        if probe.name not in self.arms:
            return
        arm = self.arms[probe.name]
        parts = [item, *([str(decode_json(covariates, self.path).get(arm))] if arm else []), text]
        parts += [system or ""] if SYSTEM in probe.covariates else []
        content = "\0".join([probe.name, str(probe.version), *parts]).encode()
        if blake2b(content, digest_size=len(key) // 2).hexdigest() != key:
            raise IntegrityError(f"{self.path} was changed after it was written: the prompt {key} of {probe.name}.")

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
        """The attempts of a probe that have ended, in the order of its plan, as frames of bounded size."""
        with translate_storage_errors(self.path):
            yield from tables.read_attempts(self._execute(sql.ATTEMPTS, (probe,)))

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
        covariates = self._covariates(probe)
        for (position,) in sorted(self._rows(sql.POSITIONS, (encode_json(list(prompts)), probe))):
            rows = self._rows(sql.PROMPTS_AFTER, (probe, position - 1, 1))
            yield from self._read_parts(probe, rows, covariates, sql.ATTEMPTS_AMONG, tables.ATTEMPTS)

    def _read_items(self, probe: str, size: int, statement: str, schema: tables.Schema) -> Iterator[Transcripts]:
        covariates = self._covariates(probe)
        last, more = -1, True
        while more:
            rows = self._rows(sql.PROMPTS_AFTER, (probe, last, size))
            more = len(rows) == size
            if more and not (rows := tables.whole_items(rows)):
                size *= 2
                continue
            yield from self._read_parts(probe, rows, covariates, statement, schema)
            last = rows[-1][-1] if rows else last

    def _read_parts(
        self, probe: str, rows: list[Any], covariates: Mapping[str, str], statement: str, schema: tables.Schema
    ) -> Iterator[Transcripts]:
        """These prompts and the attempts at them, in parts that are bounded by the bytes of the answers, too."""
        first, last = (rows[0][-1], rows[-1][-1]) if rows else (0, -1)
        with translate_storage_errors(self.path):
            found: Iterable[Any] = self._execute(statement, (probe, first, last))
            if self.owned:  # an open statement would be in the way when the owner closes the file
                found = list(found)
            for prompts, attempts in tables.split_items(rows, found):
                yield tables.prompt_frame(prompts, covariates), tables.typed_frame(attempts, schema)

    def verdicts(self, probe: str) -> pl.DataFrame:
        """The last verdict on each answer of a probe: `id`, `repetition`, `status`, `verdict` (the judge's words)."""
        rows = self._rows(sql.VERDICTS, (probe,))
        with translate_storage_errors(self.path):
            return tables.typed_frame([row[:-1] for row in rows], tables.VERDICTS)

    def exam(self) -> list[ExamAnswer]:
        """What the judge answered in its exam."""
        return [
            ExamAnswer(
                probe=probe,
                number=number,
                label=label,
                gender=gender,
                question=decode_text(question) or "",
                status=Status(status),
                verdict=decode_text(answer) if Status(status) in MEASURED else None,
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
        return self._count_tokens(sql.VERDICT_USAGE)

    def ended(self, probe: str) -> Iterator[tuple[int, int, Status]]:
        """The attempts of a probe that have ended: place of the prompt in its plan, repetition, state."""
        with translate_storage_errors(self.path):
            for position, repetition, status in self._execute(sql.ENDED, (probe,)):
                yield position, repetition, Status(status)

    def count_empty_by_limit(self) -> int:
        """How many attempts are empty because the token limit was reached before any text came."""
        rows = self._rows(sql.EMPTY_REASONS)
        return sum(count for reason, count in rows if (decode_text(reason) or "").lower() in LENGTH_REASONS)

    def provenance(self) -> Provenance:
        """Where the answers come from, and one digest for the whole content."""
        with translate_storage_errors(self.path):
            return read_provenance(self._connection)

    def _count_tokens(self, statement: str) -> tuple[int, int]:
        ((prompts, completions),) = self._rows(statement)
        if not all(0 <= tokens <= _MOST_TOKENS for tokens in (prompts, completions)):
            raise IntegrityError(f"{self.path} is damaged: no run has so many tokens.")
        return int(prompts), int(completions)

    def _rows(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        with translate_storage_errors(self.path):
            return self._execute(statement, values).fetchall()

    def _execute(self, statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)


def follow_link(path: Path) -> Path:
    """The file that a symbolic link leads to: SQLite and the lock have their files beside that one."""
    return path.resolve() if os.path.islink(path) else path  # noqa: PTH114 - never raises
