"""Where the environment is read, once, into one frozen value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where assets are looked for and kept. `mirror` is a folder or a URL that is asked before the sources."""

    mirror: str | None = None
    cache: Path

    @classmethod
    def load(cls) -> Settings:
        """Read `EQUIPOISE_MIRROR` and `EQUIPOISE_CACHE`; without them, the system's own cache folder."""
        env = environment()
        cache = env.get("EQUIPOISE_CACHE") or platformdirs.user_cache_dir("equipoise", appauthor=False)
        return cls(mirror=env.get("EQUIPOISE_MIRROR") or None, cache=Path(cache))


def environment() -> Mapping[str, str]:
    """The environment variables as they are now."""
    return dict(os.environ)  # noqa: TID251 - the one place
