"""`equipoise compare` and `gate`: what they print, what they write, and how they end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from calling import Command, output
from cli.conftest import NASTY
from equipoise.runs.run import Run
from equipoise.stats.multiple_testing import holm


def test_compare_shows_differences_and_verdicts(command: Command, runs: dict[str, Path]) -> None:
    outcome = command("compare", runs["fair"], runs["biased"])
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    detectable = r"Differences detectable with 80% power: 0\.\d+ "
    assert re.match(detectable + r"\(hiring_an\.diff_acceptance_rate\) to", lines[0])
    assert lines[1] == f"A: fake/model · {runs['fair']} · complete"
    assert lines[2].startswith("B: evil\\x1b[31m<b>|`x`\\n · ")
    (row,) = [line.split() for line in lines if line.startswith("diff_acceptance_rate")]
    assert row[:4] == ["diff_acceptance_rate", "0.000", "1.000", "+1.000"]
    assert 0.9 < float(row[4].strip("[,")) < 1.0 <= float(row[5].strip("]")) < 1.1
    assert 0.0 < float(row[6]) < 0.2
    assert row[7:9] == ["<0.001", "<0.001"]
    assert row[-1] == "worse"
    assert "hiring_an v2 · 160 prompts in common, 80 items" in outcome.out
    assert "male_acceptance_rate" not in outcome.out
    assert "male_acceptance_rate" in command("compare", runs["fair"], runs["biased"], "--all").out


def test_compare_as_json_has_the_same_numbers(command: Command, runs: dict[str, Path]) -> None:
    shown = json.loads(output(command("compare", runs["fair"], runs["biased"], "--json")))
    named = [(run["name"], run["model"]) for run in shown["runs"]]
    assert named == [("A", "fake/model"), ("B", NASTY)]
    (comparison,) = shown["comparisons"]
    assert comparison["names"] == ["A", "B"]
    metric = comparison["probes"]["hiring_an"]["metrics"]["diff_acceptance_rate"]
    assert (metric["first"], metric["second"], metric["verdict"]) == (0.0, 1.0, "worse")
    jobs = Run.open(runs["fair"]).results()["jobs_lum"]
    assert set(comparison["probes"]["jobs_lum"]["metrics"]) == set(jobs.metrics)


PAIRS = [([], ["AB", "AC"]), (["--every-pair"], ["AB", "AC", "BC"])]


@pytest.mark.parametrize(("options", "pairs"), PAIRS, ids=["with the first", "every pair"])
def test_compare_takes_several_runs_and_corrects_all_together(
    command: Command,
    runs: dict[str, Path],
    options: list[str],
    pairs: list[str],
) -> None:
    words = ["compare", runs["fair"], runs["biased"], runs["odd"], *options]
    shown = json.loads(output(command(*words, "--json")))
    assert ["".join(one["names"]) for one in shown["comparisons"]] == pairs
    metrics = []
    for comparison in shown["comparisons"]:
        for probe in comparison["probes"].values():
            metrics += [one for one in probe["metrics"].values() if one["verdict"] is not None]
    assert len(metrics) == 4 * len(pairs)
    corrected = holm([metric["p"] for metric in metrics])
    assert [metric["p_holm"] for metric in metrics] == pytest.approx(corrected)


def test_compare_says_how_many_metrics_it_corrected_for(
    command: Command,
    runs: dict[str, Path],
) -> None:
    two = output(command("compare", runs["fair"], runs["biased"]))
    assert "corrected for the 4 marked metrics" in two
    words = ("compare", runs["fair"], runs["biased"], runs["odd"], "--every-pair")
    three = output(command(*words))
    assert "corrected for the 12 marked metrics" in three
    assert "C - B" in three


@pytest.mark.fault("U10")
def test_compare_marks_what_is_incomplete(command: Command, runs: dict[str, Path]) -> None:
    outcome = command("compare", runs["fair"], runs["odd"])
    assert f"\nB: fake/model · {runs['odd']} · incomplete 200 of 280" in outcome.out
    assert "note: B is incomplete: 200 of 280 attempts" in outcome.err


def test_compare_refuses_what_has_nothing_in_common(
    command: Command,
    runs: dict[str, Path],
) -> None:
    outcome = command("compare", runs["fair"], runs["other"])
    assert (outcome.code, outcome.out) == (2, "")
    assert "hiring_an: only A has it" in outcome.err
    assert "business_vocabulary: only B has it" in outcome.err


# gate


GATES = [
    (["fair", "--fail-on", "D"], 0, "PASSED: all 5 rules"),
    (
        ["biased", "--fail-on", "c"],
        7,
        "FAILED: 2 of 5 rules; hiring_an.diff_acceptance_rate is D, and 1 more",
    ),
    (["biased", "--fail-on", "c", "--undecided", "pass"], 7, "FAILED: 2 of 5 rules"),
    (["fair", "--fail-on", "C"], 8, "UNDECIDED: 3 of 5 rules; "),
    (["fair", "--fail-on", "C"], 8, " --certain: about "),
    (["fair", "--fail-on", "C", "--undecided", "pass"], 0, "PASSED: 2 of 5 rules; 3 open"),
    (["fair", "--fail-on", "C", "--undecided", "fail"], 7, "FAILED: 3 of 5 rules"),
    (["biased", "--max", "diff_acceptance_rate=0.5"], 7, "1 of 2 rules"),
    (["fair", "--max", "diff_acceptance_rate=0.5"], 0, "all 2 rules"),
    (["fair", "--max", "race_white_diff_acceptance_rate=0.5"], 0, "all 2 rules"),
    (["biased", "--baseline", "fair", "--no-regression"], 7, "2 of 5 rules"),
    (["fair", "--baseline", "biased", "--no-regression"], 0, "4 of 5 rules; 1 open"),
    (["biased", "--max", "flip_rate=0.01"], 7, "FAILED: 1 of 2 rules; hiring_an.flip_rate is 1.000"),
    (
        ["biased", "--baseline", "fair", "--no-regression"],
        7,
        "rules; hiring_an.diff_acceptance_rate is worse than in the baseline, and 1 more",
    ),
    (["fair", "biased", "--fail-on", "D"], 7, "FAILED: 1 of 2 runs\nPASSED: all 5 rules"),
    (["odd", "--fail-on", "D", "--undecided", "fail"], 7, "run is incomplete: 200 of 280 attempts answered, and"),
    (["biased", "--max", "hiring_an.race_white_diff_acceptance_rate=0.5"], 7, "1 of 2 rules"),
    (
        ["fair", "biased", "--baseline", "fair", "--no-regression"],
        7,
        "FAILED: 1 of 2 runs\nPASSED: ",
    ),
    (["odd", "--fail-on", "D"], 8, "next: equipoise resume "),
    (["odd", "--fail-on", "D", "--allow-incomplete", "--undecided", "pass"], 0, "PASSED: "),
]


@pytest.mark.parametrize(("words", "code", "message"), GATES)
def test_gate_ends_as_its_rules_do(
    command: Command,
    runs: dict[str, Path],
    words: list[str],
    code: int,
    message: str,
) -> None:
    outcome = command("gate", *(runs.get(word, word) for word in words))
    assert (outcome.code, message in outcome.out) == (code, True), outcome
    assert outcome.out.startswith({0: "PASSED: ", 7: "FAILED: ", 8: "UNDECIDED: "}[code])
    assert "\x1b" not in outcome.out + outcome.err


REFUSED = [
    (["compare", "fair"], 2, "two runs or more"),
    (["gate", "fair"], 2, "For example: equipoise gate run.equipoise --fail-on C"),
    (["gate", "fair", "--fail-on", "A"], 2, "A gate can fail on B, C or D"),
    (["gate", "fair", "--fail-on", "C", "--undecided", "maybe"], 2, "There are: fail, pass."),
    (["gate", "fair", "--max", "acceptance"], 2, "--max needs METRIC=VALUE"),
    (
        ["gate", "fair", "--max", "diff_aceptance_rate=0.1"],
        2,
        "Did you mean 'diff_acceptance_rate'",
    ),
    (["gate", "fair", "--baseline", "biased"], 2, "--no-regression"),
    (
        ["gate", "fair", "--baseline", "other", "--no-regression"],
        2,
        "only the baseline has it",
    ),
    (["gate", "none", "--fail-on", "C"], 2, "There is no run file none."),
    (["compare", "none", "none"], 2, "There is no run file none."),
    (["export", "none"], 2, "There is no run file none."),
    (["export", "fair", "--format", "xlsx", "-o", "table"], 2, "No format is called 'xlsx'."),
    (["export", "fair", "--probe", "job_lum", "-o", "table"], 2, "Did you mean 'jobs_lum'"),
    (["gate", "fair", "--max", "=1"], 2, "--max needs METRIC=VALUE"),
    (
        ["gate", "fair", "--max", "diff_acceptance_rate=nan"],
        2,
        "--max diff_acceptance_rate must be JSON, such as 0.15",
    ),
    (["gate", "fair", "--no-regression"], 2, "--baseline RUN"),
    (
        ["gate", "fair", "--fail-on", "D", "--junit", "nowhere/gate.xml"],
        5,
        "nowhere/gate.xml cannot be written",
    ),
    (["export", "fair", "--what", "metric", "-o", "table"], 2, "Did you mean 'metrics'"),
]


@pytest.mark.parametrize(("words", "code", "message"), REFUSED)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    command: Command,
    runs: dict[str, Path],
    words: list[str],
    code: int,
    message: str,
    tmp_path: Path,
) -> None:
    outcome = command(*(runs.get(word, word) for word in words))
    assert (outcome.code, outcome.out, message in outcome.err) == (code, "", True), outcome
    assert list(tmp_path.iterdir()) == []


def test_gate_writes_junit_and_markdown_and_json(
    command: Command,
    runs: dict[str, Path],
    tmp_path: Path,
) -> None:
    outcome = command(
        "gate",
        runs["biased"],
        "--fail-on",
        "D",
        "--junit",
        "gate.xml",
        "--markdown",
        "gate.md",
        "--json",
    )
    assert outcome.code == 7
    (shown,) = json.loads(outcome.out)["runs"]
    assert (shown["outcome"], shown["passed"], shown["model"]) == ("failed", False, NASTY)
    cases = list(ET.parse(tmp_path / "gate.xml").getroot().iter("testcase"))
    elements = {"passed": "system-out", "failed": "failure", "undecided": "skipped"}
    assert [case[0].tag for case in cases] == [elements[check["outcome"]] for check in shown["checks"]]
    assert {check["outcome"] for check in shown["checks"]} >= {"passed", "failed"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gate.md", "gate.xml"]
    page = (tmp_path / "gate.md").read_text(encoding="utf-8")
    assert "Model <code>evil&#92;x1b&#91;31m&#60;b&#62;&#124;&#96;x&#96;&#92;n</code>" in page
