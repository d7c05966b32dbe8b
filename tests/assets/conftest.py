"""A site, settings with a cache of their own, and an asset whose source is the site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.sites import Site, register
from equipoise.assets import Asset
from equipoise.settings import Settings


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    opened = Site()
    yield opened
    opened.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache=tmp_path / "cache")


@pytest.fixture
def asset(site: Site, monkeypatch: pytest.MonkeyPatch) -> Asset:
    return register(monkeypatch, f"{site.url}/source")
