"""Runs that are made once for all tests, and the browser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from equipoise.report.html.page import render
from equipoise.report.html.runs import ReportedRun
from report.browser import find_browser
from report.fakes import make_run


@pytest.fixture(scope="session")
def one() -> ReportedRun:
    """A finished run of all probes."""
    return make_run("atlas-large-2", 0.5)


@pytest.fixture(scope="session")
def three(one: ReportedRun) -> list[ReportedRun]:
    """Three runs: a finished one, one with gaps, and one that another model answered."""
    note = "The endpoint served borealis-7b-chat, not borealis-7b-instruct, for 12 answers."
    return [
        one,
        make_run("atlas-small-2", 0.9, seed=2, answered=0.6),
        make_run("borealis-7b-instruct", 0.1, seed=3, notes=[note]),
    ]


@pytest.fixture(scope="session")
def pages(one: ReportedRun, three: list[ReportedRun], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The reports on one and on three runs, full and short."""
    folder = tmp_path_factory.mktemp("report")
    kinds = {"one": ([one], True), "three": (three, True), "short": ([one], False), "three-short": (three, False)}
    for name, (runs, full) in kinds.items():
        (folder / f"{name}.html").write_text(render(runs, full=full), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in kinds}


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser. Without it, tests are skipped, but not in CI."""
    path = find_browser()
    if path is None:
        if os.getenv("CI") == "true":
            pytest.fail("chromium is not installed. In CI, the report must be tested in a browser.")
        pytest.skip("chromium is not installed")
    return path
