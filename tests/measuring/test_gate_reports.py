"""What a user of the gate sees: mistakes in rules, the verdict, and reports for pipelines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import equipoise
from equipoise import Audit
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.measuring.gate import Check, Gate, Outcome, Rules, check_rules
from equipoise.report.terminal.gates import gate_lines, headline, headline_of_all, junit, markdown
from equipoise.safe_text import printable_line
from measuring.test_gate import GAP, SLICE, SLOPE, WORDS, failed
from simulating import SMALL, simulated

PASSED, FAILED, OPEN = Outcome.PASSED, Outcome.FAILED, Outcome.UNDECIDED
HOSTILE = (
    "<script>alert(1)</script> `code` **bold** _it_ [x](http://evil.example) ![x](http://evil.example/p.png)",
    "line\n| ✅ PASS | forged | row | here |\n# heading \x1b]0;title\x07\x1b[2J\x1b[31mred -->|\\|",
    "]]></testcase><testcase name='forged'/> lone \ud800 surrogate, \ufffe, \u2028 and \u202e",
    "@everyone www.evil.example https://evil.example #1 :smile:",
    '" type="x',
    "&lt;b&gt; &#60;i&#62; a|b | c",
    "nul \x00 bell \x07 del \x7f",
)


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Audit]:
    """Audits of a fair and of an unfair model, and of one that was asked about jobs only."""
    folder: Path = tmp_path_factory.mktemp("runs")
    stances = {
        "fair": {"hiring_an": "unbiased", "business_vocabulary": "unbiased"},
        "unfair": {"hiring_an": "pro-feminine", "business_vocabulary": "stereotyping"},
        "jobs": {"jobs_lum": "unbiased"},
    }
    many = {**SMALL, "hiring_an": {"sample": 240}}
    audits = {}
    for name, probes in stances.items():
        audits[name] = simulated(folder / f"{name}.equipoise", probes, parameters=many).results()
    return audits


@pytest.mark.parametrize(
    ("rules", "error", "words"),
    [
        ({}, InputError, ["equipoise gate run.equipoise --fail-on C"]),
        ({"fail_on": "A"}, BadParameter, ["B, C or D", "'A'"]),
        ({"fail_on": "BC"}, BadParameter, ["'BC'"]),
        ({"fail_on": "E"}, BadParameter, ["'E'"]),
        ({"fail_on": ""}, BadParameter, ["''"]),
        ({"fail_on": "C", "undecided": "fall"}, UnknownName, ["Did you mean 'fail'"]),
        ({"max": {"mean_dif": 0.1}}, UnknownName, ["'mean_diff'", "equipoise show RUN --all"]),
        ({"max": {"hiring_an.mean_diff": 0.1}}, UnknownName, ["business_vocabulary.mean_diff"]),
        ({"max": {"race_whit_diff_acceptance_rate": 0.1}}, UnknownName, [f"Did you mean '{SLICE}'"]),
        ({"max": {"§§§§": 0.1}}, UnknownName, ["There are: business_vocabulary.mean_diff, "]),
        ({"max": {"mean_diff": -0.1}}, BadParameter, ["0 or more", "-0.1"]),
        ({"no_regression": True}, InputError, ["--baseline RUN"]),
    ],
)
def test_nonsense_is_the_users_error(
    audits: dict[str, Audit], rules: dict[str, Any], error: type[InputError], words: list[str]
) -> None:
    with pytest.raises(error) as raised:
        check_rules(audits["fair"], Rules(**rules))
    assert raised.value.exit_code == 2
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_a_gate_takes_paths_runs_audits_and_results(audits: dict[str, Audit]) -> None:
    unfair, fair = audits["unfair"], audits["fair"]
    assert unfair.path is not None
    expected = check_rules(unfair, Rules(fail_on="D"))
    for source in (unfair, str(unfair.path), equipoise.Run.open(unfair.path)):
        assert equipoise.gate(source, fail_on="D") == expected
    regressions = check_rules(unfair, Rules(no_regression=True), fair)
    assert equipoise.gate(unfair.path, no_regression=True, baseline=fair.path) == regressions
    assert failed(equipoise.gate(unfair["hiring_an"], fail_on="D")) == {"--fail-on D": {GAP}}
    with pytest.raises(InputError, match="not both"):
        equipoise.gate(fair, Rules(fail_on="C"), fail_on="D")


def test_a_baseline_without_its_rule_is_refused(audits: dict[str, Audit]) -> None:
    with pytest.raises(InputError, match="--no-regression"):
        check_rules(audits["fair"], Rules(fail_on="C"), audits["fair"])


def test_nothing_in_common_with_the_baseline_is_the_users_error(audits: dict[str, Audit]) -> None:
    with pytest.raises(InputError, match="only the baseline has it"):
        check_rules(audits["fair"], Rules(no_regression=True), audits["jobs"])


# How it is written


def gate(*, model: str = "m", words: str = "w") -> Gate:
    checks = [
        Check(rule="complete", what="run", outcome=PASSED, summary="is complete", found="all", limit="none pending")
    ]
    checks += [
        Check(rule=f"--max {words}", what=words, outcome=outcome, summary=words, found=words, limit=words, value=0.5)
        for outcome in (FAILED, OPEN)
    ]
    return Gate(model=model, file=model, checks=checks, notes=[words])


def test_the_verdict_comes_first_and_what_passed_is_counted() -> None:
    rules = {"--fail-on C": (PASSED, OPEN, FAILED), "--no-regression": (PASSED, OPEN, PASSED)}
    checks = [
        Check(rule=rule, what=f"{outcome} {rule}", outcome=outcome, summary="is B to D", found="0.4, B to D", limit="l")
        for rule, outcomes in rules.items()
        for outcome in outcomes
    ]
    verdict = Gate(model="m", file="f", checks=checks)
    lines = [line.plain for line in gate_lines(verdict)]
    assert lines[0] == "FAILED: 1 of 6 rules; failed --fail-on C is B to D; 2 open  m · f"
    assert [line[:4] for line in lines[1:3]] == ["FAIL", "OPEN"]
    assert lines[3].endswith("(--undecided fail would): undecided --no-regression")
    assert lines[4:] == ["3 passed (--all shows each)"]
    words = [line.plain[:4] for line in gate_lines(verdict, everything=True)][1:]
    assert words == ["FAIL", "OPEN", "OPEN", "PASS", "PASS", "PASS"]
    passed = replace(verdict, checks=[checks[0], checks[4]])
    assert headline(passed) == "PASSED: 1 of 2 rules; 1 open"
    assert headline_of_all([passed, verdict]).plain == "FAILED: 1 of 2 runs"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_foreign_text_stays_text(hostile: str) -> None:
    verdict = gate(model=hostile, words=hostile)
    shown = printable_line(hostile)
    assert shown.isprintable()

    root = ET.fromstring(junit([verdict]))
    names = ["run complete", *[f"{shown} --max {shown}"] * 2]
    assert [case.get("name") for case in root.iter("testcase")] == names
    assert [entry.get("value") for entry in root.iter("property")] == [shown, shown, shown]
    assert sum(1 for _ in root.iter()) == 12

    lines = list(gate_lines(verdict, everything=True))
    assert [line.plain[:4] for line in lines] == ["FAIL", "FAIL", "OPEN", "PASS"]
    assert all(line.plain.isprintable() for line in lines)
    assert all(shown in line.plain for line in lines[:3])

    page = markdown(verdict)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert (len(rows), len(page.splitlines())) == (5, 11)
    assert all(row.count("|") == 6 for row in rows)
    for ours in ("<code>", "</code>", "**FAIL**", "**undecided**", "`run`", "`complete`"):
        page = page.replace(ours, "")
    assert not set("<>*[]!`@") & set(page)
    assert "www." not in page
    assert "://" not in page


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([PASSED, PASSED], "PASSED: all 2 rules"),
        ([PASSED, FAILED], "FAILED: 1 of 2 rules; w is D"),
        ([PASSED, FAILED, FAILED], "FAILED: 2 of 3 rules; w is D, and 1 more"),
        ([PASSED, OPEN, OPEN], "UNDECIDED: 2 of 3 rules; w is D, and 1 more"),
        ([FAILED, OPEN, PASSED], "FAILED: 1 of 3 rules; w is D; 1 open"),
    ],
)
def test_the_headline_counts_what_failed_and_what_is_open(outcomes: list[Outcome], expected: str) -> None:
    checks = [
        Check(rule="r", what="w", outcome=outcome, summary="is D", found="0.9", limit="l") for outcome in outcomes
    ]
    assert headline(Gate(model="m", file="f", checks=checks)) == expected


def test_junit_holds_one_case_per_check(audits: dict[str, Audit]) -> None:
    verdict = check_rules(audits["unfair"], Rules(fail_on="B"))
    suite = ET.fromstring(junit([verdict])).find("testsuite")
    assert suite is not None
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["4", "2", "0", "1"]
    names = [case.get("name") for case in suite.findall("testcase")]
    assert names == [f"{check.what} {check.rule}" for check in verdict.checks]


def test_in_junit_a_failure_fails_and_what_is_undecided_is_skipped(audits: dict[str, Audit]) -> None:
    """Each says why."""
    verdict = check_rules(audits["unfair"], Rules(fail_on="B"))
    elements = {PASSED: "system-out", FAILED: "failure", OPEN: "skipped"}
    cases = ET.fromstring(junit([verdict])).iter("testcase")
    for case, check in zip(cases, verdict.checks, strict=True):
        (child,) = case
        assert child.tag == elements[check.outcome]
        if check.outcome is FAILED:
            assert (child.get("message") or "").endswith("; allowed: better than B")
        if check.outcome is OPEN:
            assert (child.get("message") or "").startswith("undecided: A–C, ")


def test_markdown_has_one_row_per_check_and_plain_names(audits: dict[str, Audit]) -> None:
    verdict = check_rules(audits["unfair"], Rules(fail_on="B"))
    page = markdown(verdict)
    assert page.startswith("### equipoise gate: FAILED&#58; 2 of 4 rules&#59; ")
    assert "Model `fake/model`" in page
    assert f"| ❌ **FAIL** | `{WORDS}` | `--fail-on B` | D" in page
    assert f"| ❔ **undecided** | `{SLOPE}` | `--fail-on B` | A–C, " in page
    assert "| ✅ PASS | `run` | `complete` | " in page
