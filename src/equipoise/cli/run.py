"""`equipoise run`: ask a model and measure its answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli import model_options as options
from equipoise.cli.confirm import confirm_run
from equipoise.cli.lazy import html, policy, session, suites
from equipoise.cli.output import AsJson, check_report_target, note
from equipoise.cli.probe_options import Reading, Repeat, Sample, Seed, Set, read_parameters
from equipoise.cli.progress import show_progress
from equipoise.cli.show import print_run
from equipoise.errors import InputError
from equipoise.report.files import check_run_target

if TYPE_CHECKING:
    from equipoise.runs.run import Run
    from equipoise.runs.session import Session


def command(
    model: options.Model = "embedded",
    *,
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
) -> None:
    """Ask a model all prompts of the probes, keep every answer in a run file, and measure.

    Whatever stops it, the answers that came are in the file: equipoise resume FILE goes on from there. If the file is
    already there and was started with the same settings, the run goes on, too.

    Examples: equipoise run · equipoise run openai/gpt-4o-mini --suite quick · equipoise run ollama/llama3.2 ·
    equipoise run simulated/stereotyping --probe jobs_lum
    """
    check_report_target(report)
    path = out or session.default_path(model)
    check_run_target(path)
    if report is not None and report.absolute() == path.absolute():
        raise InputError(f"The run file and the report cannot both be {path}.")
    chosen = [one.read_by(reading) for one in suites.choose_probes_for(model, probe or None, suite)]
    everything = suites.choose_probes_for(None, probe or None, suite)
    if left_out := [one.name for one in everything if one.name not in {each.name for each in chosen}]:
        note(f"not asked, because they have no such reference model: {', '.join(left_out)}")
    judging = options.read_judge(
        judge,
        judge_base_url,
        judge_key_variable,
        allow_insecure=allow_insecure,
        allow_secret_url=allow_secret_url,
    )
    limits = options.read_policy(
        model,
        concurrency=concurrency,
        deadline=deadline,
        tries=tries,
        rpm=rpm,
        max_requests=max_requests,
        max_tokens_total=max_tokens_total,
        max_cost=max_cost,
        price=price,
        judge=judge,
        judge_price=judge_price,
    )
    started = session.start(
        model,
        probes=chosen,
        suite=suite,
        out=path,
        connection=options.read_connection(
            model,
            base_url,
            key_variable,
            key_command=key_command,
            header=header,
            allow_insecure=allow_insecure,
            allow_secret_url=allow_secret_url,
            extra=extra,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            seed=model_seed,
            system=system,
        ),
        policy=limits,
        parameters=read_parameters(chosen, sample, repeat, seed, settings),
        until_certain=until_certain,
        judge=judging,
        probabilities=probabilities,
        confirm=lambda expected: confirm_run(expected, limits, yes=yes),
    )
    print_outcome(ask(started), allow_missing, report, as_json=as_json)


def ask(started: Session) -> Run:
    """Ask for what is pending, with progress on stderr."""
    judged_by = f", judged by {started.judge}" if started.judge else ""
    note(f"{started.model}{judged_by} -> {started.path}")
    with show_progress() as on_event:
        return started.ask(on_event)


def print_outcome(run: Run, allow_missing: float, report: Path | None, *, as_json: bool) -> None:
    """Show what a run found, write the report if one is wanted, and fail if too much is missing."""
    print_run(run, as_json=as_json)
    if report is not None:
        html.write_report([run], report)
        note(f"report: {report}")
    policy.check_complete(run.counts, run.path, allow_missing)
