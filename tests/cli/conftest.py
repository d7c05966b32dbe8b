"""Finished runs that the commands look at. They are made once, and nobody writes to them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from output_shapes import output_schema

import equipoise
from answering import answer
from calling import Command
from equipoise.runs.ask import decide
from equipoise.schema import ID
from serving.asking import KEY
from simulating import simulated

NASTY = "evil\x1b[31m<b>|`x`\n"
"""The name of a model."""
FORMULA = '=HYPERLINK("http://evil.example","click")'


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run files by name: fair, biased, odd (incomplete, with odd answers), other (of another probe), small."""
    folder = tmp_path_factory.mktemp("runs")
    fair = {"hiring_an": "unbiased", "jobs_lum": "unbiased"}
    first = simulated(folder / "fair.equipoise", fair, seed=2)
    texts = [FORMULA, "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", 'plain, "so"\r\nShe', "nul \0", "\ud800 \u202e"]
    odd = dict(zip(first.prompts("jobs_lum")[ID], texts, strict=False))
    all_runs = [
        first,
        simulated(folder / "biased.equipoise", {"hiring_an": "pro-masculine", "jobs_lum": "stereotyping"}, model=NASTY),
        simulated(folder / "odd.equipoise", fair, answers=odd, answered=100),
        simulated(folder / "other.equipoise", {"business_vocabulary": "stereotyping"}),
    ]
    equipoise.audit(answer, probes=["jobs_lum"], out=folder / "small.equipoise", sample=60)
    return {**{run.path.stem: run.path for run in all_runs}, "small": folder / "small.equipoise"}


@pytest.fixture
def small(runs: dict[str, Path], tmp_path: Path) -> Path:
    """A finished run of jobs_lum, `run.equipoise` in the folder of the test, to be changed as one likes."""
    path = tmp_path / "run.equipoise"
    path.write_bytes(runs["small"].read_bytes())
    return path


@pytest.fixture
def keyed(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command of a user who has a key of OpenAI; it asks again soon."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(decide, "FIRST_BACKOFF", 0.01)
    return command


def check_output(printed: dict[str, Any]) -> str:
    """Fail unless a JSON value fits the schema that it names, and has nothing that is not in it; its kind."""
    kind = str(printed["schema"]).removeprefix("equipoise/")
    problems = list(_validator(kind).iter_errors(printed))
    assert not problems, problems
    return kind


@functools.cache
def _validator(kind: str) -> Any:
    schema = output_schema(kind, closed=True)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)
