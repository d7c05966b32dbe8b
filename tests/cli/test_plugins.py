"""Probes of other packages: a broken one is left out with a warning, and a mistake in one is reported as its own."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from answering import answer_all
from calling import Command
from equipoise import probes
from equipoise.probes import PluginWarning, find_probes
from installing import installed, register

# In the command a warning is a line on stderr; pytest would make an error of it.
pytestmark = pytest.mark.filterwarnings(f"default::{PluginWarning.__module__}.{PluginWarning.__qualname__}")

INSTALLED = list(find_probes())
SOUND = """
from dataclasses import replace
from equipoise.probes.jobs_lum.probe import PROBE as JOBS

PROBE = replace(JOBS, name="other_jobs")
"""
MISTAKEN = """
from dataclasses import replace
from equipoise.probes.jobs_lum.probe import PROBE as JOBS

def measure(total, parameters):
    return {"masculine_rate": 1 / len([])}

PROBE = replace(JOBS, name="mistaken_jobs", measure=measure)
"""
BROKEN = {
    "raises_one_line": (
        'raise RuntimeError("no such table")',
        "it cannot be loaded: RuntimeError: no such table",
    ),
    "imports": (
        "import equipoise_no_such_module",
        "it cannot be loaded: ModuleNotFoundError: No module named",
    ),
    "raises": (
        'raise RuntimeError("first\\nsecond")',
        r"it cannot be loaded: RuntimeError: first\nsecond",
    ),
    "exits": ('raise SystemExit("bye")', "it cannot be loaded: SystemExit: bye"),
    "no_attribute": ("", "it cannot be loaded: AttributeError"),
    "no_probe": ('PROBE = {"name": "jobs"}', "it is not a Probe but a dict"),
    "same_name": (
        SOUND.replace("other_jobs", "jobs_lum"),
        "there is already a probe called 'jobs_lum'",
    ),
}
Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    """Install a package with one module and one probe, as pip would."""
    folder = tmp_path / "packages"
    folder.mkdir()

    def write(name: str, code: str) -> None:
        (folder / f"plugin_{name}.py").write_text(code, encoding="utf-8")
        register(folder, f"package-{name}", {name: f"plugin_{name}:PROBE"})

    with installed(folder):
        yield write


def test_a_sound_plug_in_is_a_probe_like_the_others(install: Install, command: Command) -> None:
    install("sound", SOUND)
    outcome = command("probes", "--json")
    assert [probe["name"] for probe in json.loads(outcome.out)["probes"]] == [
        *INSTALLED,
        "other_jobs",
    ]
    assert outcome.err == ""
    assert command("prompts", "other_jobs", "--sample", "2").err == "2 prompts of other_jobs\n"


@pytest.mark.fault("P35")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plug_in_is_left_out_with_a_warning(
    name: str,
    install: Install,
    command: Command,
) -> None:
    code, reason = BROKEN[name]
    install(name, code)
    outcome = command("probes", "--json")
    assert outcome.code == 0
    assert [probe["name"] for probe in json.loads(outcome.out)["probes"]] == INSTALLED
    where = f"plugin_{name}:PROBE (package-{name})"
    assert outcome.err.startswith(f"warning: The probe {where} is left out: {reason}")
    assert outcome.err.endswith(".\n")
    assert outcome.err.count("\n") == 1


@pytest.mark.fault("P35")
def test_each_of_many_broken_plug_ins_has_its_warning(install: Install, command: Command) -> None:
    for name, (code, _) in BROKEN.items():
        install(name, code)
    outcome = command("probes", "--json")
    assert outcome.code == 0
    assert [probe["name"] for probe in json.loads(outcome.out)["probes"]] == INSTALLED
    lines = outcome.err.splitlines()
    assert len(lines) == len(BROKEN)
    for name, (_, reason) in BROKEN.items():
        where = f"plugin_{name}:PROBE (package-{name})"
        start = f"warning: The probe {where} is left out: {reason}"
        assert [line for line in lines if line.startswith(start)], outcome.err


BESIDE = [
    ["probes"],
    ["probes", "jobs_lum"],
    ["prompts", "jobs_lum", "--sample", "2"],
    ["estimate", "embedded", "--probe", "jobs_lum"],
    ["score", "answers.jsonl", "--probe", "jobs_lum", "--allow-missing", "1"],
]


@pytest.mark.fault("P35")
@pytest.mark.parametrize("words", BESIDE, ids=" ".join)
def test_commands_work_beside_broken_plug_ins(
    words: list[str],
    install: Install,
    command: Command,
) -> None:
    (key,) = answer_all(sample=1)
    Path("answers.jsonl").write_text(json.dumps({"id": key, "answer": "He."}))
    expected = command(*words)
    assert expected.code == 0, expected.err
    find_probes.cache_clear()
    for name, (code, _) in BROKEN.items():
        install(name, code)
    outcome = command(*words)
    assert outcome.code == 0
    assert outcome.out == expected.out
    lines = outcome.err.splitlines()
    warnings = [line for line in lines if line.startswith("warning: The probe plugin_")]
    assert len(warnings) == len(BROKEN)
    assert [line for line in lines if line not in warnings] == expected.err.splitlines()


@pytest.mark.fault("P35")
def test_a_plug_in_whose_import_hangs_is_left_out(
    install: Install,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probes, "SECONDS_TO_LOAD", 0.2)
    monkeypatch.setattr(sys, "waits_for", release := threading.Event(), raising=False)
    install("hangs", "import sys\nsys.waits_for.wait()")
    outcome = command("probes", "--json")
    release.set()
    assert [probe["name"] for probe in json.loads(outcome.out)["probes"]] == INSTALLED
    assert "left out: it cannot be loaded: TimeoutError: its import took more than 0.2 seconds." in outcome.err


MISTAKE = (
    "error: The probe 'mistaken_jobs' has a mistake in its measure: "
    "ZeroDivisionError: division by zero. EQUIPOISE_TRACEBACK=1 shows where.\n"
)


@pytest.mark.parametrize(
    "words",
    [["prompts", "mistaken_jobs"], ["run", "simulated/random", "--probe", "mistaken_jobs"]],
    ids=["prompts", "run"],
)
def test_a_mistake_in_a_probe_is_one_message(
    words: list[str],
    install: Install,
    command: Command,
    tmp_path: Path,
) -> None:
    install("mistaken", MISTAKEN)
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == MISTAKE
    assert list(tmp_path.glob("*.equipoise")) == []


def test_a_traceback_shows_where_a_mistake_in_a_probe_is(
    install: Install,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install("mistaken", MISTAKEN)
    monkeypatch.setenv("EQUIPOISE_TRACEBACK", "1")
    traced = command("prompts", "mistaken_jobs")
    assert traced.code == 1
    assert traced.err.startswith("Traceback (most recent call last):\n")
    assert 'plugin_mistaken.py", line 6, in measure' in traced.err
    assert "ZeroDivisionError: " in traced.err
    assert traced.err.endswith(f"\n{MISTAKE}")
