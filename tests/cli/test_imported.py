"""A run file of answers from elsewhere says so wherever it is shown."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from answering import answer_all
from calling import Command, Outcome, output
from cli.answer_files import SIX
from equipoise.runs.run import Run

ORIGIN = "The answers were imported: how the model was asked is not known."


@pytest.fixture
def imported(command: Command) -> Outcome:
    """The end of a command that imported six answers from answers.csv into run.equipoise."""
    rows = [f'{key};"{answer}"' for key, answer in answer_all(sample=6).items()]
    Path("answers.csv").write_text("\n".join(["id;response", *rows]), encoding="utf-8")
    words = ("import", "answers.csv", "-o", "run.equipoise", *SIX)
    done = command(*words, "--answer-column", "response")
    assert done.code == 0, done.err
    return done


def describe_source() -> str:
    digest = hashlib.sha256(Path("answers.csv").read_bytes()).hexdigest()
    return f"Imported: 6 attempts from answers.csv (SHA-256 {digest})."


def test_import_names_the_file_with_its_digest(imported: Outcome) -> None:
    assert describe_source() in imported.out
    assert "is not known here" in imported.out
    assert "equipoise run " not in imported.out + imported.err


@pytest.mark.usefixtures("imported")
def test_show_says_where_the_answers_come_from(command: Command) -> None:
    shown = output(command("show", "run.equipoise"))
    assert "imported answers, complete" in shown
    assert describe_source() in shown
    assert "is not known here" in shown
    assert "equipoise run " not in shown


@pytest.mark.usefixtures("imported")
def test_json_says_where_the_answers_come_from(command: Command) -> None:
    described = json.loads(output(command("show", "run.equipoise", "--json")))
    assert described["answers_origin"] == "imported"
    assert described["settings"]["notes"][0].startswith(describe_source())


@pytest.mark.usefixtures("imported")
def test_compare_says_of_which_run_the_answers_were_imported(command: Command) -> None:
    compared = command("compare", "run.equipoise", "run.equipoise")
    line = "A: custom/imported · run.equipoise · imported answers, complete"
    assert line in compared.out
    assert "The answers of B are imported." in compared.err


@pytest.mark.usefixtures("imported")
def test_the_library_says_it_in_text_and_in_notebooks() -> None:
    run = Run.open("run.equipoise")
    assert "imported answers" in repr(run)
    assert repr(run.results()).splitlines()[:2] == ["custom/imported", ORIGIN]
    assert ORIGIN in run.results()._repr_html_()


@pytest.mark.usefixtures("imported")
def test_the_gate_notes_it_in_every_form(command: Command) -> None:
    files = ("--markdown", "gate.md", "--junit", "gate.xml")
    gate = command("gate", "run.equipoise", "--fail-on", "D", *files)
    assert f"note: {ORIGIN}" in gate.err
    assert "were imported" in Path("gate.md").read_text(encoding="utf-8")
    note = f'<property name="note" value="{ORIGIN}"'
    assert note in Path("gate.xml").read_text(encoding="utf-8")


@pytest.mark.usefixtures("imported")
@pytest.mark.parametrize("what", ["metrics", "attempts", "prompts"])
def test_every_exported_row_says_it(what: str, command: Command) -> None:
    words = ("export", "run.equipoise", "--what", what, "--format", "jsonl")
    rows = [json.loads(line) for line in output(command(*words)).splitlines()]
    assert {row["answers_origin"] for row in rows} == {"imported"}


@pytest.mark.usefixtures("imported")
def test_exported_attempts_have_no_time_and_no_tries(command: Command) -> None:
    words = ("export", "run.equipoise", "--what", "attempts", "--format", "jsonl")
    rows = [json.loads(line) for line in output(command(*words)).splitlines()]
    assert {(row["tries"], row["finished_at"]) for row in rows} == {(None, None)}


@pytest.mark.usefixtures("imported")
def test_the_page_of_transcripts_says_it(command: Command) -> None:
    output(command("transcripts", "run.equipoise", "-o", "answers.html"))
    page = Path("answers.html").read_text(encoding="utf-8")
    assert ORIGIN in page
    assert ", imported on " in page
    assert ", asked on " not in page


@pytest.mark.usefixtures("imported")
def test_the_map_of_all_marks_says_it(command: Command) -> None:
    words = ("report", "run.equipoise", "run.equipoise", "-o", "both.html", "--charts", "charts")
    output(command(*words))
    picture = Path("charts/heatmap.svg").read_text(encoding="utf-8")
    assert "custom/imported 1 (imported)" in picture
