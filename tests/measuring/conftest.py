"""Fixtures that several tests of measuring use."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.measuring import gammas, weights


@pytest.fixture(params=["from a table", "cell by cell", "by a normal value"])
def way_of_drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test once for each way in which weights are drawn, with the shape 1 that many items have."""
    monkeypatch.setattr(gammas, "MOST_TABULATED", 400 if request.param == "from a table" else 0)
    shape = 1 - 1e-12 if request.param == "cell by cell" else 1.0
    monkeypatch.setattr(weights, "_concentration", lambda cells: np.full(len(cells.weight), shape))
    return str(request.param)
