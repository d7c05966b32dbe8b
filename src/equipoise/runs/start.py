"""`start` and `audit`: plan a run, write its file, ask for all of it."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from equipoise.errors import InputError, StorageError
from equipoise.measuring.marks import look_sizes
from equipoise.measuring.plan import Plan, resize
from equipoise.measuring.result import Audit
from equipoise.models.protocol import Model
from equipoise.runs.ask.events import OnEvent
from equipoise.runs.estimate import expect_probe, expect_run, find_prices
from equipoise.runs.file.connection import on_error
from equipoise.runs.file.store import RunFile
from equipoise.runs.judging import open_judge, take_judge
from equipoise.runs.reaching import ModelLike, Source, approve, reach_model, settle_spec
from equipoise.runs.run import Run
from equipoise.runs.session import Confirm, Session, refuse_changes
from equipoise.runs.spec import EMBEDDED, GGUF, Access, RunSpec, make_record
from equipoise.runs.suites import Probes, plan_probes
from equipoise.schema import MEASURED

SUFFIX = ".equipoise"


def start(
    model: ModelLike | RunSpec = EMBEDDED,
    *,
    probes: Probes = None,
    out: str | Path | None = None,
    judge: ModelLike | None = None,
    access: Access | None = None,
    source: object = "This specification",
    confirm: Confirm | None = None,
    **given: Any,
) -> Session:
    """Plan and write a new run file; or go on with one that was started in exactly this way.

    Keywords are those of `audit`. `confirm` is told what a new run would take before the file is written, unless the
    model costs neither money nor a server's time; if it raises, nothing is started. `source` is the file that the
    specification comes from.
    """
    spec, access, chosen = settle_spec(model, probes, judge, access, given)
    named = isinstance(model, str | RunSpec)
    find_prices(spec)  # refuses a limit on the cost of a model whose price is not known
    origin = Source(source, ["equipoise", "run", spec.model, "--config", str(source)])
    reached = reach_model(spec, None if named else model, access, origin)  # type: ignore[arg-type]
    largest = plan_probes(chosen, str(spec.suite), spec.parameters, repeated=named, probabilities=spec.probabilities)
    is_sized = given.get("suite") or (isinstance(model, RunSpec) and model.suite)
    is_sized = is_sized or any(name.rpartition(".")[2] == "sample" for name in spec.parameters)
    if spec.until_certain and not is_sized:  # as many items as the cards say: what is asked until certain ends there
        sizes = [one.probe.sample or one.population * one.probe.prompts_per_item for one in largest]
        largest = [
            resize(one, min(sample // one.probe.prompts_per_item, one.population))
            for one, sample in zip(largest, sizes, strict=True)
        ]
    looks = {planned.probe.name: look_sizes(planned.items) for planned in largest} if spec.until_certain else {}
    plans = [resize(planned, looks[planned.probe.name][0]) for planned in largest] if looks else largest
    if spec.probabilities:
        _refuse_without_probabilities(reached.model, plans)
    known = {planned.probe.name: planned.probe for planned in plans}
    opened_judge = open_judge(spec, judge, access, known.values(), origin) if spec.judge else None
    path = Path(out) if out is not None else default_path(reached.model.name)
    is_new = not path.exists()
    if not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")

    def ask_user(answer_tokens: int | None = None) -> None:
        """Ask whether to go on, if answers take so many tokens instead of the usual ones."""
        if confirm and named and not spec.local and is_new:
            rows = [expect_probe(planned, spec, answer_tokens=answer_tokens) for planned in largest]
            confirm(expect_run(rows, reached.public_spec))

    ask_user()
    if is_new:
        # A judge is stored by itself: a run may get one later.
        record = make_record(reached.public_spec.without_judge(), model_settings=reached.settings, looks=looks)
        file = RunFile.create(path, record=record, plans=plans)
    else:
        file = RunFile.open(path)
    with on_error(file.close):
        if not is_new:
            refuse_changes(file, reached, looks, plans)
        if named:
            approve(spec, access)
        if opened_judge:
            take_judge(file, spec, opened_judge, access)
    return Session(file, reached.model, spec, known, opened_judge, created=is_new, confirm_tokens=ask_user)


def audit(
    model: ModelLike | RunSpec = EMBEDDED,
    *,
    probes: Probes = None,
    out: str | Path | None = None,
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
    first, unless `judge_anyway`.

    It blocks, also in a notebook; in a program with an event loop: `await asyncio.to_thread(audit, …)`.
    """
    folder = None
    name = model.model if isinstance(model, RunSpec) else model
    if out is None and (not isinstance(name, str) or RunSpec(model=name).simulated):
        folder = Path(tempfile.mkdtemp(prefix="equipoise-"))
        out = folder / f"run{SUFFIX}"
    try:
        session = start(model, probes=probes, out=out, judge=judge, **given)
        run = session.ask(on_event)
    except BaseException:
        # Answers that came are kept: the message says where, and how to go on.
        if folder is not None and not _holds_answers(folder / f"run{SUFFIX}"):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if folder is not None:
        # The results refer to the run, so its file lasts as long as they do.
        weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    if not any(run.counts[status] for status in MEASURED):
        details = [detail for _, detail, _ in run.provenance.failures if detail]
        raise InputError(f"The model answered nothing. The most frequent failure: {details[0] if details else 'none'}")
    return run.results()


def _holds_answers(path: Path) -> bool:
    return path.exists() and Run(path, already_checked=True).counts.ended > 0


def default_path(model: str) -> Path:
    """A file name in the current folder that says what it holds."""
    stem = model if RunSpec(model=model).simulated else Path(model.removeprefix(GGUF)).name
    name = "".join(c if c.isalnum() or c in ".-" else "-" for c in stem) or "model"
    return Path(f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}{SUFFIX}")


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
