"""`equipoise run`: ask a model and measure its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli import model_options as options
from equipoise.cli.config import ModelConfig, check_is_report, read_config, read_variables
from equipoise.cli.confirm import confirm_run
from equipoise.cli.output import AsJson, note, open_console
from equipoise.cli.own_prompts import add_own, takes_own_prompts
from equipoise.cli.probe_options import Repeat, Sample, Seed, Set, read_parameters
from equipoise.cli.show import print_run
from equipoise.errors import EquipoiseError, InputError, Interrupted
from equipoise.report.files import check_run_target, check_target
from equipoise.runs.spec import EMBEDDED, Access, make_spec
from equipoise.settings import Settings

if TYPE_CHECKING:
    from equipoise.authoring import Probe
    from equipoise.runs.run import Run
    from equipoise.runs.session import Session

ALLOW_MISSING = 0.05


@options.takes(*options.ALL_FIELDS)
@takes_own_prompts
def command(
    model: options.Model = None,
    *,
    config: options.ConfigFile = None,
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run file; default: named by model and time.")
    ] = None,
    report: options.Report = None,
    as_json: AsJson = False,
    key_command: options.KeyCommand = None,
    header: options.Header = None,
    allow_insecure: options.AllowInsecure = False,
    allow_secret_url: options.AllowSecretUrl = False,
    trust_config: options.TrustConfig = False,
    yes: options.Yes = False,
    quiet: options.Quiet = False,
    own: Any,
    given: dict[str, Any],
) -> None:
    """Ask a model all prompts of the probes, keep every answer in a run file, and measure.

    Whatever stops it, the answers that came are in the file: equipoise resume FILE goes on from there. If the file is
    already there and was started with the same settings, the run goes on, too.

    Examples: equipoise run · equipoise run openai/gpt-4o-mini --suite quick · equipoise run ollama/llama3.2 ·
    equipoise run simulated/stereotyping --probe jobs_lum
    """
    if model is not None:
        given["model"] = model
    loaded = read_config(config) if config else None
    chosen = loaded.models_for(model) if loaded else [ModelConfig(fields={})]
    if len(chosen) > 1 and out:
        raise InputError(f"--out is for one model, and {config} names {len(chosen)}: give each an out there.")
    if loaded and loaded.report and report is None:
        report = loaded.report
        check_is_report(report)
    check_target(report)
    typed = Typed(
        given=given,
        own=own,
        sample=sample,
        repeat=repeat,
        seed=seed,
        settings=settings,
        report=report,
        yes=yes,
        trusted=trust_config,
    )
    opening = Access(
        key_command=key_command,
        headers=options.read_headers(header),
        allow_insecure=allow_insecure,
        allow_secret_url=allow_secret_url,
    )
    if config and not trust_config:
        opening = replace(opening, typed=frozenset(given) | {"headers"})
    runs: list[Run] = []
    failures: list[EquipoiseError] = []
    for entry in chosen:
        name = {**entry.fields, **given}.get("model", EMBEDDED)
        try:
            run = ask(_start(typed, entry, out or entry.out, opening, config), quiet=quiet)
            if runs and not as_json:
                open_console().print()  # an empty line between two models
            runs.append(run)
            print_run(run, as_json=as_json)
            check_complete(run, {**entry.fields, **given}.get("allow_missing", ALLOW_MISSING))
        except Interrupted:
            raise
        except EquipoiseError as error:
            failures.append(error)
            if len(chosen) > 1:
                note(f"{name}: {error}")
    write_report(runs, report)
    if len(chosen) == 1 and failures:
        raise failures[0]
    if failures:
        failed = EquipoiseError(f"{len(failures)} of {len(chosen)} models failed, as said above.")
        failed.exit_code = failures[0].exit_code
        raise failed from failures[0]


@dataclass(frozen=True, kw_only=True)
class Typed:
    """What was typed, for every model that is asked."""

    given: Mapping[str, Any]
    """Fields of the specification."""
    own: Probe | None
    """A probe of the user's own prompts."""
    sample: str | None
    repeat: int | None
    seed: int | None
    settings: list[str] | None
    report: Path | None
    yes: bool
    trusted: bool
    """Whether a person says yes to what the file names."""


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


def _start(typed: Typed, entry: ModelConfig, out: Path | None, access: Access, config: Path | None) -> Session:
    """Start the run of one model: as the file says, and what was typed counts more."""
    from equipoise.runs.start import default_path, start
    from equipoise.runs.suites import choose_probes_for

    spec = make_spec(**{**entry.fields, **typed.given})
    _fetch_weights(spec.model)
    path = out or default_path(spec.model)
    check_run_target(path)
    if typed.report is not None and typed.report.absolute() == path.absolute():
        raise InputError(f"The run file and the report cannot both be {path}.")
    wanted = add_own(spec.probes, typed.own)
    everything = choose_probes_for(None, wanted, spec.suite)
    chosen = choose_probes_for(spec.model, wanted, spec.suite)
    if left_out := [one.name for one in everything if one.name not in {each.name for each in chosen}]:
        note(f"not asked, because they have no such reference model: {', '.join(left_out)}")
    parameters = read_parameters(chosen, typed.sample, typed.repeat, typed.seed, typed.settings)
    if config and entry.headers:
        # A header of the file goes where a person says, as a key does.
        headers = {**read_variables(config, entry.headers), **access.headers}
        from_file = set() if typed.trusted or set(entry.headers) <= set(access.headers) else {"headers"}
        access = replace(access, headers=headers, typed=access.typed - from_file)
    return start(
        spec,
        probes=wanted,
        out=path,
        access=access,
        source=config or "This command",
        confirm=lambda expected: confirm_run(expected, path, yes=typed.yes, under_way=path.exists()),
        **parameters,
    )


def ask(started: Session, *, quiet: bool) -> Run:
    """Ask for what is pending, with progress on stderr."""
    from equipoise.cli.progress import show_progress

    judged_by = f", judged by {started.judge}" if started.judge else ""
    note(f"{started.model}{judged_by} -> {started.path}")
    if quiet:
        return started.ask()
    with show_progress() as on_event:
        return started.ask(on_event)


def print_outcome(run: Run, allow_missing: float, report: Path | None, *, as_json: bool) -> None:
    """Show what a run found, write the report if one is wanted, and fail if too much is missing."""
    print_run(run, as_json=as_json)
    write_report([run], report)
    check_complete(run, allow_missing)


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
