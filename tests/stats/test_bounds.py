"""Worst-case fills against all fills, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from equipoise.stats.bounds import extreme_fill

ARMS = 2
WAYS = 3
ROWS = 3
COLUMNS = 4


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("side", [1.0, -1.0], ids=["largest", "smallest"])
def test_no_other_fill_goes_farther(seed: int, side: float) -> None:
    random = np.random.default_rng(seed)
    base = random.normal(size=(ROWS, COLUMNS))
    changes = random.normal(size=(ARMS, WAYS, ROWS, COLUMNS))
    changes[:, 0] = 0.0
    gradient = random.normal(size=COLUMNS)
    values = []
    for chosen in itertools.product(range(WAYS), repeat=ARMS * ROWS):
        filled = base.copy()
        for place, way in enumerate(chosen):
            arm, row = divmod(place, ROWS)
            filled[row] += changes[arm, way, row]
        values.append((filled @ gradient).sum())
    columns, ways = extreme_fill(base, changes, side * gradient)
    assert side * (columns @ gradient).sum() == pytest.approx(max(side * np.array(values)))
    assert ways.shape == (ARMS, ROWS)


def test_the_ways_that_were_chosen_are_those_of_the_columns() -> None:
    base = np.zeros((2, 1))
    changes = np.array([[[[0.0], [0.0]], [[1.0], [-1.0]]]])
    columns, ways = extreme_fill(base, changes, np.array([1.0]))
    assert columns.tolist() == [[1.0], [0.0]]
    assert ways.tolist() == [[1, 0]]


def test_of_equally_good_ways_it_is_the_first() -> None:
    _, ways = extreme_fill(np.zeros((1, 1)), np.zeros((1, 3, 1, 1)), np.array([1.0]))
    assert ways.tolist() == [[0]]


def test_the_columns_that_were_given_are_left_as_they_are() -> None:
    base = np.zeros((1, 1))
    extreme_fill(base, np.array([[[[0.0]], [[1.0]]]]), np.array([1.0]))
    assert base.tolist() == [[0.0]]
