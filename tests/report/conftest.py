"""Runs that are made once for all tests, and the browser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from equipoise.report.html.page import render
from equipoise.runs.run import Run
from report.browser import find_browser
from report.fakes import FEW, change, make_run


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of all probes."""
    return make_run(tmp_path_factory.mktemp("one") / "one.equipoise", "atlas-large-2", "stereotyping")


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Three runs of a few probes: a finished one, one with gaps, and one that another model answered."""
    folder = tmp_path_factory.mktemp("three")
    note = "The endpoint served borealis-7b-chat, not borealis-7b-instruct, for 12 answers."
    return [
        make_run(folder / "1.equipoise", "atlas-large-2", "stereotyping", FEW, failed=2),
        make_run(folder / "2.equipoise", "atlas-small-2", "random", FEW, seed=2, answered=40),
        change(make_run(folder / "3.equipoise", "borealis-7b-instruct", "unbiased", FEW, seed=3), notes=[note]),
    ]


@pytest.fixture(scope="session")
def pages(one: Run, three: list[Run], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A short report on all probes, and full ones of a few probes on one and on three runs."""
    folder = tmp_path_factory.mktemp("report")
    for name, runs in {"short": [one], "one": three[:1], "three": three}.items():
        (folder / f"{name}.html").write_text(render(runs, full=name != "short"), encoding="utf-8")
    return {page.stem: page for page in folder.iterdir()}


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser. Without it, tests are skipped, but not in CI."""
    path = find_browser()
    if path is None:
        if os.getenv("CI") == "true":
            pytest.fail("chromium is not installed. In CI, the report must be tested in a browser.")
        pytest.skip("chromium is not installed")
    return path
