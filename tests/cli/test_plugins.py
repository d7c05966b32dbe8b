"""Probes of other packages: a broken one is left out with a warning, and a mistake in one is reported as its own."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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
    "raises": ('raise RuntimeError("first\\nsecond")', r"it cannot be loaded: RuntimeError: first\nsecond"),
    "exits": ('raise SystemExit("bye")', "it cannot be loaded: SystemExit: bye"),
    "no_attribute": ("", "it cannot be loaded: AttributeError"),
    "no_probe": ('PROBE = {"name": "jobs"}', "it is not a Probe but a dict"),
    "same_name": (SOUND.replace("other_jobs", "jobs_lum"), "there is already a probe called 'jobs_lum'"),
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
    assert [probe["name"] for probe in json.loads(outcome.out)["probes"]] == [*INSTALLED, "other_jobs"]
    assert outcome.err == ""
    assert command("prompts", "other_jobs", "--sample", "2").err == "2 prompts of other_jobs\n"


@pytest.mark.fault("P35")
def test_broken_plug_ins_are_left_out_with_a_warning(install: Install, command: Command) -> None:
    for name, (code, _) in BROKEN.items():
        install(name, code)
    outcome = command("probes", "--json")
    assert outcome.code == 0
    assert [probe["name"] for probe in json.loads(outcome.out)["probes"]] == INSTALLED
    lines = outcome.err.splitlines()
    assert len(lines) == len(BROKEN)
    for name, (_, reason) in BROKEN.items():
        start = f"warning: The probe plugin_{name}:PROBE (package-{name}) is left out: {reason}"
        assert [line for line in lines if line.startswith(start)], outcome.err


@pytest.mark.fault("P35")
def test_a_plug_in_whose_import_hangs_is_left_out(
    install: Install, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "SECONDS_TO_LOAD", 0.2)
    monkeypatch.setattr(sys, "waits_for", release := threading.Event(), raising=False)
    install("hangs", "import sys\nsys.waits_for.wait()")
    outcome = command("probes", "--json")
    release.set()
    assert [probe["name"] for probe in json.loads(outcome.out)["probes"]] == INSTALLED
    assert "left out: it cannot be loaded: TimeoutError: its import took more than 0.2 seconds." in outcome.err


def test_a_mistake_in_a_probe_is_one_message_and_a_traceback_shows_where_it_is(
    install: Install, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install("mistaken", MISTAKEN)
    outcome = command("run", "simulated/random", "--probe", "mistaken_jobs")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "error: The probe 'mistaken_jobs' has a mistake in its measure: ZeroDivisionError: division by zero. "
        "EQUIPOISE_TRACEBACK=1 shows where.\n"
    )
    assert list(tmp_path.glob("*.equipoise")) == []
    monkeypatch.setenv("EQUIPOISE_TRACEBACK", "1")
    traced = command("run", "simulated/random", "--probe", "mistaken_jobs")
    assert traced.err.startswith("Traceback (most recent call last):\n")
    assert 'plugin_mistaken.py", line 6, in measure' in traced.err
    assert traced.err.endswith(f"\n{outcome.err}")
