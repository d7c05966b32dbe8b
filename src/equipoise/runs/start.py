"""`start`: plan a run, write its file, and open a session to ask for all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from equipoise.errors import InputError, StorageError
from equipoise.measuring.looks import look_sizes
from equipoise.measuring.plan import Plan, resize
from equipoise.models import Model
from equipoise.models.llama import EMBEDDED, GGUF_PREFIX
from equipoise.models.simulated import is_simulated
from equipoise.runs.approvals import approve
from equipoise.runs.ask.policy import Policy
from equipoise.runs.connection import Connection, ModelLike, default_concurrency, open_model, wrap_model
from equipoise.runs.expected import RunEstimate, expect_probe, expect_run
from equipoise.runs.file.changes import refuse_changes
from equipoise.runs.file.settings import RunSettings
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.undo import on_error
from equipoise.runs.judging import JudgeLike, begin_judging, prepare_judge
from equipoise.runs.session import Session
from equipoise.runs.suites import Probes, choose_probes_for, plan_probes
from equipoise.settings import Settings

SUFFIX = ".equipoise"
Confirm = Callable[[RunEstimate], None]
"""Is told what a run would take, and raises if it should not be started."""


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
    judge_anyway: bool = False,
    confirm: Confirm | None = None,
) -> Session:
    """Plan and write a new run file; or go on with one that was started in exactly this way.

    A `judge` is a second model that is asked about the answers which the reading leaves open, after the model. It
    must pass an exam first (`measuring.exam`); with `judge_anyway`, it is used even if it fails.

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
    asked = prepare_judge(judge, (planned.probe for planned in plans), policy, anyway=judge_anyway) if judge else None
    path = Path(out) if out is not None else default_path(opened.name)
    settings = replace(connection.describe(opened, suite), looks=looks)
    is_new = not path.exists()
    if not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")
    if confirm and named and not connection.local and is_new:
        estimates = (expect_probe(planned, connection.sampling) for planned in largest)
        confirm(expect_run(estimates, connection, suite, price=policy.price, concurrency=policy.concurrency))
    file = _create_or_open(path, settings, plans)
    if named:
        approve(connection, Settings.load())
    if asked:
        with on_error(file.close):
            asked = begin_judging(file, asked)
    known = {planned.probe.name: planned.probe for planned in plans}
    return Session(file, opened, policy, known, asked, created=is_new)


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
    with on_error(file.close):
        refuse_changes(file, settings, plans)
    return file


def _refuse_without_probabilities(model: Model) -> None:
    """Refuse a model of which it is known beforehand that it gives no probabilities of tokens."""
    if not getattr(model, "gives_probabilities", False):
        raise InputError(
            f"{model.name} cannot be asked for the probabilities of tokens: only endpoints that speak the format of "
            "OpenAI give them, and the embedded model. Leave out --probabilities."
        )
