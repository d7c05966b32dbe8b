"""Options that say what is asked, and how they become parameters of probes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import BadParameter, UnknownName

if TYPE_CHECKING:
    from equipoise.authoring import Parameter, Probe

ALL = ("all", "none")
"""How to say that everything is drawn."""
Sample = Annotated[
    str | None, typer.Option(help="How many items are drawn, or 'all'. Default: the probe's own.", metavar="K|all")
]
Repeat = Annotated[int | None, typer.Option(help="Attempts per prompt.", metavar="N")]
Seed = Annotated[int | None, typer.Option(help="Seed of the drawing.", metavar="S")]
Reading = Annotated[
    str | None,
    typer.Option(
        help="How answers are read: careful (default), or specified, by the rules of the published definitions.",
        metavar="careful|specified",
    ),
]
Unjudged = Annotated[bool, typer.Option("--no-judge", help="Leave out the verdicts of the judge, if the run has one.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A parameter of the probe; repeatable. See: equipoise probes NAME", metavar="NAME=VALUE"
    ),
]


def read_parameters(
    probes: list[Probe], sample: str | None, repeat: int | None, seed: int | None, settings: list[str] | None
) -> dict[str, Any]:
    """The parameters that were given, by name; each goes to the probes that have it."""
    from equipoise.runs import suites

    known = {name: owners[0][1] for name, owners in suites.parameter_names(probes).items()}
    given = {name: _parse(known, name, value) for name, value in map(_split, settings or [])}
    given |= {name: n for name, n in (("repeat", repeat), ("seed", seed)) if n is not None}
    if sample is not None:
        given["sample"] = None if sample in ALL else _parse_number(sample)
    return given


def _split(setting: str) -> tuple[str, str]:
    name, equals, value = setting.partition("=")
    if not equals:
        raise BadParameter(f"--set needs NAME=VALUE. Got {setting!r} instead.")
    return name.strip(), value


def _parse(known: Mapping[str, Parameter], name: str, value: str) -> Any:
    """The text as the type of the parameter's default: text as it is, everything else as JSON, or @FILE with JSON."""
    from equipoise.report.text import shorten

    if name not in known:
        raise UnknownName("parameter", name, known)
    if isinstance(known[name].default, str):
        return value
    if known[name].name == "sample" and value in ALL:
        return None
    try:
        return json.loads(Path(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value)
    except OSError as error:
        raise BadParameter(
            f"The file {value[1:]} of the {name!r} parameter cannot be read: {error.strerror}."
        ) from None
    except ValueError as error:
        example = json.dumps(known[name].default, ensure_ascii=False)
        raise BadParameter(
            f"The {name!r} parameter must be JSON, such as {shorten(example, 80)} (or @FILE, a file with it). "
            f"Got {shorten(value, 80)!r} instead ({error})."
        ) from None


def _parse_number(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise BadParameter(f"--sample needs a whole number or 'all'. Got {value!r} instead.") from None


AnswerColumn = Annotated[
    str | None, typer.Option("--answer-column", help="What the column `answer` is called in the file.", metavar="NAME")
]
PromptColumn = Annotated[
    str | None, typer.Option("--prompt-column", help="What the column `prompt` is called in the file.", metavar="NAME")
]
IdColumn = Annotated[
    str | None, typer.Option("--id-column", help="What the column `id` is called in the file.", metavar="NAME")
]


def read_names(answer: str | None, prompt: str | None, key: str | None) -> dict[str, str]:
    """What columns are called in a file of answers, and what they are called here."""
    given = {answer: "answer", prompt: "prompt", key: "id"}
    return {theirs: ours for theirs, ours in given.items() if theirs is not None}
