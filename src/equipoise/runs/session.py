"""Sessions with a model, for the command line and the library alike: start or resume a run, and ask.

session = start("openai/gpt-4o-mini", probes=["jobs_lum"])   or   resume(path)
run = session.ask()
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, InputError, StorageError, UnknownName
from equipoise.measuring.looks import look_sizes
from equipoise.measuring.plan import Plan, resize
from equipoise.models import Model
from equipoise.models.llama import EMBEDDED, GGUF_PREFIX
from equipoise.models.protocol import NotServed
from equipoise.models.simulated import SimulatedModel, is_simulated
from equipoise.probes import find_probes
from equipoise.runs.approvals import approve, refuse_foreign_destination
from equipoise.runs.ask.events import OnEvent, RunProgress
from equipoise.runs.ask.policy import Policy
from equipoise.runs.ask.pump import pump
from equipoise.runs.connection import (
    Connection,
    ModelLike,
    default_concurrency,
    open_model,
    wrap_model,
)
from equipoise.runs.expected import RunEstimate, expect_probe, expect_run
from equipoise.runs.file.changes import refuse_changes
from equipoise.runs.file.settings import RunSettings
from equipoise.runs.file.store import RETRIED, RunFile
from equipoise.runs.judging import Judge, JudgeLike, begin_judging, find_judge, prepare_judge, spent_on_judge
from equipoise.runs.labels import store_labels
from equipoise.runs.looks import Looks
from equipoise.runs.rates import find_rate, measure_rate, remember_rate
from equipoise.runs.run import Run, check_probe_version
from equipoise.runs.suites import Probes, choose_probes_for, plan_probes
from equipoise.runs.verdicts import Verdicts
from equipoise.runs.waiting import run_to_end
from equipoise.schema import Status
from equipoise.settings import Settings

SUFFIX = ".equipoise"
Confirm = Callable[[RunEstimate], None]
"""Is told what a run would take, and raises if it should not be started."""


class Session:
    """A run file that this process owns and the model that fills it. `ask` asks for what is pending and closes both."""

    def __init__(
        self,
        file: RunFile,
        model: Model | None,
        policy: Policy,
        probes: Mapping[str, Probe],
        judge: Judge | None = None,
        *,
        created: bool = False,
    ) -> None:
        self._file = file
        self._created = created
        """Whether the file was written for this session."""
        self._policy = policy
        self._probes = probes
        self._model = model
        """None if only the judge is asked."""
        self._judge = judge
        self.path = file.path
        self.model = model.name if model else file.settings.model
        self.judge = judge.model.name if judge else None

    def ask(self, on_event: OnEvent | None = None) -> Run:
        """Ask for all that is pending. Whatever ends it, the answers that came are in the file.

        In a notebook it works as anywhere: the asking runs in a thread with an event loop of its own.
        """
        return run_to_end(self.ask_async(on_event))

    async def ask_async(self, on_event: OnEvent | None = None) -> Run:
        """The same in the running event loop."""
        if not self._file.owned:
            raise InputError(f"A session asks once. To go on: equipoise.resume({str(self.path)!r})")
        try:
            return await self._ask(on_event)
        except NotServed as error:
            # To resume would be to ask the same again, and the file would only stand in the way of the next try.
            if self._created and not Run.open(self.path, probes=self._probes.values()).ended:
                self.path.unlink(missing_ok=True)
                error.args = (f"{error.plain} No run file was kept.",)
            raise

    async def _ask(self, on_event: OnEvent | None) -> Run:
        with self._file:
            for planned in self._file.probes():
                check_probe_version(planned, self._probes.get(planned.name), self.path)
            if isinstance(self._model, SimulatedModel):
                run = Run.open(self.path, probes=self._probes.values())
                self._model.use_plan({name: self._probes[name] for name in run.planned}, run.prompts)
            looks = Looks(self._file, self._probes) if self._file.settings.looks else None
            requests = 0
            if self._model:
                policy = replace(self._policy, spent=spent_on_judge(self._file, self._policy))
                done = await pump(self._file, self._model, policy, on_event, looks.take if looks else None)
                requests = done.requests
                self._remember_rate(done)
            if self._judge:
                verdicts = Verdicts(self._file, self._probes, self._judge.settings, self._judge.retry)
                policy = self._judge.policy(self._policy, self._file, requests)
                await pump(verdicts, self._judge.model, policy, on_event)
            await asyncio.to_thread(store_labels, self._file, self._probes.values())
        return Run.open(self.path, probes=self._probes.values())

    def _remember_rate(self, done: RunProgress) -> None:
        """Keep how fast a model answered that is known by name: the next estimate uses it."""
        if "function" not in self._file.settings.model_settings:
            concurrency = self._policy.concurrency
            rate = measure_rate(self._file, requests=done.requests, elapsed=done.elapsed, concurrency=concurrency)
            if rate is not None:
                remember_rate(rate, Settings.load())

    def close(self) -> None:
        """Give the file back without asking."""
        self._file.close()


def start(
    model: ModelLike = EMBEDDED,
    *,
    probes: Probes = None,
    suite: str | None = None,
    out: str | Path | None = None,
    connection: Connection | None = None,
    policy: Policy | None = None,
    parameters: Mapping[str, Any] | None = None,
    until_certain: bool = False,
    probabilities: bool = False,
    judge: JudgeLike | None = None,
    confirm: Confirm | None = None,
) -> Session:
    """Plan and write a new run file; or go on with one that was started in exactly this way.

    A `judge` is a second model that is asked about the answers which the reading leaves open, after the model.

    `connection` says how a model is reached that is given by name. With `probabilities`, probes whose answers are one
    word are read from the probabilities of the first token, and the others as usual. With `until_certain`,
    each probe is asked only until its marks are certain (`measuring.looks`); the size that is planned otherwise is the
    largest.

    `confirm` is told what a new run would take before the file is written, unless the model costs neither money nor a
    server's time; if it raises, nothing is started.
    """
    named = isinstance(model, str)
    name = model if isinstance(model, str) else "function"
    connection = replace(connection, model=name) if connection else Connection(model=name)
    suite = suite or (connection.default_suite if named else "standard")
    policy = policy or Policy(concurrency=default_concurrency(model))
    opened = open_model(connection, Settings.load(), policy.deadline) if isinstance(model, str) else wrap_model(model)
    chosen = choose_probes_for(model, probes, suite)
    plans = largest = plan_probes(chosen, suite, parameters or {}, asked=named, probabilities=probabilities)
    looks = {planned.probe.name: look_sizes(planned.items) for planned in plans} if until_certain else {}
    plans = [resize(planned, looks[planned.probe.name][0]) for planned in plans] if looks else plans
    if probabilities:
        _refuse_without_probabilities(opened)
    asked = prepare_judge(judge, (planned.probe for planned in plans), policy) if judge else None
    path = Path(out) if out is not None else default_path(opened.name)
    settings = replace(connection.describe(opened, suite), looks=looks)
    is_new = not path.exists()
    if not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")
    if confirm and named and not connection.local and is_new:
        estimates = (expect_probe(planned, connection.sampling) for planned in largest)
        rate = find_rate(settings.model, settings.base_url, Settings.load())
        slots = policy.concurrency
        confirm(expect_run(estimates, connection, suite, price=policy.price, concurrency=slots, rate=rate))
    file = _create_or_open(path, settings, plans)
    if named:
        approve(connection, Settings.load())
    if asked:
        with _closing_on_error(file):
            asked = begin_judging(file, asked)
    known = {planned.probe.name: planned.probe for planned in plans}
    return Session(file, opened, policy, known, asked, created=is_new)


def resume(
    path: str | Path,
    *,
    model: ModelLike | None = None,
    probes: Iterable[Probe] = (),
    base_url: str | None = None,
    key_variable: str | None = None,
    key_command: str | None = None,
    headers: Mapping[str, str] | None = None,
    allow_insecure: bool = False,
    allow_secret_url: bool = False,
    retry: Iterable[str] = (),
    max_tokens: int | None = None,
    policy: Policy | None = None,
    judge: JudgeLike | None = None,
) -> Session:
    """Open a run file that was stopped, to ask for what is pending exactly as it was started.

    Attempts that failed in a way that `retry` names ("http_error", "timeout") are asked again, too; with `max_tokens`,
    these have a larger limit than the others, for models that reason until none is left. A `judge` is asked
    about the answers that the reading leaves open; a run that has one goes on with it.
    A run of a Python function needs the `model` again. A base URL that held a secret must be given again, and so must
    `headers`, a `key_command`, `allow_insecure` and `allow_secret_url`. A key is not sent where only the file says so
    (`runs.approvals`).
    """
    file = RunFile.open(Path(path))
    with _closing_on_error(file):
        stored, counts, failures = file.settings, file.counts(), parse_failures(retry)
        known = find_probes() | {probe.name: probe for probe in probes}
        policy = policy or Policy(concurrency=default_concurrency(model or stored.model))
        allowed = {"allow_insecure": allow_insecure, "allow_secret_url": allow_secret_url}
        opened = None
        # A finished run can be judged without its model, which may be gone, or a function, or unknown.
        is_ended = not stored.looks and not any(counts[status] for status in (Status.PENDING, *failures))
        judged_only = (judge or stored.judge) and is_ended
        if not judged_only:
            connection = Connection(
                model=stored.model,
                base_url=base_url or stored.base_url,
                key_variable=None if key_command else key_variable or stored.key_variable,
                key_command=key_command,
                headers=headers or {},
                sampling=stored.sampling,
                **allowed,
            )
            opened = _open_again(file, connection, model, policy.deadline, base_url=base_url, key_variable=key_variable)
        _ask_again(file, failures, max_tokens)
        asked = find_judge(file, judge, known, policy, failures, needed=opened is not None, **allowed)
    return Session(file, opened, policy, known, asked)


def _open_again(
    file: RunFile,
    connection: Connection,
    model: ModelLike | None,
    deadline: float,
    *,
    base_url: str | None,
    key_variable: str | None,
) -> Model:
    """The model of a run, reached and asked as before, with the address and the variable that the user gave."""
    stored = file.settings
    _refuse_other_model(file.path, stored, model)
    _refuse_other_headers(file.path, stored, connection)
    if model is None or isinstance(model, str):
        settings = Settings.load()
        refuse_foreign_destination(file.path, connection, settings, base_url=base_url, key_variable=key_variable)
        opened = open_model(connection, settings, deadline)
    else:
        opened = wrap_model(model)
    refuse_changes(file, _with_free_settings(connection.describe(opened, stored.suite), stored))
    return opened


def _ask_again(file: RunFile, failures: list[Status], max_tokens: int | None) -> None:
    """Make failures pending again, perhaps with a larger limit, which the run file notes."""
    if max_tokens is not None:
        if not failures:
            raise InputError("--max-tokens is for failures that are asked again. Name them, too: --retry empty")
        limit = max((planned.asking.max_tokens or 0 for planned in file.probes()), default=0)
        if max_tokens <= limit:
            raise BadParameter(
                f"The limit for failures that are asked again must be larger than that of the run, {limit:,} tokens. "
                f"Got {max_tokens:,} instead."
            )
    again = file.ask_again(failures, max_tokens)
    if max_tokens is not None and again:
        states = " or ".join(status.value for status in failures)
        file.add_notes([f"{again:,} attempts that were {states} were asked again with up to {max_tokens:,} tokens."])


def parse_failures(names: Iterable[str]) -> list[Status]:
    """The states of these names, which must be those of failures."""
    names = list(names)
    for name in names:
        if name not in RETRIED:
            raise UnknownName("failure that can be asked again", name, RETRIED)
    return [Status(name) for name in names]


def default_path(model: str) -> Path:
    """A file name in the current folder that says what it holds."""
    stem = model if is_simulated(model) else Path(model.removeprefix(GGUF_PREFIX)).name
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in stem) or "model"
    return Path(f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}{SUFFIX}")


def _create_or_open(path: Path, settings: RunSettings, plans: Iterable[Plan]) -> RunFile:
    """A new run file; or one that was started in exactly this way, to go on with it."""
    if not path.exists():
        return RunFile.create(path, settings=settings, plans=plans)
    file = RunFile.open(path)
    with _closing_on_error(file):
        refuse_changes(file, settings, plans)
    return file


@contextmanager
def _closing_on_error(file: RunFile) -> Iterator[None]:
    try:
        yield
    except BaseException:
        file.close()
        raise


def _with_free_settings(now: RunSettings, stored: RunSettings) -> RunSettings:
    """The settings of today, with those that may differ when a run goes on set to what is stored.

    How the key is sent is given anew. How imported answers were asked is not known, so anything goes.
    """
    free = ("key_variable", "allow_insecure", "looks", *(("model_settings", "base_url") if stored.imported else ()))
    return replace(now, **{name: getattr(stored, name) for name in free})


def _refuse_other_model(path: Path, stored: RunSettings, model: ModelLike | None) -> None:
    """Refuse another model than the run asked, or none where it asked a Python function."""
    if isinstance(model, str) and model != stored.model:
        raise InputError(f"{path} asked {stored.model!r}, not {model!r}. For another model, start a new run.")
    if model is None and "function" in stored.model_settings:
        raise InputError(
            f"{path} asked a Python function. To go on: equipoise.resume({str(path)!r}, model=the_function).ask()"
        )


def _refuse_other_headers(path: Path, stored: RunSettings, connection: Connection) -> None:
    """Refuse other headers than the run was started with: their values are not in the file, their names are."""
    names = stored.model_settings.get("headers")
    if stored.imported or not isinstance(names, list) or names == sorted(connection.headers):
        return
    options = " ".join(f"--header {name}=…" for name in names)
    raise InputError(
        f"{path} was started with the headers {', '.join(map(str, names))}, and run files keep no values of headers. "
        f"Give them again: equipoise resume {shlex.quote(str(path))} {options}"
    )


def _refuse_without_probabilities(model: Model) -> None:
    """Refuse a model of which it is known beforehand that it gives no probabilities of tokens."""
    if not getattr(model, "gives_probabilities", False):
        raise InputError(
            f"{model.name} cannot be asked for the probabilities of tokens: only endpoints that speak the format of "
            "OpenAI give them, and the embedded model. Leave out --probabilities."
        )
