"""The only place that reads the environment."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where assets are looked for and kept. `mirror` is a folder or a URL that is asked before the sources.

    `config` is the folder of what equipoise remembers about its user: the addresses to which a key may be sent.
    """

    mirror: str | None = None
    cache: Path
    config: Path = field(default_factory=lambda: Path(platformdirs.user_config_dir("equipoise", appauthor=False)))

    @classmethod
    def load(cls) -> Settings:
        """Read `EQUIPOISE_MIRROR`, `EQUIPOISE_CACHE` and `EQUIPOISE_CONFIG`; without them, the system's own folders."""
        env = environment()
        cache = env.get("EQUIPOISE_CACHE") or platformdirs.user_cache_dir("equipoise", appauthor=False)
        places = {"config": Path(env["EQUIPOISE_CONFIG"])} if env.get("EQUIPOISE_CONFIG") else {}
        return cls(mirror=env.get("EQUIPOISE_MIRROR") or None, cache=Path(cache), **places)


def environment() -> Mapping[str, str]:
    """The environment variables as they are now."""
    return dict(os.environ)  # noqa: TID251 - the one place


def write_private(path: Path, text: str) -> None:
    """Write a small file that only its owner can read, whole or not at all; its folder is made if it is not there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)  # readable by its owner only
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
