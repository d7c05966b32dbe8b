"""Runs of known models that tests of comparisons share."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.runs.run import Run
from simulating import simulated

BIASED = {
    "jobs_lum": "stereotyping",
    "gest_creative": "stereotyping",
    "hiring_an": "pro-masculine",
    "discrimination_tamkin": "biased",
    "business_vocabulary": "stereotyping",
}
FAIR = dict.fromkeys(BIASED, "unbiased")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs are."""
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="session")
def fair(folder: Path) -> Run:
    """A model that treats all alike."""
    return simulated(folder / "fair.equipoise", FAIR)


@pytest.fixture(scope="session")
def biased(folder: Path) -> Run:
    """A model that leans as far as it can in each probe."""
    return simulated(folder / "biased.equipoise", BIASED, seed=2)
