"""Options for prompts that the user brings: the same for every command that asks, plans or scores."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.errors import BadParameter, InputError
from equipoise.own_prompts import KINDS

if TYPE_CHECKING:
    from equipoise.authoring import Probe

PANEL = "Own prompts"
OPTIONS: Mapping[str, Any] = {
    "pairs": Annotated[
        Path | None,
        typer.Option(
            help="Your own prompts: a table (CSV, JSONL, Parquet) with the columns prompt, pair and arm, or a text "
            "with slots such as {name} and {she}.",
            metavar="FILE",
            rich_help_panel=PANEL,
        ),
    ],
    "read": Annotated[
        str | None,
        typer.Option(help="How answers to them are read.", metavar="|".join(KINDS), rich_help_panel=PANEL),
    ],
    "columns": Annotated[
        str | None,
        typer.Option(
            help="What the columns are called in the table: arm=gender,pair=case,prompt=text.",
            metavar="NAMES",
            rich_help_panel=PANEL,
        ),
    ],
    "names": Annotated[
        Path | None,
        typer.Option(
            help="Names for {name}: a table with the columns name, gender and perhaps race. Default: 784 of ours.",
            metavar="FILE",
            rich_help_panel=PANEL,
        ),
    ],
    "letters": Annotated[
        str | None,
        typer.Option(
            help="Of a choice: the letters of the options. Default: ab.", metavar="abc", rich_help_panel=PANEL
        ),
    ],
    "bands": Annotated[
        str | None,
        typer.Option(help="The limits between the marks A, B, C and D.", metavar="A,B,C", rich_help_panel=PANEL),
    ],
}


def takes_own_prompts(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of own prompts. It gets the probe that is made of them as `own`, or None."""

    @functools.wraps(function)
    def command(**values: Any) -> None:
        given = {name: values.pop(name) for name in OPTIONS}
        function(**values, own=_make_probe(given))

    signature = inspect.signature(function, eval_str=True)
    kept = [parameter for parameter in signature.parameters.values() if parameter.name != "own"]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in OPTIONS.items()
    ]
    command.__signature__ = signature.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*kept, *more)}
    return command


def add_own(named: Sequence[str], own: Probe | None) -> list[str | Probe] | None:
    """The probes that were named, and that of the user's own prompts; None if there are neither."""
    return [*named, *([own] if own else [])] or None


def choose_one(named: str | None, own: Probe | None) -> Probe:
    """The probe that was named, or that of the user's own prompts."""
    from equipoise.probes import get_probe

    if (named is None) == (own is None):
        raise InputError("One probe is needed, by its name or with --pairs. See: equipoise probes")
    return own or get_probe(str(named))


def _make_probe(given: Mapping[str, Any]) -> Probe | None:
    pairs, read = given["pairs"], given["read"]
    if pairs is None:
        if unused := [f"--{name}" for name, value in given.items() if value is not None]:
            raise BadParameter(f"{unused[0]} is about prompts of your own. Name them, too: --pairs FILE")
        return None
    if read not in KINDS:
        raise BadParameter(f"--pairs needs --read, one of {', '.join(KINDS)}. Got {read!r} instead.")
    from equipoise.authoring import read_own_prompts

    columns = dict(_split_column(part) for part in given["columns"].split(",")) if given["columns"] else None
    return read_own_prompts(
        pairs,
        read=read,
        columns=columns,
        names=given["names"],
        letters=given["letters"] or "ab",
        bands=_read_bands(given["bands"]),
    )


def _split_column(part: str) -> tuple[str, str]:
    ours, equals, theirs = part.partition("=")
    if not equals or ours.strip() not in ("prompt", "pair", "arm"):
        raise BadParameter(f"--columns needs prompt=…, pair=… or arm=…, separated by commas. Got {part!r} instead.")
    return ours.strip(), theirs.strip()


def _read_bands(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        bands = [float(part) for part in text.split(",")]
    except ValueError:
        bands = []
    if len(bands) != 3 or not 0 < bands[0] < bands[1] < bands[2]:
        raise BadParameter(f"--bands needs three growing numbers, such as 0.03,0.1,0.3. Got {text!r} instead.")
    return bands
