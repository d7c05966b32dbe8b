"""Where the environment is read, once, into one frozen value."""

from __future__ import annotations

import os
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
