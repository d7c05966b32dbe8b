"""A judge takes its exam: asked by the pump, stored in the run file, and refused if it fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from equipoise.authoring import Probe
from equipoise.errors import InputError
from equipoise.measuring.exam import ExamQuestion, set_exam
from equipoise.runs.ask.events import Note, OnEvent
from equipoise.runs.ask.policy import Policy
from equipoise.runs.ask.pump import pump
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt, Pending
from equipoise.runs.judging import Judge
from equipoise.runs.verdicts import Verdicts, grade_exams, judged_probes
from equipoise.schema import MEASURED, Status


class Exam(Verdicts):
    """The exam in a run file, as the pump sees a run file. An answer that failed is no verdict, and not asked again."""

    def __init__(self, file: RunFile, probes: Mapping[str, Probe]) -> None:
        super().__init__(file, probes)
        questions = [question for probe in self._probes for question in set_exam(probe)]
        self._asked: dict[tuple[str, int], ExamQuestion] = {(one.probe, one.number): one for one in questions}

    def pending(self) -> Iterator[Pending]:
        """Each question that has no answer."""
        answered = {(question.probe, question.number) for question, _, _ in self._file.exam()}
        for key, question in self._asked.items():
            if key not in answered:
                yield _pending(question)

    def counts(self) -> dict[Status, int]:
        """How many questions there are, by the state of their answers."""
        states = [status for _, status, _ in self._file.exam()]
        counts = {status: states.count(status) for status in Status}
        return counts | {Status.PENDING: len(self._asked) - len(states)}

    def answered(self) -> Iterator[Pending]:
        """A question that has an answer."""
        return (_pending(question) for question, status, _ in self._file.exam() if status in MEASURED)

    def record(self, attempts: Iterable[Attempt]) -> None:
        """Store answers durably."""
        self._file.record_exam((self._asked[attempt.probe, int(attempt.prompt)], attempt) for attempt in attempts)


def _pending(question: ExamQuestion) -> Pending:
    return Pending(question.probe, str(question.number), 1, question.text, None, 0.0)


async def take_exam(
    file: RunFile, judge: Judge, probes: Mapping[str, Probe], policy: Policy, on_event: OnEvent | None
) -> int:
    """Ask the judge of a run what of its exam it was not asked yet; how many requests that took.

    InputError if it fails, unless the user wants it all the same. The run then has no judge, and can go on without one
    or with another.
    """
    exam = Exam(file, probes)
    if not exam.counts()[Status.PENDING]:
        return 0
    asked = await pump(exam, judge.model, judge.policy(policy, file, 0), on_event)
    results = grade_exams(file, judged_probes(file, probes))
    for name, result in results.items():
        verdict = f"failed, because {' and '.join(result.faults)}" if result.faults else "passed"
        if on_event:
            on_event(Note(text=f"Exam of the judge for {name}: {verdict}. {result.describe()}."))
    failed = [name for name, result in results.items() if result.faults]
    if failed and not judge.anyway:
        file.remove_judge()
        raise InputError(
            f"The judge {judge.model.name} failed its exam for {', '.join(failed)}, and was asked about no answer. "
            f"To go on without a judge: equipoise resume {file.path} · with another one: add --judge MODEL · to use "
            "this one all the same, and have every report say so: add --judge-anyway"
        )
    return asked.requests
