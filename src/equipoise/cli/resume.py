"""`equipoise resume`: go on with a run that stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli import asking
from equipoise.cli.output import check_target
from equipoise.cli.run import carry_on, finish
from equipoise.cli.show import AsJson


def command(
    file: Annotated[Path, typer.Argument(help="The run file.")],
    *,
    report: asking.Report = None,
    as_json: AsJson = False,
    base_url: asking.BaseUrl = None,
    key_variable: asking.KeyVariable = None,
    concurrency: asking.Concurrency = None,
    deadline: asking.Deadline = None,
    tries: asking.Tries = None,
    allow_missing: asking.AllowMissing = 0.05,
    max_requests: asking.MaxRequests = None,
    max_tokens_total: asking.MaxTokensTotal = None,
    max_cost: asking.MaxCost = None,
    price: asking.PriceOption = None,
) -> None:
    """Ask only for what has no answer yet, exactly as the run was started. A finished run asks nothing.

    Examples: equipoise resume gpt-4o-mini.equipoise · equipoise resume run.equipoise --max-cost 5
    """
    from equipoise.auditing import connection_of, describe, open_model
    from equipoise.prices import price_for
    from equipoise.run import Run
    from equipoise.runs import RunFile, refuse_changes
    from equipoise.settings import Settings

    check_target(report)
    if Run.open(file).complete:
        finish(file, allow_missing, report, as_json=as_json)
        return
    run = RunFile.open(file)
    try:
        settings = run.settings
        reached = connection_of(settings, base_url, key_variable)
        cost = price_for(reached.model, price, needed=max_cost is not None)
        how = asking.policy(concurrency, deadline, tries, max_requests, max_tokens_total, max_cost, cost)
        opened = open_model(reached, Settings.load(), how.deadline)
        # The variable of the key may change, and how imported answers were asked is not known.
        imported = settings["model_settings"].get("imported")
        free = ("key_variable", "model_settings", "base_url") if imported else ("key_variable",)
        now = describe(reached, opened, settings["suite"])
        refuse_changes(run, now | {name: settings[name] for name in free})
    except BaseException:
        run.close()
        raise
    carry_on(run, opened, how, allow_missing, report, as_json=as_json)
