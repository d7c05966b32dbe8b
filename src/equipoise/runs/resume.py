"""`resume` and `extend`: a run file that is there, opened to ask for what has no answer yet, or for more."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.models import Model
from equipoise.runs.ask.policy import Policy
from equipoise.runs.file.connection import on_error
from equipoise.runs.file.store import RETRIED, RunFile
from equipoise.runs.growth import Growth, estimate_growth, plan_growth, wants_more
from equipoise.runs.judging import find_judge
from equipoise.runs.reaching import ModelLike, Source, default_concurrency, name_of, reach_model
from equipoise.runs.run import Run
from equipoise.runs.session import Session
from equipoise.runs.setup import known_probes
from equipoise.runs.spec import Access, RunSpec, read_given
from equipoise.runs.start import Confirm, make_policy, refuse_changes
from equipoise.schema import MEASURED, Status


def resume(
    path: str | Path,
    *,
    model: ModelLike | None = None,
    probes: Iterable[Probe] = (),
    judge: ModelLike | None = None,
    retry: Iterable[str] = (),
    policy: Policy | None = None,
    growth: Growth | None = None,
    **given: Any,
) -> Session:
    """Open a run file that was stopped, to ask for what is pending exactly as it was started.

    Attempts that failed in a way that `retry` names ("http_error", "timeout") are asked again, too; with `max_tokens`,
    all that is asked from now on has this larger limit, which the file keeps: for models that reason until none is
    left. A `judge` is asked about the answers that the reading leaves open; a run that has one goes on with it.
    It must pass an exam first; with `judge_anyway`, it is used even if it fails.
    A run of a Python function needs the `model` again. A base URL that held a secret must be given again, and so must
    `headers`, a `key_command`, `allow_insecure` and `allow_secret_url`. A key is not sent where only the file says so
    (`runs.reaching`). Pace stays as it was unless it is given; a budget is for one session. `growth` is what `extend`
    plans.
    """
    file = RunFile.open(Path(path))
    with on_error(file.close):
        stored, failures = file.settings, _parse_failures(retry)
        known = known_probes(stored.spec, probes)
        known = {name: probe.read_by(stored.spec.reading) for name, probe in known.items()}
        base = replace(stored.spec, max_requests=None, max_tokens_total=None, max_cost=None)
        given = {name: value for name, value in given.items() if value is not None}
        given |= {"judge": name_of(judge)} if judge else {}
        typed = frozenset(given) | ({"model"} if model else set())
        spec, access = read_given(base, {**given, "typed": typed})
        policy = policy or make_policy(spec, default_concurrency(model or stored.spec.model))
        _refuse_small_limit(file, failures, given.get("max_tokens"))
        opened = None
        # Of a finished run nothing is asked, and it can be judged: its model may be gone, or a function, or unknown.
        counts = file.counts()
        is_open = growth or any(counts[status] for status in (Status.PENDING, *failures))
        if is_open or wants_more(Run(file.path, known.values(), checked=True)):
            opened = _reach_again(file, spec, access, model, policy.deadline)
            _ask_again(file, failures, given.get("max_tokens"))
        if growth:
            file.change(growth.plans, spec=growth.spec, looks=dict(growth.looks))
        opened_judge = find_judge(file, spec, judge, access, known, policy, failures, needed=opened is not None)
    return Session(file, opened, policy, known, opened_judge)


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
    if confirm and not (run.settings.spec.local or run.settings.is_function):
        confirm(estimate_growth(run, growth))
    return resume(path, growth=growth, **given)


def _reach_again(file: RunFile, spec: RunSpec, access: Access, model: ModelLike | None, deadline: float) -> Model:
    """The model of a run, reached and asked as before, with the address and the variable that the user gave."""
    stored = file.settings
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
    function = None if isinstance(model, str) else model
    reached = reach_model(spec, function, access, Source.of_run(file.path), deadline)
    if not stored.imported:  # how imported answers were asked is not known, so anything goes
        refuse_changes(file, reached, stored.looks)
    return reached.model


def _refuse_small_limit(file: RunFile, failures: list[Status], max_tokens: int | None) -> None:
    """Refuse a limit that is not larger than that of the run, or for nothing that is asked again."""
    if max_tokens is None:
        return
    if not failures:
        raise InputError("--max-tokens is for failures that are asked again. Name them, too: --retry empty")
    limit = max((planned.asking.max_tokens or 0 for planned in file.probes()), default=0)
    if max_tokens <= limit:
        raise BadParameter(
            f"The limit for failures that are asked again must be larger than that of the run, {limit:,} tokens, "
            f"which holds without --max-tokens. Got {max_tokens:,} instead."
        )


def _ask_again(file: RunFile, failures: list[Status], max_tokens: int | None) -> None:
    """Make failures pending again, perhaps with a larger limit, which the run file keeps and notes."""
    if not failures:
        return
    if max_tokens is not None:
        counts = file.counts()
        again, pending = sum(counts[status] for status in failures), counts[Status.PENDING]
        file.raise_limit(max_tokens)
        states, answered = " or ".join(status.value for status in failures), sum(counts[one] for one in MEASURED)
        earlier = f" The limit of the {answered:,} answers before them was smaller." if answered else ""
        note = f"{again:,} attempts that were {states}, and {pending:,} that were pending, were asked with up to "
        file.add_notes([f"{note}{max_tokens:,} tokens.{earlier}"])
    file.ask_again(failures)


def _parse_failures(names: Iterable[str]) -> list[Status]:
    """The states of these names, which must be those of failures."""
    names = list(names)
    for name in names:
        if name not in RETRIED:
            raise UnknownName("failure that can be asked again", name, RETRIED)
    return [Status(name) for name in names]
