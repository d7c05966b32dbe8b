"""Fixtures that several tests of measuring use."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.measuring import weights


@pytest.fixture(params=["item by item", "cell by cell", "by a normal value"])
def way_of_drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test once for each way in which weights are drawn, with the shape 1 that many items have."""
    monkeypatch.setattr(weights, "ITEMS_PER_CELL", 10**9 if request.param == "item by item" else 0)
    shape = 1 - 1e-12 if request.param == "cell by cell" else 1.0
    monkeypatch.setattr(weights, "_concentration", lambda cells: np.full(len(cells.weight), shape))
    return str(request.param)
