"""The packaged tables of facts; `facts/README.md` says whose work they are."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from equipoise.errors import UnknownName

if TYPE_CHECKING:
    import polars as pl

FACTS = ("associations", "inventories", "names", "occupations", "pronouns", "published", "stereotypes", "traits")


@cache
def facts(name: str) -> pl.DataFrame:
    """Return a packaged table; it is read once."""
    # Imported here because polars is slow to import and `equipoise data` does without it.
    import polars as pl  # noqa: PLC0415 - listing assets needs no tables

    if name not in FACTS:
        raise UnknownName("fact table", name, FACTS)
    table = resources.files("equipoise.assets") / "facts" / f"{name}.csv"
    return pl.read_csv(table.read_bytes(), infer_schema_length=None)
