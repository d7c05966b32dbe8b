"""The registered assets themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise.assets import REGISTRY, Asset, Https, InWheels


@pytest.mark.parametrize("asset", REGISTRY.values(), ids=lambda asset: asset.name)
def test_a_registered_asset_is_complete(asset: Asset) -> None:
    assert REGISTRY[asset.name] is asset
    assert re.fullmatch("[0-9a-f]{64}", asset.sha256)
    assert asset.size > 0
    assert asset.sources
    assert Path(asset.file).name == asset.file
    assert all((asset.title, asset.licence, asset.citation, asset.homepage.startswith("https://")))
    assert all(source.url.startswith("https://") for source in asset.sources if isinstance(source, Https))
    wheels = [source for source in asset.sources if not isinstance(source, Https)]
    pieces = [piece for source in wheels for piece in (source.pieces if isinstance(source, InWheels) else (source,))]
    assert all(piece.member and piece.version for piece in pieces)
    assert len({str(piece) for piece in pieces}) == len(pieces)


def test_no_two_assets_share_a_file_name() -> None:
    files = [asset.file for asset in REGISTRY.values()]
    assert len(set(files)) == len(files)
