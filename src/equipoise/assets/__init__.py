"""Data and weights from outside, and the packaged tables of facts; what they mean belongs to `probes/`.

An asset is looked for in the mirror, in the cache, then at its sources. A file is used only when its hash is right. A
download has a temporary name until its hash has been checked, so a file in the cache is never half a file, and two
processes that fetch the same asset do not disturb each other.
"""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from equipoise.errors import AssetUnavailable, BadParameter, IntegrityError, StorageError, UnknownName
from equipoise.settings import Settings, write_whole

if TYPE_CHECKING:
    import polars as pl

ProgressCallback = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all."""
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


def _read_registry() -> dict[str, Asset]:
    text = (resources.files("equipoise.assets") / "registry.toml").read_text(encoding="utf-8")
    entries = {name: {"name": name, **entry} for name, entry in tomllib.loads(text).items()}
    return msgspec.convert(entries, dict[str, Asset])


REGISTRY = _read_registry()


def find_asset(name: str) -> Asset:
    """Return the asset of this name."""
    if name not in REGISTRY:
        raise UnknownName("asset", name, REGISTRY, "All assets: equipoise data list")
    return REGISTRY[name]


def find_stored(name: str, settings: Settings) -> Path | None:
    """The file of an asset on this machine, in the mirror or else in the cache. Its hash has not been checked."""
    asset = find_asset(name)
    places = [settings.mirror / asset.file] if isinstance(settings.mirror, Path) else []
    try:
        return next((path for path in (*places, _cache_path(asset, settings)) if path.is_file()), None)
    except OSError as error:
        raise StorageError(f"{error.filename} cannot be looked up: {error.strerror}.") from error


def locate(name: str, settings: Settings, progress: ProgressCallback | None = None) -> Path:
    """Return the path of an asset whose hash is right; fetch it into the cache if it is not on this machine.

    `progress` starts at 0 again for each source that is tried.
    """
    asset = find_asset(name)
    target = _cache_path(asset, settings)
    if stored := find_stored(name, settings):
        _verify(asset, stored, is_cached=stored == target)
        return stored
    sources, failures, mirror = asset.sources, [], settings.mirror
    if isinstance(mirror, str):
        refuse_secret_mirror(mirror)
        sources = (f"{mirror}/{asset.file}", *sources)
    elif mirror:
        failures.append(f"  mirror {mirror}: no {asset.file}")
    for source in sources:
        try:
            _download(asset, source, target, progress or (lambda _done, _all: None))
        except IntegrityError as error:
            if not isinstance(error, AssetUnavailable):  # wrong bytes are not used again
                shutil.rmtree(_wheels_path(target), ignore_errors=True)
            failures.append(f"  {source}: {error}")
        else:
            return target
    raise AssetUnavailable(
        f"The asset {name!r} could not be fetched:\n" + "\n".join(failures) + f"\nTo try again: equipoise data fetch "
        f"{name}\nWithout a network: put {asset.file} ({asset.homepage}) into a folder and name that folder in "
        "EQUIPOISE_MIRROR."
    )


def refuse_secret_mirror(mirror: str) -> None:
    """Refuse an address that is not of the web, or may hold a secret: it is shown with what went wrong."""
    address = urlsplit(mirror)
    if address.scheme not in ("http", "https") or "@" in address.netloc or address.query or address.fragment:
        raise BadParameter(
            "The mirror (EQUIPOISE_MIRROR) must be a folder, or an http or https address without user, password, query "
            "and fragment."
        )


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from error


def _cache_path(asset: Asset, settings: Settings) -> Path:
    return settings.cache / "assets" / asset.file


def _wheels_path(target: Path) -> Path:
    """Where wheels are kept until the file is whole."""
    return target.with_name(f".{target.name}.wheels")


def _verify(asset: Asset, path: Path, *, is_cached: bool) -> None:
    """Check the size and the hash of a file; a wrong one in the cache is deleted."""
    size = path.stat().st_size
    actual = sha256_of(path) if size == asset.size else f"not computed: {size:,} bytes instead of {asset.size:,}"
    if actual == asset.sha256:
        return
    remedy = "Put the right file into the mirror, or unset EQUIPOISE_MIRROR."
    if is_cached:
        with suppress(OSError):
            path.unlink()
        done = "Delete it" if path.exists() else "It was deleted. Fetch it again"
        remedy = f"{done}: equipoise data fetch {asset.name}"
    raise IntegrityError(
        f"The file of the asset {asset.name!r} is not the registered one: {path}\n"
        f"  expected sha256 {asset.sha256}\n  actual   sha256 {actual}\n{remedy}"
    )


def _download(asset: Asset, source: Source, target: Path, progress: ProgressCallback) -> None:
    """Download an asset; the file has its name only when its hash is right."""
    # Imported here because urllib.request is slow to import and every command imports this module.
    from equipoise.assets.fetch import stream_chunks  # noqa: PLC0415 - only for what is not on this machine

    digest, done = hashlib.sha256(), 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with write_whole(target) as file, closing(stream_chunks(source, asset.size, _wheels_path(target))) as chunks:
            progress(0, asset.size)
            for chunk in chunks:
                done += len(chunk)
                if done > asset.size:
                    raise IntegrityError(f"more than the registered {asset.size:,} bytes arrived; deleted")
                file.write(chunk)
                digest.update(chunk)
                progress(done, asset.size)
            if digest.hexdigest() != asset.sha256:
                raise IntegrityError(
                    f"{done:,} of {asset.size:,} bytes arrived and they are not the registered ones; deleted\n"
                    f"    expected sha256 {asset.sha256}\n    actual   sha256 {digest.hexdigest()}"
                )
        shutil.rmtree(_wheels_path(target), ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"The cache cannot be written: {error.filename or target.parent}: {error.strerror or error}. "
            "EQUIPOISE_CACHE names another folder."
        ) from error
