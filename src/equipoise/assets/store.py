"""Where assets stand on this machine, and how they get there: mirror, cache, then the sources.

A file counts only when its hash is right. What arrives from outside has a temporary name until that is known,
so a name in the cache is never half a file, and two processes that fetch the same asset do not meet.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from equipoise.assets.registry import Asset, Https, Source, find
from equipoise.errors import AssetUnavailable, BadParameter, IntegrityError, StorageError
from equipoise.settings import Settings

Progress = Callable[[int, int], None]

_MEND_MIRROR = "Put the right file into the mirror, or unset EQUIPOISE_MIRROR."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A file of this machine that stands where an asset belongs; its bytes are not looked at."""

    place: Literal["mirror", "cache"]
    path: Path


def stored(name: str, settings: Settings) -> Stored | None:
    """Say which file of this machine would serve: the mirror's, if that is a folder, else the cache's."""
    asset = find(name)
    mirror = _mirror(settings)
    if isinstance(mirror, Path) and _is_file(mirror / asset.file):
        return Stored(place="mirror", path=mirror / asset.file)
    if _is_file(path := _cached(asset, settings)):
        return Stored(place="cache", path=path)
    return None


def locate(name: str, settings: Settings, progress: Progress | None = None, *, fetch: bool = True) -> Path:
    """Give the path of an asset whose hash is right; fetch it into the cache if it is not on this machine.

    `progress` is called with the bytes done and the bytes in all, from 0 again for each source that is tried.
    """
    asset = find(name)
    if here := stored(name, settings):
        _verify(asset, here)
        return here.path
    if not fetch:
        raise AssetUnavailable(f"The asset {name!r} is not on this machine. {_ways_out(asset)}")
    return _fetch(asset, settings, progress or _ignore)


def sha256_of(path: Path) -> str:
    """Hash a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise StorageError(f"{path} cannot be read: {_reason(problem)}.") from problem


def _ignore(done: int, total: int) -> None:
    """Report to nobody."""


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as problem:
        raise StorageError(f"{path} cannot be looked up: {_reason(problem)}.") from problem


def _cached(asset: Asset, settings: Settings) -> Path:
    return settings.cache / "assets" / asset.file


def _mirror(settings: Settings) -> Path | str | None:
    """Read the mirror as a folder or an address; a refused one is not shown, for it may hold a password."""
    if not settings.mirror:
        return None
    if "://" not in settings.mirror:
        return Path(settings.mirror).expanduser()
    address = urlsplit(settings.mirror)
    if address.scheme not in ("http", "https") or "@" in address.netloc or address.query or address.fragment:
        raise BadParameter(
            "The mirror (EQUIPOISE_MIRROR) must be a folder, or an http or https address without user, "
            f"password, query and fragment. Got another kind of address ({address.scheme}) instead."
        )
    return settings.mirror.rstrip("/")


def _verify(asset: Asset, here: Stored) -> None:
    actual = sha256_of(here.path)
    if actual == asset.sha256:
        return
    if here.place == "mirror":
        remedy = _MEND_MIRROR
    else:
        try:
            here.path.unlink(missing_ok=True)
            remedy = f"It was deleted. Fetch it again: equipoise data fetch {asset.name}"
        except OSError as problem:
            remedy = f"Delete it ({_reason(problem)}), then: equipoise data fetch {asset.name}"
    raise IntegrityError(
        f"The file of the asset {asset.name!r} in the {here.place} is not the registered one: {here.path}\n"
        f"  expected sha256 {asset.sha256}\n"
        f"  actual   sha256 {actual}\n"
        f"{remedy}"
    )


def _fetch(asset: Asset, settings: Settings, progress: Progress) -> Path:
    """Try the mirror's address and each source until one gives the registered bytes."""
    mirror = _mirror(settings)
    own = Https(url=f"{mirror}/{asset.file}") if isinstance(mirror, str) else None
    reasons = []
    if isinstance(mirror, Path):
        reasons.append(f"  mirror {mirror}: {'no ' + asset.file if mirror.is_dir() else 'no such folder'}")
    for source in (own, *asset.sources) if own else asset.sources:
        try:
            return _keep(asset, source, _cached(asset, settings), progress)
        except IntegrityError as problem:
            absent = isinstance(problem, AssetUnavailable)
            if source is own and not absent:
                # Wrong bytes in a mirror are for its owner to know; only a lack of the file is passed over.
                raise IntegrityError(
                    f"The file of the asset {asset.name!r} in the mirror is not the registered one: "
                    f"{source}\n  {problem}\n"
                    f"{_MEND_MIRROR}"
                ) from problem
            _log.log(logging.INFO if absent else logging.WARNING, "%s: %s", source, problem)
            reasons.append(f"  {source}: {problem}")
    raise AssetUnavailable(
        f"The asset {asset.name!r} could not be fetched:\n" + "\n".join(reasons) + f"\n{_ways_out(asset)}"
    )


def _keep(asset: Asset, source: Source, target: Path, progress: Progress) -> Path:
    """Write what a source gives beside the target and give it the target's name when the hash is right."""
    from equipoise.assets.fetch import chunks

    part = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    digest, done = hashlib.sha256(), 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as file, closing(chunks(source, asset.size)) as stream:
            progress(0, asset.size)
            for chunk in stream:
                done += len(chunk)
                if done > asset.size:
                    raise IntegrityError(
                        f"more than the registered {asset.size:,} bytes came; deleted\n"
                        f"    expected sha256 {asset.sha256}\n"
                        "    actual   sha256 not known: the rest was not read"
                    )
                file.write(chunk)
                digest.update(chunk)
                progress(done, asset.size)
        if digest.hexdigest() != asset.sha256:
            raise IntegrityError(
                f"{done:,} of {asset.size:,} bytes came and they are not the registered ones; deleted\n"
                f"    expected sha256 {asset.sha256}\n"
                f"    actual   sha256 {digest.hexdigest()}"
            )
        _rename(part, target, asset)
    except OSError as problem:
        raise StorageError(
            f"The cache cannot be written: {problem.filename or target.parent}: {_reason(problem)}. "
            "EQUIPOISE_CACHE names another folder."
        ) from problem
    finally:
        _discard(part)
    return target


def _rename(part: Path, target: Path, asset: Asset) -> None:
    try:
        part.replace(target)
    except PermissionError:
        # Windows does not replace a file that is open: another process was faster and reads it already.
        if not target.is_file() or sha256_of(target) != asset.sha256:
            raise


def _discard(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
    except OSError as problem:
        # Whatever led here says more than that its remains could not be removed.
        _log.warning("%s could not be deleted: %s", part, _reason(problem))


def _reason(problem: OSError) -> str:
    return problem.strerror or str(problem) or type(problem).__name__


def _ways_out(asset: Asset) -> str:
    return (
        f"To fetch it: equipoise data fetch {asset.name}\n"
        f"Without a network: put {asset.file} ({asset.homepage}) into a folder "
        "and name that folder in EQUIPOISE_MIRROR."
    )
