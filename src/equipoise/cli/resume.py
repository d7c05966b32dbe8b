"""`equipoise resume`: go on with a run that stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli import model_options as options
from equipoise.cli.output import AsJson
from equipoise.cli.run import ask, print_outcome
from equipoise.errors import BadParameter
from equipoise.report.files import check_target


def command(
    file: Annotated[Path, typer.Argument(help="The run file.")],
    *,
    report: options.Report = None,
    as_json: AsJson = False,
    retry: Annotated[
        str | None,
        typer.Option(help="Ask these failures again: http_error,timeout,malformed,empty, …", metavar="STATES"),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(help="Longest answer from now on, with --retry: more than before. Answers stay.", metavar="N"),
    ] = None,
    base_url: options.BaseUrl = None,
    key_variable: options.KeyVariable = None,
    key_command: options.KeyCommand = None,
    header: options.Header = None,
    allow_insecure: options.AllowInsecure = False,
    allow_secret_url: options.AllowSecretUrl = False,
    concurrency: options.Concurrency = None,
    deadline: options.Deadline = None,
    tries: options.Tries = None,
    rpm: options.RequestsPerMinute = None,
    allow_missing: options.AllowMissing = 0.05,
    max_requests: options.MaxRequests = None,
    max_tokens_total: options.MaxTokensTotal = None,
    max_cost: options.MaxCost = None,
    price: options.PriceOption = None,
    judge: options.Judge = None,
    judge_base_url: options.JudgeBaseUrl = None,
    judge_key_variable: options.JudgeKeyVariable = None,
    judge_price: options.JudgePrice = None,
    judge_anyway: options.JudgeAnyway = False,
) -> None:
    """Ask only for what has no answer yet, as the run was started. A finished run asks nothing.

    Failures are answers of a kind: they are asked again only with --retry, and the earlier ones are kept; --max-tokens
    then holds for them and for all that is pending. With --judge, a finished run is judged; the model is not needed for
    that.

    Examples: equipoise resume gpt-4o-mini.equipoise · equipoise resume run.equipoise --retry http_error,timeout ·
    equipoise resume run.equipoise --retry empty --max-tokens 2048
    """
    from equipoise.runs import looks
    from equipoise.runs import resume as resuming
    from equipoise.runs import run as runs

    check_target(report)
    judging = options.read_judge(
        judge,
        judge_base_url,
        judge_key_variable,
        allow_insecure=allow_insecure,
        allow_secret_url=allow_secret_url,
    )
    run = runs.Run.open(file)
    options.check_whole_numbers(max_tokens=max_tokens)
    failures = resuming.parse_failures(retry.split(",") if retry else ())
    if max_tokens is not None and not failures:
        raise BadParameter("--max-tokens is for failures that are asked again. Name them, too: --retry empty")
    judge = judge or run.judge
    is_open = run.ended < run.size or looks.wants_more(run) or any(run.counts[status] for status in failures)
    if is_open or judging or run.unjudged(failures):
        policy = options.read_policy(
            run.model,
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
        run = ask(
            resuming.resume(
                file,
                base_url=base_url,
                key_variable=key_variable,
                key_command=key_command,
                headers=options.read_headers(header),
                allow_insecure=allow_insecure,
                allow_secret_url=allow_secret_url,
                retry=failures,
                max_tokens=max_tokens,
                policy=policy,
                judge=judging,
                judge_anyway=judge_anyway,
            )
        )
    print_outcome(run, allow_missing, report, as_json=as_json)
