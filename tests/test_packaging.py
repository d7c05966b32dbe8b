"""What the package promises about itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

import equipoise
from equipoise.probes import find_probes

ROOT = Path(__file__).parents[1]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = CONFIGURATION["project"]


@pytest.mark.fault("S15")
def test_dependencies_are_few_and_have_lower_bounds_only() -> None:
    required = PROJECT["dependencies"]
    assert len(required) <= 12
    optional = [requirement for extra in PROJECT["optional-dependencies"].values() for requirement in extra]
    lower_bound_or_own_extras = re.compile(r"[a-z0-9-]+(>=[0-9.]+|\[[a-z,]+\])")
    assert [text for text in required + optional if not lower_bound_or_own_extras.fullmatch(text)] == []


def test_the_wheel_has_the_labelled_answers_that_exams_need_and_no_others() -> None:
    excluded = {*CONFIGURATION["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]}
    there = {str(file.relative_to(ROOT)) for file in ROOT.glob("src/equipoise/probes/*/labelled.csv")}
    needed = {f"src/equipoise/probes/{name}/labelled.csv" for name, probe in find_probes().items() if probe.judge}
    assert there - excluded == needed & there
    assert excluded <= there


def test_the_citation_file_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"authors", "cff-version", "message", "title"} <= citation.keys()
    assert citation["version"] == PROJECT["version"] == equipoise.__version__
    assert citation["license"] == PROJECT["license"]
