"""The registered assets themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise.assets import REGISTRY, Asset, InWheels


@pytest.mark.parametrize("asset", REGISTRY.values(), ids=lambda asset: asset.name)
def test_a_registered_asset_is_complete(asset: Asset) -> None:
    assert REGISTRY[asset.name] is asset
    assert re.fullmatch("[0-9a-f]{64}", asset.sha256)
    assert asset.size > 0
    assert asset.sources
    assert Path(asset.file).name == asset.file
    assert all((asset.title, asset.licence, asset.citation, asset.homepage.startswith("https://")))
    for source in asset.sources:
        if isinstance(source, InWheels):
            assert len(set(source.each())) == source.pieces
            assert source.version
        else:
            assert source.startswith("https://")


def test_no_two_assets_share_a_file_name() -> None:
    files = [asset.file for asset in REGISTRY.values()]
    assert len(set(files)) == len(files)
