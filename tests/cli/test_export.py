"""`equipoise export`: tables that come back as they are, and files of others that do no harm."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from calling import Command, output
from cli.conftest import FORMULA
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS
from simulating import renew_digests, simulated

FORMS = ("csv", "jsonl", "parquet")


def export(command: Command, form: str, file: Path, what: str, *words: str) -> pl.DataFrame:
    """The table that the command wrote."""
    path = Path(f"table.{form}")
    outcome = command("export", file, "--what", what, *words, "--format", form, "-o", path)
    assert (outcome.code, outcome.out) == (0, "")
    raw = io.BytesIO(path.read_bytes())
    match form:
        case "parquet":
            table = pl.read_parquet(raw)
        case "jsonl":
            table = pl.read_ndjson(raw, infer_schema_length=None)
        case _:
            table = pl.read_csv(raw, infer_schema_length=None)
    assert outcome.err == f"{table.height:,} rows of {what}\n"
    return table


@pytest.mark.parametrize("form", FORMS)
def test_metrics_come_back_as_they_are(form: str, command: Command, runs: dict[str, Path]) -> None:
    table = export(command, form, runs["fair"], "metrics")
    expected = Run.open(runs["fair"]).results().to_frame()
    assert table["name"].to_list() == expected["name"].to_list()
    for column in ("value", "low", "high", "n", "mark", "best", "worst"):
        assert table[column].to_list() == expected[column].to_list(), column


@pytest.mark.fault("S10", "D6", "D7", "U10")
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_attempts_come_back_exactly(form: str, command: Command, runs: dict[str, Path]) -> None:
    """NULs and direction marks come back as they were; the run is incomplete."""
    table = export(command, form, runs["odd"], "attempts")
    run = Run.open(runs["odd"])
    assert table["probe"].to_list() == ["hiring_an"] * 100 + ["jobs_lum"] * 100
    for name in run.planned:
        rows = table.filter(probe=name)
        expected = run.transcripts(name).drop("evaluation_failed")
        assert rows[ID].to_list() == run.attempts(name)[ID].to_list()
        both = rows.join(expected, on=[ID, REPETITION], suffix="_expected")
        assert both.height == 100
        for column in set(expected.columns) & set(rows.columns) - {ID, REPETITION}:
            assert both[column].to_list() == both[f"{column}_expected"].to_list(), column
    assert table[PROMPT].null_count() == 0
    assert table[ITEM].null_count() == 0


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_failures_are_exported_with_their_state(
    form: str,
    command: Command,
    tmp_path: Path,
) -> None:
    path = tmp_path / "failed.equipoise"
    simulated(path, {"jobs_lum": "unbiased"}, answered=10, failed=3)
    table = export(command, form, path, "attempts")
    assert table[STATUS].to_list() == ["timeout"] * 3 + ["ok"] * 7
    assert table[ANSWER].null_count() == 3
    assert table["detail"].to_list()[:4] == ["too late"] * 3 + [None]


@pytest.mark.fault("S10", "D6")
@pytest.mark.parametrize("form", FORMS)
def test_formulas_are_neutralised_in_csv_and_exact_elsewhere(
    form: str,
    command: Command,
    runs: dict[str, Path],
) -> None:
    """A lone surrogate is U+FFFD everywhere."""
    table = export(command, form, runs["odd"], "attempts").filter(probe="jobs_lum")
    expected = Run.open(runs["odd"]).transcripts("jobs_lum").select(ID, LABEL, ANSWER)
    both = table.join(expected, on=ID, suffix="_expected", maintain_order="left")
    assert both.height == 100
    assert both[LABEL].to_list() == both["label_expected"].to_list()
    exact = both["answer_expected"].to_list()
    assert (exact[0], exact[8]) == (FORMULA, "\ufffd \u202e")
    if form == "csv":
        exact = [f"'{text}" for text in exact[:6]] + exact[6:]
    assert both[ANSWER].to_list() == exact


@pytest.mark.parametrize("form", FORMS)
def test_prompts_of_one_probe_have_its_columns_only(
    form: str,
    command: Command,
    runs: dict[str, Path],
) -> None:
    table = export(command, form, runs["fair"], "prompts", "--probe", "jobs_lum")
    expected = Run.open(runs["fair"]).prompts("jobs_lum")
    assert table.columns == ["model", "probe", *expected.columns, "answers_origin"]
    assert table.drop("model", "probe", "answers_origin").rows() == expected.rows()


def test_one_table_has_the_columns_of_all_probes(command: Command, runs: dict[str, Path]) -> None:
    table = export(command, "parquet", runs["fair"], "attempts")
    assert table.columns[:6] == ["model", "probe", ID, REPETITION, ITEM, PROMPT]
    covariates = {"masculinity", "qualification", "race"}
    assert {LABEL, "finished_at", "detail", *covariates} <= set(table.columns)
    assert table.filter(probe="jobs_lum")["qualification"].null_count() == 120


def test_export_to_stdout_is_a_stream(command: Command, runs: dict[str, Path]) -> None:
    words = ("export", runs["fair"], "--what", "prompts", "--format", "jsonl")
    rows = [json.loads(line) for line in output(command(*words)).splitlines()]
    assert [row["probe"] for row in rows] == ["hiring_an"] * 160 + ["jobs_lum"] * 120


@pytest.fixture
def changed(runs: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of a run, to be changed."""
    path = tmp_path / "changed.equipoise"
    path.write_bytes(runs["fair"].read_bytes())
    return path


