"""Parameters of probes: what each allows and how values are checked; and templates of prompts, which may be one.

A template has plain `{name}` slots, filled from columns, and nothing else in braces.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from equipoise.errors import BadParameter
from equipoise.schema import PROMPT

Parameters = Mapping[str, Any]
SAMPLE = "sample"
ALL = (None, "all", "none")
"""How to say that everything is drawn."""
KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", tuple: "a list"}
_LARGEST_NUMBER = 2**63 - 1
"""The largest number that run files, tables and JSON hold."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of a probe: a default that gives the type, and what it allows."""

    name: str
    default: Any
    summary: str
    choices: tuple[Any, ...] = ()
    check: Callable[[Any], object] | None = None
    """Raises ValueError, in words that follow "must be", or an InputError for a value that is not allowed."""

    def validate(self, value: Any, probe: str) -> Any:
        """The value in the type of the parameter; BadParameter, with the name of the probe, if it is not allowed."""
        wanted = int if self.name == SAMPLE else type(self.default)
        if self.name == SAMPLE and value in ALL:
            return None
        if (wanted is float and type(value) is int) or (wanted is tuple and isinstance(value, list)):
            value = wanted(value)
        try:
            self._check(value, wanted)
        except ValueError as error:
            message = f"The {self.name!r} parameter of {probe} must be {error}. Got {value!r} instead."
            raise BadParameter(message) from None
        return value

    def _check(self, value: Any, wanted: type) -> None:
        if type(value) is not wanted:  # True is no number
            raise ValueError(KINDS[wanted] + (" or all" if self.name == SAMPLE else ""))
        if isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
            raise ValueError("a number of at most 64 bits")
        if self.choices and value not in self.choices:
            raise ValueError(f"one of {', '.join(map(repr, self.choices))}")
        if self.check:
            self.check(value)


def one_of(name: str, choices: Iterable[Any], summary: str) -> Parameter:
    """A parameter that is one of these; the first is the default."""
    allowed = tuple(choices)
    return Parameter(name=name, default=allowed[0], summary=summary, choices=allowed)


def template_parameter(default: str, *slots: str) -> Parameter:
    """A parameter that holds a template with exactly these slots."""
    summary = f"The prompt, with a slot for {' and '.join(f'{{{slot}}}' for slot in slots)}."
    return Parameter(name="template", default=default, summary=summary, check=partial(check_template, slots=slots))


def standard_parameters(
    corpora: tuple[str, ...], sample: int | None, prompts_per_item: int = 1
) -> tuple[Parameter, ...]:
    """The parameters that every probe has: the corpus if there are any, then the sample, the repetitions, the seed."""
    summary = f"Which texts are used: {', '.join(corpora)}."
    counted = "items are drawn" if prompts_per_item == 1 else "prompts are drawn, in whole items"
    return (
        *((one_of("corpus", corpora, summary),) if corpora else ()),
        Parameter(name=SAMPLE, default=sample, summary=f"How many {counted}; all: as many as there are."),
        Parameter(name="repeat", default=1, summary="Attempts per prompt.", check=check_range(1, 1_000_000)),
        Parameter(name="seed", default=0, summary="Seed of the drawing.", check=check_range(0)),
    )


def check_range(least: float, most: float = math.inf) -> Callable[[float], None]:
    """The check of a parameter that must be a number from the least to the most."""

    def check(value: float) -> None:
        if not least <= value <= most or math.isinf(value):
            raise ValueError(f"{least:,} or more" if math.isinf(most) else f"between {least:,} and {most:,}")

    return check


def find_slots(template: str) -> list[str]:
    """The slots of a template, which must be plain names."""
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError as error:
        raise BadParameter(f"The template {template!r} cannot be read: {error}. Write {{{{ for a brace.") from None
    if any(name is not None and (not name.isidentifier() or spec or how) for _, name, spec, how in pieces):
        raise BadParameter(f"A slot of the template {template!r} is not a plain name, such as {{name}}.")
    return [name for _, name, _, _ in pieces if name is not None]


def check_template(template: str, slots: Iterable[str]) -> None:
    """Refuse a template that has an unknown slot, or lacks one of the slots."""
    used, known = {*find_slots(template)}, {*slots}
    for name in [*(used - known), *(known - used)]:
        problem = "has an unknown slot" if name in used else "lacks the slot"
        there = ", ".join(f"{{{slot}}}" for slot in slots)
        raise BadParameter(f"The template {template!r} {problem} {{{name}}}. The slots there are: {there}.")


def fill_template(template: str, **columns: pl.Expr) -> pl.Expr:
    """The template with its slots filled from columns."""
    check_template(template, columns)
    pieces = []
    for literal, name, _, _ in string.Formatter().parse(template):
        pieces += [pl.lit(literal)] if literal else []
        pieces += [columns[name]] if name is not None else []
    return pl.concat_str(pieces)


def fill_templates(
    rows: pl.DataFrame, by: Sequence[str], choose: Callable[..., str], **columns: pl.Expr
) -> pl.DataFrame:
    """The rows with a `prompt`: the template that `choose` gives for the values of the columns `by`, filled."""
    parts = [
        part.select("row", fill_template(choose(*values), **columns).alias(PROMPT))
        for values, part in rows.with_row_index("row").partition_by(by, as_dict=True).items()
    ]
    return rows.with_columns(pl.concat(parts).sort("row")[PROMPT])
