"""Templates of prompts: plain `{name}` slots, filled from columns, and nothing else in braces."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Sequence

import polars as pl

from equipoise.errors import BadTemplate
from equipoise.schema import PROMPT


def find_slots(template: str) -> list[str]:
    """The slots of a template, which must be plain names."""
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError as error:
        raise BadTemplate(f"The template {template!r} cannot be read: {error}. Write {{{{ for a brace.") from None
    if any(name is not None and (not name.isidentifier() or spec or how) for _, name, spec, how in pieces):
        raise BadTemplate(f"A slot of the template {template!r} is not a plain name, such as {{name}}.")
    return [name for _, name, _, _ in pieces if name is not None]


def check_template(template: str, slots: Iterable[str]) -> None:
    """Refuse a template that has an unknown slot, or lacks one of the slots."""
    used, known = {*find_slots(template)}, {*slots}
    for name in [*(used - known), *(known - used)]:
        problem = "has an unknown slot" if name in used else "lacks the slot"
        there = ", ".join(f"{{{slot}}}" for slot in slots)
        raise BadTemplate(f"The template {template!r} {problem} {{{name}}}. The slots there are: {there}.")


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
