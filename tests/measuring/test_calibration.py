"""The studies of `make calibrate` run, and would show intervals that are too narrow. It makes docs/calibration.md."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from equipoise.measuring import estimates


@pytest.fixture
def studies(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    from benchmarks import calibration_studies

    return calibration_studies


def least_covered(studies: ModuleType) -> float:
    found = studies.study_coverage("once", "jobs_lum", "even", studies.Asking(items=60), 100)
    return float(min(row["covered"] for row in found))


def test_the_study_of_coverage_tells_right_intervals_from_narrow_ones(
    studies: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert least_covered(studies) > 0.85
    differentiate = estimates.differentiate_metrics
    monkeypatch.setattr(
        estimates, "differentiate_metrics", lambda *given: (differentiate(*given)[0], differentiate(*given)[1] / 2)
    )
    assert least_covered(studies) < 0.85
