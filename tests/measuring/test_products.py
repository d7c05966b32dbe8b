"""Products in pieces."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.measuring.products import multiply


@pytest.mark.parametrize(
    ("rows", "cells", "width"), [(1, 1, 1), (3, 255, 2), (70, 256, 17), (9, 1000, 40), (5, 600, 2000)]
)
def test_a_product_in_pieces_is_the_product(rows: int, cells: int, width: int) -> None:
    rng = np.random.default_rng(0)
    weights, columns = rng.random((rows, cells)), rng.random((cells, width))
    assert multiply(weights, columns) == pytest.approx(weights @ columns, rel=1e-12)
