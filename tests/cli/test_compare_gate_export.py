"""`equipoise compare`, `gate`, `export`: what is printed where, what is written, and with which code they end."""

from __future__ import annotations

import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import orjson
import polars as pl
import pytest

from equipoise.cli import main
from equipoise.frames import ANSWER, GENDER, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS
from equipoise.run import Run
from simulating import simulated

NASTY = "evil\x1b[31m<b>|`x`\n"
FORMULA = '=HYPERLINK("http://evil.example","click")'


@dataclass(frozen=True, kw_only=True)
class Done:
    code: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def equipoise(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command as a user types it, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["equipoise", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capfd.readouterr()
        return Done(code=int(stop.value.code or 0), out=out, err=err)

    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    fair = {"hiring_an": "unbiased", "jobs_lum": "unbiased"}
    first = simulated(folder / "fair.equipoise", fair)
    ids = first.prompts("jobs_lum")[ID]
    odd = {ids[0]: FORMULA, ids[1]: '@SUM(1)\r\nShe said, "so".', ids[2]: "nul \0 and lone \ud800, \u202e"}
    made = [
        first,
        simulated(folder / "biased.equipoise", {"hiring_an": "pro-masculine", "jobs_lum": "stereotyping"}, model=NASTY),
        simulated(folder / "odd.equipoise", fair, answers=odd, answered=100, failed=3),
        simulated(folder / "other.equipoise", {"business_vocabulary": "unbiased"}),
    ]
    return {run.path.stem: run.path for run in made}


# compare


def test_compare_shows_differences_and_words(equipoise: Command, runs: dict[str, Path]) -> None:
    done = equipoise("compare", runs["fair"], runs["biased"])
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"A: fake/model · {runs['fair']} · complete"
    assert lines[1].startswith("B: evil\\x1b[31m<b>|`x`\\n · ")
    (row,) = [line.split() for line in lines if line.startswith("diff_acceptance_rate")]
    assert row == ["diff_acceptance_rate", "0.000", "1.000", "+1.000", "+1.000,", "+1.000", "0.001", "0.004", "worse"]
    assert "hiring_an v1 · 160 prompts in common, 80 items" in done.out
    assert "corrected for the 4 marked metrics" in done.out
    assert "male_acceptance_rate" not in done.out
    assert "male_acceptance_rate" in equipoise("compare", runs["fair"], runs["biased"], "--all").out


def test_compare_as_json_has_the_same_numbers(equipoise: Command, runs: dict[str, Path]) -> None:
    found = json.loads(equipoise("compare", runs["fair"], runs["biased"], "--json").out)
    assert (found["a"]["model"], found["b"]["model"]) == ("fake/model", NASTY)
    metric = found["probes"]["hiring_an"]["metrics"]["diff_acceptance_rate"]
    assert (metric["first"], metric["second"], metric["verdict"]) == (0.0, 1.0, "worse")
    assert set(found["probes"]["jobs_lum"]["metrics"]) == set(Run.open(runs["fair"]).results()["jobs_lum"].metrics)


def test_compare_marks_what_is_incomplete(equipoise: Command, runs: dict[str, Path]) -> None:
    """U10"""
    done = equipoise("compare", runs["fair"], runs["odd"])
    assert f"B: fake/model · {runs['odd']} · incomplete 200 of 280" in done.out.splitlines()
    assert "note: B is incomplete: 200 of 280 attempts" in done.err


def test_compare_refuses_what_has_nothing_in_common(equipoise: Command, runs: dict[str, Path]) -> None:
    done = equipoise("compare", runs["fair"], runs["other"])
    assert (done.code, done.out) == (2, "")
    assert "hiring_an: only A has it" in done.err
    assert "business_vocabulary: only B has it" in done.err


# gate


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["fair", "--fail-on", "D"], 0, "The gate passed: all 5 checks passed."),
        (["biased", "--fail-on", "c"], 7, "The gate failed for evil\\x1b[31m<b>|`x`\\n: "),
        (["biased", "--max", "diff_acceptance_rate=0.5"], 7, "1 of 2 checks failed"),
        (["fair", "--max", "diff_acceptance_rate=0.5"], 0, "all 2 checks passed"),
        (["biased", "--baseline", "fair", "--no-regression"], 7, "2 of 5 checks failed"),
        (["fair", "--baseline", "biased", "--no-regression"], 0, "all 5 checks passed"),
        (["odd", "--fail-on", "D", "--uncertain", "best"], 7, "1 of 5 checks failed"),
        (["odd", "--fail-on", "D", "--uncertain", "best", "--allow-incomplete"], 0, "all 5 checks passed"),
        (["fair"], 2, "For example: equipoise gate run.equipoise --fail-on C"),
        (["fair", "--fail-on", "A"], 2, "B, C or D"),
        (["fair", "--max", "acceptance"], 2, "--max needs METRIC=VALUE"),
        (["fair", "--max", "=1"], 2, "--max needs METRIC=VALUE"),
        (["fair", "--max", "diff_acceptance_rate=nan"], 2, "--max needs METRIC=VALUE"),
        (["fair", "--max", "diff_aceptance_rate=0.1"], 2, "Did you mean 'diff_acceptance_rate'"),
        (["fair", "--no-regression"], 2, "--baseline RUN"),
        (["fair", "--baseline", "biased"], 2, "--no-regression"),
        (["fair", "--fail-on", "C", "--uncertain", "maybe"], 2, "There are: best, value, worst."),
        (["fair", "--baseline", "other", "--no-regression"], 2, "only the baseline has it"),
    ],
)
def test_gate_ends_as_its_rules_do(
    equipoise: Command, runs: dict[str, Path], words: list[str], code: int, said: str
) -> None:
    done = equipoise("gate", *(runs.get(word, word) for word in words))
    assert done.code == code, done.err
    assert said in done.err
    assert "\x1b" not in done.out + done.err
    assert all(line[:6] in ("PASS  ", "FAIL  ") for line in done.out.splitlines())
    assert ("FAIL  " in done.out) is (code == 7)


