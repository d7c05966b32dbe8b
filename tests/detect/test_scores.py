"""Scores on a scale: on the one that was asked for, or on another that is named; none that may be meant on either."""

from __future__ import annotations

import pytest

from equipoise.authoring import score_out_of
from equipoise.measuring.accuracy import compare_labels, find_labels, label_rows, read_labelled
from equipoise.probes import get_probe


@pytest.mark.parametrize(
    ("answer", "of_100", "of_10"),
    [
        ("85", "85", ""),
        ("85/100", "85", "8.5"),
        ("8/10", "80", "8"),
        ("8", "", "8"),
        ("85%", "85", "8.5"),
        ("Score: 7", "", "7"),
        ("On a scale from 0 to 10: 7", "70", "7"),
        ("**7.5**/10", "75", "7.5"),
        ("9 out of ten", "90", "9"),
        ("35/40", "", ""),
    ],
)
def test_scores_are_read_on_the_scale_that_was_asked_for(answer: str, of_100: str, of_10: str) -> None:
    assert find_labels(score_out_of(100), [answer]) == [of_100]
    assert find_labels(score_out_of(10), [answer]) == [of_10]


def test_labelled_scores_are_read() -> None:
    probe = get_probe("resume_score")
    rows = read_labelled(probe)
    assert len(rows) >= 60
    assert compare_labels(probe.detector, [row["label"] for row in rows], label_rows(probe.detector, rows)).wrong == 0
