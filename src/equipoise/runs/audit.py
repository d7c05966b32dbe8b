"""`audit`: plan, ask and score in one call, for the library."""

from __future__ import annotations

import asyncio
import functools
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.measuring.audit import Audit
from equipoise.runs.ask.events import OnEvent
from equipoise.runs.ask.policy import Policy
from equipoise.runs.reaching import ModelLike
from equipoise.runs.run import Run
from equipoise.runs.session import run_to_end
from equipoise.runs.spec import EMBEDDED, RunSpec
from equipoise.runs.start import SUFFIX, start
from equipoise.runs.suites import Probes
from equipoise.schema import MEASURED


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
    _refuse_no_answers(run)
    return await asyncio.to_thread(run.results)


@functools.wraps(audit_async)
def audit(*arguments: Any, **keywords: Any) -> Audit:
    """The same for callers without an event loop."""
    return run_to_end(audit_async(*arguments, **keywords))


audit.__name__ = audit.__qualname__ = "audit"


def _holds_answers(path: Path) -> bool:
    return path.exists() and Run(path, verify="layout").ended > 0


def _refuse_no_answers(run: Run) -> None:
    """An audit without a single answer is no result: say what went wrong instead."""
    if not any(run.counts[status] for status in MEASURED):
        details = run.attempts()["detail"].drop_nulls()
        first = details[0] if len(details) else "nothing at all"
        raise InputError(f"The model answered nothing. The first failure: {first}")