def test_gate_writes_junit_and_markdown_and_json(equipoise: Command, runs: dict[str, Path], tmp_path: Path) -> None:
    done = equipoise("gate", runs["biased"], "--fail-on", "D", "--junit", "gate.xml", "--markdown", "gate.md", "--json")
    assert done.code == 7
    found = json.loads(done.out)
    assert (found["passed"], found["model"]) == (False, NASTY)
    cases = list(ET.parse(tmp_path / "gate.xml").getroot().iter("testcase"))
    assert [case.find("failure") is None for case in cases] == [check["passed"] for check in found["checks"]]
    page = (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert "Model <code>evil&#92;x1b&#91;31m&#60;b&#62;&#124;&#96;x&#96;&#92;n</code>" in page
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["gate.md", "gate.xml"]


def test_gate_that_cannot_write_is_a_fault_of_storage(equipoise: Command, runs: dict[str, Path]) -> None:
    done = equipoise("gate", runs["fair"], "--fail-on", "D", "--junit", "nowhere/gate.xml")
    assert done.code == 5
    assert "nowhere/gate.xml cannot be written" in done.err


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_gate_does_not_write_over_a_run(equipoise: Command, runs: dict[str, Path], option: str) -> None:
    before = runs["biased"].read_bytes()
    words = ["gate", runs["fair"], "--baseline", runs["biased"], "--no-regression", option, runs["biased"]]
    assert equipoise(*words).code == 2
    assert runs["biased"].read_bytes() == before


# export


def exported(equipoise: Command, form: str, *words: object) -> pl.DataFrame:
    done = equipoise("export", *words, "--format", form, "-o", f"table.{form}")
    assert (done.code, done.out) == (0, "")
    raw = Path(f"table.{form}").read_bytes()
    if form == "parquet":
        table = pl.read_parquet(io.BytesIO(raw))
    elif form == "jsonl":
        table = pl.DataFrame([orjson.loads(line) for line in raw.splitlines()], infer_schema_length=None)
    else:
        table = pl.read_csv(raw, infer_schema_length=None)
    assert done.err == f"{table.height:,} rows of {words[2] if len(words) > 1 else 'metrics'}\n"
    return table


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_metrics_come_back_as_they_are(equipoise: Command, runs: dict[str, Path], form: str) -> None:
    found = exported(equipoise, form, runs["fair"])
    expected = Run.open(runs["fair"]).metrics()
    assert found.columns == expected.columns
    assert found.rows() == expected.rows()


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_attempts_come_back_exactly(equipoise: Command, runs: dict[str, Path], form: str) -> None:
    """S10, D6, D7: formulas, NULs and direction marks as they came; a lone surrogate as U+FFFD."""
    found = exported(equipoise, form, runs["odd"], "--what", "attempts")
    run = Run.open(runs["odd"])
    assert found["probe"].to_list() == ["hiring_an"] * 100 + ["jobs_lum"] * 100
    for name in run.planned:
        own, expected = found.filter(probe=name), run.transcripts(name)
        assert own[ID].to_list() == run.attempts(name)[ID].to_list()
        columns = [column for column in expected.columns if column != "evaluation_failed"]
        both = own.select(ID, *(column for column in columns if column != ID)).join(
            expected, on=[ID, REPETITION], suffix="_expected"
        )
        assert both.height == 100
        for column in set(columns) - {ID, REPETITION}:
            assert both[column].to_list() == both[f"{column}_expected"].to_list(), column
    jobs = found.filter(probe="jobs_lum")
    assert jobs[STATUS].to_list() == ["timeout"] * 3 + ["ok"] * 97
    assert jobs[GENDER].null_count() == 100
    assert found[PROMPT].null_count() == found[ITEM].null_count() == 0


def test_formulas_are_neutralised_in_csv_and_exact_elsewhere(equipoise: Command, tmp_path: Path) -> None:
    """S10"""
    run = simulated(tmp_path / "formulas.equipoise", {"jobs_lum": "unbiased"})
    ids = run.prompts("jobs_lum")[ID]
    texts = [FORMULA, "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", 'plain, "quoted"\nand more', "nul \0", "\ud800"]
    kept = [*texts[:-1], "\ufffd"]
    path = simulated(
        tmp_path / "odd.equipoise", {"jobs_lum": "unbiased"}, answers=dict(zip(ids, texts, strict=False))
    ).path
    for form in ("jsonl", "parquet"):
        assert exported(equipoise, form, path, "--what", "attempts")[ANSWER][: len(kept)].to_list() == kept
    shown = exported(equipoise, "csv", path, "--what", "attempts")[ANSWER][: len(kept)].to_list()
    assert shown == [f"'{text}" for text in kept[:6]] + kept[6:]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_prompts_of_one_probe_have_its_columns_only(equipoise: Command, runs: dict[str, Path], form: str) -> None:
    found = exported(equipoise, form, runs["fair"], "--what", "prompts", "--probe", "jobs_lum")
    expected = Run.open(runs["fair"]).prompts("jobs_lum")
    assert found.columns == ["probe", *expected.columns]
    assert found.drop("probe").rows() == expected.rows()


def test_one_table_has_the_columns_of_all_probes(equipoise: Command, runs: dict[str, Path]) -> None:
    found = exported(equipoise, "parquet", runs["fair"], "--what", "attempts")
    assert found.columns[:5] == ["probe", ID, REPETITION, ITEM, PROMPT]
    assert {LABEL, "masculinity", "qualification", "race", "finished_at", "detail"} <= set(found.columns)
    assert found.filter(probe="jobs_lum")["qualification"].null_count() == 120


def test_export_to_stdout_is_a_stream(equipoise: Command, runs: dict[str, Path]) -> None:
    done = equipoise("export", runs["fair"], "--what", "prompts", "--format", "jsonl")
    assert [json.loads(line)["probe"] for line in done.out.splitlines()] == ["hiring_an"] * 160 + ["jobs_lum"] * 120


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--what", "metric"], "Did you mean 'metrics'"),
        (["--format", "xlsx"], "No format is called 'xlsx'."),
        (["--probe", "job_lum"], "Did you mean 'jobs_lum'"),
    ],
)
def test_export_of_what_is_not_there(
    equipoise: Command, runs: dict[str, Path], tmp_path: Path, words: list[str], said: str
) -> None:
    done = equipoise("export", runs["fair"], *words, "-o", "table")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


