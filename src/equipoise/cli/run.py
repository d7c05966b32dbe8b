"""`equipoise run`: ask a model and measure its answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Option

from equipoise.cli import options
from equipoise.cli.config import ModelConfig, check_is_report, read_config, read_variables
from equipoise.cli.confirm import confirm_run
from equipoise.cli.output import note, open_console
from equipoise.cli.show import print_run
from equipoise.errors import EquipoiseError, InputError, Interrupted
from equipoise.report.files import check_run_target, check_target
from equipoise.runs.spec import Access, RunSpec, make_spec
from equipoise.settings import Settings

if TYPE_CHECKING:
    from equipoise.authoring import Probe
    from equipoise.runs.run import Run
    from equipoise.runs.session import Session


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
    from equipoise.runs.start import default_path, start

    typed = given.fields() if model is None else {**given.fields(), "model": model}
    loaded = read_config(config, model) if config else None
    entries = loaded.models if loaded else [ModelConfig(fields={})]
    if not entries:
        raise InputError(f"{config} names no model. Add [[models]] with model = …, or name one here.")
    if len(entries) > 1 and out:
        raise InputError(f"--out is for one model, and {config} names {len(entries)}: give each an out there.")
    if loaded and loaded.report and report is None:
        report = loaded.report
        check_is_report(report)
    check_target(report)
    own = given.own_probe()
    runs: list[Run] = []
    failures: list[EquipoiseError] = []
    for entry in entries:
        spec = make_spec(**{**entry.fields, **typed})
        path = out or entry.out or default_path(spec.model)
        try:
            _check_paths(path, report)
            if spec.base_url is None:
                _fetch_weights(spec.model)
            wanted, parameters = _read_probes(spec, own, given)
            session = start(
                spec,
                probes=wanted,
                out=path,
                access=_find_access(given, typed, entry, config, trusted=trust_config),
                source=config or "This command",
                # Called before the file is made and, if the first answer shows that the model reasons, once more.
                confirm=lambda expected, path=path: confirm_run(expected, yes=yes, under_way=path.exists()),  # type: ignore[misc]
                **parameters,
            )
            run = ask(session, quiet=quiet)
            if runs and not as_json:
                open_console().print()  # an empty line between two models
            runs.append(run)
            print_run(run, as_json=as_json)
            check_complete(run, spec.allow_missing)
        except Interrupted:
            raise
        except EquipoiseError as error:
            failures.append(error)
            if len(entries) > 1:
                note(f"{spec.model}: {error}")
    write_report(runs, report)
    if len(entries) == 1 and failures:
        raise failures[0]
    if failures:
        failed = EquipoiseError(f"{len(failures)} of {len(entries)} models failed, as said above.")
        failed.exit_code = failures[0].exit_code
        raise failed from failures[0]


def _check_paths(path: Path, report: Path | None) -> None:
    """Refuse a run file that cannot be one, or that the report would replace."""
    check_run_target(path)
    if report is not None and report.absolute() == path.absolute():
        raise InputError(f"The run file and the report cannot both be {path}.")


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


def _read_probes(spec: RunSpec, own: Probe | None, given: options.Given) -> tuple[Any, dict[str, Any]]:
    """The probes that were asked for, None for all of them, and their parameters. Those that are left out are named."""
    from equipoise.runs.suites import choose_probes_for

    wanted = options.add_own(spec.probes, own)
    chosen = choose_probes_for(spec.model, wanted, spec.suite)
    names = {probe.name for probe in chosen}
    if left_out := [one.name for one in choose_probes_for(None, wanted, spec.suite) if one.name not in names]:
        note(f"not asked, because they have no such reference model: {', '.join(left_out)}")
    return wanted, given.parameters(chosen)


def _find_access(
    given: options.Given, typed: Mapping[str, Any], entry: ModelConfig, config: Path | None, *, trusted: bool
) -> Access:
    """What opens the way to a model. Headers that a configuration names go where a person says, as a key does."""
    access = given.access()
    if config is None:
        return Access(**access)
    said = {*typed, "headers"} if entry.headers.keys() <= access["headers"].keys() else {*typed}
    access["headers"] = {**read_variables(config, entry.headers), **access["headers"]}
    return Access(**access) if trusted else Access(**access, typed=frozenset(said))


def ask(session: Session, *, quiet: bool) -> Run:
    """Ask for what is pending, with progress on stderr."""
    from equipoise.cli.progress import show_progress

    judged_by = f", judged by {session.judge}" if session.judge else ""
    note(f"{session.model}{judged_by} -> {session.path}")
    if quiet:
        return session.ask()
    with show_progress() as on_event:
        return session.ask(on_event)


def print_outcome(run: Run, report: Path | None, given: options.Given, *, as_json: bool) -> None:
    """Show what a run found, write the report if one is wanted, and fail if too much is missing."""
    print_run(run, as_json=as_json)
    write_report([run], report)
    check_complete(run, given.allow_missing())


def write_report(runs: list[Run], report: Path | None) -> None:
    """Write the report of these runs, if one is wanted and there are any."""
    from equipoise.report.html import write

    if report is not None and runs:
        write.write_report(runs, report)
        note(f"report: {report}")


def check_complete(run: Run, allow_missing: float) -> None:
    """Fail if more is missing than is allowed."""
    from equipoise.runs.ask import policy

    policy.check_complete(run.counts, run.path, allow_missing, small_limit=run.small_limit)
