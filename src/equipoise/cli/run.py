"""`equipoise run`: ask a model and measure its answers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli import model_options as options
from equipoise.cli.config import Config, read_config, typed_options
from equipoise.cli.confirm import confirm_run
from equipoise.cli.output import AsJson, note, open_console
from equipoise.cli.probe_options import Reading, Repeat, Sample, Seed, Set, read_parameters
from equipoise.cli.show import print_run
from equipoise.errors import EquipoiseError, InputError, Interrupted
from equipoise.report.files import check_run_target, check_target

if TYPE_CHECKING:
    from equipoise.runs.run import Run
    from equipoise.runs.session import Session


def command(
    context: typer.Context,
    model: options.Model = "embedded",
    *,
    config: options.ConfigFile = None,
    probe: options.Probes = None,
    suite: options.SuiteName = None,
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
    reading: Reading = None,
    until_certain: Annotated[
        bool,
        typer.Option(
            "--until-certain", help="Ask each probe in up to five looks of doubling size, until its marks are certain."
        ),
    ] = False,
    probabilities: options.Probabilities = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run file; default: named by model and time.")
    ] = None,
    report: options.Report = None,
    as_json: AsJson = False,
    base_url: options.BaseUrl = None,
    key_variable: options.KeyVariable = None,
    key_command: options.KeyCommand = None,
    header: options.Header = None,
    allow_insecure: options.AllowInsecure = False,
    allow_secret_url: options.AllowSecretUrl = False,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    max_tokens: options.MaxTokens = None,
    model_seed: options.ModelSeed = None,
    system: options.System = None,
    extra: options.Extra = None,
    concurrency: options.Concurrency = None,
    deadline: options.Deadline = None,
    tries: options.Tries = None,
    rpm: options.RequestsPerMinute = None,
    allow_missing: options.AllowMissing = 0.05,
    max_requests: options.MaxRequests = None,
    max_tokens_total: options.MaxTokensTotal = None,
    max_cost: options.MaxCost = None,
    price: options.PriceOption = None,
    yes: options.Yes = False,
    judge: options.Judge = None,
    judge_base_url: options.JudgeBaseUrl = None,
    judge_key_variable: options.JudgeKeyVariable = None,
    judge_price: options.JudgePrice = None,
    judge_anyway: options.JudgeAnyway = False,
) -> None:
    """Ask a model all prompts of the probes, keep every answer in a run file, and measure.

    Whatever stops it, the answers that came are in the file: equipoise resume FILE goes on from there. If the file is
    already there and was started with the same settings, the run goes on, too.

    Examples: equipoise run · equipoise run openai/gpt-4o-mini --suite quick · equipoise run ollama/llama3.2 ·
    equipoise run simulated/stereotyping --probe jobs_lum
    """
    given = SimpleNamespace(**{name: value for name, value in locals().items() if name not in ("context", "config")})
    check_target(report)
    if config is not None:
        ask_configured(read_config(config), given, typed_options(context))
        return
    print_outcome(ask(_start(given)), allow_missing, report, as_json=as_json)


def ask_configured(config: Config, given: SimpleNamespace, typed: set[str]) -> None:
    """Ask every model of a file, one after the other. What was typed counts more than the file.

    A model that fails does not keep the others from being asked; the first failure gives the exit code.
    """
    from equipoise.report.html import write as html

    own = {name: value for name, value in vars(given).items() if name in typed}
    chosen = config.options_for(given.model if "model" in typed else None)
    if len(chosen) > 1 and "out" in typed:
        raise InputError(f"--out is for one model, and {config.path} names {len(chosen)}: give each an out there.")
    report = given.report or config.report
    check_target(report)
    runs: list[Run] = []
    failures: list[EquipoiseError] = []
    for options_of_model in chosen:
        asked = SimpleNamespace(**{**vars(given), **options_of_model, **own, "report": report})
        try:
            run = ask(_start(asked))
            if runs and not given.as_json:
                open_console().print()  # an empty line between two models
            runs.append(run)
            print_run(run, as_json=given.as_json)
            _check_complete(run, asked.allow_missing)
        except Interrupted:
            raise
        except EquipoiseError as error:
            failures.append(error)
            if len(chosen) > 1:
                note(f"{asked.model}: {error}")
    if report is not None and runs:
        html.write_report(runs, report)
        note(f"report: {report}")
    if len(chosen) == 1 and failures:
        raise failures[0]
    if failures:
        failed = EquipoiseError(f"{len(failures)} of {len(chosen)} models failed, as said above.")
        failed.exit_code = failures[0].exit_code
        raise failed from failures[0]


def _start(given: SimpleNamespace) -> Session:
    """Start the run that the options describe."""
    from equipoise.runs import start as starting
    from equipoise.runs import suites

    path = given.out or starting.default_path(given.model)
    check_run_target(path)
    if given.report is not None and given.report.absolute() == path.absolute():
        raise InputError(f"The run file and the report cannot both be {path}.")
    chosen = [
        one.read_by(given.reading) for one in suites.choose_probes_for(given.model, given.probe or None, given.suite)
    ]
    everything = suites.choose_probes_for(None, given.probe or None, given.suite)
    if left_out := [one.name for one in everything if one.name not in {each.name for each in chosen}]:
        note(f"not asked, because they have no such reference model: {', '.join(left_out)}")
    judging = options.read_judge(
        given.judge,
        given.judge_base_url,
        given.judge_key_variable,
        allow_insecure=given.allow_insecure,
        allow_secret_url=given.allow_secret_url,
    )
    limits = options.read_policy(
        given.model,
        concurrency=given.concurrency,
        deadline=given.deadline,
        tries=given.tries,
        rpm=given.rpm,
        max_requests=given.max_requests,
        max_tokens_total=given.max_tokens_total,
        max_cost=given.max_cost,
        price=given.price,
        judge=given.judge,
        judge_price=given.judge_price,
    )
    return starting.start(
        given.model,
        probes=chosen,
        suite=given.suite,
        out=path,
        connection=options.read_connection(
            given.model,
            given.base_url,
            given.key_variable,
            key_command=given.key_command,
            header=given.header,
            allow_insecure=given.allow_insecure,
            allow_secret_url=given.allow_secret_url,
            extra=given.extra,
            temperature=given.temperature,
            top_p=given.top_p,
            max_tokens=given.max_tokens,
            seed=given.model_seed,
            system=given.system,
        ),
        policy=limits,
        parameters=read_parameters(chosen, given.sample, given.repeat, given.seed, given.settings),
        until_certain=given.until_certain,
        judge=judging,
        judge_anyway=given.judge_anyway,
        probabilities=given.probabilities,
        confirm=lambda expected: confirm_run(expected, limits, yes=given.yes),
    )


def ask(started: Session) -> Run:
    """Ask for what is pending, with progress on stderr."""
    from equipoise.cli.progress import show_progress

    judged_by = f", judged by {started.judge}" if started.judge else ""
    note(f"{started.model}{judged_by} -> {started.path}")
    with show_progress() as on_event:
        return started.ask(on_event)


def print_outcome(run: Run, allow_missing: float, report: Path | None, *, as_json: bool) -> None:
    """Show what a run found, write the report if one is wanted, and fail if too much is missing."""
    from equipoise.report.html import write as html

    print_run(run, as_json=as_json)
    if report is not None:
        html.write_report([run], report)
        note(f"report: {report}")
    _check_complete(run, allow_missing)


def _check_complete(run: Run, allow_missing: float) -> None:
    from equipoise.runs.ask import policy

    policy.check_complete(run.counts, run.path, allow_missing, small_limit=run.small_limit)