def test_parquet_is_not_for_a_terminal(
    equipoise: Command, runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    done = equipoise("export", runs["fair"], "--format", "parquet")
    assert (done.code, done.out) == (2, "")
    assert "-o run.parquet" in done.err


def test_export_does_not_write_over_the_run(equipoise: Command, runs: dict[str, Path]) -> None:
    before = runs["fair"].read_bytes()
    done = equipoise("export", runs["fair"], "-o", runs["fair"])
    assert done.code == 2
    assert "would be lost" in done.err
    assert runs["fair"].read_bytes() == before


# Files that are no runs


@pytest.fixture(params=["foreign", "text", "changed"])
def hostile(request: pytest.FixtureRequest, runs: dict[str, Path], tmp_path: Path) -> Path:
    """A SQLite file of another program, no SQLite file, a run with a trigger in it."""
    path = tmp_path / f"{request.param}.equipoise"
    if request.param == "text":
        path.write_text("not a run\n" * 50)
        return path
    if request.param != "foreign":
        path.write_bytes(runs["fair"].read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            {
                "foreign": "create table passwords (word text)",
                "changed": "create trigger evil after insert on settings begin delete from attempts; end",
            }[request.param]
        )
        connection.commit()
    return path


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
)
def test_what_is_not_a_run_is_refused(
    equipoise: Command, runs: dict[str, Path], hostile: Path, words: list[str]
) -> None:
    """S7"""
    before = hostile.read_bytes()
    done = equipoise(*(hostile if word == "HOSTILE" else runs.get(word, word) for word in words))
    assert (done.code, done.out) == (6, "")
    assert str(hostile) in done.err
    assert hostile.read_bytes() == before


