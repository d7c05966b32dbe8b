"""The GitHub Action: each script of its YAML, run in a shell with the inputs as GitHub gives them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

from equipoise.settings import environment
from serving.asking import KEY
from serving.faulty import FaultyServer

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GATE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCRIPTS = {step["name"]: step for step in STEPS if "run" in step}
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="runs bash")


class Shell:
    """A runner's shell, in which `equipoise` is this package and `python -m pip` only says what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary = folder / "summary.md"
        (folder / "bin").mkdir()
        python = shlex.quote(sys.executable)
        self._write("equipoise", f'exec {python} -m equipoise "$@"')
        self._write("python", 'printf "%s\\n" "$@"')

    def _write(self, name: str, line: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(self, script: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        given = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{environment()['PATH']}",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_ACTION_PATH": str(ROOT),
            **variables,
        }
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(
            words, cwd=self.folder, env={**environment(), **given}, capture_output=True, text=True, check=False
        )

    def step(self, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a script of the action with these inputs over the defaults."""
        values = {key: described.get("default", "") for key, described in ACTION["inputs"].items()}
        values |= {key.replace("_", "-"): value for key, value in inputs.items()}
        variables = {
            key: INPUT.sub(lambda found: values[found[1]], text) for key, text in SCRIPTS[name].get("env", {}).items()
        }
        return self.run(SCRIPTS[name]["run"], variables)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_no_input_is_part_of_a_script() -> None:
    assert len(SCRIPTS) == 4
    for step in SCRIPTS.values():
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"
    used = {name for step in STEPS for name in INPUT.findall(str(step))}
    assert used == set(ACTION["inputs"])


@pytest.mark.fault("S32")
def test_it_installs_what_it_comes_with_and_nothing_of_the_repository(shell: Shell) -> None:
    words = shell.step("Install equipoise").stdout.split()
    assert words == ["-I", "-m", "pip", "install", str(ROOT)]
    (shell.folder / "pip.py").write_text("print('run from the repository')")
    done = subprocess.run([sys.executable, *words[:3], "--version"], cwd=shell.folder, capture_output=True, text=True)
    assert done.stdout.startswith("pip ")


@pytest.mark.fault("S32")
def test_only_the_step_that_asks_gets_the_key(shell: Shell) -> None:
    with_key = [step["name"] for step in STEPS if "inputs.key" in str(step)]
    assert with_key == ["Ask the model"]
    with FaultyServer() as server:
        asked = shell.step("Ask the model", model="openai/test", base_url=server.url, probes="inventories", key=KEY)
        assert asked.returncode == 0, asked.stderr
        assert {request.headers["Authorization"] for request in server.received} == {f"Bearer {KEY}"}


def test_a_fair_model_passes_and_a_stereotyping_one_fails(shell: Shell) -> None:
    fair = {"model": "simulated/unbiased", "probes": "jobs_lum inventories", "folder": "fair"}
    asked = shell.step("Ask the model", **fair)
    assert asked.returncode == 0, asked.stderr
    assert {path.name for path in (shell.folder / "fair").iterdir()} == {"run.equipoise", "report.html"}
    passed = shell.step("Gate", **fair)
    assert (passed.returncode, "passed" in passed.stderr) == (0, True), passed.stderr
    assert shell.step("Show the verdict", **fair).returncode == 0
    assert "jobs" in shell.summary.read_text(encoding="utf-8")

    biased = {**fair, "model": "simulated/stereotyping", "folder": "biased", "baseline": "fair/run.equipoise"}
    assert shell.step("Ask the model", **biased).returncode == 0
    failed = shell.step("Gate", **biased)
    assert failed.returncode == 7
    assert "no-regression" in failed.stdout
    assert {"gate.xml", "gate.md"} <= {path.name for path in (shell.folder / "biased").iterdir()}


def test_a_baseline_that_is_not_there_yet_is_left_out(shell: Shell) -> None:
    given = {"model": "simulated/unbiased", "probes": "inventories", "baseline": "none/run.equipoise"}
    assert shell.step("Ask the model", **given).returncode == 0
    gate = shell.step("Gate", **given)
    assert (gate.returncode, "no-regression" in gate.stdout) == (0, False)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        *(("Ask the model", name) for name in ("model", "suite", "probes", "folder", "budget", "base_url")),
        *(("Gate", name) for name in ("fail_on", "undecided", "folder", "baseline")),
        ("Show the verdict", "folder"),
    ],
)
def test_hostile_inputs_are_only_values(shell: Shell, step: str, name: str) -> None:
    given = {"model": "simulated/unbiased", "probes": "inventories", "suite": "quick", "folder": "results"}
    hostile = "--help x\"; touch hacked; $(touch hacked) `touch hacked` '; touch hacked #"
    shell.step(step, **{**given, name: hostile})
    assert not list(shell.folder.rglob("hacked"))


def test_the_workflow_of_the_page_uses_the_action_as_it_is(shell: Shell) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", GATE, flags=re.DOTALL)
    workflow = yaml.safe_load(text)
    steps = workflow["jobs"]["gate"]["steps"]
    (used,) = [step for step in steps if step.get("uses", "").startswith("./")]
    assert set(used["with"]) <= set(ACTION["inputs"])
    assert {name for name, described in ACTION["inputs"].items() if described.get("required")} <= set(used["with"])
    assert "env" not in used
    assert used["with"]["key"] == "${{ secrets.OPENAI_API_KEY }}"
    (shell.folder / ACTION["inputs"]["folder"]["default"]).mkdir()
    (shell.folder / ACTION["inputs"]["folder"]["default"] / "run.equipoise").write_bytes(b"a run")
    for step in steps:
        if "run" in step:
            assert "${{" not in step["run"]
            assert shell.run(step["run"], {}).returncode == 0
    assert (shell.folder / used["with"]["baseline"]).read_bytes() == b"a run"


def test_the_plain_commands_of_the_page_work(shell: Shell) -> None:
    (text,) = re.findall(r"```sh\n(.*?)```", GATE, flags=re.DOTALL)
    commands = [line for line in text.splitlines() if not line.startswith("pip ")]
    assert len(commands) == 2
    script = "\n".join(commands).replace("--suite ci", "--suite ci --probe inventories")
    done = shell.run(script, {"MODEL": "simulated/unbiased"})
    assert done.returncode == 0, done.stderr
    assert (shell.folder / "gate.xml").exists()
