"""What the numbers rest on, and a warning where the arms differ."""

from __future__ import annotations

import dataclasses

import pytest
from scipy.stats import chi2_contingency

from equipoise.measuring.result import Result
from equipoise.report.html.notes import add_sums, equal_shares_p_value, list_failures, warn_uneven
from equipoise.report.html.runs import ReportedRun


@pytest.mark.parametrize(
    ("k1", "n1", "k2", "n2"), [(30, 100, 10, 100), (5, 1000, 9, 900), (50, 100, 51, 100), (1, 10, 9, 10)]
)
def test_the_p_value_is_that_of_the_chi_square_test_with_yates(k1: int, n1: int, k2: int, n2: int) -> None:
    expected = chi2_contingency([[k1, n1 - k1], [k2, n2 - k2]], correction=True).pvalue
    assert equal_shares_p_value(k1, n1, k2, n2) == pytest.approx(expected)


@pytest.mark.parametrize("counts", [(0, 0, 1, 5), (0, 5, 0, 5), (5, 5, 5, 5), (1, 2, 1, 2)])
def test_without_evidence_the_p_value_is_one(counts: tuple[int, int, int, int]) -> None:
    assert equal_shares_p_value(*counts) == 1.0


def with_counts(result: Result, **counts: dict[str, int]) -> Result:
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
def test_a_warning_where_genders_differ(
    one: ReportedRun, male: dict[str, int], female: dict[str, int], words: str
) -> None:
    even = {"ok": 440, "truncated": 0, "filtered": 0, "timeout": 0, "undetected": 10}
    result = with_counts(one.results["hiring_an"], male=even | male, female=even | female)
    warnings = list(warn_uneven(result))
    assert any(warning.startswith(words) for warning in warnings)
    assert all("p < 0.0001" in warning for warning in warnings if warning.startswith(words))


def test_no_warning_where_genders_do_not_differ(one: ReportedRun) -> None:
    even = {"ok": 470, "truncated": 3, "filtered": 1, "undetected": 10}
    other = {"ok": 468, "truncated": 5, "filtered": 3, "undetected": 14}
    assert list(warn_uneven(with_counts(one.results["hiring_an"], male=even, female=other))) == []
    assert list(warn_uneven(one.results["jobs_lum"])) == []


def test_answers_and_failures_are_summed_and_failures_named(one: ReportedRun) -> None:
    result = with_counts(
        one.results["hiring_an"], all={"ok": 7, "truncated": 2, "timeout": 3, "http_error": 1, "empty": 0}
    )
    sums = add_sums(result.coverage["all"])
    assert (sums["answered"], sums["failed"]) == (9, 4)
    assert list_failures(result) == "1 http error, 3 timeout"
