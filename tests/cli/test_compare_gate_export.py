"""`equipoise compare`, `gate`, `export`: what they print where, what they write, and with which code they end."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree as ET

import orjson
import polars as pl
import pytest

from calling import Command
from equipoise.measuring.compare import holm
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, GENDER, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS
from simulating import renew_digests, simulated

NASTY = "evil\x1b[31m<b>|`x`\n"
FORMULA = '=HYPERLINK("http://evil.example","click")'


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    fair = {"hiring_an": "unbiased", "jobs_lum": "unbiased"}
    first = simulated(folder / "fair.equipoise", fair, seed=2)
    ids = first.prompts("jobs_lum")[ID]
    odd = {ids[0]: FORMULA, ids[1]: '@SUM(1)\r\nShe said, "so".', ids[2]: "nul \0 and lone \ud800, \u202e"}
    all_runs = [
        first,
        simulated(folder / "biased.equipoise", {"hiring_an": "pro-masculine", "jobs_lum": "stereotyping"}, model=NASTY),
        simulated(folder / "odd.equipoise", fair, answers=odd, answered=100, failed=3),
        simulated(folder / "other.equipoise", {"business_vocabulary": "unbiased"}),
    ]
    return {run.path.stem: run.path for run in all_runs}


# compare


def test_compare_shows_differences_and_verdicts(command: Command, runs: dict[str, Path]) -> None:
    outcome = command("compare", runs["fair"], runs["biased"])
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert re.match(
        r"4 of 5 comparisons like this show a difference of 0\.\d+ in hiring_an\.diff_acceptance_rate", lines[0]
    )
    assert lines[1] == f"A: fake/model · {runs['fair']} · complete"
    assert lines[2].startswith("B: evil\\x1b[31m<b>|`x`\\n · ")
    (row,) = [line.split() for line in lines if line.startswith("diff_acceptance_rate")]
    assert (row[:4], row[-1]) == (["diff_acceptance_rate", "0.000", "1.000", "+1.000"], "worse")
    assert 0.9 < float(row[4].strip("[,")) < 1.0 <= float(row[5].strip("]")) < 1.1
    assert 0.0 < float(row[6]) < 0.2
    assert row[7:9] == ["<0.001", "<0.001"]
    assert "hiring_an v2 · 160 prompts in common, 80 items" in outcome.out
    assert "corrected for the 4 marked metrics" in outcome.out
    assert "male_acceptance_rate" not in outcome.out
    assert "male_acceptance_rate" in command("compare", runs["fair"], runs["biased"], "--all").out


def test_compare_as_json_has_the_same_numbers(command: Command, runs: dict[str, Path]) -> None:
    shown = json.loads(command("compare", runs["fair"], runs["biased"], "--json").out)
    assert [(run["name"], run["model"]) for run in shown["runs"]] == [("A", "fake/model"), ("B", NASTY)]
    (shown,) = shown["comparisons"]
    assert shown["names"] == ["A", "B"]
    metric = shown["probes"]["hiring_an"]["metrics"]["diff_acceptance_rate"]
    assert (metric["first"], metric["second"], metric["verdict"]) == (0.0, 1.0, "worse")
    assert set(shown["probes"]["jobs_lum"]["metrics"]) == set(Run.open(runs["fair"]).results()["jobs_lum"].metrics)


@pytest.mark.parametrize(("options", "pairs"), [([], ["AB", "AC"]), (["--every-pair"], ["AB", "AC", "BC"])])
def test_compare_takes_several_runs_and_corrects_all_together(
    command: Command, runs: dict[str, Path], options: list[str], pairs: list[str]
) -> None:
    words = ["compare", runs["fair"], runs["biased"], runs["odd"], *options]
    shown = json.loads(command(*words, "--json").out)
    assert ["".join(one["names"]) for one in shown["comparisons"]] == pairs
    metrics = [
        metric
        for one in shown["comparisons"]
        for probe in one["probes"].values()
        for metric in probe["metrics"].values()
        if metric["verdict"] is not None
    ]
    values = [metric["p"] for metric in metrics]
    assert [metric["p_holm"] for metric in metrics] == pytest.approx(holm(values))
    assert len(metrics) == 4 * len(pairs)
    out = command(*words).out
    assert f"corrected for the {len(metrics)} marked metrics" in out
    assert ("C - B" in out) == bool(options)


def test_one_run_is_no_comparison(command: Command, runs: dict[str, Path]) -> None:
    outcome = command("compare", runs["fair"])
    assert (outcome.code, "two runs or more" in outcome.err) == (2, True)


@pytest.mark.fault("U10")
def test_compare_marks_what_is_incomplete(command: Command, runs: dict[str, Path]) -> None:
    outcome = command("compare", runs["fair"], runs["odd"])
    assert f"\nB: fake/model · {runs['odd']} · incomplete 200 of 280, " in outcome.out
    assert " of 280 without an answer: " in outcome.out
    assert "note: B is incomplete: 200 of 280 attempts" in outcome.err


def test_compare_refuses_what_has_nothing_in_common(command: Command, runs: dict[str, Path]) -> None:
    outcome = command("compare", runs["fair"], runs["other"])
    assert (outcome.code, outcome.out) == (2, "")
    assert "hiring_an: only A has it" in outcome.err
    assert "business_vocabulary: only B has it" in outcome.err


# gate


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["fair", "--fail-on", "D", "--uncertain", "value"], 0, "PASSED: all 5 rules"),
        (["biased", "--fail-on", "c"], 7, "FAILED: 2 of 5 rules; hiring_an.diff_acceptance_rate is D, and 1 more"),
        (["biased", "--fail-on", "c", "--undecided", "pass"], 7, "FAILED: 2 of 5 rules"),
        (["fair", "--fail-on", "C"], 8, "UNDECIDED: 3 of 5 rules; hiring_an.diff_regression is A to C, and 2 more"),
        (["fair", "--fail-on", "C"], 8, "next: equipoise extend "),
        (["fair", "--fail-on", "C", "--undecided", "pass"], 0, "PASSED: 2 of 5 rules; 3 open"),
        (["fair", "--fail-on", "C", "--undecided", "fail"], 7, "FAILED: 3 of 5 rules"),
        (["fair", "--fail-on", "C", "--uncertain", "value"], 0, "all 5 rules"),
        (["fair", "--fail-on", "C", "--uncertain", "best"], 0, "all 5 rules"),
        (["fair", "--fail-on", "C", "--uncertain", "worst"], 7, "3 of 5 rules"),
        (["fair", "--fail-on", "C", "--undecided", "maybe"], 2, "There are: fail, pass."),
        (["biased", "--max", "diff_acceptance_rate=0.5"], 7, "1 of 2 rules"),
        (["fair", "--max", "diff_acceptance_rate=0.5"], 0, "all 2 rules"),
        (["biased", "--max", "hiring_an.race_white_diff_acceptance_rate=0.5"], 7, "1 of 2 rules"),
        (["fair", "--max", "race_white_diff_acceptance_rate=0.5"], 0, "all 2 rules"),
        (["biased", "--baseline", "fair", "--no-regression"], 7, "2 of 5 rules"),
        (["fair", "--baseline", "biased", "--no-regression"], 0, "all 5 rules"),
        (["fair", "biased", "--fail-on", "D"], 7, "FAILED: 1 of 2 runs\nPASSED: all 5 rules  fake"),
        (["odd", "--fail-on", "D", "--uncertain", "best"], 8, "1 of 5 rules; attempts is 194 of 280"),
        (["odd", "--fail-on", "D", "--uncertain", "best"], 8, "next: equipoise resume "),
        (["odd", "--fail-on", "D", "--uncertain", "best", "--undecided", "fail"], 7, "1 of 5 rules"),
        (["odd", "--fail-on", "D", "--uncertain", "best", "--allow-incomplete"], 0, "all 5 rules"),
        (["fair"], 2, "For example: equipoise gate run.equipoise --fail-on C"),
        (["fair", "--fail-on", "A"], 2, "B, C or D"),
        (["fair", "--max", "acceptance"], 2, "--max needs METRIC=VALUE"),
        (["fair", "--max", "=1"], 2, "--max needs METRIC=VALUE"),
        (["fair", "--max", "diff_acceptance_rate=nan"], 2, "--max needs METRIC=VALUE"),
        (["fair", "--max", "diff_aceptance_rate=0.1"], 2, "Did you mean 'diff_acceptance_rate'"),
        (["fair", "--no-regression"], 2, "--baseline RUN"),
        (["fair", "--baseline", "biased"], 2, "--no-regression"),
        (["fair", "--fail-on", "C", "--uncertain", "maybe"], 2, "There are: best, interval, value, worst."),
        (["fair", "--baseline", "other", "--no-regression"], 2, "only the baseline has it"),
    ],
)
def test_gate_ends_as_its_rules_do(
    command: Command, runs: dict[str, Path], words: list[str], code: int, message: str
) -> None:
    outcome = command("gate", *(runs.get(word, word) for word in words))
    assert outcome.code == code, outcome.err
    assert message in (outcome.err if code == 2 else outcome.out)
    assert "\x1b" not in outcome.out + outcome.err
    assert "?" not in outcome.out
    verdicts = {0: "PASSED: ", 7: "FAILED: ", 8: "UNDECIDED: "}
    assert code == 2 or outcome.out.startswith(verdicts[code])


def test_gate_writes_junit_and_markdown_and_json(command: Command, runs: dict[str, Path], tmp_path: Path) -> None:
    outcome = command(
        "gate", runs["biased"], "--fail-on", "D", "--junit", "gate.xml", "--markdown", "gate.md", "--json"
    )
    assert outcome.code == 7
    (shown,) = json.loads(outcome.out)["runs"]
    assert (shown["outcome"], shown["passed"], shown["model"]) == ("failed", False, NASTY)
    cases = list(ET.parse(tmp_path / "gate.xml").getroot().iter("testcase"))
    elements = {"passed": "system-out", "failed": "failure", "undecided": "skipped"}
    assert [case[0].tag for case in cases] == [elements[check["outcome"]] for check in shown["checks"]]
    assert {check["outcome"] for check in shown["checks"]} >= {"passed", "failed"}
    page = (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert "Model <code>evil&#92;x1b&#91;31m&#60;b&#62;&#124;&#96;x&#96;&#92;n</code>" in page
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["gate.md", "gate.xml"]


def test_gate_that_cannot_write_is_a_fault_of_storage(command: Command, runs: dict[str, Path]) -> None:
    outcome = command("gate", runs["fair"], "--fail-on", "D", "--junit", "nowhere/gate.xml")
    assert outcome.code == 5
    assert "nowhere/gate.xml cannot be written" in outcome.err


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
def test_gate_does_not_write_over_a_run(command: Command, runs: dict[str, Path], option: str) -> None:
    before = runs["biased"].read_bytes()
    words = ["gate", runs["fair"], "--baseline", runs["biased"], "--no-regression", option, runs["biased"]]
    assert command(*words).code == 2
    assert runs["biased"].read_bytes() == before


# export


def exported(command: Command, form: str, *words: object) -> pl.DataFrame:
    outcome = command("export", *words, "--format", form, "-o", f"table.{form}")
    assert (outcome.code, outcome.out) == (0, "")
    raw = Path(f"table.{form}").read_bytes()
    if form == "parquet":
        table = pl.read_parquet(io.BytesIO(raw))
    elif form == "jsonl":
        table = pl.DataFrame([orjson.loads(line) for line in raw.splitlines()], infer_schema_length=None)
    else:
        table = pl.read_csv(raw, infer_schema_length=None)
    assert outcome.err == f"{table.height:,} rows of {words[2] if len(words) > 1 else 'metrics'}\n"
    return table


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_metrics_come_back_as_they_are(command: Command, runs: dict[str, Path], form: str) -> None:
    table = exported(command, form, runs["fair"])
    expected = Run.open(runs["fair"]).to_frame().drop("model", strict=False)
    assert table.columns == ["model", *expected.columns, "answers_origin"]
    assert table.drop("model", "answers_origin").rows() == expected.rows()


@pytest.mark.fault("S10", "D6", "D7")
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_attempts_come_back_exactly(command: Command, runs: dict[str, Path], form: str) -> None:
    """Formulas, NULs and direction marks come back as they were; a lone surrogate as U+FFFD."""
    table = exported(command, form, runs["odd"], "--what", "attempts")
    run = Run.open(runs["odd"])
    assert table["probe"].to_list() == ["hiring_an"] * 100 + ["jobs_lum"] * 100
    for name in run.planned:
        exported_rows, expected = table.filter(probe=name), run.transcripts(name)
        assert exported_rows[ID].to_list() == run.attempts(name)[ID].to_list()
        columns = [column for column in expected.columns if column != "evaluation_failed"]
        both = exported_rows.select(ID, *(column for column in columns if column != ID)).join(
            expected, on=[ID, REPETITION], suffix="_expected"
        )
        assert both.height == 100
        for column in set(columns) - {ID, REPETITION}:
            assert both[column].to_list() == both[f"{column}_expected"].to_list(), column
    jobs = table.filter(probe="jobs_lum")
    assert jobs[STATUS].to_list() == ["timeout"] * 3 + ["ok"] * 97
    assert jobs[GENDER].null_count() == 100
    assert table[PROMPT].null_count() == table[ITEM].null_count() == 0


@pytest.mark.fault("S10")
def test_formulas_are_neutralised_in_csv_and_exact_elsewhere(command: Command, tmp_path: Path) -> None:
    run = simulated(tmp_path / "formulas.equipoise", {"jobs_lum": "unbiased"})
    ids = run.prompts("jobs_lum")[ID]
    texts = [FORMULA, "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", 'plain, "quoted"\nand more', "nul \0", "\ud800"]
    kept = [*texts[:-1], "\ufffd"]
    path = simulated(
        tmp_path / "odd.equipoise", {"jobs_lum": "unbiased"}, answers=dict(zip(ids, texts, strict=False))
    ).path
    for form in ("jsonl", "parquet"):
        assert exported(command, form, path, "--what", "attempts")[ANSWER][: len(kept)].to_list() == kept
    shown = exported(command, "csv", path, "--what", "attempts")[ANSWER][: len(kept)].to_list()
    assert shown == [f"'{text}" for text in kept[:6]] + kept[6:]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_prompts_of_one_probe_have_its_columns_only(command: Command, runs: dict[str, Path], form: str) -> None:
    table = exported(command, form, runs["fair"], "--what", "prompts", "--probe", "jobs_lum")
    expected = Run.open(runs["fair"]).prompts("jobs_lum")
    assert table.columns == ["model", "probe", *expected.columns, "answers_origin"]
    assert table.drop("model", "probe", "answers_origin").rows() == expected.rows()


def test_one_table_has_the_columns_of_all_probes(command: Command, runs: dict[str, Path]) -> None:
    table = exported(command, "parquet", runs["fair"], "--what", "attempts")
    assert table.columns[:6] == ["model", "probe", ID, REPETITION, ITEM, PROMPT]
    assert {LABEL, "masculinity", "qualification", "race", "finished_at", "detail"} <= set(table.columns)
    assert table.filter(probe="jobs_lum")["qualification"].null_count() == 120


def test_export_to_stdout_is_a_stream(command: Command, runs: dict[str, Path]) -> None:
    outcome = command("export", runs["fair"], "--what", "prompts", "--format", "jsonl")
    assert [json.loads(line)["probe"] for line in outcome.out.splitlines()] == ["hiring_an"] * 160 + ["jobs_lum"] * 120


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--what", "metric"], "Did you mean 'metrics'"),
        (["--format", "xlsx"], "No format is called 'xlsx'."),
        (["--probe", "job_lum"], "Did you mean 'jobs_lum'"),
    ],
)
def test_export_of_what_is_not_there(
    command: Command, runs: dict[str, Path], tmp_path: Path, words: list[str], message: str
) -> None:
    outcome = command("export", runs["fair"], *words, "-o", "table")
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


def test_parquet_is_not_for_a_terminal(
    command: Command, runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    outcome = command("export", runs["fair"], "--format", "parquet")
    assert (outcome.code, outcome.out) == (2, "")
    assert "-o run.parquet" in outcome.err


def test_export_does_not_write_over_the_run(command: Command, runs: dict[str, Path]) -> None:
    before = runs["fair"].read_bytes()
    outcome = command("export", runs["fair"], "-o", runs["fair"])
    assert outcome.code == 2
    assert "would be lost" in outcome.err
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


@pytest.mark.fault("S7")
@pytest.mark.parametrize(
    "words",
    [
        ["compare", "fair", "HOSTILE"],
        ["gate", "fair", "--baseline", "HOSTILE", "--no-regression"],
        ["export", "HOSTILE"],
    ],
)
def test_what_is_not_a_run_is_refused(command: Command, runs: dict[str, Path], hostile: Path, words: list[str]) -> None:
    before = hostile.read_bytes()
    outcome = command(*(hostile if word == "HOSTILE" else runs.get(word, word) for word in words))
    assert (outcome.code, outcome.out) == (6, "")
    assert str(hostile) in outcome.err
    assert hostile.read_bytes() == before


@pytest.mark.fault("S7")
@pytest.mark.parametrize("column", ["answer", "label"])
def test_columns_that_hide_others_are_refused(
    command: Command, runs: dict[str, Path], tmp_path: Path, column: str
) -> None:
    """A covariate that is called like a column of attempts would be measured in place of the answers."""
    path = tmp_path / "columns.equipoise"
    path.write_bytes(runs["fair"].read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("update probes set covariates = json_set(covariates, ?, 'String')", (f"$.{column}",))
        renew_digests(connection)
        connection.commit()
    for words in (["show", path], ["export", path, "--what", "attempts"]):
        outcome = command(*words)
        assert (outcome.code, outcome.out) == (6, "")
        assert f"error: {path} is damaged: " in outcome.err
        assert column in outcome.err


@pytest.mark.fault("S7")
def test_columns_that_are_missing_are_refused(command: Command, runs: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "columns.equipoise"
    path.write_bytes(runs["fair"].read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("""update probes set covariates = '{"name": "String"}'""")
        renew_digests(connection)
        connection.commit()
    for words in (["show", path], ["export", path, "--what", "attempts"]):
        outcome = command(*words)
        assert (outcome.code, outcome.out) == (6, "")
        assert f"error: {path} is damaged: the covariates of prompt " in outcome.err


@pytest.mark.fault("S10")
def test_names_of_columns_are_no_formulas(command: Command, runs: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "columns.equipoise"
    path.write_bytes(runs["fair"].read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("""update probes set covariates = '{"＝1+1": "String"}'""")
        connection.execute("""update prompts set covariates = '{"＝1+1": "x"}'""")
        renew_digests(connection)
        connection.commit()
    assert exported(command, "csv", path, "--what", "prompts").columns[-2] == "'＝1+1"
    assert exported(command, "jsonl", path, "--what", "prompts").columns[-2] == "＝1+1"


def test_a_run_that_is_not_there(command: Command) -> None:
    for words in (["gate", "none", "--fail-on", "C"], ["export", "none"], ["compare", "none", "none"]):
        outcome = command(*words)
        assert (outcome.code, outcome.out) == (2, "")
        assert "There is no run file none." in outcome.err
