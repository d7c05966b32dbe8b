"""Options of the commands that ask a model: derived once, from the fields of `RunSpec`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import typer

from equipoise.errors import BadParameter
from equipoise.runs.spec import HINTS, RunSpec, find_meta, find_option

_KINDS: dict[str, Any] = {
    "string": str | None,
    "number": float | None,
    "integer": int | None,
    "boolean": bool | None,
    "array": list[str] | None,
    "object": str | None,
}
SHORT = {"probes": ["-p"]}
ALL_FIELDS = tuple(name for name in RunSpec.__struct_fields__ if name not in ("model", "headers", "parameters", "own"))
JUDGE = ("judge", "judge_base_url", "judge_key_variable", "judge_price", "judge_anyway")
PACE = ("concurrency", "deadline", "tries", "rpm", "max_requests", "max_tokens_total", "max_cost", "price")


def option(name: str) -> Any:
    """The option of a field, as typer wants it. What is not typed is None."""
    schema = msgspec.json.schema(HINTS[name])
    kinds = [part.get("type", "string") for part in schema.get("anyOf", [schema])]
    kind = _KINDS[next(kind for kind in kinds if kind != "null")]
    meta = find_meta(name)
    names = [find_option(name), *SHORT.get(name, ())]
    return Annotated[kind, typer.Option(*names, help=meta["help"], metavar=meta["metavar"])]


def takes(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these fields. It gets those that were typed as `given`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**values: Any) -> None:
            typed = {name: values.pop(name) for name in names}
            function(**values, given=read_typed(typed))

        signature = inspect.signature(function, eval_str=True)
        own = [parameter for parameter in signature.parameters.values() if parameter.name != "given"]
        more = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option(n)) for n in names]
        command.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *more)}
        return command

    return decorate


def read_typed(typed: dict[str, Any]) -> dict[str, Any]:
    """The fields that were typed, as the specification has them."""
    given = {name: value for name, value in typed.items() if value not in (None, [])}
    if "extra" in given:
        given["extra"] = _parse_extra(given["extra"])
    return given


def _parse_extra(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        value = None
    if not isinstance(value, dict):
        shown = text if len(text) < 200 else f"{text[:200]}…"
        raise BadParameter(f"--extra needs a JSON object, nested at most 100 deep. Got {shown!r} instead.")
    return value


def read_headers(given: list[str] | None) -> dict[str, str]:
    """The headers that were given, by name. What was given is not shown when it is wrong: it may hold a secret."""
    headers: dict[str, str] = {}
    for header in given or ():
        name, equals, value = header.partition("=")
        if not equals or not name.strip():
            raise BadParameter("--header needs NAME=VALUE, as in X-Organisation=42. What was given is not shown.")
        headers[name.strip()] = value.strip()
    return headers


Model = Annotated[
    str | None, typer.Argument(help=f"{find_meta('model')['help']} Default: embedded.", show_default=False)
]
Probes: TypeAlias = option("probes")  # type: ignore[valid-type]
SuiteName: TypeAlias = option("suite")  # type: ignore[valid-type]
Temperature: TypeAlias = option("temperature")  # type: ignore[valid-type]
MaxTokens: TypeAlias = option("max_tokens")  # type: ignore[valid-type]
System: TypeAlias = option("system")  # type: ignore[valid-type]
Report = Annotated[
    Path | None, typer.Option("--report", help="Also write the HTML report to this file.", metavar="FILE")
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
AllowInsecure = Annotated[bool, typer.Option("--allow-insecure", help="Send the key over http to another machine.")]
AllowSecretUrl = Annotated[
    bool, typer.Option("--allow-secret-url", help="Use a base URL with a key in it. The key is not stored.")
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", help="A file with models, probes, parameters, budgets, rules: docs/config.md", metavar="FILE"
    ),
]
TrustConfig = Annotated[
    bool,
    typer.Option("--trust-config", help="Send keys to the addresses that the file names, from the variables it names."),
]
Yes = Annotated[
    bool,
    typer.Option("--yes", "-y", help="Start a run of more than 2,000 prompts or one dollar without a question."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
AllowMissing = Annotated[
    float,
    typer.Option(min=0, max=1, help=find_meta("allow_missing")["help"], metavar="X"),
]
