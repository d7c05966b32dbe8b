"""Data and weights from outside, verified by hash, and the packaged facts; what they mean belongs to `probes/`."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from equipoise.assets.registry import REGISTRY, Asset, InWheels, find_asset
from equipoise.assets.store import StoredFile, describe_wrong_file, find_hash, find_stored, locate, sha256_of
from equipoise.errors import UnknownName

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "FACTS",
    "REGISTRY",
    "Asset",
    "InWheels",
    "StoredFile",
    "describe_wrong_file",
    "facts",
    "find_asset",
    "find_hash",
    "find_stored",
    "locate",
    "sha256_of",
]

FACTS = ("associations", "inventories", "names", "occupations", "pronouns", "published", "stereotypes", "traits")


@cache
def facts(name: str) -> pl.DataFrame:
    """Return a packaged table of facts; it is read once. `facts/README.md` says whose work they are."""
    # Imported here because polars is slow to import and `equipoise data` does without it.
    import polars as pl  # noqa: PLC0415 - listing assets needs no tables

    if name not in FACTS:
        raise UnknownName("fact table", name, FACTS)
    table = resources.files("equipoise.assets") / "facts" / f"{name}.csv"
    return pl.read_csv(table.read_bytes(), infer_schema_length=None)