def change(path: Path, *statements: str) -> None:
    """Change a run as a forger would, whose digests fit."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        renew_digests(connection)
        connection.commit()


@pytest.mark.fault("S10")
def test_names_of_columns_are_no_formulas(command: Command, changed: Path) -> None:
    change(
        changed,
        """update probes set plan = json_set(plan, '$.covariates', json('{"＝1+1": "String"}'))""",
        """update prompts set covariates = '{"＝1+1": "x"}'""",
    )
    assert export(command, "csv", changed, "prompts").columns[-2] == "'＝1+1"
    assert export(command, "jsonl", changed, "prompts").columns[-2] == "＝1+1"


HIDING = ["status", "answer", "label", "repetition", "evaluation_failed"]


@pytest.mark.fault("S7")
@pytest.mark.parametrize("column", HIDING)
def test_covariates_that_hide_columns_of_attempts_are_refused(
    column: str,
    command: Command,
    runs: dict[str, Path],
    changed: Path,
) -> None:
    """A covariate of such a name would be measured in place of the answers."""
    change(changed, f"update probes set plan = json_set(plan, '$.covariates.{column}', 'String')")
    for words in (
        ["show", changed],
        ["export", changed, "--what", "attempts"],
        ["compare", changed, runs["biased"]],
    ):
        outcome = command(*words)
        assert (outcome.code, outcome.out) == (6, "")
        assert f"error: {changed} is damaged" in outcome.err
        assert f"have columns of attempts: ['{column}']" in outcome.err


@pytest.mark.fault("S7")
def test_covariates_that_are_missing_are_refused(command: Command, changed: Path) -> None:
    kinds = """json('{"name": "String"}')"""
    change(changed, f"update probes set plan = json_set(plan, '$.covariates', {kinds})")
    for words in (["show", changed], ["export", changed, "--what", "attempts"]):
        outcome = command(*words)
        assert (outcome.code, outcome.out) == (6, "")
        assert f"error: {changed} does not hold what hiring_an asks for" in outcome.err
        assert "its prompts lack ['gender', 'masculinity'" in outcome.err


# Files that are no runs


@pytest.fixture(params=["foreign", "text", "trigger"])
def hostile(request: pytest.FixtureRequest, runs: dict[str, Path], tmp_path: Path) -> Path:
    """A SQLite file of another program, no SQLite file, or a run with a trigger in it."""
    path = tmp_path / f"{request.param}.equipoise"
    if request.param == "text":
        path.write_text("not a run\n" * 50)
        return path
    statement = "create table passwords (word text)"
    if request.param == "trigger":
        path.write_bytes(runs["fair"].read_bytes())
        deletion = "begin delete from attempts; end"
        statement = f"create trigger evil after insert on settings {deletion}"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    return path


@pytest.mark.fault("S7")
@pytest.mark.parametrize(
    "words",
    [
        ["compare", "fair", "HOSTILE"],
        ["compare", "HOSTILE", "fair"],
        ["gate", "HOSTILE", "--fail-on", "C"],
        ["gate", "fair", "--baseline", "HOSTILE", "--no-regression"],
        ["export", "HOSTILE"],
        ["export", "HOSTILE", "--what", "attempts"],
    ],
    ids=" ".join,
)
def test_what_is_not_a_run_is_refused_and_not_changed(
    words: list[str],
    command: Command,
    runs: dict[str, Path],
    hostile: Path,
) -> None:
    before = hostile.read_bytes()
    files = {**runs, "HOSTILE": hostile}
    outcome = command(*(files.get(word, word) for word in words))
    assert (outcome.code, outcome.out) == (6, "")
    assert str(hostile) in outcome.err
    assert hostile.read_bytes() == before


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_format_of_an_export_follows_the_ending_of_its_file(
    ending: str, command: Command, runs: dict[str, Path], tmp_path: Path
) -> None:
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        "csv": pl.read_csv,
        "jsonl": pl.read_ndjson,
        "parquet": pl.read_parquet,
    }
    target = tmp_path / f"metrics.{ending}"
    assert command("export", runs["fair"], "-o", target).code == 0
    assert "masculine_rate" in readers[ending](target)["metric"].to_list()


def test_a_format_that_contradicts_the_ending_is_refused(
    command: Command, runs: dict[str, Path], tmp_path: Path
) -> None:
    target = tmp_path / "metrics.parquet"
    outcome = command("export", runs["fair"], "--format", "csv", "-o", target)
    assert outcome.code == 2
    assert "ends in .parquet, and the format is csv. Give --format parquet, or another name." in outcome.err
    assert not target.exists()


def test_prompts_are_written_in_the_format_of_the_ending(command: Command, tmp_path: Path) -> None:
    target = tmp_path / "prompts.parquet"
    assert command("prompts", "jobs_lum", "-o", target).code == 0
    assert pl.read_parquet(target).height == 339
