"""Derivatives of metrics against derivatives on paper, and influences against what an item changes."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.stats.influence import RELATIVE_STEP, Array, differentiate


def ratio_and_product(rows: Array) -> Array:
    """Two metrics of two totals: x / y and x² y."""
    x = rows[:, 0]
    y = rows[:, 1]
    return np.array([x / y, x**2 * y])


@pytest.mark.parametrize("totals", [(3.0, 7.0), (300.0, 4_000.0), (2e6, 5e6), (-3.0, 7.0), (0.3, 0.2)])
def test_derivatives_are_those_on_paper(totals: tuple[float, float]) -> None:
    """They are exact to nine digits, whatever the size and the sign of the totals."""
    x = totals[0]
    y = totals[1]
    values, gradient = differentiate(ratio_and_product, np.array(totals))
    assert values == pytest.approx([x / y, x**2 * y], rel=1e-14)
    on_paper = np.array([[1 / y, 2 * x * y], [-x / y**2, x**2]])
    assert gradient == pytest.approx(on_paper, rel=1e-8)


def test_derivatives_of_a_rate_are_right_to_the_printed_digits() -> None:
    """A step of 1e-8 would leave an error that is a hundred times as large as this."""
    totals = np.array([1_234.0, 2_712.0])
    _, gradient = differentiate(lambda rows: np.array([rows[:, 0] / rows[:, 1]]), totals)
    on_paper = [1 / 2_712, -1_234 / 2_712**2]
    assert gradient[:, 0] == pytest.approx(on_paper, rel=2e-10)


def test_totals_of_nothing_have_derivatives() -> None:
    """The step does not shrink to nothing where a total is 0."""
    _, gradient = differentiate(lambda rows: np.array([np.sin(rows[:, 0])]), np.zeros(1))
    assert gradient == pytest.approx(np.array([[1.0]]), rel=1e-9)


def test_a_kink_has_the_mean_of_its_two_slopes() -> None:
    """The differences are central: on either side of the totals, equally far."""
    _, gradient = differentiate(lambda rows: np.array([np.abs(rows[:, 0] - 4)]), np.array([4.0]))
    assert gradient == pytest.approx(np.zeros((1, 1)), abs=1e-9)


def test_there_is_a_row_for_each_total_and_a_column_for_each_metric() -> None:
    """The first axis is that of the totals."""

    def measure(rows: Array) -> Array:
        return np.array([rows[:, 0], 10 * rows[:, 1] + 100 * rows[:, 2]])

    _, gradient = differentiate(measure, np.ones(3))
    assert gradient == pytest.approx(np.array([[1, 0], [0, 10], [0, 100]]), abs=1e-8)


def test_the_step_is_the_cube_root_of_the_rounding_error() -> None:
    """That is where truncation (h²) and rounding (eps/h) are of one size."""
    assert pytest.approx(np.finfo(np.float64).eps) == RELATIVE_STEP**3


def test_the_influence_of_an_item_is_what_the_metric_changes_without_it() -> None:
    """Leaving out one of many items changes a correlation by its influence, to the first order."""
    random = np.random.default_rng(5)
    x = random.standard_normal(4_000)
    y = 0.5 * x + random.standard_normal(4_000)
    columns = np.column_stack([np.ones(4_000), x, y, x * y, x * x, y * y])

    def correlation(rows: Array) -> Array:
        n, sx, sy, sxy, sxx, syy = rows.T
        covariance = sxy / n - sx * sy / n**2
        return np.array([covariance / np.sqrt((sxx / n - (sx / n) ** 2) * (syy / n - (sy / n) ** 2))])

    values, gradient = differentiate(correlation, columns.sum(axis=0))
    influence = columns @ gradient[:, 0]
    assert values[0] == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-12)
    for place in (0, 17, 3_999):
        kept = np.arange(4_000) != place
        without = np.corrcoef(x[kept], y[kept])[0, 1]
        assert values[0] - without == pytest.approx(influence[place], rel=5e-3, abs=1e-7)
