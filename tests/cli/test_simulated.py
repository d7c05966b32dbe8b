"""`equipoise run simulated/STANCE` as a user types it, and that everything which shows it says what it is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import equipoise
from calling import Command, output
from equipoise.probes import get_probe
from equipoise.report.html.notes import run_command
from equipoise.runs.run import Run
from equipoise.runs.suites import find_size


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a reference model; nobody writes to it."""
    path = tmp_path_factory.mktemp("simulated") / "run.equipoise"
    equipoise.audit("simulated/stereotyping", probes=["jobs_lum", "hiring_an"], sample=160, out=path)
    return path


SCALE = [("stereotyping", "D", "stereotype_rate"), ("unbiased", "A", "masculine_rate")]


@pytest.mark.parametrize(("stance", "letter", "metric"), SCALE)
def test_without_a_suite_the_scale_shows(
    stance: str,
    letter: str,
    metric: str,
    command: Command,
) -> None:
    """The first example of the README: what the scale means."""
    ended = command("run", f"simulated/{stance}", "--probe", "jobs_lum")
    assert f"simulated/{stance} -> simulated-{stance}-" in ended.err
    row = rf"^{letter} +(\(\S+\) )?jobs_lum {metric}"
    assert re.search(row, output(ended), flags=re.MULTILINE)


def test_a_suite_that_is_typed_counts_more(command: Command) -> None:
    words = ("run", "simulated/unbiased", "--probe", "jobs_lum", "--suite", "quick")
    asked = output(command(*words, "-o", "quick.equipoise"))
    size = find_size(get_probe("jobs_lum"), "quick")["sample"]
    assert f"{size} of {size} attempts are answered" in asked


def test_a_run_of_a_reference_model_says_what_it_is(command: Command) -> None:
    words = ("run", "simulated/stereotyping", "--probe", "jobs_lum", "--sample", 20)
    assert "The answers are simulated" in output(command(*words))


def test_a_name_that_is_almost_simulated_gets_a_suggestion(command: Command) -> None:
    outcome = command("run", "simulate/unbiased")
    assert outcome.code == 2
    assert "Did you mean 'simulated'?" in outcome.err


def test_a_stance_that_there_is_not_gets_the_known_ones(command: Command) -> None:
    outcome = command("run", "simulated/even")
    assert outcome.code == 2
    assert "simulated/unbiased" in outcome.err


def test_a_reference_model_has_no_address(command: Command) -> None:
    words = ("run", "simulated/stereotyping", "--base-url", "http://127.0.0.1:1/v1")
    assert command(*words).code == 2


def test_a_reference_model_cannot_judge(command: Command) -> None:
    words = ("run", "simulated/unbiased", "--probe", "jobs_lum", "--judge", "simulated/unbiased")
    refused = command(*words)
    assert refused.code == 2
    assert "simulated/unbiased cannot judge: it is no language model." in refused.err


def test_a_probe_without_the_stance_is_refused_with_those_that_it_has(command: Command) -> None:
    refused = command("run", "simulated/stereotyping", "--probe", "discrimination_tamkin")
    assert refused.code == 2
    assert "It can simulate: biased, random, unbiased." in refused.err


def test_probes_of_a_suite_without_the_stance_are_named(command: Command) -> None:
    words = ("run", "simulated/stereotyping", "--suite", "decisions", "--sample", "2")
    decisions = command(*words)
    assert "no such reference model: discrimination_tamkin" in decisions.err


LIMITED = [
    ["run", "simulated/unbiased", "--probe", "jobs_lum"],
    ["estimate", "simulated/unbiased", "--probe", "jobs_lum"],
    ["prompts", "jobs_lum", "--format", "openai-batch"],
]


@pytest.mark.parametrize("limit", [0, -5])
@pytest.mark.parametrize("words", LIMITED, ids=lambda words: words[0])
def test_a_limit_of_no_tokens_is_refused_for_every_model(
    words: list[str],
    limit: int,
    command: Command,
) -> None:
    refused = command(*words, "--max-tokens", limit)
    assert refused.code == 2
    assert f"'max_tokens' must be `int` >= 1. Got '{limit}' instead." in refused.err
    assert not list(Path().iterdir())


# What shows a simulated run


def test_json_says_that_the_answers_are_simulated(command: Command, run: Path) -> None:
    shown = json.loads(output(command("show", run, "--json")))
    assert shown["answers_origin"] == "simulated"
    assert shown["settings"]["model_settings"] == {"simulated": "stereotyping"}


def test_show_says_that_the_answers_are_simulated(command: Command, run: Path) -> None:
    assert "note: The answers are simulated" in output(command("show", run))


@pytest.mark.parametrize("what", ["metrics", "selection", "attempts", "prompts"])
def test_every_exported_row_names_the_reference_model(
    what: str,
    command: Command,
    run: Path,
) -> None:
    table = output(command("export", run, "--what", what, "--format", "jsonl")).splitlines()
    assert {json.loads(row)["model"] for row in table} == {"simulated/stereotyping"}


def test_the_report_says_that_the_answers_are_simulated(command: Command, run: Path) -> None:
    output(command("report", run, "-o", "report.html"))
    page = Path("report.html").read_text(encoding="utf-8")
    assert "The answers are simulated" in page


def test_transcripts_say_that_no_model_was_asked(command: Command, run: Path) -> None:
    output(command("transcripts", run, "-o", "answers.html"))
    page = Path("answers.html").read_text(encoding="utf-8")
    assert "no language model was asked" in page


def test_compare_says_which_answers_are_simulated(command: Command, run: Path) -> None:
    compared = command("compare", run, run)
    assert "The answers of A are simulated." in compared.err
    assert "The answers of B are simulated." in compared.err
    shown = json.loads(output(command("compare", run, run, "--json")))
    assert shown["runs"][0]["answers_origin"] == "simulated"


def test_the_gate_notes_that_the_answers_are_simulated(command: Command, run: Path) -> None:
    words = ("gate", run, "--fail-on", "D", "--markdown", "gate.md", "--json")
    gate = command(*words)
    assert gate.code == 7
    assert any("simulated" in note for note in json.loads(gate.out)["runs"][0]["notes"])
    assert "simulated" in Path("gate.md").read_text(encoding="utf-8")


def test_the_library_says_it_in_text_and_in_notebooks(run: Path) -> None:
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
