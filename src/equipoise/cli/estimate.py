"""`equipoise estimate`: prompts, tokens, money, time, before anything is sent."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from equipoise.cli import asking
from equipoise.cli.options import Repeat, Sample, Seed, Set, parameters
from equipoise.cli.output import print_json, stdout
from equipoise.cli.progress import duration
from equipoise.cli.show import AsJson

LETTERS = 4
"""Letters a token, as a rule of thumb for English."""


def command(
    model: asking.Model = "embedded",
    *,
    probe: asking.Probes = None,
    suite: asking.SuiteName = None,
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
    max_tokens: asking.MaxTokens = None,
    concurrency: asking.Concurrency = None,
    speed: Annotated[
        float | None, typer.Option(help="Tokens a second of one request. Default: 50, or 15 here.", metavar="N")
    ] = None,
    price: asking.PriceOption = None,
    as_json: AsJson = False,
) -> None:
    """Say what a run would take. Tokens are estimated: a token for four letters, answers of the usual length.

    Examples: equipoise estimate openai/gpt-4o-mini · equipoise estimate openai/gpt-4o --suite quick --repeat 3
    """
    from equipoise.auditing import Connection, default_suite, plans_for
    from equipoise.frames import PROMPT
    from equipoise.models import parse
    from equipoise.prices import price_for
    from equipoise.runs import Policy
    from equipoise.suites import chosen
    from equipoise.suites import suite as find_suite

    reached = Connection(model=model)
    if not reached.local:
        parse(model)
    suite = suite or default_suite(reached)
    limit = max_tokens or find_suite(suite).max_tokens
    probes = chosen(probe or None)
    rows: list[dict[str, Any]] = []
    for planned in plans_for(probes, suite, parameters(probes, sample, repeat, seed, settings)):
        prompts, letters = 0, 0
        for batch in planned.batches():
            prompts += batch.height
            letters += int(batch[PROMPT].str.len_chars().sum())
        attempts = prompts * planned.repetitions
        rows.append(
            {
                "probe": planned.probe.name,
                "prompts": prompts,
                "attempts": attempts,
                "prompt_tokens": letters * planned.repetitions // LETTERS,
                "completion_tokens": attempts * min(limit, planned.probe.answer_tokens),
            }
        )
    names = ("prompts", "attempts", "prompt_tokens", "completion_tokens")
    total = {name: sum(row[name] for row in rows) for name in names}
    cost = price_for(model, price, needed=False)
    slots = concurrency or (4 if reached.local else Policy.concurrency)
    seconds = total["completion_tokens"] / (speed or (15 if reached.local else 50)) / slots
    dollars = cost(total["prompt_tokens"], total["completion_tokens"]) if cost else None
    if as_json:
        print_json({"model": model, "suite": suite, "probes": rows, **total, "cost": dollars, "seconds": seconds})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("probe")
    for name in names:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(str(row["probe"]), *(f"{row[name]:,}" for name in names))
    table.add_row("in all", *(f"{total[name]:,}" for name in names), style="bold")
    console = stdout()
    console.print(table)
    money = "price not known (--price)" if dollars is None else f"about ${dollars:,.2f}"
    console.print(f"{model}, {suite} suite: {money}, about {duration(seconds)} at {slots} requests at a time")
