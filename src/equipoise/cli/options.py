"""Options that several commands share, and how they become parameters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import BadParameter, UnknownName

if TYPE_CHECKING:
    from equipoise.probe import Probe

Sample = Annotated[
    str | None, typer.Option(help="How many are drawn, or 'all'. Default: the probe's own.", metavar="K|all")
]
Repeat = Annotated[int | None, typer.Option(help="Attempts a prompt.", metavar="N")]
Seed = Annotated[int | None, typer.Option(help="Seed of the drawing and of the intervals.", metavar="S")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A parameter of the probe; repeatable. See: equipoise probes NAME", metavar="NAME=VALUE"
    ),
]


def parameters(
    probe: Probe, sample: str | None, repeat: int | None, seed: int | None, settings: list[str] | None
) -> dict[str, Any]:
    """The parameters that were given, by name."""
    given = {"num_repetitions": repeat, "random_seed": seed, **dict(map(_pair, settings or []))}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if isinstance(value, str):
            given[name] = _parsed(probe, name, value)
    if sample is not None:
        given["sample_k"] = None if sample == "all" else _whole(sample)
    return given


def _pair(setting: str) -> tuple[str, str]:
    name, equals, value = setting.partition("=")
    if not equals:
        raise BadParameter(f"--set needs NAME=VALUE. Got {setting!r} instead.")
    return name.strip(), value


def _parsed(probe: Probe, name: str, value: str) -> Any:
    """The text as the type of the parameter's default: text as it is, everything else as JSON."""
    known = {parameter.name: parameter for parameter in probe.all_parameters()}
    if name not in known:
        raise UnknownName(f"parameter of {probe.name}", name, known)
    if isinstance(known[name].default, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        example = json.dumps(known[name].default)
        raise BadParameter(
            f"The {name!r} parameter of {probe.name} must be JSON, as {example[:80]} is. "
            f"Got {value!r} instead ({error})."
        ) from None


def _whole(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise BadParameter(f"--sample needs a whole number or 'all'. Got {value!r} instead.") from None
