"""Labels in the run file: what the answers say, for other tools; derived, replaceable, and never believed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise
from equipoise.errors import StorageError
from equipoise.probes import get_probe
from equipoise.runs.file.store import RunFile
from equipoise.runs.finished import open_run
from equipoise.runs.run import Run, store_labels
from runs.fakes import execute


def select(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(statement).fetchall()


def write_answer(prompt: str) -> str:
    return ("He is kind.", "She is bold.", "They are.")[len(prompt) % 3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.equipoise"
    equipoise.audit(write_answer, probes=["jobs_lum", "business_vocabulary"], out=path, sample=12)
    return path


def test_labels_of_the_reading_are_in_the_file(path: Path) -> None:
    stored = select(path, "select id, repetition, label, judged from answers where probe = 'jobs_lum'")
    read = (
        Run.open(path)
        .transcripts("jobs_lum")
        .select(
            "id",
            "repetition",
            "label",
            pl.lit(0),
        )
        .rows()
    )
    assert sorted(stored) == sorted(read)
    assert {label for _, _, label, _ in stored} == {"male", "female", None}


def test_counts_of_the_reading_are_in_the_file(path: Path) -> None:
    run = Run.open(path)
    counts = run.setup("business_vocabulary").probe.detector.counts
    statement = "select id, repetition, counts from answers where probe = 'business_vocabulary'"
    stored = {
        (key, repetition): json.loads(found)
        for key, repetition, found in select(
            path,
            statement,
        )
    }
    transcripts = run.transcripts("business_vocabulary")
    assert len(stored) == transcripts.height
    for row in transcripts.iter_rows(named=True):
        assert stored[row["id"], row["repetition"]] == {name: row[name] for name in counts}


@pytest.fixture
def imported(tmp_path: Path) -> tuple[Path, list[str]]:
    """A file with two imported answers, and the ids of its prompts."""
    path = tmp_path / "imported.equipoise"
    ids = equipoise.plan("jobs_lum", sample=4).prompts()["id"].to_list()
    rows = [{"id": ids[0], "answer": "He."}, {"id": ids[1], "answer": "She."}]
    equipoise.import_answers(rows, path, probes="jobs_lum", sample=4)
    return path, ids


def test_imported_answers_have_labels(imported: tuple[Path, list[str]]) -> None:
    path, ids = imported
    assert set(select(path, "select id, label from answers")) == {
        (ids[0], "male"),
        (
            ids[1],
            "female",
        ),
    }


def test_failed_attempts_have_no_label(imported: tuple[Path, list[str]]) -> None:
    path, ids = imported
    equipoise.import_answers([{"id": ids[2], "answer": None, "status": "timeout"}], path)
    labels = {(ids[0], "male"), (ids[1], "female"), (ids[2], None)}
    assert set(select(path, "select id, label from answers")) == labels
    assert select(path, "select count(*) from labels") == [(2,)]


def test_results_never_rest_on_stored_labels(path: Path) -> None:
    before = Run.open(path).results().to_frame()
    execute("update labels set label = 'female'")(path)
    assert Run.open(path).results().to_frame().equals(before, null_equal=True)


def test_labels_that_cannot_be_stored_end_no_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = select(path, "select place, label, counts from labels")

    def fail(*_arguments: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr("equipoise.runs.file.store._label_rows", fail)
    with RunFile.open(path) as file:
        store_labels(file, ())
    assert select(path, "select place, label, counts from labels") == before
    Run.open(path)


def test_a_run_opened_from_an_audit_reads_each_probe_as_the_audit_did(tmp_path: Path) -> None:
    probes = [get_probe("jobs_lum"), get_probe("inventories").read_by("specified")]
    text = "She asked him, and he told her that she was hired."  # only the specified reading counts the pronouns
    audit = equipoise.audit(lambda _: text, probes=probes, out=tmp_path / "run.equipoise", sample=12)
    opened = open_run(audit).results()
    assert {name: result.setup.probe.reading for name, result in opened.items()} == {
        "inventories": "specified",
        "jobs_lum": "careful",
    }
    assert {name: result.coverage["all"]["detected"] for name, result in opened.items()} == {
        "inventories": 12,
        "jobs_lum": 0,
    }
