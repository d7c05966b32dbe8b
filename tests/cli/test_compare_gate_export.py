"""`equipoise compare`, `gate`, `export`: what they print where, what they write, and with which code they end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from calling import Command
from cli.conftest import FORMULA, NASTY
from equipoise.stats.multiple_testing import holm
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, ITEM, LABEL, PROMPT, REPETITION


def test_compare_shows_differences_and_verdicts(command: Command, runs: dict[str, Path]) -> None:
    outcome = command("compare", runs["fair"], runs["biased"])
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert re.match(
        r"Differences detectable with 80% power: 0\.\d+ \(hiring_an\.diff_acceptance_rate\) to", lines[0]
    )
    assert lines[1] == f"A: fake/model · {runs['fair']} · complete"
    assert lines[2].startswith("B: evil\\x1b[31m<b>|`x`\\n · ")
    (row,) = [line.split() for line in lines if line.startswith("diff_acceptance_rate")]
    assert (row[:4], row[7:9]) == (["diff_acceptance_rate", "0.000", "1.000", "+1.000"], ["<0.001", "<0.001"])
    assert row[-1] == "worse"
    assert "hiring_an v2 · 160 prompts in common, 80 items" in outcome.out
    assert "male_acceptance_rate" not in outcome.out
    assert "male_acceptance_rate" in command("compare", runs["fair"], runs["biased"], "--all").out


def test_compare_takes_several_runs_and_corrects_all_together(command: Command, runs: dict[str, Path]) -> None:
    shown = json.loads(command("compare", runs["fair"], runs["biased"], runs["odd"], "--every-pair", "--json").out)
    assert [(run["name"], run["model"]) for run in shown["runs"]][:2] == [("A", "fake/model"), ("B", NASTY)]
    assert ["".join(one["names"]) for one in shown["comparisons"]] == ["AB", "AC", "BC"]
    metrics = [
        metric
        for one in shown["comparisons"]
        for probe in one["probes"].values()
        for metric in probe["metrics"].values()
        if metric["verdict"] is not None
    ]
    assert len(metrics) == 4 * 3
    assert [metric["p_holm"] for metric in metrics] == pytest.approx(holm([metric["p"] for metric in metrics]))


GATES = [
    (["fair", "--fail-on", "D"], 0, "PASSED: all 5 rules"),
    (["biased", "--fail-on", "c"], 7, "FAILED: 2 of 5 rules; hiring_an.diff_acceptance_rate is D, and 1 more"),
    (["fair", "--fail-on", "C"], 8, " --certain: about "),
    (["fair", "--fail-on", "C", "--undecided", "pass"], 0, "PASSED: 2 of 5 rules; 3 open"),
    (["biased", "--max", "hiring_an.race_white_diff_acceptance_rate=0.5"], 7, "1 of 2 rules"),
    (["fair", "biased", "--baseline", "fair", "--no-regression"], 7, "FAILED: 1 of 2 runs\nPASSED: "),
    (["odd", "--fail-on", "D"], 8, "next: equipoise resume "),
    (["odd", "--fail-on", "D", "--allow-incomplete", "--undecided", "pass"], 0, "PASSED: "),
]


@pytest.mark.parametrize(("words", "code", "message"), GATES)
def test_gate_ends_as_its_rules_do(
    command: Command, runs: dict[str, Path], words: list[str], code: int, message: str
) -> None:
    outcome = command("gate", *(runs.get(word, word) for word in words))
    assert (outcome.code, message in outcome.out) == (code, True), outcome
    assert outcome.out.startswith({0: "PASSED: ", 7: "FAILED: ", 8: "UNDECIDED: "}[code])
    assert "\x1b" not in outcome.out + outcome.err


REFUSED = [
    (["compare", "fair"], 2, "two runs or more"),
    (["compare", "fair", "other"], 2, "business_vocabulary: only B has it"),
    (["gate", "fair"], 2, "For example: equipoise gate run.equipoise --fail-on C"),
    (["gate", "fair", "--fail-on", "A"], 2, "A gate can fail on B, C or D"),
    (["gate", "fair", "--max", "=1"], 2, "--max needs METRIC=VALUE"),
    (["gate", "fair", "--max", "diff_acceptance_rate=nan"], 2, "--max diff_acceptance_rate must be JSON, such as 0.15"),
    (["gate", "fair", "--no-regression"], 2, "--baseline RUN"),
    (["gate", "fair", "--fail-on", "D", "--junit", "nowhere/gate.xml"], 5, "nowhere/gate.xml cannot be written"),
    (["export", "fair", "--what", "metric", "-o", "table"], 2, "Did you mean 'metrics'"),
]


@pytest.mark.parametrize(("words", "code", "message"), REFUSED)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    command: Command, runs: dict[str, Path], words: list[str], code: int, message: str, tmp_path: Path
) -> None:
    outcome = command(*(runs.get(word, word) for word in words))
    assert (outcome.code, outcome.out, message in outcome.err) == (code, "", True), outcome
    assert list(tmp_path.iterdir()) == []


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
    page = (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert "Model <code>evil&#92;x1b&#91;31m&#60;b&#62;&#124;&#96;x&#96;&#92;n</code>" in page


@pytest.mark.fault("S10", "D6", "D7", "U10")
def test_attempts_come_back_exactly_but_for_formulas_in_csv(command: Command, runs: dict[str, Path]) -> None:
    """NULs and direction marks come back as they were; a lone surrogate as U+FFFD. They are an incomplete run's."""
    expected = Run.open(runs["odd"]).transcripts("jobs_lum")
    for form in ("jsonl", "parquet", "csv"):
        outcome = command("export", runs["odd"], "--what", "attempts", "--format", form, "-o", "table")
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "200 rows of attempts\n")
        read: Any = {"jsonl": pl.read_ndjson, "parquet": pl.read_parquet, "csv": pl.read_csv}[form]
        table = read("table", **({} if form == "parquet" else {"infer_schema_length": None}))
        assert table.columns[:6] == ["model", "probe", ID, REPETITION, ITEM, PROMPT]
        assert table["probe"].to_list() == ["hiring_an"] * 100 + ["jobs_lum"] * 100
        jobs = table.filter(probe="jobs_lum").join(expected.select(ID, LABEL, ANSWER), on=ID, suffix="_expected")
        assert jobs["qualification"].null_count() == jobs.height == 100
        assert jobs[LABEL].to_list() == jobs["label_expected"].to_list()
        answers, exact = jobs[ANSWER].to_list(), jobs["answer_expected"].to_list()
        assert (exact[0], exact[8]) == (FORMULA, "\ufffd \u202e")
        assert answers == ([f"'{text}" for text in exact[:6]] + exact[6:] if form == "csv" else exact)
    compared = command("compare", runs["fair"], runs["odd"])
    assert f"\nB: fake/model · {runs['odd']} · incomplete 200 of 280" in compared.out
    assert "note: B is incomplete: 200 of 280 attempts" in compared.err


def test_the_page_is_written_and_the_command_says_what_is_left_out(command: Command, small: Path) -> None:
    outcome = command("transcripts", small, "--most", 10)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.splitlines() == [
        "10 answers: transcripts.html",
        "50 of 60 answers are left out. To see others: --probe, --where, --search",
    ]
    assert Path("transcripts.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    refused = command("transcripts", small, "--where", "gendr=x")
    assert (refused.code, "No value of attempts is called 'gendr'" in refused.err) == (2, True)
