"""A loose alarm for intervals that do not cover and marks that are certain and wrong.

A few of the simulations of `make calibrate`, with few runs each; that makes docs/calibration.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SIMULATIONS, REPLICATES = 60, 500


@pytest.mark.parametrize(
    ("study", "model", "size"),
    [
        ("jobs_lum", "p = 0.05", 12),
        ("gest_creative", "stereotypes 0.4", 48),
        ("discrimination_tamkin", "men +0", 60),
    ],
)
def test_intervals_cover_and_certain_marks_hold(
    study: str, model: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    from benchmarks.calibrate import study_coverage

    found = study_coverage(study, model, size, SIMULATIONS, REPLICATES)
    assert found
    for row in found:
        assert row.covered >= 0.85, row
        assert row.wrong <= 0.1, row
