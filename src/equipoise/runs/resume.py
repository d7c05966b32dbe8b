"""`resume`: open a run that was stopped, to ask for what is pending as it was started, or with a larger limit."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.models import Model, Sampling
from equipoise.probes import find_probes
from equipoise.runs.approvals import refuse_foreign_destination
from equipoise.runs.ask.policy import Policy
from equipoise.runs.connection import Connection, ModelLike, default_concurrency, open_model, wrap_model
from equipoise.runs.file.changes import refuse_changes
from equipoise.runs.file.settings import RunSettings
from equipoise.runs.file.store import RETRIED, RunFile
from equipoise.runs.file.undo import on_error
from equipoise.runs.judging import JudgeLike, find_judge
from equipoise.runs.session import Session
from equipoise.schema import MEASURED, Status
from equipoise.settings import Settings


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
    judge_anyway: bool = False,
) -> Session:
    """Open a run file that was stopped, to ask for what is pending exactly as it was started.

    Attempts that failed in a way that `retry` names ("http_error", "timeout") are asked again, too; with `max_tokens`,
    all that is asked from now on has this larger limit, which the file keeps: for models that reason until none is
    left. A `judge` is asked about the answers that the reading leaves open; a run that has one goes on with it. It
    must pass an exam first; with `judge_anyway`, it is used even if it fails.
    A run of a Python function needs the `model` again. A base URL that held a secret must be given again, and so must
    `headers`, a `key_command`, `allow_insecure` and `allow_secret_url`. A key is not sent where only the file says so
    (`runs.approvals`).
    """
    file = RunFile.open(Path(path))
    with on_error(file.close):
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
                sampling=_raise_limit(file, failures, max_tokens),
                **allowed,
            )
            opened = _open_again(file, connection, model, policy.deadline, base_url=base_url, key_variable=key_variable)
            _ask_again(file, failures, max_tokens, opened)
        asked = find_judge(
            file, judge, known, policy, failures, needed=opened is not None, anyway=judge_anyway, **allowed
        )
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
    refuse_changes(file, _with_free_settings(connection, opened, stored))
    return opened


def _raise_limit(file: RunFile, failures: list[Status], max_tokens: int | None) -> Sampling:
    """How the model is asked from now on: as before, or with a larger limit."""
    sampling = file.settings.sampling
    if max_tokens is None:
        return sampling
    if not failures:
        raise InputError("--max-tokens is for failures that are asked again. Name them, too: --retry empty")
    limit = max((planned.asking.max_tokens or 0 for planned in file.probes()), default=0)
    if max_tokens <= limit:
        raise BadParameter(
            f"The limit for failures that are asked again must be larger than that of the run, {limit:,} tokens, "
            f"which holds without --max-tokens. Got {max_tokens:,} instead."
        )
    return replace(sampling, max_tokens=max_tokens)


def _ask_again(file: RunFile, failures: list[Status], max_tokens: int | None, model: Model) -> None:
    """Make failures pending again, perhaps with a larger limit, which the run file keeps and notes."""
    counts, settings = file.counts(), file.settings
    again, pending = sum(counts[status] for status in failures), counts[Status.PENDING]
    if max_tokens is not None and (again or pending or settings.looks):
        limit = {name: value for name, value in model.settings.items() if name == "max_tokens"}
        file.raise_limit(
            max_tokens, settings.model_settings if settings.imported else {**settings.model_settings, **limit}
        )
        states, answered = " or ".join(status.value for status in failures), sum(counts[one] for one in MEASURED)
        earlier = f" The limit of the {answered:,} answers before them was smaller." if answered else ""
        note = f"{again:,} attempts that were {states}, and {pending:,} that were pending, were asked with up to "
        file.add_notes([f"{note}{max_tokens:,} tokens.{earlier}"])
    file.ask_again(failures)


def parse_failures(names: Iterable[str]) -> list[Status]:
    """The states of these names, which must be those of failures."""
    names = list(names)
    for name in names:
        if name not in RETRIED:
            raise UnknownName("failure that can be asked again", name, RETRIED)
    return [Status(name) for name in names]


def _with_free_settings(connection: Connection, model: Model, stored: RunSettings) -> RunSettings:
    """The settings of today, with those that may differ when a run goes on set to what is stored.

    How the key is sent is given anew, and a limit may be raised. How imported answers were asked is not known, so
    anything goes.
    """
    now = connection.describe(model, stored.suite)
    if connection.sampling.max_tokens != stored.sampling.max_tokens:
        limit = {name: value for name, value in stored.model_settings.items() if name == "max_tokens"}
        sampling = replace(now.sampling, max_tokens=stored.sampling.max_tokens)
        now = replace(now, sampling=sampling, model_settings={**now.model_settings, **limit})
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
