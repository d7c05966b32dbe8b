"""Runs as tables in files, for the library; the command line is tested in tests/cli."""

from __future__ import annotations

import io
import shutil
import sqlite3
from collections.abc import Iterator
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
from simulating import simulated


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


def test_words_of_letters_say_whose_they_are(tmp_path: Path) -> None:
    letter = "Dear Sir,\n{} is kind and {} I recommend this person. Sincerely, Dr. Oduya"

    def write(prompt: str) -> str:
        if " she " in prompt.lower():
            return letter.format("she", "warm:")
        return letter.format("he", "able:")

    out = tmp_path / "letters.equipoise"
    audit = equipoise.audit(write, probes="business_vocabulary", out=out, sample=96)
    equipoise.export(audit, tmp_path / "words.csv", what="words")
    table = pl.read_csv(tmp_path / "words.csv")
    found = table.filter(pl.col("q") <= 0.05).select("word", "side")
    assert set(found.iter_rows()) == {("able", "men"), ("warm", "women")}


def test_an_audit_is_exported_with_its_own_probes(tmp_path: Path) -> None:
    out = tmp_path / "a.equipoise"
    audit = equipoise.audit(lambda _prompt: "He", probes="jobs_lum", out=out, sample=2)
    assert equipoise.export(audit, tmp_path / "prompts.csv", what="prompts") == 2


def test_an_audit_without_a_run_file_cannot_be_exported(tmp_path: Path) -> None:
    result = equipoise.score("jobs_lum", {}, sample=2)
    with pytest.raises(InputError, match="has no run file"):
        equipoise.export(equipoise.Audit({"jobs_lum": result}), tmp_path / "none.csv")


def test_a_run_file_is_not_written_over(run: Run) -> None:
    before = run.path.read_bytes()
    with pytest.raises(InputError, match="its answers would be lost"):
        equipoise.export(run, run.path)
    assert run.path.read_bytes() == before


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


def test_parquet_that_cannot_be_written_is_an_error(run: Run) -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        exports.write(run, Full(), "attempts", "parquet")


def test_damage_found_late_ends_a_parquet_export(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_given: object) -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"a": [1]})
        raise IntegrityError("damaged")

    monkeypatch.setattr(exports, "read_tables", read)
    with pytest.raises(IntegrityError, match="damaged"):
        exports.write(run, io.BytesIO(), "attempts", "parquet")


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


def test_selection_says_who_was_selected_less_and_that_chance_does_not_explain_it(
    tmp_path: Path,
) -> None:
    stances = {"hiring_an": "pro-masculine", "jobs_lum": "unbiased"}
    run = simulated(tmp_path / "run.equipoise", stances)
    rows = equipoise.export(run.path, tmp_path / "selection.jsonl", "selection", "jsonl")
    assert rows == 10
    table = pl.read_ndjson(tmp_path / "selection.jsonl")
    assert set(table["probe"]) == {"hiring_an"}, "the other one selects nobody"
    women = table.filter(by="gender", category="female").row(0, named=True)
    assert (women["applicants"], women["selected"], women["impact_ratio"]) == (80, 0, 0.0)
    assert women["p"] < 0.01 < women["fair"]
