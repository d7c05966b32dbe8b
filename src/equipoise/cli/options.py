"""Options that several commands share, and how they become parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import BadParameter, UnknownName

if TYPE_CHECKING:
    from equipoise.probe import Parameter, Probe

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
    probes: Iterable[Probe], sample: str | None, repeat: int | None, seed: int | None, settings: list[str] | None
) -> dict[str, Any]:
    """The parameters that were given, by name; each goes to the probes that have it."""
    from equipoise.suites import names

    known = {name: owners[0][1] for name, owners in names(probes).items()}
    given = {name: _parsed(known, name, value) for name, value in map(_pair, settings or [])}
    given |= {name: n for name, n in (("num_repetitions", repeat), ("random_seed", seed)) if n is not None}
    if sample is not None:
        given["sample_k"] = None if sample == "all" else _whole(sample)
    return given


def _pair(setting: str) -> tuple[str, str]:
    name, equals, value = setting.partition("=")
    if not equals:
        raise BadParameter(f"--set needs NAME=VALUE. Got {setting!r} instead.")
    return name.strip(), value


def _parsed(known: Mapping[str, Parameter], name: str, value: str) -> Any:
    """The text as the type of the parameter's default: text as it is, everything else as JSON."""
    if name not in known:
        raise UnknownName("parameter", name, known)
    if isinstance(known[name].default, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        example = json.dumps(known[name].default)
        raise BadParameter(
            f"The {name!r} parameter must be JSON, as {example[:80]} is. Got {value!r} instead ({error})."
        ) from None


def _whole(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise BadParameter(f"--sample needs a whole number or 'all'. Got {value!r} instead.") from None
