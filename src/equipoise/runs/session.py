"""`Session`: a run file and the models that fill it; `resume` and `extend` open one on a file that is there.

session = start("openai/gpt-4o-mini", probes=["jobs_lum"])   or   resume(path)
run = session.ask()
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
import shlex
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, InputError, IntegrityError, UnknownName
from equipoise.measuring.plan import Plan
from equipoise.models.protocol import Asking, Model, NotServed
from equipoise.models.simulated import SimulatedModel
from equipoise.runs.ask.events import OnEvent
from equipoise.runs.ask.limits import Budget
from equipoise.runs.ask.pump import Pump
from equipoise.runs.estimate import RunEstimate, find_prices
from equipoise.runs.file.connection import on_error
from equipoise.runs.file.store import RETRIED, RunFile
from equipoise.runs.file.values import StoredPlan, asking_of
from equipoise.runs.growth import Growth, estimate_growth, plan_growth, take_look, wants_more
from equipoise.runs.judging import Judge, find_judge
from equipoise.runs.reaching import ModelLike, Reached, Source, name_of, reach_model
from equipoise.runs.run import Run, store_labels
from equipoise.runs.setup import check_probe_version, known_probes
from equipoise.runs.spec import Access, RunSpec, find_differences, read_given
from equipoise.schema import MEASURED, Status

T = TypeVar("T")
Confirm = Callable[[RunEstimate], None]
"""Is told what a run would take, and raises if it should not be started."""
BUDGET = ("max_requests", "max_tokens_total", "max_cost")
_SIZES = re.compile(r"suite|until_certain|looks\..*|[^.]+\.parameters\.(sample|repeat)")
"""The differences that only say how much is asked."""


class Session:
    """A run file that this process owns and the model that fills it. `ask` asks for what is pending and closes both.

    Pace and budget are those of `spec`. Without a model or without a judge, nothing is asked of it. `confirm_tokens` is
    told how many tokens an answer of a reasoning model takes, and raises if the run should not go on. A file is
    `created` if it was written for this session.
    """

    def __init__(
        self,
        file: RunFile,
        model: Model | None,
        spec: RunSpec,
        probes: Mapping[str, Probe],
        judge: Judge | None = None,
        *,
        created: bool = False,
        confirm_tokens: Callable[[int], None] | None = None,
    ) -> None:
        self._file, self._model, self._spec, self._probes, self._judge = file, model, spec, probes, judge
        self._created, self._confirm_tokens = created, confirm_tokens
        self.path = file.path
        self.model_name = file.spec.model

    def ask(self, on_event: OnEvent | None = None) -> Run:
        """Ask for all that is pending. Whatever ends it, the answers that came are in the file.

        In a notebook it works as anywhere: the asking runs in a thread with an event loop of its own.
        """
        if not self._file.owned:
            raise InputError(f"A session asks once. To go on: equipoise.resume({str(self.path)!r})")
        try:
            return run_to_end(self._ask(on_event))
        except NotServed as error:
            # To resume would be to ask the same again, and the file would only stand in the way of the next try.
            if self._created and not Run(self.path, already_checked=True).counts.ended:
                self.path.unlink(missing_ok=True)
                error.args = (error.args[0], "No run file was kept.")
            raise

    async def _ask(self, on_event: OnEvent | None) -> Run:
        with self._file as file:
            for planned in file.probes():
                check_probe_version(planned, self._probes.get(planned.name), self.path)
            if isinstance(self._model, SimulatedModel):
                run = Run(self.path, self._probes.values(), already_checked=True)
                self._model.use_plan({name: self._probes[name] for name in run.planned}, run.prompts)
            budget = Budget(self._spec, file, find_prices(self._spec))
            if self._judge:
                await self._judge.take_exam(file, self._probes, budget, on_event)
            if self._model:
                await Pump(
                    file=file,
                    model=self._model,
                    spec=self._spec,
                    budget=budget,
                    on_event=on_event,
                    take_look=partial(take_look, file, self._probes) if file.record.looks else None,
                    raise_limit=self._raise_limit,
                ).run()
            if self._judge:
                await self._judge.ask(file, self._probes, budget, on_event)
            if self._model or self._judge:
                await asyncio.to_thread(store_labels, file, self._probes.values())
        return Run.open(self.path, probes=self._probes.values())

    def _raise_limit(self, limit: int, tokens: int) -> None:
        """Let all answers that follow have up to `limit` tokens, reasoning included. The first one took `tokens`."""
        if self._confirm_tokens:
            self._confirm_tokens(tokens)
        self._file.raise_limit(limit, wanted=False)

    def close(self) -> None:
        """Give the file back without asking."""
        self._file.close()


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where a loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="equipoise") as thread:
        return thread.submit(asyncio.run, work).result()


def resume(
    path: str | Path,
    *,
    model: ModelLike | None = None,
    probes: Iterable[Probe] = (),
    judge: ModelLike | None = None,
    retry: Iterable[str] = (),
    growth: Growth | None = None,
    **given: Any,
) -> Session:
    """Open a run file that was stopped, to ask for what is pending exactly as it was started.

    Attempts that failed in a way that `retry` names ("http_error", "timeout") are asked again, too; with `max_tokens`,
    all that is asked from now on has this larger limit, which the file keeps: for models that reason until none is
    left. A `judge` is that of `audit`; a run that has one goes on with it.
    A run of a Python function needs the `model` again. A base URL that held a secret must be given again, and so must
    `headers`, a `key_command`, `allow_insecure` and `allow_secret_url`. A key is not sent where only the file says so
    (`runs.reaching`). Pace stays as it was unless it is given; a budget is for one session. `growth` is what `extend`
    plans.
    """
    file = RunFile.open(Path(path))
    with on_error(file.close):
        stored, failures = file.record, _parse_failures(retry)
        known = known_probes(stored.spec, probes)
        known = {name: probe.read_by(stored.spec.reading) for name, probe in known.items()}
        given = {name: value for name, value in given.items() if value is not None}
        given |= {"judge": name_of(judge)} if judge else {}
        typed = frozenset(given) | ({"model"} if model else set())
        base = replace(stored.spec, **dict.fromkeys(BUDGET))
        spec, access = read_given(base, {**given, "typed": typed})
        find_prices(spec)
        _refuse_small_limit(file, failures, given.get("max_tokens"))
        opened = None
        # Of a finished run nothing is asked, and it can be judged: its model may be gone, or a function, or unknown.
        counts = file.counts()
        is_open = growth or any(counts[status] for status in (Status.PENDING, *failures))
        if is_open or wants_more(Run(file.path, known.values(), already_checked=True)):
            opened = _reach_again(file, spec, access, model)
            _ask_again(file, failures, given.get("max_tokens"))
        if growth:
            file.change(growth.plans, spec=growth.spec, looks=dict(growth.looks))
        opened_judge = find_judge(file, spec, judge, access, known, failures, needed=opened is not None)
    return Session(file, opened, spec, known, opened_judge)


def extend(
    path: str | Path,
    *,
    sample: int | None = None,
    suite: str | None = None,
    repeat: int | None = None,
    until_certain: bool = False,
    certain: bool = False,
    confirm: Confirm | None = None,
    **given: Any,
) -> Session:
    """Plan more of a run, keep every answer, and open a session to ask for what is missing.

    One of these says how much: a larger `sample` of each probe; a larger `suite`; more repetitions of each prompt
    (`repeat`); `certain`: as many items as should make every mark certain, judged by the answers so far;
    `until_certain`: looks of doubling size from now on, until every mark is. Other keywords are those of `resume`, and
    the same is refused. `confirm` is told what would be asked, as for `start`.
    """
    run = Run.open(path, probes=given.get("probes", ()))
    growth = plan_growth(run, sample=sample, suite=suite, repeat=repeat, until_certain=until_certain, certain=certain)
    if confirm and not (run.record.spec.local or run.record.is_function):
        confirm(estimate_growth(run, growth))
    return resume(path, growth=growth, **given)


def _reach_again(file: RunFile, spec: RunSpec, access: Access, model: ModelLike | None) -> Model:
    """The model of a run, reached and asked as before, with the address and the variable that the user gave."""
    stored = file.record
    if isinstance(model, str) and model != stored.model:
        raise InputError(f"{file.path} asked {stored.model!r}, not {model!r}. For another model, start a new run.")
    if model is None and stored.is_function:
        raise InputError(
            f"{file.path} asked a Python function. To go on: "
            f"equipoise.resume({str(file.path)!r}, model=the_function).ask()"
        )
    if not stored.imported and stored.spec.headers and list(stored.spec.headers) != sorted(access.headers):
        options = " ".join(f"--header {name}=…" for name in stored.spec.headers)
        raise InputError(
            f"{file.path} was started with the headers {', '.join(stored.spec.headers)}, and run files "
            f"keep no values of headers. Give them again: equipoise resume {shlex.quote(str(file.path))} {options}"
        )
    reached = reach_model(spec, None if isinstance(model, str) else model, access, Source.of_run(file.path))
    if not stored.imported:  # how imported answers were asked is not known, so anything goes
        refuse_changes(file, reached, stored.looks)
    return reached.model


def refuse_changes(
    file: RunFile, reached: Reached, looks: Mapping[str, Sequence[int]], plans: Sequence[Plan] = ()
) -> None:
    """Refuse to go on in another way than the run was started in: IntegrityError that names each changed field.

    Without `plans`, those of the file are asked, and their limit on the length of answers may be raised.
    """
    stored, spec = file.record, reached.public_spec
    if stored.limit_raised or not plans:  # if the limit was raised by itself, the command that started knows nothing
        spec = replace(spec, max_tokens=stored.spec.max_tokens)
    old = {**stored.spec.compared(), "model_settings": stored.model_settings, "looks": stored.looks}
    new = {**spec.compared(), "model_settings": reached.settings, "looks": looks}
    for plan in plans:
        asking = asking_of(plan.probe, spec.max_tokens)
        new[plan.probe.name] = _describe_plan(plan, plan.probe.version, asking, looks.get(plan.probe.name))
    for planned in file.probes() if plans else ():
        old[planned.name] = _describe_plan(planned, planned.version, planned.asking, stored.looks.get(planned.name))
    if differences := find_differences(old, new):
        changes = "\n".join(f"  {field}: {change}" for field, change in differences.items())
        raise IntegrityError(
            f"{file.path} was started with other settings, and answers to different questions are not mixed:\n"
            f"{changes}\n"
            f"To go on as it was started: equipoise resume {shlex.quote(str(file.path))}. For the new settings, start "
            "a new run." + _offer_extension(file, spec, differences)
        )


def _offer_extension(file: RunFile, spec: RunSpec, fields: Iterable[str]) -> str:
    """The command that asks more of a run, if the new settings differ only in how much is asked."""
    if not all(_SIZES.fullmatch(name) for name in fields):
        return ""
    sizes = [f"--{name} {spec.parameters[name]}" for name in ("sample", "repeat") if name in spec.parameters]
    option = "--until-certain" if "until_certain" in fields else " ".join(sizes) or f"--suite {spec.suite}"
    return f"\nTo ask more of this run and keep its answers: equipoise extend {shlex.quote(str(file.path))} {option}"


def _describe_plan(
    plan: Plan | StoredPlan, version: int, asking: Asking, looks: Sequence[int] | None
) -> dict[str, object]:
    """What of a plan must stay the same. How many looks were taken is no difference."""
    parameters = {name: value for name, value in plan.parameters.items() if not (looks and name == "sample")}
    corpus = {"corpus": plan.corpus, "corpus_sha256": plan.corpus_sha256}
    return {"version": version, "parameters": parameters, **corpus, **dataclasses.asdict(asking)}


def _refuse_small_limit(file: RunFile, failures: list[Status], max_tokens: int | None) -> None:
    """Refuse a limit that is not larger than that of the run, or for nothing that is asked again."""
    limit = max((planned.asking.max_tokens or 0 for planned in file.probes()), default=0)
    if max_tokens is not None and (not failures or max_tokens <= limit):
        raise BadParameter(
            "--max-tokens is for failures that are asked again. Name them, too (--retry empty), and a limit that is "
            f"larger than that of the run, {limit:,} tokens. Got {max_tokens:,} instead."
        )


def _ask_again(file: RunFile, failures: list[Status], max_tokens: int | None) -> None:
    """Make failures pending again, perhaps with a larger limit, which the run file keeps and notes."""
    if max_tokens is not None:
        counts = file.counts()
        again, pending = sum(counts[status] for status in failures), counts[Status.PENDING]
        file.raise_limit(max_tokens)
        states, answered = " or ".join(status.value for status in failures), sum(counts[one] for one in MEASURED)
        earlier = f" The limit of the {answered:,} answers before them was smaller." if answered else ""
        note = f"{again:,} attempts that were {states}, and {pending:,} that were pending, were asked with up to "
        file.add_notes([f"{note}{max_tokens:,} tokens.{earlier}"])
    if failures:
        file.ask_again(failures)


def _parse_failures(names: Iterable[str]) -> list[Status]:
    """The states of these names, which must be those of failures."""
    names = list(names)
    for name in names:
        if name not in RETRIED:
            raise UnknownName("failure that can be asked again", name, RETRIED)
    return [Status(name) for name in names]
