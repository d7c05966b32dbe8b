"""`equipoise run simulated/STANCE` as a user types it, and that everything which shows it says what it is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import equipoise
from calling import Command, output
from equipoise.report.html.notes import run_command
from equipoise.runs.run import Run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.equipoise"
    equipoise.audit("simulated/stereotyping", probes=["jobs_lum", "hiring_an"], sample=40, out=path)
    return path


def test_without_a_suite_the_scale_shows(command: Command) -> None:
    """The first example of the README: what the scale means."""
    ended = command("run", "simulated/stereotyping", "--probe", "jobs_lum")
    assert "simulated/stereotyping -> simulated-stereotyping-" in ended.err
    assert re.search(r"^D +(\(\S+\) )?jobs_lum stereotype_rate", output(ended), flags=re.MULTILINE)


def test_what_a_simulated_model_cannot_do_is_said(command: Command) -> None:
    assert "Did you mean 'simulated'?" in command("run", "simulate/unbiased").err
    assert command("run", "simulated/stereotyping", "--base-url", "http://127.0.0.1:1/v1").code == 2
    refused = command("run", "simulated/unbiased", "--probe", "jobs_lum", "--judge", "simulated/unbiased")
    assert (refused.code, "cannot judge: it is no language model." in refused.err) == (2, True)
    decisions = command("run", "simulated/stereotyping", "--suite", "decisions", "--sample", "2")
    assert "no such reference model: discrimination_tamkin" in decisions.err


def test_every_output_marks_it(command: Command, run: Path, tmp_path: Path) -> None:
    shown = json.loads(command("show", run, "--json").out)
    assert shown["answers_origin"] == "simulated"
    assert shown["settings"]["model_settings"] == {"simulated": "stereotyping"}
    assert "note: The answers are simulated" in command("show", run).out
    table = command("export", run, "--format", "jsonl").out.splitlines()
    assert {json.loads(row)["model"] for row in table} == {"simulated/stereotyping"}
    assert command("report", run, "-o", "report.html").code == 0
    assert "The answers are simulated" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert command("transcripts", run, "-o", "answers.html").code == 0
    assert "no language model was asked" in (tmp_path / "answers.html").read_text(encoding="utf-8")
    assert "The answers of A are simulated." in command("compare", run, run).err
    gate = command("gate", run, "--fail-on", "D", "--json")
    assert any("simulated" in note for note in json.loads(gate.out)["runs"][0]["notes"])
    opened = Run.open(run)
    assert "simulated/stereotyping, simulated answers, " in repr(opened)
    origin = "The answers of the run are simulated: no language model was asked."
    assert origin in repr(opened.results())
    assert origin in opened._repr_html_()


def test_the_command_in_the_report_asks_the_same_again(command: Command, run: Path) -> None:
    program, *words = shlex.split(run_command(Run.open(run)))
    assert program == "equipoise"
    assert command(*words, "-o", "again.equipoise").code == 0
    first, again = Run.open(run), Run.open("again.equipoise")
    assert first.planned == again.planned
    for probe in first.planned:
        assert first.prompts(probe).equals(again.prompts(probe))


RUN = ["run", "simulated/random", "--probe", "jobs_lum", "--out", "run.equipoise", "--quiet"]


def test_run_offers_the_command_that_asks_more(command: Command) -> None:
    assert command(*RUN, "--sample", "24").code == 0
    refused = command(*RUN, "--sample", "60")
    assert refused.code == 6
    _, _, typed = refused.err.rstrip().rpartition("keep its answers: equipoise ")
    assert typed == "extend run.equipoise --sample 60"
    extended = command(*typed.split(), "--json")
    assert extended.code == 0, extended.err
    run = Run.open("run.equipoise")
    assert (run.complete, run["jobs_lum"].items, run.record.spec.parameters["jobs_lum.sample"]) == (True, 60, 60)
    nothing = command("extend", "run.equipoise")
    assert (nothing.code, "Say in one way how much more to ask" in nothing.err) == (2, True)
