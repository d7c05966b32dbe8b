"""`equipoise run`, `resume` and `extend`: ask a model and measure its answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import Option

from equipoise.cli import options
from equipoise.cli.output import note, open_console
from equipoise.cli.show import print_run
from equipoise.errors import EquipoiseError, InputError, Interrupted
from equipoise.report.files import check_run_target, check_target
from equipoise.runs.spec import PACE, Access, make_spec
from equipoise.settings import Settings

if TYPE_CHECKING:
    from equipoise.cli.config import ModelConfig
    from equipoise.runs.estimate import RunEstimate
    from equipoise.runs.run import Run
    from equipoise.runs.session import Session

MOST_PROMPTS = 2_000
MOST_DOLLARS = 1.0
"""A run that sends more prompts, or costs more, is not started without a question."""


@options.takes(*options.FIELDS, *options.PLAN, *options.OWN, *options.ACCESS)
def command(
    model: options.Model = None,
    *,
    config: options.ConfigFile = None,
    out: Path | None = Option(None, "--out", "-o", help="The run file; default: named by model and time."),
    report: options.Report = None,
    as_json: options.AsJson = False,
    trust_config: bool = Option(
        False, "--trust-config", help="Send keys to the addresses that the file names, from the variables it names."
    ),
    yes: options.Yes = False,
    quiet: options.Quiet = False,
    given: options.Given,
) -> None:
    """Ask a model all prompts of the probes, keep every answer in a run file, and measure.

    Whatever stops it, the answers that came are in the file: equipoise resume FILE goes on from there. If the file is
    already there and was started with the same settings, the run goes on, too.

    Examples: equipoise run · equipoise run openai/gpt-4o-mini --suite quick · equipoise run ollama/llama3.2 ·
    equipoise run simulated/stereotyping --probe jobs_lum
    """
    from equipoise.cli.config import ModelConfig, read_models
    from equipoise.runs.start import default_path, start
    from equipoise.runs.suites import choose_probes_for

    typed = given.fields() if model is None else {**given.fields(), "model": model}
    entries = read_models(config, model) if config else [ModelConfig({})]
    if len(entries) > 1 and out:
        raise InputError(f"--out is for one model, and {config} names {len(entries)}: give each an out there.")
    check_target(report)
    own = given.own_probes()
    runs: list[Run] = []
    failures: list[EquipoiseError] = []
    for entry in entries:
        spec = make_spec(**{**entry.fields, **typed})
        path = out or entry.out or default_path(spec.model)
        try:
            check_run_target(path)
            if report is not None and report.absolute() == path.absolute():
                raise InputError(f"The run file and the report cannot both be {path}.")
            if spec.base_url is None:
                _fetch_weights(spec.model)
            wanted = [*spec.probes, *own] or None
            chosen = choose_probes_for(spec.model, wanted, spec.suite)
            if left_out := [one.name for one in choose_probes_for(None, wanted, spec.suite) if one not in chosen]:
                note(f"not asked, because they have no such reference model: {', '.join(left_out)}")
            session = start(
                spec,
                probes=wanted,
                out=path,
                access=_find_access(given, typed, entry, config, trusted=trust_config),
                source=config or "This command",
                # Called before the file is made and, if the first answer shows that the model reasons, once more.
                confirm=lambda expected, path=path: _confirm_run(expected, yes=yes, under_way=path.exists()),  # type: ignore[misc]
                **given.parameters(chosen),
            )
            run = _ask(session, quiet=quiet)
            if runs and not as_json:
                open_console().print()  # an empty line between two models
            runs.append(run)
            print_run(run, as_json=as_json)
            _check_complete(run, spec.allow_missing)
        except Interrupted:
            raise
        except EquipoiseError as error:
            failures.append(error)
            if len(entries) > 1:
                note(f"{spec.model}: {error}")
    _write_report(runs, report)
    if failures:
        raise failures[0]


@options.takes(
    "base_url", "key_variable", "max_tokens", *PACE, "price", *options.JUDGE, "allow_missing", *options.ACCESS
)
def resume(
    file: options.RunFile,
    *,
    report: options.Report = None,
    as_json: options.AsJson = False,
    model: str | None = Option(
        None, "--model", "-m", help="The program that the file names: it may be run.", metavar="MODEL"
    ),
    retry: str = Option(
        "",
        help="Ask these failures again: http_error,timeout,malformed,empty, … With --max-tokens, up to this limit.",
        metavar="STATES",
    ),
    quiet: options.Quiet = False,
    given: options.Given,
) -> None:
    """Ask only for what has no answer yet, as the run was started. A finished run asks nothing.

    A failure is asked again only with --retry, and the earlier one is kept; --max-tokens then holds for what is asked
    again and for all that is pending. With --judge, a finished run is judged; the model is not needed for that.

    Examples: equipoise resume gpt-4o-mini.equipoise · equipoise resume run.equipoise --retry http_error,timeout ·
    equipoise resume run.equipoise --retry empty --max-tokens 16384
    """
    from equipoise.runs import session as resuming

    check_target(report)
    session = resuming.resume(file, model=model, retry=retry.split(",") if retry else (), **given.session())
    _print_outcome(_ask(session, quiet=quiet), report, given, as_json=as_json)


@options.takes("base_url", "key_variable", *PACE, "price", *options.JUDGE, "allow_missing", *options.ACCESS)
def extend(
    file: options.RunFile,
    *,
    sample: int | None = Option(
        None, min=1, help="Items of each probe, in all: those that are there and new ones.", metavar="N"
    ),
    suite: str | None = Option(
        None, help="As much as this suite asks, if it asks about the same texts.", metavar="NAME"
    ),
    repeat: int | None = Option(None, min=1, help="How often each prompt is asked, in all.", metavar="N"),
    certain: bool = Option(
        False, "--certain", help="As many items as should make every mark certain, by the answers so far."
    ),
    until_certain: bool = Option(
        False, "--until-certain", help="Double the items up to four times, until every mark is certain."
    ),
    report: options.Report = None,
    as_json: options.AsJson = False,
    yes: options.Yes = False,
    quiet: options.Quiet = False,
    given: options.Given,
) -> None:
    """Plan more of a run, keep every answer, and ask for what is missing, as the run was started.

    Examples: equipoise extend run.equipoise --sample 400 · equipoise extend run.equipoise --certain ·
    equipoise extend run.equipoise --repeat 3 --yes
    """
    from equipoise.runs import session as resuming

    check_target(report)
    session = resuming.extend(
        file,
        sample=sample,
        suite=suite,
        repeat=repeat,
        certain=certain,
        until_certain=until_certain,
        confirm=lambda expected: _confirm_run(expected, yes=yes),
        **given.session(),
    )
    _print_outcome(_ask(session, quiet=quiet), report, given, as_json=as_json)


def _fetch_weights(model: str) -> None:
    """Fetch the weights of an embedded model that are not on this machine yet, and show how far that is."""
    from equipoise.assets import find_asset, find_stored
    from equipoise.cli.data import fetch_asset
    from equipoise.models.llama import CATALOGUE

    settings = Settings.load()
    if model in CATALOGUE and find_stored(CATALOGUE[model], settings) is None:
        asset = find_asset(CATALOGUE[model])
        note(f"The weights of {model} are fetched once: {asset.size / 1e6:,.0f} MB.")
        fetch_asset(asset, settings)


def _find_access(
    given: options.Given, typed: Mapping[str, Any], entry: ModelConfig, config: Path | None, *, trusted: bool
) -> Access:
    """What opens the way to a model. Headers that a configuration names go where a person says, as a key does."""
    from equipoise.cli.config import read_variables

    access = given.access()
    if config is None:
        return Access(**access)
    said = {*typed, "headers"} if entry.headers.keys() <= access["headers"].keys() else {*typed}
    access["headers"] = {**read_variables(config, entry.headers), **access["headers"]}
    return Access(**access) if trusted else Access(**access, typed=frozenset(said))


def _confirm_run(expected: RunEstimate, *, yes: bool, under_way: bool = False) -> None:
    """Ask before a large run, unless the user said yes or set a limit. Where nobody can answer, it is refused.

    Of a run that is `under_way` nobody is asked, because its progress is being drawn: it stops, and to resume it is to
    say yes.
    """
    spec, prompts = expected.spec, expected.total("attempts")
    if prompts <= MOST_PROMPTS and (expected.cost or 0.0) <= MOST_DOLLARS:
        return
    tokens = expected.total("prompt_tokens") + expected.total("completion_tokens")
    asked = f"{spec.model}, {spec.suite} suite: {prompts:,} prompts, about {tokens:,} tokens"
    note(f"{asked}, {describe_price(expected)}")
    if yes or any(limit is not None for limit in (spec.max_cost, spec.max_requests, spec.max_tokens_total)):
        return
    if under_way:
        raise InputError(
            "The model reasons before it answers, so the run is larger than it seemed, as said above. It needs a yes: "
            "to go on is to say it."
        )
    can_ask = sys.stdin.isatty() and sys.stderr.isatty()
    if not (can_ask and typer.confirm("Start it?", err=True)):
        raise InputError(
            f"A run of more than {MOST_PROMPTS:,} prompts or ${MOST_DOLLARS:.2f} needs a yes. Nothing was sent. "
            "To start it, give the same command with --yes. To stop at a limit: --max-cost, --max-requests or "
            "--max-tokens-total. To ask less: --suite quick, --sample or --until-certain."
        )


def describe_price(expected: RunEstimate) -> str:
    """The money and the time that a run would take."""
    from equipoise.runs.ask import events

    money = "price not known (--price)" if expected.cost is None else f"about ${expected.cost:,.2f}"
    requests = "requests" if expected.concurrency > 1 else "request"
    time = f"about {events.describe_duration(expected.seconds)} at {expected.concurrency} {requests} at a time"
    return f"{money}, {time} (a guess from usual speeds)"


def _ask(session: Session, *, quiet: bool) -> Run:
    """Ask for what is pending, with progress on stderr."""
    from equipoise.cli.progress import show_progress

    note(f"{session.model_name} -> {session.path}")
    if quiet:
        return session.ask()
    with show_progress() as on_event:
        return session.ask(on_event)


def _print_outcome(run: Run, report: Path | None, given: options.Given, *, as_json: bool) -> None:
    """Show what a run found, write the report if one is wanted, and fail if too much is missing."""
    print_run(run, as_json=as_json)
    _write_report([run], report)
    allowed = run.record.spec.allow_missing
    if "allow_missing" in given:
        allowed = given.allow_missing()
    _check_complete(run, allowed)


def _write_report(runs: list[Run], report: Path | None) -> None:
    """Write the report of these runs, if one is wanted and there are any."""
    from equipoise.report.html import write

    if report is not None and runs:
        write.write_report(runs, report)
        note(f"report: {report}")


def _check_complete(run: Run, allow_missing: float) -> None:
    """Fail if more is missing than is allowed."""
    from equipoise.runs.ask import events

    events.check_complete(run.counts, run.path, allow_missing, small_limit=run.small_limit)
