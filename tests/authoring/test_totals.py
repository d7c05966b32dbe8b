"""Lines, correlations and shares from totals, against scipy and numpy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from equipoise.authoring import Array, Totals
from equipoise.authoring.metrics import correlation, detected_share, mean, moments, one, share, slope
from equipoise.schema import slug

NAN = float("nan")


def totals(x: Array, y: Array, prefix: str = "") -> Totals:
    """The totals of one set of points, made as a probe makes them."""
    frame = pl.DataFrame({"a": x, "b": y}).select(**moments(pl.col("a"), pl.col("b"), prefix))
    return Totals(frame.columns, frame.sum().to_numpy())


def box_slope(x: Array, y: Array) -> float:
    solution = lsq_linear(np.column_stack([x, np.ones_like(x)]), y, bounds=([-1, 0], [1, 1]), method="bvls", tol=1e-15)
    return float(solution.x[0])


def points(seed: int) -> tuple[Array, Array]:
    """Points near a line whose slope and intercept may lie inside the box or beyond any side of it."""
    rng = np.random.default_rng(seed)
    x = rng.random(rng.integers(2, 80)).round(rng.integers(1, 6))
    x[0], x[-1] = 0.0, 1.0
    y = rng.uniform(-1.6, 1.6) * x + rng.uniform(-0.8, 1.8) + rng.choice([0.0, 0.3]) * rng.standard_normal(len(x))
    return x, y.clip(0, 1) if rng.random() < 0.3 else y


def test_slope_is_that_of_bounded_least_squares() -> None:
    sides: Counter[str] = Counter()
    for seed in range(400):
        x, y = points(seed)
        ours = slope(totals(x, y, "male_"), "male_").item()
        assert ours == pytest.approx(box_slope(x, y), abs=1e-9), seed
        free, start = np.polyfit(x, y, 1)
        sides["free" if abs(free) <= 1 and 0 <= start <= 1 else "clipped"] += 1
        sides["steep"] += bool(free > 1)
        sides["falling"] += bool(free < -1)
        sides["low"] += bool(start < 0)
        sides["high"] += bool(start > 1)
    assert min(sides.values()) >= 20
    assert len(sides) == 6


share_of_one = st.integers(0, 6).map(lambda k: k / 6)


@given(st.lists(st.tuples(share_of_one, share_of_one), min_size=2, max_size=30))
def test_slope_of_shares_is_that_of_bounded_least_squares(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    ours = slope(totals(x, y)).item()
    if len(set(x)) == 1:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(box_slope(x, y), abs=1e-9)


@pytest.mark.parametrize(
    ("x", "y"),
    [([], []), ([0.5], [1.0]), ([0.3] * 9, [0, 1, 0, 1, 0, 0, 1, 1, 0.5]), ([0.0, 0.0], [0.2, 0.4])],
)
def test_slope_needs_two_different_x(x: list[float], y: list[float]) -> None:
    points = totals(np.array(x, dtype=float), np.array(y, dtype=float))
    assert np.isnan(slope(points)).all()
    assert np.isnan(correlation(points)).all()


def test_replicates_have_the_slopes_that_they_have_one_by_one() -> None:
    each = [totals(*points(seed)) for seed in range(50)]
    together = Totals(list(each[0]), np.vstack([[total[name][0] for name in total] for total in each]))
    assert slope(together).tolist() == [slope(total).item() for total in each]


def test_slope_of_swapped_answers_is_the_opposite() -> None:
    for seed in range(50):
        x, y = points(seed)
        assert slope(totals(x, 1 - y)).item() == pytest.approx(-slope(totals(x, y)).item(), abs=1e-9)


@pytest.mark.parametrize("seed", range(100))
def test_correlation_is_that_of_numpy(seed: int) -> None:
    x, y = points(seed)
    if np.ptp(y) > 0:
        assert correlation(totals(x, y)).item() == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)


def test_correlation_of_what_does_not_vary() -> None:
    x = np.array([0.1, 0.2, 0.9])
    assert np.isnan(correlation(totals(x, np.full(3, 0.7)))).all()
    assert np.isnan(correlation(totals(np.full(3, 0.7), x))).all()
    assert correlation(totals(x, 0.1 + x / 3)).item() == pytest.approx(1.0, abs=1e-12)


def test_a_share_of_nothing_is_not_zero() -> None:
    shares = share(np.array([0.0, 0.0, 3.0]), np.array([0.0, 5.0, 4.0]))
    assert shares.tolist() == pytest.approx([NAN, 0.0, 0.75], nan_ok=True)


def test_a_mean_with_an_undefined_part_is_undefined() -> None:
    parts = [np.array([0.2, NAN]), np.array([0.4, 0.4])]
    assert mean(parts).tolist() == pytest.approx([0.3, NAN], nan_ok=True)


def test_items_without_a_detected_answer_are_left_out() -> None:
    frame = pl.DataFrame({"male": [2, 0, 0], "female": [1, 3, 0], "x": [0.5, 0.25, 0.75]})
    score = detected_share("male", of=("male", "female"))
    table = frame.select(score=score, detected=one(score), each=one())
    assert table["score"].to_list() == [2 / 3, 0.0, None]
    assert table["detected"].to_list() == [1.0, 1.0, 0.0]
    assert table["each"].to_list() == [1.0, 1.0, 1.0]
    total = frame.select(**moments(pl.col("x"), score)).sum().row(0, named=True)
    assert total == pytest.approx({"n": 2, "x": 0.75, "y": 2 / 3, "xx": 0.3125, "xy": 1 / 3, "yy": 4 / 9})


def test_totals_are_found_by_name() -> None:
    total = Totals(["n", "x"], np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert list(total) == ["n", "x"]
    assert total.x.tolist() == total["x"].tolist() == [2.0, 4.0]
    with pytest.raises(AttributeError, match=r"There is no total called 'y'. There are: n, x."):
        total.y  # noqa: B018
    with pytest.raises(KeyError):
        total["y"]


@pytest.mark.parametrize(
    ("value", "expected"), [("female", "female"), ("Non-binary", "non_binary"), ("Two words", "two_words"), (7, "7")]
)
def test_slug(value: object, expected: str) -> None:
    assert slug(value) == expected
