"""From a model's name to a finished run file: connect, plan, ask, conclude; and going on with one that stopped."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from equipoise.errors import InputError, StorageError
from equipoise.frames import MEASURED
from equipoise.models import FunctionModel, Model, Sampling, connect
from equipoise.models.functions import Function, Generator
from equipoise.plans import Plan
from equipoise.probe import Probe
from equipoise.results import Audit
from equipoise.run import Run, installed
from equipoise.runs import OnEvent, Policy, Progress, RunFile, pump, refuse_changes
from equipoise.scoring import plan
from equipoise.settings import Settings, environment
from equipoise.suites import chosen, parameters_for, suite

T = TypeVar("T")
EMBEDDED = "embedded"
GGUF = "gguf:"
SUFFIX = ".equipoise"


@dataclass(frozen=True, kw_only=True)
class Connection:
    """How a model is reached and asked, as the user says it."""

    model: str = EMBEDDED
    base_url: str | None = None
    key_variable: str | None = None
    allow_insecure: bool = False
    sampling: Sampling = field(default_factory=Sampling)

    @property
    def local(self) -> bool:
        """Whether the model runs here, in a process of ours."""
        return self.model == EMBEDDED or self.model.startswith(GGUF)


def open_model(connection: Connection, settings: Settings, deadline: float = Policy.deadline) -> Model:
    """The model of a connection; nothing is sent yet. Keys come from the environment."""
    if connection.local:
        if connection.base_url or connection.key_variable:
            raise InputError(f"The model {connection.model!r} runs on this machine: it has no base URL and no key.")
        from equipoise.models.embedded import embedded

        return embedded(connection.model, settings=settings, sampling=connection.sampling, deadline=deadline)
    return connect(
        connection.model,
        environ=environment(),
        base_url=connection.base_url,
        key_variable=connection.key_variable,
        sampling=connection.sampling,
        allow_insecure=connection.allow_insecure,
        deadline=deadline,
    )


def default_suite(connection: Connection) -> str:
    """What is asked unless the user says: everything, or what a model on this machine answers in minutes."""
    return "quick" if connection.local else "standard"


def default_path(model: str) -> Path:
    """A file name in the current folder that says what it holds."""
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in Path(model.removeprefix(GGUF)).name) or "model"
    return Path(f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}{SUFFIX}")


def plans_for(
    probes: str | Probe | Iterable[str | Probe] | None,
    suite_name: str,
    given: Mapping[str, Any],
    settings: Settings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Plan]:
    """The plans of a suite, with the given parameters over the suite's."""
    asked = chosen(probes)
    values = parameters_for(asked, suite(suite_name), given)
    return [plan(probe, settings=settings, progress=progress, **values[probe.name]) for probe in asked]


def describe(connection: Connection, model: Model, suite_name: str) -> dict[str, object]:
    """What a run file says of how it was asked: enough to go on with it, and no secret."""
    asked = dict(model.settings)
    asked.pop("dropped", None)
    return {
        "model": model.name,
        "model_settings": asked,
        "suite": suite_name,
        "base_url": asked.get("base_url") if connection.base_url else None,
        "key_variable": connection.key_variable,
        "allow_insecure": connection.allow_insecure,
        "sampling": asdict(connection.sampling) | {"extra": asked.get("extra", {})},
    }


def imported_settings(model: str, suite_name: str) -> dict[str, object]:
    """What a run file says whose answers come from elsewhere: how they were asked is not known."""
    connection = with_limit(Connection(model=model), suite_name)
    return {
        "model": model,
        "model_settings": {"imported": True},
        "suite": suite_name,
        "base_url": None,
        "key_variable": None,
        "allow_insecure": False,
        "sampling": asdict(connection.sampling),
    }


def connection_of(settings: Mapping[str, Any], base_url: str | None, key_variable: str | None) -> Connection:
    """The connection that a run file was asked by. A base URL with a secret must be given again."""
    return Connection(
        model=settings["model"],
        base_url=base_url or settings["base_url"],
        key_variable=key_variable or settings["key_variable"],
        allow_insecure=settings["allow_insecure"],
        sampling=Sampling(**settings["sampling"]),
    )


