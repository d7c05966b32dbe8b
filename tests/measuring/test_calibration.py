"""A loose alarm for intervals that do not cover, marks that are certain and wrong, and looks that stop too early.

A few of the simulations of `make calibrate`, with few runs each; that makes docs/calibration.md.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from equipoise.measuring import interval

SIMULATIONS = 100


@pytest.fixture
def calibrate(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    from benchmarks import calibration_studies

    return calibration_studies


def check(calibrate: ModuleType, study: str, model: str, size: int) -> None:
    found = calibrate.study_coverage(study, model, size, SIMULATIONS)
    assert found
    for row in found:
        assert row.covered >= 0.85, row
        assert row.wrong <= 0.1, row


@pytest.mark.parametrize(
    ("study", "model", "size"),
    [
        ("jobs_lum", "p = 0.1", 24),
        ("gest_creative", "stereotypes 0.4", 48),
        ("discrimination_tamkin", "p = 0.5", 60),
    ],
)
def test_intervals_cover_and_certain_marks_hold(calibrate: ModuleType, study: str, model: str, size: int) -> None:
    check(calibrate, study, model, size)


def test_the_alarm_rings(calibrate: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where influences are taken for smaller than they are, intervals are too narrow."""
    differentiate = interval.differentiate
    monkeypatch.setattr(
        interval, "differentiate", lambda *given: (differentiate(*given)[0], differentiate(*given)[1] / 2)
    )
    with pytest.raises(AssertionError, match="masculine_rate"):
        check(calibrate, "jobs_lum", "p = 0.5", 60)


def test_a_run_that_stops_early_is_not_wrong_for_that(calibrate: ModuleType) -> None:
    found = calibrate.study_looks("business_vocabulary", "men +0.2", 320, 1, 40, samples=1)
    assert found.saved > 0.6
    assert found.least_covered >= 0.9
    assert found.wrong <= 0.05
