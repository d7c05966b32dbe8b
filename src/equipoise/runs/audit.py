"""`audit`: plan, ask and score in one call, for the library."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from equipoise.errors import InputError
from equipoise.measuring.audit import Audit
from equipoise.models import Sampling
from equipoise.models.llama import EMBEDDED
from equipoise.models.simulated import is_simulated
from equipoise.runs.ask.events import OnEvent
from equipoise.runs.ask.policy import Policy
from equipoise.runs.connection import Connection, ModelLike, default_concurrency
from equipoise.runs.judging import JudgeLike
from equipoise.runs.run import Run
from equipoise.runs.start import SUFFIX, start
from equipoise.runs.suites import Probes, choose_probes_for
from equipoise.runs.waiting import blocking
from equipoise.schema import MEASURED


async def audit_async(
    model: ModelLike = EMBEDDED,
    *,
    probes: Probes = None,
    suite: str | None = None,
    out: str | Path | None = None,
    base_url: str | None = None,
    key_variable: str | None = None,
    key_command: str | None = None,
    headers: Mapping[str, str] | None = None,
    sampling: Sampling | None = None,
    concurrency: int | None = None,
    policy: Policy | None = None,
    on_event: OnEvent | None = None,
    reading: str | None = None,
    until_certain: bool = False,
    probabilities: bool = False,
    judge: JudgeLike | None = None,
    judge_anyway: bool = False,
    **parameters: Any,
) -> Audit:
    """Ask a model every prompt of the probes (default: all) and score its answers.

    `model` is a name ("openai/gpt-4o-mini", "embedded", "simulated/unbiased"), a function from prompt to answer, or an
    object with `generate(prompts)`. The answers go to the run file `out` as they come; a run that was stopped goes on
    when it is called in the same way again. Without `out`, a named model gets a file in the current folder, and the
    answers of a function or a simulated model last as long as the results. `reading` says how answers are read:
    "careful" (the default) or "specified".
    With `probabilities`, probes whose answers are one word are read from the probabilities of the first token.
    A `key_command` prints the key; it is run without a shell, and again when the key is refused. `headers` go with
    every request. Neither its output nor their values are stored.
    A `judge` is a second model that is asked about the answers which the reading leaves open. It must pass an exam
    first; with `judge_anyway`, it is used even if it fails.
    Other keywords are parameters of the probes that have them: `sample=100`.
    With `until_certain`, each probe is asked in up to five looks of doubling size, until its marks are certain.

    `audit` blocks, also in a notebook, where it works in a thread with an event loop of its own; `audit_async` is for
    programs that have an event loop.
    """
    if policy is not None and concurrency is not None:
        raise InputError("Give concurrency or policy, not both: a policy has a concurrency of its own.")
    connection = Connection(
        model=model if isinstance(model, str) else "function",
        base_url=base_url,
        key_variable=key_variable,
        key_command=key_command,
        headers=headers or {},
        sampling=sampling or Sampling(),
    )
    chosen = [probe.read_by(reading) for probe in choose_probes_for(model, probes, suite)]
    folder = None
    if out is None and (not isinstance(model, str) or is_simulated(model)):
        folder = Path(tempfile.mkdtemp(prefix="equipoise-"))
        out = folder / f"run{SUFFIX}"
    try:
        session = start(
            model,
            probes=chosen,
            suite=suite,
            out=out,
            connection=connection,
            policy=policy or Policy(concurrency=concurrency or default_concurrency(model)),
            parameters=parameters,
            until_certain=until_certain,
            probabilities=probabilities,
            judge=judge,
            judge_anyway=judge_anyway,
        )
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


audit = blocking(audit_async)


def _holds_answers(path: Path) -> bool:
    return path.exists() and Run.open(path).ended > 0


def _refuse_no_answers(run: Run) -> None:
    """An audit without a single answer is no result: say what went wrong instead."""
    if not any(run.counts[status] for status in MEASURED):
        details = run.attempts()["detail"].drop_nulls()
        first = details[0] if len(details) else "nothing at all"
        raise InputError(f"The model answered nothing. The first failure: {first}")
