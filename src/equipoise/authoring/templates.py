"""Templates of prompts: plain `{name}` slots, filled from columns, and nothing else in braces."""

from __future__ import annotations

import string
from collections.abc import Sequence

import polars as pl

from equipoise.errors import BadTemplate


def check_template(template: str, slots: Sequence[str]) -> None:
    """Refuse a template that has an unknown slot, or lacks one of the slots."""
    known = f"The slots there are: {', '.join(f'{{{name}}}' for name in slots)}."
    used = find_slots(template, known)
    for name in used:
        if name not in slots:
            raise BadTemplate(f"The template {template!r} has an unknown slot {{{name}}}. {known}")
    for name in slots:
        if name not in used:
            raise BadTemplate(f"The template {template!r} lacks the slot {{{name}}}. {known}")


def fill_template(template: str, **columns: pl.Expr) -> pl.Expr:
    """The template with its slots filled from columns."""
    check_template(template, list(columns))
    pieces: list[pl.Expr] = []
    for literal, name, _, _ in string.Formatter().parse(template):
        pieces += [pl.lit(literal)] if literal else []
        pieces += [columns[name]] if name is not None else []
    return pl.concat_str(pieces)


def find_slots(template: str, known: str = "") -> list[str]:
    """The slots of a template, which must be plain names; `known` says in a message what slots there are."""
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError as error:
        raise BadTemplate(f"The template {template!r} cannot be read: {error}. Write {{{{ for a brace.") from None
    for _, name, spec, conversion in pieces:
        if name is not None and (not name.isidentifier() or spec or conversion):
            written = name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            raise BadTemplate(f"The slot {{{written}}} in the template {template!r} is not a plain name. {known}")
    return [name for _, name, _, _ in pieces if name is not None]
