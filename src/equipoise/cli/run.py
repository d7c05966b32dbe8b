"""`equipoise run`: ask a model and measure its answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli import asking
from equipoise.cli.options import Repeat, Sample, Seed, Set, parameters
from equipoise.cli.output import check_target, note
from equipoise.cli.progress import shown
from equipoise.cli.report import write_report
from equipoise.cli.show import AsJson, show
from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.models import Model
    from equipoise.runs import Policy, RunFile


def command(
    model: asking.Model = "embedded",
    *,
    probe: asking.Probes = None,
    suite: asking.SuiteName = None,
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run file; default: named by model and time.")
    ] = None,
    report: asking.Report = None,
    as_json: AsJson = False,
    base_url: asking.BaseUrl = None,
    key_variable: asking.KeyVariable = None,
    allow_insecure: asking.AllowInsecure = False,
    temperature: asking.Temperature = None,
    top_p: asking.TopP = None,
    max_tokens: asking.MaxTokens = None,
    model_seed: asking.ModelSeed = None,
    system: asking.System = None,
    extra: asking.Extra = None,
    concurrency: asking.Concurrency = None,
    deadline: asking.Deadline = None,
    tries: asking.Tries = None,
    allow_missing: asking.AllowMissing = 0.05,
    max_requests: asking.MaxRequests = None,
    max_tokens_total: asking.MaxTokensTotal = None,
    max_cost: asking.MaxCost = None,
    price: asking.PriceOption = None,
) -> None:
    """Ask a model all prompts of the probes, keep every answer in a run file, and measure.

    Whatever stops it, the answers that came are in the file: equipoise resume FILE goes on from there. A file that is
    there already and was started with the same settings is gone on with, too.

    Examples: equipoise run · equipoise run openai/gpt-4o-mini --suite quick · equipoise run ollama/llama3.2
    """
    from equipoise.auditing import begin, default_path, default_suite, describe, open_model, plans_for, with_limit
    from equipoise.prices import price_for
    from equipoise.settings import Settings
    from equipoise.suites import chosen

    check_target(report)
    sampling = {
        "temperature": temperature,
        "top_p": top_p,
        "max_tokens": max_tokens,
        "seed": model_seed,
        "system": system,
    }
    reached = asking.connection(model, base_url, key_variable, allow_insecure=allow_insecure, extra=extra, **sampling)
    suite = suite or default_suite(reached)
    reached = with_limit(reached, suite)
    cost = price_for(model, price, needed=max_cost is not None)
    how = asking.policy(concurrency, deadline, tries, max_requests, max_tokens_total, max_cost, cost)
    opened = open_model(reached, Settings.load(), how.deadline)
    probes = chosen(probe or None)
    plans = plans_for(probes, suite, parameters(probes, sample, repeat, seed, settings))
    path = out or default_path(model)
    if report is not None and report.absolute() == path.absolute():
        raise InputError(f"The run file and the report cannot both be {path}.")
    carry_on(begin(path, describe(reached, opened, suite), plans), opened, how, allow_missing, report, as_json=as_json)


def carry_on(
    file: RunFile, model: Model, policy: Policy, allow_missing: float, report: Path | None, *, as_json: bool
) -> None:
    """Ask for what is pending, and show what was found."""
    from equipoise.auditing import fill

    note(f"{model.name} -> {file.path}")
    with shown() as on_event:
        fill(file, model, policy, on_event)
    finish(file.path, allow_missing, report, as_json=as_json)


def finish(path: Path, allow_missing: float, report: Path | None, *, as_json: bool) -> None:
    """Show what a run found, write the report if one is wanted, and say whether enough of it is there."""
    from equipoise.run import Run
    from equipoise.runs import check_complete

    run = Run.open(path)
    show(run, as_json=as_json, slices=False)
    if report is not None:
        write_report([run], report)
    check_complete(run.counts, run.path, allow_missing)
