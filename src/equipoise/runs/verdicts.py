"""The verdicts of a judge in a run file, and its exam: to the pump, run files of their own.

What is pending are the answers that a reading leaves open and that have no verdict, each as a question to the judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from equipoise.authoring import Probe
from equipoise.errors import IntegrityError
from equipoise.measuring.evaluate import ask_judge, can_be_judged, find_unread
from equipoise.measuring.exam import ExamQuestion, ExamResult, grade_exam, set_exam
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt, Pending
from equipoise.schema import ATTEMPT, CAREFUL, ID, MEASURED, REPETITION, STATUS, Status

_NOTHING = pl.Series("ended", [], dtype=pl.String)


class Verdicts:
    """The verdicts in a run file, as the pump sees a run file. Failures to `retry` are asked for again."""

    asked = "judge"
    """Whom the pump asks."""

    def __init__(self, file: RunFile, probes: Mapping[str, Probe], retry: Sequence[Status] = ()) -> None:
        self._file = file
        self._probes = judged_probes(file, probes)
        self._retry = retry
        self.path = file.path
        self.usage = file.judge_usage
        self.short_of_space = file.short_of_space

    @property
    def owned(self) -> bool:
        """Whether this process may write to the file."""
        return self._file.owned

    @property
    def dropped(self) -> list[str]:
        """Parameters that are not sent because the endpoint of the judge rejected them."""
        return self._file.settings.judge_dropped

    def pending(self) -> Iterator[Pending]:
        """A question about each open answer that has no verdict."""
        for probe in self._probes:
            for unread in _find_unread(self._file, probe, self._retry):
                pending = unread.filter(pl.col("ended").is_null())
                questions = ask_judge(probe, pending)
                for (key, repetition), question in zip(pending.select(ATTEMPT).iter_rows(), questions, strict=True):
                    yield Pending(probe.name, key, repetition, question)

    def counts(self) -> dict[Status, int]:
        """How many open answers there are, by the state of their verdicts."""
        return count_verdicts(self._file, self._probes, self._retry)

    def answered(self) -> Pending | None:
        """The question that got the last verdict."""
        return self._file.judged()

    def record(self, attempts: Iterable[Attempt]) -> None:
        """Store verdicts durably."""
        self._file.record_verdicts(attempts)

    def add_notes(self, notes: Iterable[str], dropped: list[str]) -> None:
        """Add notes about the judge to those of the run, and store which parameters were dropped by then."""
        self._file.add_notes((f"The judge: {note}" for note in notes), judge_dropped=dropped)


class Exam(Verdicts):
    """The exam in a run file, as the pump sees a run file. An answer that failed is no verdict, and not asked again."""

    def __init__(self, file: RunFile, probes: Mapping[str, Probe]) -> None:
        super().__init__(file, probes)
        questions = [question for probe in self._probes for question in set_exam(probe)]
        self._asked: dict[tuple[str, int], ExamQuestion] = {(one.probe, one.number): one for one in questions}

    def pending(self) -> Iterator[Pending]:
        """Each question that has no answer."""
        answered = {(question.probe, question.number) for question, _, _ in self._file.exam()}
        return (_pending(question) for key, question in self._asked.items() if key not in answered)

    def counts(self) -> dict[Status, int]:
        """How many questions there are, by the state of their answers."""
        states = [status for _, status, _ in self._file.exam()]
        counts = {status: states.count(status) for status in Status}
        return counts | {Status.PENDING: len(self._asked) - len(states)}

    def answered(self) -> Pending | None:
        """A question that has an answer."""
        return next((_pending(question) for question, status, _ in self._file.exam() if status in MEASURED), None)

    def record(self, attempts: Iterable[Attempt]) -> None:
        """Store answers durably."""
        self._file.record_exam((self._asked[attempt.probe, int(attempt.prompt)], attempt) for attempt in attempts)


def _pending(question: ExamQuestion) -> Pending:
    return Pending(question.probe, str(question.number), 1, question.text)


def count_verdicts(file: RunReader, probes: Iterable[Probe], retry: Sequence[Status] = ()) -> dict[Status, int]:
    """How many answers are for the judge, by the state of their verdicts. Failures to `retry` are pending."""
    ended = pl.concat([*(part["ended"] for probe in probes for part in _find_unread(file, probe, retry)), _NOTHING])
    stored = dict(ended.fill_null(Status.PENDING.value).value_counts().iter_rows())
    return {status: int(stored.get(status.value, 0)) for status in Status}


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
        if planned.asking.probabilities or not can_be_judged(probes[planned.name]):
            continue
        probe = probes[planned.name].read_by(file.spec.reading or CAREFUL)
        assert probe.judge is not None
        if missing := sorted({*probe.judge.names} - planned.covariates.keys()):
            raise IntegrityError(f"{file.path} does not hold what a judge of {probe.name} must not see: {missing}.")
        judged.append(probe)
    return judged


def grade_exams(file: RunReader, probes: Iterable[Probe]) -> dict[str, ExamResult]:
    """For each probe whose exam the file holds, how the judge did."""
    results = {}
    for probe in probes:
        asked = [(question, verdict) for question, _, verdict in file.exam() if question.probe == probe.name]
        if asked:
            questions, verdicts = zip(*asked, strict=True)
            results[probe.name] = grade_exam(probe, questions, verdicts)
    return results
