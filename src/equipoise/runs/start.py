"""`start` and `audit`: plan a run, write its file, ask for all of it."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import re
import shlex
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from equipoise.errors import InputError, IntegrityError, StorageError
from equipoise.measuring.marks import look_sizes
from equipoise.measuring.plan import Plan, resize
from equipoise.measuring.result import Audit
from equipoise.models import Model
from equipoise.models.protocol import Asking
from equipoise.runs.ask.events import OnEvent
from equipoise.runs.ask.policy import Policy
from equipoise.runs.estimate import RunEstimate, expect_probe, expect_run, price_for
from equipoise.runs.file.connection import on_error
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Planned, asking_of
from equipoise.runs.judging import open_judge, take_judge
from equipoise.runs.reaching import (
    ModelLike,
    Reached,
    Source,
    approve,
    default_concurrency,
    reach_model,
    settle_spec,
)
from equipoise.runs.run import Run
from equipoise.runs.session import Session, run_to_end
from equipoise.runs.spec import (
    EMBEDDED,
    GGUF,
    PACE,
    Access,
    RunSpec,
    describe_differences,
    find_differences,
    make_record,
    to_plain,
)
from equipoise.runs.suites import Probes, plan_probes
from equipoise.schema import MEASURED, SPECIFIED

SUFFIX = ".equipoise"
Confirm = Callable[[RunEstimate], None]
"""Is told what a run would take, and raises if it should not be started."""


def start(
    model: ModelLike | RunSpec = EMBEDDED,
    *,
    probes: Probes = None,
    out: str | Path | None = None,
    policy: Policy | None = None,
    judge: ModelLike | None = None,
    access: Access | None = None,
    source: object = "This specification",
    confirm: Confirm | None = None,
    **given: Any,
) -> Session:
    """Plan and write a new run file; or go on with one that was started in exactly this way.

    Keywords are the fields of a `RunSpec` (`suite`, `temperature`, `until_certain` …), what opens the way to a model
    (`key_command`, `headers`, `allow_insecure`, `allow_secret_url`), and parameters of the probes (`sample`, `seed` …).
    A `judge` is a second model that is asked about the answers which the reading leaves open, after the model. It must
    pass an exam first; with `judge_anyway`, it is used even if it fails. A `policy` takes the place
    of pace and budget.

    `confirm` is told what a new run would take before the file is written, unless the model costs neither money nor a
    server's time; if it raises, nothing is started. `source` is the file that the specification comes from.
    """
    spec, access, wanted = settle_spec(model, probes, judge, access, given)
    named = isinstance(model, str | RunSpec)
    chosen = [probe.read_by(spec.reading) for probe in wanted]
    if spec.reading is None and {probe.reading for probe in chosen} == {SPECIFIED}:
        spec = replace(spec, reading=SPECIFIED)
    spec = replace(spec, own=tuple(probe.own for probe in chosen if probe.own))
    policy = policy or make_policy(spec, default_concurrency(spec.model if isinstance(model, RunSpec) else model))
    origin = Source(name=source, again=["equipoise", "run", spec.model, "--config", str(source)])
    reached = reach_model(spec, None if named else model, access, origin, policy.deadline)  # type: ignore[arg-type]
    plans = plan_probes(chosen, str(spec.suite), spec.parameters, repeated=named, probabilities=spec.probabilities)
    is_sized = given.get("suite") or (isinstance(model, RunSpec) and model.suite)
    is_sized = is_sized or any(name.rpartition(".")[2] == "sample" for name in spec.parameters)
    if spec.until_certain and not is_sized:  # as many items as the cards say: what is asked until certain ends there
        sizes = [min(one.probe.sample or one.population.size, one.population.size) for one in plans]
        plans = [resize(planned, size) for planned, size in zip(plans, sizes, strict=True)]
    largest = plans
    looks = {planned.probe.name: look_sizes(planned.items) for planned in plans} if spec.until_certain else {}
    plans = [resize(planned, looks[planned.probe.name][0]) for planned in plans] if looks else plans
    if spec.probabilities:
        _refuse_without_probabilities(reached.model, plans)
    known = {planned.probe.name: planned.probe for planned in plans}
    opened_judge = open_judge(spec, judge, access, known.values(), policy, origin) if spec.judge else None
    path = Path(out) if out is not None else default_path(reached.model.name)
    is_new = not path.exists()
    if not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")
    confirm_tokens = None
    if confirm and named and not spec.local and is_new:
        rows = [expect_probe(planned, spec) for planned in largest]
        confirm(expect_run(rows, reached.spec, policy.price, policy.concurrency))

        def confirm_tokens(tokens: int) -> None:
            longer = [dataclasses.replace(row, completion_tokens=row.attempts * tokens) for row in rows]
            confirm(expect_run(longer, reached.spec, policy.price, policy.concurrency))

    if is_new:
        # A judge is stored by itself: a run may get one later.
        public = reached.spec.without_judge()
        record = make_record(public, model_settings=reached.settings, looks=looks)
        file = RunFile.create(path, settings=record, plans=plans)
    else:
        file = RunFile.open(path)
    with on_error(file.close):
        if not is_new:
            refuse_changes(file, reached, looks, plans)
        if named:
            approve(spec, access)
        if opened_judge:
            take_judge(file, spec, opened_judge, access)
    return Session(file, reached.model, policy, known, opened_judge, created=is_new, confirm_tokens=confirm_tokens)


async def audit_async(
    model: ModelLike | RunSpec = EMBEDDED,
    *,
    probes: Probes = None,
    out: str | Path | None = None,
    policy: Policy | None = None,
    judge: ModelLike | None = None,
    on_event: OnEvent | None = None,
    **given: Any,
) -> Audit:
    """Ask a model every prompt of the probes (default: all) and score its answers.

    `model` is a name ("openai/gpt-4o-mini", "embedded", "simulated/unbiased"), a function from prompt to answer, an
    object with `generate(prompts)`, or a `RunSpec`. The answers go to the run file `out` as they come; a run that was
    stopped goes on when it is called in the same way again. Without `out`, the answers of a model that is given by its
    name go to a file in the current folder; those of a function or a simulated model last as long as the results.

    Other keywords are fields of a `RunSpec` (`suite="quick"`, `temperature=0.7`, `base_url=…`, `concurrency=4`,
    `reading="specified"`, `until_certain=True` …), what opens the way to a model and is never stored (`key_command`,
    `headers`, `allow_insecure`, `allow_secret_url`), or parameters of the probes that have them: `sample=100`.
    A `judge` is a second model that is asked about the answers which the reading leaves open; it must pass an exam
    first, unless `judge_anyway`. A `policy` takes the place of pace and budget.

    `audit` blocks, also in a notebook, where it works in a thread with an event loop of its own; `audit_async` is for
    programs that have an event loop.
    """
    if policy is not None and given.get("concurrency") is not None:
        raise InputError("Give concurrency or policy, not both: a policy has a concurrency of its own.")
    folder = None
    name = model.model if isinstance(model, RunSpec) else model
    if out is None and (not isinstance(name, str) or RunSpec(model=name).simulated):
        folder = Path(tempfile.mkdtemp(prefix="equipoise-"))
        out = folder / f"run{SUFFIX}"
    try:
        session = start(model, probes=probes, out=out, policy=policy, judge=judge, **given)
        run = await session.ask_async(on_event)
    except BaseException:
        # Answers that came are kept: the message says where, and how to go on.
        if folder is not None and not _holds_answers(folder / f"run{SUFFIX}"):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if folder is not None:
        # The results refer to the run, so its file lasts as long as they do.
        weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    if not any(run.counts[status] for status in MEASURED):
        details = run.attempts()["detail"].drop_nulls()
        first = details[0] if len(details) else "nothing at all"
        raise InputError(f"The model answered nothing. The first failure: {first}")
    return await asyncio.to_thread(run.results)


@functools.wraps(audit_async)
def audit(*arguments: Any, **keywords: Any) -> Audit:
    """The same for callers without an event loop."""
    return run_to_end(audit_async(*arguments, **keywords))


audit.__name__ = audit.__qualname__ = "audit"


def _holds_answers(path: Path) -> bool:
    return path.exists() and Run(path, checked=True).ended > 0


def make_policy(spec: RunSpec, concurrency: int) -> Policy:
    """Pace, budget and prices of a specification; what is not given stays at its default."""
    needed = spec.max_cost is not None
    pace = {name: getattr(spec, name) for name in PACE if getattr(spec, name) is not None}
    judge = price_for(spec.judge, spec.judge_price, needed=needed, option="--judge-price") if spec.judge else None
    price = price_for(spec.model, spec.price, needed=needed)
    return Policy(**{"concurrency": concurrency, **pace}, price=price, judge_price=judge)


def default_path(model: str) -> Path:
    """A file name in the current folder that says what it holds."""
    stem = model if RunSpec(model=model).simulated else Path(model.removeprefix(GGUF)).name
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in stem) or "model"
    return Path(f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}{SUFFIX}")


def refuse_changes(
    file: RunFile, reached: Reached, looks: Mapping[str, Sequence[int]], plans: Sequence[Plan] = ()
) -> None:
    """Refuse to go on in another way than the run was started in: IntegrityError that names each changed field.

    Without `plans`, those of the file are asked, and their limit on the length of answers may be raised.
    """
    stored, spec = file.settings, reached.spec
    if stored.limit_raised or not plans:  # if the limit was raised by itself, the command that started knows nothing
        spec = replace(spec, max_tokens=stored.spec.max_tokens)
    old = {**stored.spec.compared(), "model_settings": stored.model_settings, "looks": stored.looks}
    new = {**spec.compared(), "model_settings": reached.settings, "looks": looks}
    for plan in plans:
        asking = asking_of(plan.probe, spec.max_tokens)
        new[plan.probe.name] = _describe_plan(plan, plan.probe.version, asking, looks.get(plan.probe.name))
    for planned in file.probes() if plans else ():
        old[planned.name] = _describe_plan(planned, planned.version, planned.asking, stored.looks.get(planned.name))
    if differences := describe_differences(old, new):
        raise IntegrityError(
            f"{file.path} was started with other settings, and answers to different questions are not mixed:\n"
            f"{differences}\n"
            f"To go on as it was started: equipoise resume {file.path}. For the new settings, start a new run."
            + _offer_extension(file, spec, find_differences(old, to_plain(new)))
        )


_SIZES = re.compile(r"suite|until_certain|looks\..*|[^.]+\.parameters\.(sample|repeat)")
"""The differences that only say how much is asked."""


def _offer_extension(file: RunFile, spec: RunSpec, fields: Iterable[str]) -> str:
    """The command that asks more of a run, if the new settings differ only in how much is asked."""
    if not all(_SIZES.fullmatch(name) for name in fields):
        return ""
    sizes = [f"--{name} {spec.parameters[name]}" for name in ("sample", "repeat") if name in spec.parameters]
    option = "--until-certain" if "until_certain" in fields else " ".join(sizes) or f"--suite {spec.suite}"
    return f"\nTo ask more of this run and keep its answers: equipoise extend {shlex.quote(str(file.path))} {option}"


def _describe_plan(
    plan: Plan | Planned, version: int, asking: Asking, looks: Sequence[int] | None
) -> dict[str, object]:
    """What of a plan must stay the same. How many looks were taken is no difference."""
    parameters = {name: value for name, value in plan.parameters.items() if not (looks and name == "sample")}
    corpus = {"corpus": plan.corpus, "corpus_sha256": plan.corpus_sha256}
    return {"version": version, "parameters": parameters, **corpus, **dataclasses.asdict(asking)}


def _refuse_without_probabilities(model: Model, plans: Iterable[Plan]) -> None:
    """Refuse a model of which it is known beforehand that it gives no probabilities, or continues no answers."""
    if not model.gives_probabilities:
        raise InputError(
            f"{model.name} cannot be asked for the probabilities of tokens: only endpoints that speak the format of "
            "OpenAI give them, and the embedded model. Leave out --probabilities."
        )
    opened = [plan.probe.name for plan in plans if plan.probe.detector.opening]
    if opened and not model.continues_answers:
        raise InputError(
            f"{model.name} begins a new answer instead of going on with one that was begun, as {', '.join(opened)} "
            "need for --probabilities. Ask them without it, or serve the model with llama.cpp, vLLM or the like."
        )
