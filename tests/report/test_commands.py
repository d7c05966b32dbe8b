"""The command in a report asks the same prompts again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import equipoise
from calling import Command, output
from equipoise.report.html.notes import run_command
from equipoise.runs.run import Run

PARAMETERS: dict[str, dict[str, Any]] = {
    "business_vocabulary": {"smoothing": 2.0},
    "discrimination_tamkin": {"corpus": "scenarios"},
    "gest_creative": {"corpus": "mottos", "exclude": [3, 4]},
    "hiring_an": {"design": "random"},
    "jobs_lum": {"template": "It's a {job}, isn't it?"},
    "pronoun_fidelity": {"families": ["he", "she", "they", "ey"]},
    "salary_advice": {"voice": "employer"},
}
"""For each probe, something that differs from its defaults: a text, a number, a name and lists."""


def list_ids(run: Run) -> dict[str, list[str]]:
    """The prompts of each probe, by their ids."""
    return {probe: run.prompts(probe)["id"].to_list() for probe in run.planned}


@pytest.mark.parametrize("probe", PARAMETERS)
def test_the_command_asks_the_same_prompts(probe: str, command: Command, tmp_path: Path) -> None:
    parameters = {**PARAMETERS[probe], "seed": 7, "repeat": 2, "sample": 8}
    path = tmp_path / "first.equipoise"
    equipoise.audit("simulated/unbiased", probes=[probe], out=path, **parameters)
    first = Run.open(path)
    words = shlex.split(run_command(first))
    assert words[:3] == ["equipoise", "run", "simulated/unbiased"]
    output(command(*words[1:], "--out", tmp_path / "second.equipoise"))
    second = Run.open(tmp_path / "second.equipoise")
    assert list_ids(second) == list_ids(first)
    assert second.setup(probe).parameters == first.setup(probe).parameters


def test_a_changed_template_stands_in_the_command(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    template = "It's a {job}."
    equipoise.audit("simulated/unbiased", probes=["jobs_lum"], out=path, sample=2, template=template)
    words = shlex.split(run_command(Run.open(path)))
    assert words[words.index("--set") + 1] == f"template={template}"
