"""A judge, a second model that is asked about answers which a reading leaves open: chosen, examined and paid for."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from equipoise.authoring import Probe
from equipoise.errors import InputError, IntegrityError
from equipoise.measuring.evaluate import can_be_judged
from equipoise.probes.labelled import ExamResult
from equipoise.runs.ask.events import OnEvent
from equipoise.runs.ask.limits import Budget
from equipoise.runs.ask.pump import Pump
from equipoise.runs.file.store import RunFile
from equipoise.runs.reaching import ModelLike, Reached, Source, approve, reach_model
from equipoise.runs.spec import Access, RunSpec, find_differences
from equipoise.runs.verdicts import Exam, Verdicts, count_verdicts, grade_exams, judged_probes
from equipoise.schema import Status


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A judge that can be asked, and how."""

    reached: Reached
    anyway: bool
    """Whether it is used even if it fails its exam."""
    retry: Sequence[Status] = ()
    """Verdicts that failed in these ways are asked for again."""

    async def take_exam(
        self, file: RunFile, probes: Mapping[str, Probe], budget: Budget, on_event: OnEvent | None
    ) -> None:
        """Ask the judge what of its exam it was not asked yet, and grade it.

        The exam is graded in every session: an earlier one may have been interrupted after the last question.
        InputError if it fails, unless the user wants it all the same. The run then has no judge, and can go on without
        one or with another.
        """
        exam = Exam(file, probes)
        is_asked_now = exam.counts()[Status.PENDING] > 0
        if is_asked_now:
            await self._pump(exam, budget, on_event).run()
        results = grade_exams(file, judged_probes(file, probes))
        failed = [name for name, result in results.items() if result.faults]
        if on_event and (is_asked_now or (failed and not self.anyway)):
            for name, result in results.items():
                on_event(_describe_exam(name, result))
        if failed and not self.anyway:
            file.change(spec=file.spec.without_judge(), judge_settings=None)
            resume = f"equipoise resume {shlex.quote(str(file.path))}"
            raise InputError(
                f"The judge {self.reached.model.name} failed its exam for {', '.join(failed)}, and was asked about no "
                f"answer. To go on without a judge: {resume} · with another one: add --judge MODEL "
                "· to use this one all the same, and have every report say so: add --judge-anyway"
            )

    async def ask(self, file: RunFile, probes: Mapping[str, Probe], budget: Budget, on_event: OnEvent | None) -> None:
        """Ask for all verdicts that are pending."""
        await self._pump(Verdicts(file, probes, self.retry), budget, on_event).run()

    def _pump(self, file: Verdicts, budget: Budget, on_event: OnEvent | None) -> Pump:
        model, spec = self.reached.model, self.reached.public_spec
        spec = structs.replace(spec, concurrency=1 if model.concurrency == 1 else spec.concurrency)
        return Pump(file=file, model=model, spec=spec, budget=budget, on_event=on_event)


def _describe_exam(name: str, result: ExamResult) -> str:
    """How a judge did in the exam of a probe, in a line."""
    verdict = "passed"
    if result.faults:
        verdict = f"failed, because {' and '.join(result.faults)}"
    return f"Exam of the judge for {name}: {verdict}. {result.describe()}."


def open_judge(
    spec: RunSpec,
    given: ModelLike | None,
    access: Access,
    probes: Iterable[Probe],
    source: Source,
    retry: Sequence[Status] = (),
) -> Judge:
    """The judge of a specification, for answers of these probes; nothing is sent yet."""
    if not any(can_be_judged(probe) for probe in probes):
        raise InputError(
            "None of these probes has answers that a judge can read: it chooses between labels. Leave out --judge."
        )
    asked, function = spec.judge_spec(), None if isinstance(given, str) else given
    if asked.simulated:
        raise InputError(f"{asked.model} cannot judge: it is no language model.")
    reached = reach_model(asked, function, _access_of_judge(access), source._replace(role="judge"))
    return Judge(reached=reached, anyway=spec.judge_anyway, retry=retry)


def take_judge(file: RunFile, spec: RunSpec, judge: Judge, access: Access) -> None:
    """Store a judge that the user chose in the run file, whose verdicts must all be of one judge."""
    stored, reached = file.record, judge.reached
    new = {"model": reached.public_spec.model, "base_url": reached.public_spec.base_url, "settings": reached.settings}
    old = {"model": stored.spec.judge, "base_url": stored.spec.judge_base_url, "settings": stored.judge_settings}
    if stored.judge_settings is None:
        chosen = {name: getattr(spec, name) for name in ("judge_key_variable", "judge_price")}
        chosen |= {"judge": reached.public_spec.model, "judge_base_url": reached.public_spec.base_url}
        file.set_judge(structs.replace(file.spec, **chosen), reached.settings)
    elif differences := find_differences(old, new):
        raise IntegrityError(
            f"{file.path} has another judge, and verdicts of different judges are not mixed: {differences}\n"
            f"To go on with that judge: equipoise resume {shlex.quote(str(file.path))}"
        )
    if "function" not in reached.settings:
        approve(spec.judge_spec(), _access_of_judge(access))


def find_judge(
    file: RunFile,
    spec: RunSpec,
    given: ModelLike | None,
    access: Access,
    probes: Mapping[str, Probe],
    retry: Sequence[Status],
    *,
    needed: bool,
) -> Judge | None:
    """The judge that the user chose, or that of the run file if it is `needed` or verdicts are pending."""
    if spec.judge is None:
        return None
    is_new, judged = "judge" in access.typed, judged_probes(file, probes)
    if not is_new and not needed and not count_verdicts(file, judged, retry)[Status.PENDING]:
        return None
    if given is None and not is_new and "function" in (file.record.judge_settings or {}):
        raise InputError(
            f"The judge of {file.path} is a Python function. To go on: "
            f"equipoise.resume({str(file.path)!r}, judge=the_function).ask()"
        )
    judge = open_judge(spec, given, access, judged, Source.of_run(file.path, received=not is_new), retry)
    take_judge(file, spec, judge, access)
    return judge


def _access_of_judge(access: Access) -> Access:
    """What opens the way to the judge: its key comes from the environment, and no headers go with it."""
    typed = {name.removeprefix("judge_") for name in access.typed if name.startswith("judge_")}
    return replace(access, key_command=None, headers={}, typed=frozenset(typed))
