"""What the numbers rest on, and the warning where it is uneven."""

from __future__ import annotations

import dataclasses

import pytest
from scipy.stats import chi2_contingency

from equipoise.report.coverage import counted, reasons, same_share, warnings
from equipoise.report.values import ReportedRun
from equipoise.results import Result


@pytest.mark.parametrize(
    ("k1", "n1", "k2", "n2"), [(30, 100, 10, 100), (5, 1000, 9, 900), (50, 100, 51, 100), (1, 10, 9, 10)]
)
def test_same_share_is_the_chi_square_test_with_yates(k1: int, n1: int, k2: int, n2: int) -> None:
    expected = chi2_contingency([[k1, n1 - k1], [k2, n2 - k2]], correction=True).pvalue
    assert same_share(k1, n1, k2, n2) == pytest.approx(expected)


@pytest.mark.parametrize("counts", [(0, 0, 1, 5), (0, 5, 0, 5), (5, 5, 5, 5), (1, 2, 1, 2)])
def test_same_share_without_evidence(counts: tuple[int, int, int, int]) -> None:
    assert same_share(*counts) == 1.0


def changed(result: Result, **counts: dict[str, int]) -> Result:
    coverage = {group: {**known, **counts.get(group, {})} for group, known in result.coverage.items()}
    return dataclasses.replace(result, coverage=coverage)


@pytest.mark.parametrize(
    ("male", "female", "words"),
    [
        ({"undetected": 90}, {"undetected": 20}, "Attempts for men were not detected more often than those for women"),
        ({"truncated": 2}, {"truncated": 60}, "Attempts for women were cut off by the token limit more often"),
        ({"timeout": 80}, {"timeout": 1}, "Attempts for men failed more often"),
        ({"filtered": 80}, {"filtered": 1}, "Attempts for men were filtered more often"),
    ],
)
def test_warning_where_genders_differ(
    one: ReportedRun, male: dict[str, int], female: dict[str, int], words: str
) -> None:
    even = {"ok": 440, "truncated": 0, "filtered": 0, "timeout": 0, "undetected": 10}
    result = changed(one.results["hiring_an"], male=even | male, female=even | female)
    found = warnings(result)
    assert any(warning.startswith(words) for warning in found)
    assert all("p < 0.0001" in warning for warning in found if warning.startswith(words))


def test_no_warning_where_they_do_not(one: ReportedRun) -> None:
    even = {"ok": 470, "truncated": 3, "filtered": 1, "undetected": 10}
    other = {"ok": 468, "truncated": 5, "filtered": 3, "undetected": 14}
    assert warnings(changed(one.results["hiring_an"], male=even, female=other)) == []
    assert warnings(one.results["jobs_lum"]) == []


def test_sums_and_reasons(one: ReportedRun) -> None:
    result = changed(one.results["hiring_an"], all={"ok": 7, "truncated": 2, "timeout": 3, "http_error": 1, "empty": 0})
    row = counted(result.coverage["all"])
    assert (row["answered"], row["failed"]) == (9, 4)
    assert reasons(result) == "1 http error, 3 timeout"
