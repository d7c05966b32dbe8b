"""What the package promises about itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
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


def test_the_versions_agree() -> None:
    assert PROJECT["version"] == equipoise.__version__


TEXT = {"type": "string", "minLength": 1}
AUTHOR = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {"name": TEXT},
}
CITATION = {
    "type": "object",
    "required": ["authors", "cff-version", "message", "title"],
    "additionalProperties": False,
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "title": TEXT,
        "message": TEXT,
        "abstract": TEXT,
        "version": TEXT,
        "license": TEXT,
        "type": {"enum": ["software", "dataset"]},
        "keywords": {"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True},
        "authors": {"type": "array", "minItems": 1, "items": AUTHOR},
    },
}
"""What the Citation File Format 1.2.0 demands, and those of its other fields that are used."""


@pytest.fixture
def citation() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return content


def test_the_citation_file_is_valid(citation: dict[str, Any]) -> None:
    jsonschema.validate(citation, CITATION)


def test_the_citation_file_is_of_this_version(citation: dict[str, Any]) -> None:
    assert citation["version"] == PROJECT["version"] == equipoise.__version__
    assert citation["license"] == PROJECT["license"]
