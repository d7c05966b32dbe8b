"""Tables of prompts that a user brings, and texts with slots for a person: read, filled and checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypeVar

import polars as pl
from polars.exceptions import PolarsError

from equipoise.authoring.people import RACES, name_pool
from equipoise.authoring.templates import find_slots
from equipoise.errors import BadTemplate, InputError, UnknownName
from equipoise.schema import ATTEMPT_COLUMNS, GENDER, ITEM, PROMPT, slug

T = TypeVar("T")
RESERVED = {*ATTEMPT_COLUMNS, ITEM, PROMPT}
MOST_ROWS, LONGEST_PROMPT = 1_000_000, 100_000
MOST_GROUPS = 20
"""A further column of a table with more values than this is no slice."""
GENDERS = ("female", "male")
PRONOUNS = {
    "she": ("she", "he"),
    "her": ("her", "him"),
    "his": ("her", "his"),
    "hers": ("hers", "his"),
    "herself": ("herself", "himself"),
}
"""For each slot of a text what stands there for a woman and for a man."""
TABLES: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".csv": partial(pl.read_csv, infer_schema=False, n_rows=MOST_ROWS + 1),
    ".jsonl": partial(pl.read_ndjson, n_rows=MOST_ROWS + 1),
    ".ndjson": partial(pl.read_ndjson, n_rows=MOST_ROWS + 1),
    ".parquet": partial(pl.read_parquet, n_rows=MOST_ROWS + 1),
}


def read_prompts(path: Path, names: str | PathLike[str] | None) -> pl.DataFrame:
    """The prompts of a file: a table, or templates to be filled with these names or with ours."""
    if read := TABLES.get(path.suffix.lower()):
        return _read(path, read)
    text: str = _read(path, partial(Path.read_text, encoding="utf-8"))
    return _fill_people(text, _pair_names(None if names is None else _read(Path(names), TABLES[".csv"])))


def _read(path: Path, read: Callable[[Path], T]) -> T:
    try:
        return read(path)
    except (PolarsError, OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise InputError(f"{path} cannot be read: {reason}") from None


def _pair_names(names: pl.DataFrame | None) -> list[tuple[str, tuple[str, ...]]]:
    """Pairs of a woman's and a man's name, each with the race of both."""
    if names is None:
        return [(race, pair) for race in RACES for pair in zip(*(name_pool(g, race) for g in GENDERS), strict=True)]
    for column in ("name", GENDER):
        if column not in names.columns:
            raise UnknownName("column of the names", column, names.columns)
    races = names.with_columns(pl.col("race") if "race" in names.columns else pl.lit("any").alias("race")).drop_nulls()
    pools = {
        race: [list(of_race.filter(gender=gender)["name"]) for gender in GENDERS]
        for (race,), of_race in races.group_by("race", maintain_order=True)
    }
    pairs = [(str(race), pair) for race, pool in pools.items() for pair in zip(*pool, strict=False)]
    if not pairs:
        raise InputError("The names give no pair of a woman and a man: gender must be female or male, some of each.")
    return pairs


def _fill_people(text: str, pairs: list[tuple[str, tuple[str, ...]]]) -> pl.DataFrame:
    """A table of prompts from templates with slots for a person, separated by lines of three hyphens.

    `{name}` is filled with pairs of a woman's and a man's name. `{she}`, `{her}` (her or him), `{his}`
    (her or his), `{hers}` and `{herself}` are filled to fit, with a capital letter if the slot has one.
    """
    templates = [part.strip() for part in re.split(r"(?m)^---\s*$", text) if part.strip()]
    rows = []
    for number, template in enumerate(templates, start=1):
        slots = find_slots(template)
        used = {slot.lower() for slot in slots}
        if not used or not used <= {"name", *PRONOUNS}:
            known = ", ".join(f"{{{slot}}}" for slot in ("name", *PRONOUNS))
            raise BadTemplate(f"Template {number} must have one or more of these slots, and no others: {known}.")
        for place, (race, names) in enumerate(pairs if "name" in used else [("any", ("", ""))], start=1):
            words = {"name": names, **PRONOUNS}
            for side, gender in enumerate(GENDERS):
                filled = {slot: _fit_case(words[slot.lower()][side], slot) for slot in slots}
                rows.append((template.format(**filled), gender, f"{number}/{place}", str(number), race))
    return pl.DataFrame(
        rows, schema=dict.fromkeys((PROMPT, "arm", "pair", "template", "race"), pl.String), orient="row"
    )


def _fit_case(word: str, slot: str) -> str:
    return word[:1].upper() + word[1:] if slot[0].isupper() else word


def check_table(table: pl.DataFrame, *, prompt: str, arm: str, pair: str) -> pl.DataFrame:
    """The table as text, with `item` and `prompt`. Refuse what cannot be compared, and say what and where it is."""
    for column in (prompt, arm, pair):
        if column not in table.columns:
            raise UnknownName("column of the prompts", column, table.columns)
    if arm in RESERVED:
        raise InputError(f"The column {arm!r} has a name that every run uses. Call it something else.")
    if not 0 < table.height <= MOST_ROWS:
        raise InputError(f"Own prompts are 1 to {MOST_ROWS:,} rows. Got {'more' if table.height else 'none'}.")
    further = [name for name in table.columns if name not in {prompt, arm, pair, *RESERVED}]
    flat = [name for name in further if not table[name].dtype.is_nested()]
    rows = table.select(pl.col(pair).alias(ITEM), arm, pl.col(prompt).alias(PROMPT), *flat).cast(pl.String)
    needed = pl.col(ITEM, arm, PROMPT)
    odd = needed.is_null() | needed.str.contains(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
    places = rows.select(
        pl.any_horizontal(odd | (needed.str.len_chars() > LONGEST_PROMPT)).arg_true().alias("place")
    ).to_series()
    if len(places):
        raise InputError(
            f"Row {places[0] + 1:,} of the prompts has an empty field, a control character, or over "
            f"{LONGEST_PROMPT:,} characters ({len(places):,} rows in all)."
        )
    arms = sorted(rows[arm].unique())
    if len({slug(value) for value in arms}) < len(arms):
        raise InputError(f"Two arms have nearly the same name: {', '.join(arms)}.")
    sizes = rows.group_by(ITEM, maintain_order=True).agg(pl.len().alias("size"), pl.col(arm).n_unique().alias("arms"))
    broken = sizes.filter((pl.col("size") != len(arms)) | (pl.col("arms") != len(arms)))
    if broken.height:
        shown = ", ".join(broken[ITEM][:5])
        raise InputError(
            f"Each pair must have one prompt for each of {', '.join(arms[:12])}. {broken.height:,} have not: {shown}."
        )
    return rows


def find_slices(rows: pl.DataFrame, arm: str) -> list[str]:
    """The further columns that divide the pairs into a few groups."""
    further = [name for name in rows.columns if name not in (ITEM, PROMPT, arm)]
    few = [name for name in further if 1 < rows[name].n_unique() <= MOST_GROUPS and not rows[name].null_count()]
    values = rows.group_by(ITEM).agg(pl.col(few).n_unique()).select(few).max()
    return [name for name in few if values[name].item() == 1]
