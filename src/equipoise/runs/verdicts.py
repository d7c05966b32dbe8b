"""The verdicts of a judge in a run file, and its exam: to the pump, run files of their own.

What is pending are the answers that a reading leaves open and that have no verdict, each as a question to the judge.
Answers of its exam are verdicts, too: their prompt is `exam`, and their repetition the number of the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import polars as pl

from equipoise.authoring import Probe
from equipoise.errors import IntegrityError
from equipoise.measuring.evaluate import can_be_judged, find_unread
from equipoise.probes.labelled import ExamResult, grade_exam, set_exam
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Pending
from equipoise.runs.setup import check_probe_version
from equipoise.schema import ATTEMPT, CAREFUL, ID, MEASURED, REPETITION, STATUS, VERDICT, Counts, Status

EXAM = "exam"


class Verdicts:
    """The verdicts in a run file, as the pump sees a run file. Failures to `retry` are asked for again."""

    role = "judge"
    """Whom the pump asks."""

    def __init__(self, file: RunFile, probes: Mapping[str, Probe], retry: Sequence[Status] = ()) -> None:
        self._file = file
        self._probes = judged_probes(file, probes)
        self._retry = retry
        self.path, self.dropped, self.answered = file.path, file.record.judge_dropped, file.judged
        self.store, self.short_of_space = partial(file.store, role=self.role), file.short_of_space

    def pending(self) -> Iterator[Pending]:
        """A question about each open answer that has no verdict."""
        for probe in self._probes:
            for unread in _find_unread(self._file, probe, self._retry):
                pending = unread.filter(pl.col("ended").is_null())
                assert probe.judge is not None
                questions = probe.judge.ask(pending)
                for (key, repetition), question in zip(pending.select(ATTEMPT).iter_rows(), questions, strict=True):
                    yield Pending(probe.name, key, repetition, question)

    def counts(self) -> Counts:
        """How many open answers there are, by the state of their verdicts."""
        return count_verdicts(self._file, self._probes, self._retry)

    def add_notes(self, notes: Iterable[str], dropped: list[str]) -> None:
        """Add notes about the judge to those of the run, and store which parameters were dropped by then."""
        self._file.add_notes((f"The judge: {note}" for note in notes), judge_dropped=dropped)


class Exam(Verdicts):
    """The exam in a run file, as the pump sees a run file. An answer that failed is no verdict, and not asked again."""

    def pending(self) -> Iterator[Pending]:
        """Each question that has no answer."""
        for probe in self._probes:
            answered = _read_exam(self._file, probe)
            for question in set_exam(probe):
                if question.number not in answered:
                    yield Pending(probe.name, EXAM, question.number, question.text)

    def counts(self) -> Counts:
        """How many questions there are, by the state of their answers."""
        ended = [status for probe in self._probes for status, _ in _read_exam(self._file, probe).values()]
        counts = Counts({status: ended.count(status) for status in Status})
        counts[Status.PENDING] = len(list(self.pending()))
        return counts


def grade_exams(file: RunReader, probes: Iterable[Probe]) -> dict[str, ExamResult]:
    """For each probe whose exam the file holds, how the judge did."""
    results = {}
    for probe in probes:
        if answers := _read_exam(file, probe):
            questions = [question for question in set_exam(probe) if question.number in answers]
            verdicts = [answers[question.number] for question in questions]
            said = [verdict if status in MEASURED else None for status, verdict in verdicts]
            results[probe.name] = grade_exam(probe, questions, said)
    return results


def _read_exam(file: RunReader, probe: Probe) -> dict[int, tuple[str, str | None]]:
    """For each question that was asked how that ended, and what the judge answered."""
    answers = file.verdicts(probe.name).filter(pl.col(ID) == EXAM)
    return {number: (status, verdict) for number, status, verdict in answers[REPETITION, STATUS, VERDICT].iter_rows()}


def count_verdicts(file: RunReader, probes: Iterable[Probe], retry: Sequence[Status] = ()) -> Counts:
    """How many answers are for the judge, by the state of their verdicts. Failures to `retry` are pending."""
    parts = [part["ended"] for probe in probes for part in _find_unread(file, probe, retry)]
    ended = pl.concat([pl.Series("ended", [], dtype=pl.String), *parts])
    stored = dict(ended.fill_null(Status.PENDING.value).value_counts().iter_rows())
    return Counts({status: int(stored.get(status.value, 0)) for status in Status})


def _find_unread(file: RunReader, probe: Probe, retry: Sequence[Status]) -> Iterator[pl.DataFrame]:
    """The open answers with their prompts, and the state in which their verdicts `ended`, if they did."""
    again = pl.col(STATUS).is_in([status.value for status in retry])
    ended = file.verdicts(probe.name).filter(~again).select(ID, REPETITION, ended=STATUS)
    for _, answers in file.attempts(probe.name):
        yield find_unread(probe, answers).join(ended, on=ATTEMPT, how="left", maintain_order="left")


def judged_probes(file: RunReader, probes: Mapping[str, Probe]) -> list[Probe]:
    """The probes whose open answers the judge is asked about, as they are read."""
    judged = []
    for planned in file.probes():
        probe = check_probe_version(planned, probes.get(planned.name), file.path)
        if planned.asking.probabilities or not can_be_judged(probe):
            continue
        probe = probe.read_by(file.spec.reading or CAREFUL)
        assert probe.judge is not None
        if missing := sorted({*probe.judge.names} - planned.covariates.keys()):
            raise IntegrityError(f"{file.path} does not hold what a judge of {probe.name} must not see: {missing}.")
        judged.append(probe)
    return judged
