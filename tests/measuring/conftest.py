"""Fixtures that several tests of measuring use."""

from __future__ import annotations

import pytest

from equipoise.measuring import resample


@pytest.fixture(params=[0, 10**9], ids=["multinomial", "item by item"])
def both_ways_of_drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test once with multinomial draws over the cells, and once with items that are drawn one by one."""
    monkeypatch.setattr(resample, "ITEMS_PER_CELL", request.param)
