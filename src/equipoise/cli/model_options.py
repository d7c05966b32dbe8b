"""Options of the commands that ask a model, and how they become values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from equipoise.errors import BadParameter

if TYPE_CHECKING:
    from equipoise.runs.ask.policy import Policy
    from equipoise.runs.connection import Connection

MOST_SHOWN = 200
Model = Annotated[
    str,
    typer.Argument(
        help="openai/gpt-4o-mini, anthropic/…, ollama/llama3.2, custom/… , gguf:FILE, simulated/STANCE, or embedded."
    ),
]
Probes = Annotated[list[str] | None, typer.Option("--probe", help="A probe; repeatable. Default: all.", metavar="NAME")]
SuiteName = Annotated[
    str | None,
    typer.Option(
        "--suite",
        help="quick, ci, standard or full; or a use case (hiring, writing …): the probes about it, in standard size. "
        "Default: quick for a model on this machine, ci for a simulated one, otherwise standard.",
        metavar="NAME",
    ),
]
Report = Annotated[
    Path | None, typer.Option("--report", help="Also write the HTML report to this file.", metavar="FILE")
]
BaseUrl = Annotated[str | None, typer.Option(help="Another address for the provider.", metavar="URL")]
KeyVariable = Annotated[
    str | None,
    typer.Option(help="The environment variable that holds the key.", metavar="NAME"),
]
KeyCommand = Annotated[
    str | None,
    typer.Option(
        help="A command that prints the key; run without a shell, and again when the key is refused.",
        metavar="COMMAND",
    ),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        help="A header that goes with every request; repeatable. Its value is not stored.",
        metavar="NAME=VALUE",
    ),
]
RequestsPerMinute = Annotated[
    float | None, typer.Option("--rpm", help="Send at most N requests a minute, evenly.", metavar="N")
]
AllowInsecure = Annotated[
    bool,
    typer.Option("--allow-insecure", help="Send the key over http to another machine."),
]
AllowSecretUrl = Annotated[
    bool,
    typer.Option("--allow-secret-url", help="Use a base URL with a key in it. The key is not stored."),
]
Temperature = Annotated[float | None, typer.Option(help="Default: the endpoint's own.", metavar="T")]
TopP = Annotated[float | None, typer.Option(help="Default: the endpoint's own.", metavar="P")]
MaxTokens = Annotated[
    int | None,
    typer.Option(help="Longest answer. Default: what each probe needs.", metavar="N"),
]
Probabilities = Annotated[
    bool,
    typer.Option(
        "--probabilities",
        help="Read decisions from the probabilities of the first token: one token a prompt, narrower intervals.",
    ),
]
ModelSeed = Annotated[int | None, typer.Option(help="Seed that the model is given.", metavar="S")]
System = Annotated[str | None, typer.Option(help="System prompt.", metavar="TEXT")]
Extra = Annotated[str | None, typer.Option(help="Further fields of the request, as JSON.", metavar="JSON")]
Concurrency = Annotated[int | None, typer.Option(help="Requests at a time. Default: 16.", metavar="N")]
Deadline = Annotated[
    float | None,
    typer.Option(help="Seconds an attempt may take in all. Default: 300.", metavar="S"),
]
Tries = Annotated[int | None, typer.Option(help="Requests per attempt, if it fails. Default: 4.", metavar="N")]
MaxRequests = Annotated[int | None, typer.Option(help="Stop after N requests in this session.", metavar="N")]
MaxTokensTotal = Annotated[int | None, typer.Option(help="Stop when the run has used N tokens.", metavar="N")]
MaxCost = Annotated[float | None, typer.Option(help="Stop when the run has cost D dollars.", metavar="D")]
PriceOption = Annotated[
    str | None,
    typer.Option("--price", help="Dollars for a million tokens of prompts, of answers.", metavar="P,A"),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", help="A file with models, probes, parameters, budgets, rules: docs/config.md", metavar="FILE"
    ),
]
Yes = Annotated[
    bool,
    typer.Option("--yes", "-y", help="Start a run of more than 2,000 prompts or one dollar without a question."),
]
Judge = Annotated[
    str | None,
    typer.Option(
        help="A second model, asked about answers that are not read, or read in contradictory ways. Default: none.",
        metavar="MODEL",
    ),
]
JudgeBaseUrl = Annotated[str | None, typer.Option(help="Another address for the judge.", metavar="URL")]
JudgeKeyVariable = Annotated[
    str | None, typer.Option(help="The environment variable that holds the judge's key.", metavar="NAME")
]
JudgeAnyway = Annotated[
    bool, typer.Option("--judge-anyway", help="Use the judge even if it fails its exam; every report says so.")
]
JudgePrice = Annotated[str | None, typer.Option(help="The same as --price, for the judge.", metavar="P,A")]
AllowMissing = Annotated[
    float,
    typer.Option(min=0, max=1, help="Share of attempts that may lack an answer (else exit 3).", metavar="X"),
]


def read_connection(
    model: str,
    base_url: str | None,
    key_variable: str | None,
    *,
    key_command: str | None,
    header: list[str] | None,
    allow_insecure: bool,
    allow_secret_url: bool,
    extra: str | None,
    **sampling: Any,
) -> Connection:
    """The connection that the options describe."""
    from equipoise import models
    from equipoise.runs import connection

    check_whole_numbers(max_tokens=sampling.get("max_tokens"), model_seed=sampling.get("seed"))
    return connection.Connection(
        model=model,
        base_url=base_url,
        key_variable=key_variable,
        key_command=key_command,
        headers=read_headers(header),
        allow_insecure=allow_insecure,
        allow_secret_url=allow_secret_url,
        sampling=models.Sampling(**sampling, extra=_parse_extra(extra)),
    )


def read_headers(given: list[str] | None) -> dict[str, str]:
    """The headers that were given, by name. What was given is not shown when it is wrong: it may hold a secret."""
    headers: dict[str, str] = {}
    for header in given or ():
        name, equals, value = header.partition("=")
        if not equals or not name.strip():
            raise BadParameter("--header needs NAME=VALUE, as in X-Organisation=42. What was given is not shown.")
        headers[name.strip()] = value.strip()
    return headers


def read_judge(
    judge: str | None, base_url: str | None, key_variable: str | None, *, allow_insecure: bool, allow_secret_url: bool
) -> Connection | None:
    """How the judge is reached that the options describe, if there is one."""
    from equipoise.runs import connection

    if judge is not None:
        return connection.Connection(
            model=judge,
            base_url=base_url,
            key_variable=key_variable,
            allow_insecure=allow_insecure,
            allow_secret_url=allow_secret_url,
        )
    for option, value in (("--judge-base-url", base_url), ("--judge-key-variable", key_variable)):
        if value is not None:
            raise BadParameter(f"{option} is about a judge. Name it, too: --judge MODEL")
    return None


def read_policy(
    model: str,
    *,
    concurrency: int | None,
    deadline: float | None,
    tries: int | None,
    rpm: float | None,
    max_requests: int | None,
    max_tokens_total: int | None,
    max_cost: float | None,
    price: str | None,
    judge: str | None = None,
    judge_price: str | None = None,
) -> Policy:
    """The policy that the options describe; what is not given stays at its default."""
    from equipoise.runs import prices
    from equipoise.runs.ask import policy

    check_whole_numbers(
        concurrency=concurrency, tries=tries, max_requests=max_requests, max_tokens_total=max_tokens_total
    )
    given: dict[str, Any] = {
        "concurrency": concurrency,
        "deadline": deadline,
        "tries": tries,
        "requests_per_minute": rpm,
        "max_requests": max_requests,
        "max_tokens_total": max_tokens_total,
        "max_cost": max_cost,
    }
    known_price = prices.price_for(model, price, needed=max_cost is not None)
    needed = max_cost is not None
    of_judge = prices.price_for(judge, judge_price, needed=needed, option="--judge-price") if judge else None
    return policy.Policy(
        price=known_price, judge_price=of_judge, **{name: value for name, value in given.items() if value is not None}
    )


def check_whole_numbers(**given: int | None) -> None:
    """Refuse numbers beyond 64 bits, which neither run files nor requests hold."""
    for name, value in given.items():
        if value is not None and abs(value) >= 2**63:
            raise BadParameter(f"--{name.replace('_', '-')} needs a number of at most 64 bits. Got {value} instead.")


def _parse_extra(given: str | None) -> dict[str, Any]:
    """The fields as JSON that a request can hold: not nested without end, and no numbers beyond 64 bits."""
    try:
        value = json.loads(given or "{}")
        orjson.dumps(value)
    except (ValueError, TypeError, RecursionError):
        value = None
    if not isinstance(value, dict):
        shown = given if given is None or len(given) < MOST_SHOWN else f"{given[:MOST_SHOWN]}…"
        raise BadParameter(f"--extra needs a JSON object, nested no more than 254 deep. Got {shown!r} instead.")
    return value
