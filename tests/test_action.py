"""The GitHub Action: each script of its YAML, run in a shell with the inputs as GitHub gives them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

from calling import exit_code
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
    """A runner's shell, in which `python` and `equipoise` only say what they were asked, one word per line.

    With `real`, `equipoise` is this package.
    """

    def __init__(self, folder: Path, *, real: bool = False) -> None:
        self.folder = folder
        self.summary = folder / "summary.md"
        (folder / "bin").mkdir()
        say = 'printf "%s\\n" "$@"'
        self._write("equipoise", f'exec {shlex.quote(sys.executable)} -m equipoise "$@"' if real else say)
        self._write("python", say)

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
            words,
            cwd=self.folder,
            env={**environment(), **given},
            capture_output=True,
            text=True,
            check=False,
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


@pytest.fixture
def real(tmp_path: Path) -> Shell:
    return Shell(tmp_path, real=True)


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
    assert words == ["-I", "-m", "pip", "install", f"{ROOT}[prices]"]
    (shell.folder / "pip.py").write_text("print('run from the repository')")
    done = subprocess.run([sys.executable, *words[:3], "--version"], cwd=shell.folder, capture_output=True, text=True)
    assert done.stdout.startswith("pip ")


def read_workflow() -> list[dict[str, Any]]:
    """The steps of the workflow on the page."""
    (text,) = re.findall(r"```yaml\n(.*?)```", GATE, flags=re.DOTALL)
    steps: list[dict[str, Any]] = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    return steps


def run_workflow(shell: Shell, **changed: str) -> list[int]:
    """Run the steps of the page as they stand there, but for the inputs that are named; how each script ended.

    Steps of others, which check out and keep files, are left out. As on a runner, a step after a failure only runs if
    it says so.
    """
    codes: list[int] = []
    for step in read_workflow():
        if step.get("uses", "").startswith("./"):
            given = {name.replace("-", "_"): value for name, value in step["with"].items()} | changed
            for name, script in SCRIPTS.items():
                if name != "Install equipoise" and (not any(codes) or script.get("if") == "always()"):
                    codes.append(shell.step(name, **given).returncode)
        elif "run" in step and not any(codes):
            codes.append(shell.run(step["run"], {}).returncode)
    return codes


@pytest.mark.fault("S32")
def test_only_the_step_that_asks_gets_the_key() -> None:
    with_key = [step["name"] for step in STEPS if "inputs.key" in str(step)]
    assert with_key == ["Ask the model"]


@pytest.mark.fault("S32")
def test_the_workflow_of_the_page_starts_as_pasted_and_stops_at_its_budget(real: Shell) -> None:
    """The price must be known, and the key must arrive; only address and budget are others.

    The budget is reached at once: the run ends with 4, and the gate says what is missing.
    """
    with FaultyServer() as server:
        given = {"base_url": server.url, "probes": "inventories", "key": KEY, "budget": "0.00001"}
        assert run_workflow(real, **given) == [4, 8, 0]
        sent = {request.headers["Authorization"] for request in server.received}
        assert sent == {f"Bearer {KEY}"}
    assert "attempts answered" in real.summary.read_text(encoding="utf-8")


def test_a_model_that_there_is_not_has_a_summary_too(real: Shell) -> None:
    assert run_workflow(real, model="nothing/like-this", folder="other") == [2, 2, 0]


def test_price_tokens_and_extra_reach_the_model(real: Shell) -> None:
    with FaultyServer() as server:
        where = {"base_url": server.url, "probes": "inventories", "key": KEY}
        given = {**where, "model": "openai/our-model", "budget": "1"}
        unknown = real.step("Ask the model", **given)
        assert unknown.returncode == 2, "the price of this model is not known"
        more = {"price": "1,2", "max_tokens": "7", "extra": '{"reasoning_effort": "low"}'}
        assert real.step("Ask the model", **given, **more).returncode == 0
        sent = server.received[-1].body
    assert 7 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
    assert sent["reasoning_effort"] == "low"


def test_a_fair_model_passes_and_a_stereotyping_one_fails(real: Shell) -> None:
    """From an empty folder: the first run becomes the baseline, and a worse one fails."""
    given = {"probes": "inventories", "key": "", "model": "simulated/random"}
    assert run_workflow(real, **given) == [0, 0, 0, 0]
    assert (real.folder / "baseline" / "run.equipoise").exists()
    shutil.rmtree(real.folder / "equipoise-results")
    assert run_workflow(real, **given | {"model": "simulated/stereotyping"}) == [0, 7, 0]
    summary = real.summary.read_text(encoding="utf-8")
    verdicts = re.findall(r"^### equipoise gate: ([A-Z]+)", summary, flags=re.MULTILINE)
    assert verdicts == ["PASSED", "FAILED"]
    assert "`--no-regression`" in summary
    assert {"gate.xml", "gate.md"} <= {path.name for path in (real.folder / "equipoise-results").iterdir()}


def test_each_run_of_the_page_becomes_the_baseline_of_the_next(shell: Shell) -> None:
    scripts = [step["run"] for step in read_workflow() if "run" in step]
    results = shell.folder / "equipoise-results"
    results.mkdir()
    for content in ("first", "second"):
        (results / "run.equipoise").write_text(content)
        for script in scripts:
            assert shell.run(script, {}).returncode == 0
        assert (shell.folder / "baseline" / "run.equipoise").read_text() == content


def test_a_baseline_that_is_not_there_yet_is_left_out(shell: Shell) -> None:
    given = {"folder": "results", "baseline": "baseline.equipoise"}
    without = shell.step("Gate", **given).stdout.split()
    assert without[-2:] == ["--", "results/run.equipoise"]
    (shell.folder / "baseline.equipoise").touch()
    with_it = shell.step("Gate", **given).stdout.split()
    assert with_it == [
        *without[:-2],
        "--baseline",
        "baseline.equipoise",
        "--no-regression",
        *without[-2:],
    ]


HOSTILE = "--help x\"; touch hacked; $(touch hacked) `touch hacked` '; touch hacked #"
HOSTILE_INPUTS = [
    *(("Ask the model", name) for name in ("model", "config", "suite", "probes", "folder")),
    *(("Ask the model", name) for name in ("base_url", "max_tokens", "extra", "budget", "price")),
    *(("Gate", name) for name in ("config", "fail_on", "undecided", "folder", "baseline")),
    ("Show the verdict", "folder"),
]


def test_every_input_of_a_script_is_tried_with_a_hostile_value() -> None:
    used = set()
    for name, step in SCRIPTS.items():
        for text in step.get("env", {}).values():
            used |= {(name, found.replace("-", "_")) for found in INPUT.findall(text)}
    assert used - {("Ask the model", "key")} == set(HOSTILE_INPUTS)


@pytest.mark.parametrize(("step", "name"), HOSTILE_INPUTS)
def test_hostile_inputs_are_only_values(shell: Shell, step: str, name: str) -> None:
    given = {
        "model": "simulated/unbiased",
        "probes": "inventories",
        "suite": "quick",
        "folder": "results",
    }
    done = shell.step(step, **{**given, name: HOSTILE})
    assert done.returncode == 0, done.stderr
    # Probes are split at spaces, and a baseline that is not there is left out.
    is_given_on = name not in ("probes", "baseline") and step != "Show the verdict"
    assert (HOSTILE in done.stdout) == is_given_on
    assert not list(shell.folder.rglob("hacked"))


def test_the_workflow_of_the_page_gives_inputs_that_the_action_has() -> None:
    (used,) = [step for step in read_workflow() if step.get("uses", "").startswith("./")]
    assert set(used["with"]) <= set(ACTION["inputs"])
    assert {name for name, described in ACTION["inputs"].items() if described.get("required")} <= set(used["with"])
    assert "env" not in used
    assert used["with"]["key"] == "${{ secrets.OPENAI_API_KEY }}"
    assert all("${{" not in step.get("run", "") for step in read_workflow())


def test_the_plain_commands_of_the_page_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (text,) = re.findall(r"```sh\n(.*?)```", GATE, flags=re.DOTALL)
    commands = [line for line in text.splitlines() if not line.startswith("pip ")]
    assert len(commands) == 2
    for line in commands:
        small = line.replace("--suite ci", "--suite ci --probe inventories")
        _, *words = shlex.split(small.replace("$MODEL", "simulated/unbiased"))
        assert exit_code(monkeypatch, *words) == 0, capfd.readouterr().err
    assert (tmp_path / "gate.xml").exists()