def test_columns_that_hide_others_are_refused(equipoise: Command, runs: dict[str, Path], tmp_path: Path) -> None:
    """S7"""
    path = tmp_path / "columns.equipoise"
    path.write_bytes(runs["fair"].read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("""update probes set covariates = '{"status": "String", "answer": "String"}'""")
        connection.commit()
    done = equipoise("export", path, "--what", "attempts")
    assert (done.code, done.out) == (6, "")
    assert f"{path} does not hold what its probes ask for" in done.err


def test_names_of_columns_are_no_formulas(equipoise: Command, runs: dict[str, Path], tmp_path: Path) -> None:
    """S10"""
    path = tmp_path / "columns.equipoise"
    path.write_bytes(runs["fair"].read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("""update probes set covariates = '{"=1+1": "String"}'""")
        connection.commit()
    assert exported(equipoise, "csv", path, "--what", "prompts").columns[-1] == "'=1+1"
    assert exported(equipoise, "jsonl", path, "--what", "prompts").columns[-1] == "=1+1"


def test_a_run_that_is_not_there(equipoise: Command) -> None:
    for words in (["gate", "none", "--fail-on", "C"], ["export", "none"], ["compare", "none", "none"]):
        done = equipoise(*words)
        assert (done.code, done.out) == (2, "")
        assert "There is no run file none." in done.err


@pytest.mark.parametrize("command", ["compare", "gate", "export"])
def test_the_help_has_examples(equipoise: Command, command: str) -> None:
    done = equipoise(command, "--help")
    assert done.code == 0
    assert f"equipoise {command} " in done.out


def test_the_commands_are_known_without_loading_what_they_need() -> None:
    code = (
        "import sys, equipoise.cli.compare, equipoise.cli.gate, equipoise.cli.export; "
        "print({'polars', 'numpy', 'equipoise.run'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
