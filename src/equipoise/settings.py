"""The only place that reads the environment; and files of the user, which are written whole or not at all."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import platformdirs

ABANDONED = 3600.0
"""Seconds without a change after which an unfinished file is taken for what a killed command has left."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where assets are looked for and kept.

    `mirror` is a folder that is looked at before the cache, or an address that is asked before the sources.
    `config` is the folder of what equipoise remembers about its user: the addresses to which a key may be sent.
    """

    mirror: Path | str | None = None
    cache: Path
    config: Path = field(default_factory=lambda: Path(platformdirs.user_config_dir("equipoise", appauthor=False)))

    @classmethod
    def load(cls) -> Settings:
        """Read `EQUIPOISE_MIRROR`, `EQUIPOISE_CACHE` and `EQUIPOISE_CONFIG`; without them, the system's own folders."""
        env = environment()
        cache = env.get("EQUIPOISE_CACHE") or platformdirs.user_cache_dir("equipoise", appauthor=False)
        config = env.get("EQUIPOISE_CONFIG") or platformdirs.user_config_dir("equipoise", appauthor=False)
        mirror = env.get("EQUIPOISE_MIRROR") or None
        return cls(
            mirror=mirror.rstrip("/") if mirror and "://" in mirror else mirror and Path(mirror).expanduser(),
            cache=Path(cache),
            config=Path(config).expanduser(),
        )


def environment() -> Mapping[str, str]:
    """The environment variables as they are now."""
    return dict(os.environ)  # noqa: TID251 - the one place


@contextmanager
def write_whole(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Open a file to write that appears when all is written; until then it has a temporary name beside it.

    What killed commands have left of the same file is deleted, if it has not changed for an hour.
    """
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.????????.part"):
        if leftover.lstat().st_mtime < time.time() - ABANDONED:
            leftover.unlink(missing_ok=True)
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
