"""The check that results are the same on other processors tells rounding from differences."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.kernels import (
    KERNELS,
    are_same,
    find_kernel_in_use,
    flatten,
    list_differences,
    print_value,
)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.1234567, "0.123457"),
        (-1e-17, "0.000000"),
        (1234.5678, "1234.57"),
        (None, "None"),
        ("A", "A"),
        (7, "7"),
    ],
)
def test_numbers_are_printed_with_six_digits(value: object, printed: str) -> None:
    assert print_value(value) == printed


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        pytest.param(0.5, 0.5 + 1e-9, True, id="another digit that is not printed"),
        pytest.param(0.5, 0.500002, False, id="another digit that is printed"),
        pytest.param(0.0000005, 0.0000005 - 1e-16, True, id="two sides of a rounding limit"),
        pytest.param(0.5, None, False, id="a number that is missing"),
        pytest.param("A", "B", False, id="another mark"),
    ],
)
def test_only_a_rounding_error_is_let_through(first: object, second: object, same: bool) -> None:
    assert are_same(first, second) is same


def test_a_difference_names_the_value_and_the_kernels() -> None:
    plain = {"marks": ["A", "B"], "value": 0.25}
    first = dict(flatten(plain, "jobs_lum"))
    assert first == {"jobs_lum/marks/0": "A", "jobs_lum/marks/1": "B", "jobs_lum/value": 0.25}
    other = {**first, "jobs_lum/value": 0.3}
    samples = {"Prescott": first, "Haswell": first, "SkylakeX": other}
    expected = "jobs_lum/value: 0.250000 (Prescott, Haswell), 0.300000 (SkylakeX)"
    assert list_differences(samples) == [expected]
    assert list_differences({"Prescott": first, "Haswell": dict(first)}) == []


def test_a_value_that_only_one_kernel_has_is_a_difference() -> None:
    samples: dict[str, dict[str, object]] = {"Prescott": {}, "Haswell": {"mark": "A"}}
    assert list_differences(samples) == ["mark: missing (Prescott), A (Haswell)"]


def test_the_kernel_in_use_has_a_name() -> None:
    used = find_kernel_in_use()
    if used is None:
        pytest.skip("NumPy does not use OpenBLAS here.")
    assert used.isascii()
    assert len({kernel.name for kernel in KERNELS}) == len(KERNELS)
