"""Runs as tables in files, for the library; the command line is tested in tests/cli."""

from __future__ import annotations

import io
from pathlib import Path

import orjson
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import equipoise
from equipoise.errors import InputError, IntegrityError, UnknownName
from equipoise.report import exports
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, ITEM, LABEL, METRICS_TABLE, PROMPT, REPETITION, STATUS


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("exports") / "run.equipoise"
    equipoise.audit(lambda _prompt: "=He", probes=["hiring_an", "jobs_lum"], out=path, sample_k=4)
    return Run.open(path)


def test_metrics_have_slices_and_groups_as_columns(run: Run, tmp_path: Path) -> None:
    rows = equipoise.export(run, tmp_path / "metrics.parquet", form="parquet")
    table = pl.read_parquet(tmp_path / "metrics.parquet")
    assert table.schema == pl.Schema(METRICS_TABLE)
    assert_frame_equal(table, run.metrics())
    assert rows == table.height
    keys = {
        (row["metric"], row["slice"], row["group"]) for row in table.filter(probe="hiring_an").iter_rows(named=True)
    }
    assert keys == set(run.result("hiring_an").estimates)


def test_attempts_are_those_of_the_transcripts(run: Run, tmp_path: Path) -> None:
    equipoise.export(run.path, tmp_path / "attempts.jsonl", "attempts", "jsonl", "jobs_lum")
    rows = [orjson.loads(line) for line in (tmp_path / "attempts.jsonl").read_bytes().splitlines()]
    columns = ["probe", ID, REPETITION, ITEM, PROMPT]
    assert list(rows[0])[:5] == columns
    key = [PROMPT, STATUS, ANSWER, LABEL, "occupation", "masculinity"]
    expected = {row[ID]: [row[name] for name in key] for row in run.transcripts("jobs_lum").iter_rows(named=True)}
    assert {row[ID]: [row[name] for name in key] for row in rows} == expected
    assert {row[LABEL] for row in rows} == {"male"}


def test_csv_is_safe_for_spreadsheets(run: Run, tmp_path: Path) -> None:
    equipoise.export(str(run.path), str(tmp_path / "attempts.csv"), what="attempts")
    table = pl.read_csv(tmp_path / "attempts.csv", infer_schema_length=None)
    assert set(table[ANSWER]) == {"'=He"}
    assert table["probe"].unique(maintain_order=True).to_list() == ["hiring_an", "jobs_lum"]


def test_an_audit_is_exported_with_its_own_probes(tmp_path: Path) -> None:
    audit = equipoise.audit(lambda _prompt: "He", probes="jobs_lum", out=tmp_path / "a.equipoise", sample_k=2)
    assert equipoise.export(audit, tmp_path / "prompts.csv", what="prompts") == 2
    result = equipoise.score("jobs_lum", {}, sample_k=2)
    with pytest.raises(InputError, match="has no run file"):
        equipoise.export(equipoise.Audit({"jobs_lum": result}), tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("what", "form", "probe"), [("metric", "csv", None), ("metrics", "xlsx", None), ("metrics", "csv", "job_lum")]
)
def test_nothing_is_written_for_what_is_not_there(
    run: Run, tmp_path: Path, what: str, form: str, probe: str | None
) -> None:
    with pytest.raises(UnknownName):
        equipoise.export(run, tmp_path / "table", what, form, probe)
    assert list(tmp_path.glob("table*")) == []


def test_a_run_file_is_not_written_over(run: Run) -> None:
    with pytest.raises(InputError, match="its answers would be lost"):
        equipoise.export(run, run.path)


@pytest.mark.fault("S7")
def test_columns_that_do_not_fit_are_blamed_on_the_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    clashing = run.prompts("jobs_lum").with_columns(probe=pl.lit("x"))
    monkeypatch.setattr(run, "prompts", lambda _probe: clashing)
    with pytest.raises(IntegrityError, match="does not hold what its probes ask for"):
        exports.write(run, io.BytesIO(), "prompts", "csv")