def begin(path: Path, settings: Mapping[str, object], plans: Iterable[Plan]) -> RunFile:
    """A new run file; or one that was started in exactly this way, to go on with it."""
    if not path.exists():
        if not path.parent.is_dir():
            raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")
        return RunFile.create(path, settings=settings, plans=plans)
    file = RunFile.open(path)
    try:
        refuse_changes(file, settings, plans)
    except BaseException:
        file.close()
        raise
    return file


def fill(file: RunFile, model: Model, policy: Policy, on_event: OnEvent | None = None) -> Progress:
    """Ask for all that is pending and store the results. Whatever ends it, what was answered is in the file."""
    with file:
        for planned in file.probes():
            installed(planned, file.path)
        progress = _in_loop(pump(file, model, policy, on_event))
        for name, result in Run.open(file.path).results().items():
            file.write_results(name, result.to_frame())
    return progress


def audit(
    model: str | Function | Generator | Model = EMBEDDED,
    *,
    probes: str | Probe | Iterable[str | Probe] | None = None,
    suite: str | None = None,
    out: str | Path | None = None,
    base_url: str | None = None,
    key_variable: str | None = None,
    sampling: Sampling | None = None,
    concurrency: int | None = None,
    policy: Policy | None = None,
    on_event: OnEvent | None = None,
    **parameters: Any,
) -> Audit:
    """Ask a model every prompt of the probes (default: all) and score its answers.

    `model` is a name ("openai/gpt-4o-mini", "embedded"), a function from prompt to answer, or an object with
    `generate(prompts)`. The answers go to the run file `out` as they come; a run that was stopped goes on when it is
    called in the same way again. Without `out`, a named model gets a file in the current folder, and the answers of a
    function are not kept. Other keywords are parameters of the probes that have them: `sample_k=100`.

    In a notebook it works as anywhere: the asking runs in a thread with an event loop of its own.
    """
    connection = Connection(
        model=model if isinstance(model, str) else "function",
        base_url=base_url,
        key_variable=key_variable,
        sampling=sampling or Sampling(),
    )
    suite_name = suite or (default_suite(connection) if isinstance(model, str) else "standard")
    connection = with_limit(connection, suite_name)
    plans = plans_for(probes, suite_name, parameters)
    asked = _as_model(model, connection, policy)
    policy = policy or Policy(concurrency=concurrency or _concurrency(model))
    with TemporaryDirectory(prefix="equipoise-") as folder:
        kept = isinstance(model, str) or out is not None
        path = Path(out) if out is not None else default_path(asked.name) if kept else Path(folder) / f"run{SUFFIX}"
        fill(begin(path, describe(connection, asked, suite_name), plans), asked, policy, on_event)
        run = Run.open(path)
        _refuse_nothing(run)
        return run.results()


def with_limit(connection: Connection, suite_name: str) -> Connection:
    """The connection with the suite's limit on the length of answers, unless the user gave one."""
    if connection.sampling.max_tokens is not None:
        return connection
    return replace(connection, sampling=replace(connection.sampling, max_tokens=suite(suite_name).max_tokens))


def _as_model(model: str | Function | Generator | Model, connection: Connection, policy: Policy | None) -> Model:
    if isinstance(model, str):
        return open_model(connection, Settings.load(), (policy or Policy()).deadline)
    if hasattr(model, "answer"):
        return model  # type: ignore[return-value]
    if callable(model) or hasattr(model, "generate"):
        return FunctionModel(model)
    raise InputError(
        f"A model must be a name, a function of the prompt, or have generate(prompts). Got {model!r} instead."
    )


def _concurrency(model: object) -> int:
    """A plain function is called once at a time, because it need not expect anything else."""
    plain = callable(model) and not hasattr(model, "answer") and not inspect.iscoroutinefunction(model)
    return 1 if plain else Policy.concurrency


def _refuse_nothing(run: Run) -> None:
    """An audit without a single answer is no result: say what went wrong instead."""
    if not any(run.counts[status] for status in MEASURED):
        detail = run.attempts()["detail"].drop_nulls()
        raise InputError(f"The model answered nothing. First it said: {detail[0] if len(detail) else 'nothing at all'}")


def _in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="equipoise-audit")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
