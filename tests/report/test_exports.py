"""Runs as tables in files, for the library; the command line is tested in tests/cli."""

from __future__ import annotations

import io
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import equipoise
from equipoise.errors import InputError, IntegrityError, UnknownName
from equipoise.report import exports
from equipoise.report.words import compare_words
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, ITEM, LABEL, METRICS_TABLE, PROMPT, REPETITION, STATUS


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("exports") / "run.equipoise"
    equipoise.audit(lambda _prompt: "=He", probes=["hiring_an", "jobs_lum"], out=path, sample=4)
    return Run.open(path)


def test_metrics_have_slices_and_groups_as_columns(run: Run, tmp_path: Path) -> None:
    rows = equipoise.export(run, tmp_path / "metrics.parquet", form="parquet")
    table = pl.read_parquet(tmp_path / "metrics.parquet")
    assert table.schema == pl.Schema({"model": pl.String, **METRICS_TABLE, "answers_origin": pl.String})
    assert set(table["model"]) == {run.model}
    assert_frame_equal(table.drop("model", "answers_origin"), run.results().to_frame().drop("model", strict=False))
    assert rows == table.height
    keys = {
        (row["metric"], row["slice"], row["group"]) for row in table.filter(probe="hiring_an").iter_rows(named=True)
    }
    assert keys == set(run.result("hiring_an").estimates)


def test_attempts_are_those_of_the_transcripts(run: Run, tmp_path: Path) -> None:
    equipoise.export(run.path, tmp_path / "attempts.jsonl", "attempts", "jsonl", "jobs_lum")
    rows = [orjson.loads(line) for line in (tmp_path / "attempts.jsonl").read_bytes().splitlines()]
    columns = ["model", "probe", ID, REPETITION, ITEM, PROMPT]
    assert list(rows[0])[:6] == columns
    key = [PROMPT, STATUS, ANSWER, LABEL, "occupation", "masculinity"]
    expected = {row[ID]: [row[name] for name in key] for row in run.transcripts("jobs_lum").iter_rows(named=True)}
    assert {row[ID]: [row[name] for name in key] for row in rows} == expected
    assert {row[LABEL] for row in rows} == {"male"}


def test_words_of_letters_and_none_of_other_probes(run: Run, one: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No words are compared by hiring_an, jobs_lum"):
        equipoise.export(run, tmp_path / "words.csv", what="words")
    equipoise.export(one, tmp_path / "words.csv", what="words")
    table, words = pl.read_csv(tmp_path / "words.csv"), compare_words(one, "business_vocabulary")
    assert table.columns[:6] == ["model", "probe", "word", "first", "second", "side"]
    assert words is not None
    assert table["word"].to_list() == words.table["word"].to_list()
    assert {*table["first"], *table["second"]} == {*words.sides}


def test_csv_is_safe_for_spreadsheets(run: Run, tmp_path: Path) -> None:
    equipoise.export(str(run.path), str(tmp_path / "attempts.csv"), what="attempts")
    table = pl.read_csv(tmp_path / "attempts.csv", infer_schema_length=None)
    assert set(table[ANSWER]) == {"'=He"}
    assert table["probe"].unique(maintain_order=True).to_list() == ["hiring_an", "jobs_lum"]


@pytest.mark.parametrize(
    ("what", "form", "probe"), [("metric", "csv", None), ("metrics", "xlsx", None), ("metrics", "csv", "job_lum")]
)
def test_nothing_is_written_for_what_is_not_there(
    run: Run, tmp_path: Path, what: str, form: str, probe: str | None
) -> None:
    with pytest.raises(UnknownName):
        equipoise.export(run, tmp_path / "table", what, form, probe)
    assert list(tmp_path.glob("table*")) == []


@pytest.mark.fault("S7")
def test_columns_that_do_not_fit_are_blamed_on_the_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    clashing = run.prompts("jobs_lum").with_columns(probe=pl.lit("x"))
    monkeypatch.setattr(run, "prompt_batches", lambda _probe: iter([clashing]))
    with pytest.raises(IntegrityError, match="does not hold what its probes ask for"):
        exports.write(run, io.BytesIO(), "prompts", "csv")


@pytest.mark.fault("S7")
@pytest.mark.parametrize("column", ["answer", "detail", "served_model"])
def test_numbers_in_place_of_texts_are_blamed_on_the_file(run: Run, column: str, tmp_path: Path) -> None:
    """JSON knows no infinity, so the digest of an attempt does not tell it from nothing (found by fuzzing)."""
    path = tmp_path / "numbers.equipoise"
    shutil.copy(run.path, path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma ignore_check_constraints = on")
        connection.execute(f"update attempts set {column} = 9e999")
        connection.commit()
    with pytest.raises(IntegrityError):
        exports.write(Run.open(path), io.BytesIO(), "attempts", "csv")


def test_selection_rates_and_impact_ratios(one: Run, tmp_path: Path) -> None:
    rows = equipoise.export(one, tmp_path / "selection.jsonl", "selection", "jsonl")
    table = pl.read_ndjson(tmp_path / "selection.jsonl")
    assert rows == table.height == sum(len(each.rows) for result in one.results().values() for each in result.selection)
    shown = table.filter(probe="hiring_an", by="gender", category="female").row(0, named=True)
    (by_gender,) = (each for each in one["hiring_an"].selection if each.by == "gender")
    (women,) = (row for row in by_gender.rows if row.category == "female")
    assert {name: shown[name] for name in ("applicants", "selected", "rate", "impact_ratio")} == {
        "applicants": women.applicants,
        "selected": women.selected,
        "rate": women.rate,
        "impact_ratio": women.impact_ratio,
    }
