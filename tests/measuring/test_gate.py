"""The gate: runs of known models keep or break every rule, and a rule that cannot be judged is broken."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

import equipoise
from equipoise import Audit
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.measuring.gate import SIDES, Check, Gate, Rules, judge
from equipoise.report.terminal.gates import check_lines, headline, junit, markdown
from equipoise.report.terminal.safe_text import printable_line
from equipoise.schema import ID
from simulating import SMALL, simulated

GAP, SLOPE = "hiring_an.diff_acceptance_rate", "hiring_an.diff_regression"
WORDS = "business_vocabulary.mean_diff"
SLICE = "diff_acceptance_rate@race:white"
INCOMPLETE = {"complete": {"attempts"}}
HOSTILE = (
    "<script>alert(1)</script>",
    "a|b | c",
    "`code` **bold** _it_ [x](http://evil.example) ![x](http://evil.example/p.png)",
    "line\n| ✅ PASS | forged | row | here |\n# heading",
    "\x1b]0;title\x07\x1b[2J\x1b[31mred",
    "]]></testcase><testcase name='forged'/>",
    '" type="x',
    "&lt;b&gt; &#60;i&#62;",
    "nul \x00 bell \x07 del \x7f",
    "lone \ud800 surrogate, \ufffe, \u2028 and \u202e",
    "@everyone www.evil.example https://evil.example #1 :smile:",
    "-->|\\|",
)


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Audit]:
    """Audits of known models: fair, unfair, leaning the harmless way, unfinished, with failures, silent on women."""
    folder = tmp_path_factory.mktemp("runs")
    stances = {
        "fair": {"hiring_an": "unbiased", "business_vocabulary": "unbiased"},
        "unfair": {"hiring_an": "pro-feminine", "business_vocabulary": "stereotyping"},
        "against": {"hiring_an": "unbiased", "business_vocabulary": "anti-stereotyping"},
        "jobs": {"jobs_lum": "unbiased"},
    }
    runs = {name: simulated(folder / f"{name}.equipoise", probes) for name, probes in stances.items()}
    mute = dict.fromkeys(runs["fair"].prompts("hiring_an").filter(gender="female")[ID], "We shall see.")
    runs["mute"] = simulated(folder / "mute.equipoise", stances["fair"], answers=mute)
    runs["unfinished"] = simulated(folder / "unfinished.equipoise", stances["fair"], answered=90)
    runs["failures"] = simulated(folder / "failures.equipoise", stances["fair"], failed=10)
    runs["few failures"] = simulated(folder / "few.equipoise", stances["fair"], failed=4)
    smaller = {**SMALL, "hiring_an": {"sample_k": 40}}
    runs["smaller"] = simulated(folder / "smaller.equipoise", stances["fair"], parameters=smaller)
    return {name: run.results() for name, run in runs.items()}


def broken(gate: Gate) -> dict[str, set[str]]:
    """What breaks each rule."""
    rules = {check.rule for check in gate.failed}
    return {rule: {check.what for check in gate.failed if check.rule == rule} for rule in rules}


@pytest.mark.parametrize(
    ("audit", "rules", "expected"),
    [
        ("fair", {"fail_on": "B"}, {}),
        ("unfair", {"fail_on": "D"}, {"--fail-on D": {GAP, WORDS}}),
        ("against", {"fail_on": "B"}, {}),
        ("mute", {"fail_on": "D"}, {"--fail-on D": {GAP, SLOPE}}),
        # A distance counts, not the sign; one-sided metrics count in one direction.
        ("unfair", {"limits": [("diff_acceptance_rate", 0.9)]}, {"--max 0.9": {GAP}}),
        ("unfair", {"limits": [("diff_acceptance_rate", 1.0)]}, {}),
        ("against", {"limits": [("mean_diff", 0.0)]}, {}),
        # A metric without bands is taken as it is.
        ("unfair", {"limits": [("male_acceptance_rate", 0.1)]}, {}),
        ("unfair", {"limits": [("female_acceptance_rate", 0.9)]}, {"--max 0.9": {"hiring_an.female_acceptance_rate"}}),
        # The metric of one probe, a group of a slice, and the group of one probe.
        ("unfair", {"limits": [(WORDS, 0.5)]}, {"--max 0.5": {WORDS}}),
        ("unfair", {"limits": [(SLICE, 0.9)]}, {"--max 0.9": {f"hiring_an.{SLICE}"}}),
        ("unfair", {"limits": [(f"hiring_an.{SLICE}", 0.9)]}, {"--max 0.9": {f"hiring_an.{SLICE}"}}),
        ("unfair", {"limits": [(SLICE, 1.0)]}, {}),
        ("mute", {"limits": [("diff_acceptance_rate", 1.0)]}, {"--max 1": {GAP}}),
        # Too little of it.
        ("unfinished", {"fail_on": "D"}, INCOMPLETE),
        ("unfinished", {"fail_on": "D", "allow_incomplete": True}, {}),
        ("failures", {"fail_on": "D"}, INCOMPLETE),
        ("failures", {"fail_on": "D", "allow_incomplete": True}, {}),
        ("few failures", {"fail_on": "D"}, {}),
        # All rules at once.
        (
            "unfair",
            {"fail_on": "D", "limits": [("mean_diff", 0.1)]},
            {"--fail-on D": {GAP, WORDS}, "--max 0.1": {WORDS}},
        ),
    ],
)
def test_rules(audits: dict[str, Audit], audit: str, rules: dict[str, Any], expected: dict[str, set[str]]) -> None:
    gate = judge(audits[audit], Rules(**rules))
    assert broken(gate) == expected
    assert gate.passed is not bool(expected)
    assert gate.checks[0].rule == "complete"


@pytest.mark.parametrize(
    ("baseline", "audit", "expected"),
    [
        ("fair", "fair", set()),
        ("unfair", "fair", set()),
        ("unfair", "unfair", set()),
        ("fair", "against", set()),
        ("fair", "unfair", {GAP, WORDS}),
        ("fair", "mute", {GAP, SLOPE}),
        ("fair", "smaller", {"hiring_an"}),
    ],
)
def test_no_regression(audits: dict[str, Audit], baseline: str, audit: str, expected: set[str]) -> None:
    gate = judge(audits[audit], Rules(no_regression=True), audits[baseline])
    assert broken(gate) == ({"--no-regression": expected} if expected else {})


def test_what_cannot_be_compared_says_why(audits: dict[str, Audit]) -> None:
    (check,) = judge(audits["smaller"], Rules(no_regression=True), audits["fair"]).failed
    assert check.found == "cannot be compared: sample_k is 80 in the baseline and 40 in the run"


def test_each_rule_covers_every_metric_it_is_about(audits: dict[str, Audit]) -> None:
    gate = judge(audits["fair"], Rules(fail_on="C", limits=[("mean_diff", 1.0)], no_regression=True), audits["fair"])
    marked = [f"{name}.{metric}" for name, result in audits["fair"].items() for metric in result.marks]
    by_rule = {
        rule: [check.what for check in gate.checks if check.rule.startswith(rule)] for rule in ("--f", "--m", "--n")
    }
    assert by_rule == {"--f": marked, "--m": ["business_vocabulary.mean_diff"], "--n": marked}
    values = {check.what: check.value for check in gate.checks if check.rule == "--fail-on C"}
    for name, result in audits["fair"].items():
        for metric, estimate, _ in result.marked():
            assert values[f"{name}.{metric}"] == estimate.value


@pytest.mark.parametrize("fail_on", ["B", "C", "D"])
def test_uncertain_marks_are_judged_by_the_chosen_side(audits: dict[str, Audit], fail_on: str) -> None:
    marks = audits["jobs"]["jobs_lum"].marks
    assert any(mark is not None and not mark.certain for mark in marks.values())
    for side in SIDES:
        gate = judge(audits["jobs"], Rules(fail_on=fail_on, uncertain=side))
        for check in gate.checks[1:]:
            mark = marks[check.what.partition(".")[2]]
            assert mark is not None
            judged = {"worst": mark.worst, "value": mark.mark, "best": mark.best}[side]
            assert check.passed is (judged < fail_on)
            assert (f"judged as {judged}" in check.found) is (judged != mark.mark)
        assert any("uncertain" in note and f"judged by {side}" in note for note in gate.notes)
    assert Rules(fail_on=fail_on).uncertain == "value"


def test_limits_are_held_against_the_chosen_side(audits: dict[str, Audit]) -> None:
    def passes(side: str, limit: float, metric: str = "masculine_rate") -> bool:
        return judge(audits["jobs"], Rules(limits=[(metric, limit)], uncertain=side)).passed

    estimate = audits["jobs"]["jobs_lum"].metrics["masculine_rate"]
    assert estimate.low < 0.5 < estimate.high
    near, far = abs(estimate.value - 0.5), max(0.5 - estimate.low, estimate.high - 0.5)
    assert [passes(side, near + 1e-6) for side in SIDES] == [False, True, True]
    assert [passes(side, 0.0) for side in SIDES] == [False, near == 0, True]
    assert passes("worst", far + 1e-6)
    # None of 120 answers was undetected: by the rule of three, up to 3 of 120 could be.
    metric = "undetected_rate_attempts"
    assert [passes("worst", limit, metric) for limit in (0.024, 0.026)] == [False, True]
    assert [passes(side, 0.0, metric) for side in ("value", "best")] == [True, True]


@pytest.mark.parametrize(
    ("rules", "error", "words"),
    [
        ({}, InputError, ["equipoise gate run.equipoise --fail-on C"]),
        ({"fail_on": "A"}, BadParameter, ["B, C or D", "'A'"]),
        ({"fail_on": "E"}, BadParameter, ["'E'"]),
        ({"fail_on": "BC"}, BadParameter, ["'BC'"]),
        ({"fail_on": ""}, BadParameter, ["''"]),
        ({"fail_on": "C", "uncertain": "wurst"}, UnknownName, ["Did you mean 'worst'"]),
        ({"limits": [("mean_dif", 0.1)]}, UnknownName, ["'mean_diff'", "equipoise show RUN --slices"]),
        ({"limits": [("hiring_an.mean_diff", 0.1)]}, UnknownName, ["business_vocabulary.mean_diff"]),
        ({"limits": [("diff_acceptance_rate@race:whit", 0.1)]}, UnknownName, [f"Did you mean '{SLICE}'"]),
        ({"limits": [("race_white_diff_acceptance_rate", 0.1)]}, UnknownName, ["equipoise show RUN --slices"]),
        ({"limits": [("§§§§", 0.1)]}, UnknownName, ["There are: business_vocabulary.mean_diff, "]),
        ({"limits": [("mean_diff", -0.1)]}, BadParameter, ["0 or more", "-0.1"]),
        ({"no_regression": True}, InputError, ["--baseline RUN"]),
    ],
)
def test_nonsense_is_the_users_error(
    audits: dict[str, Audit], rules: dict[str, Any], error: type[InputError], words: list[str]
) -> None:
    with pytest.raises(error) as raised:
        judge(audits["fair"], Rules(**rules))
    assert raised.value.exit_code == 2
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_a_baseline_without_its_rule_is_refused(audits: dict[str, Audit]) -> None:
    with pytest.raises(InputError, match="--no-regression"):
        judge(audits["fair"], Rules(fail_on="C"), audits["fair"])


def test_nothing_in_common_with_the_baseline_is_the_users_error(audits: dict[str, Audit]) -> None:
    with pytest.raises(InputError, match="only the baseline has it"):
        judge(audits["fair"], Rules(no_regression=True), audits["jobs"])


def test_a_gate_takes_paths_runs_audits_and_results(audits: dict[str, Audit]) -> None:
    unfair, fair = audits["unfair"], audits["fair"]
    assert unfair.path is not None
    expected = judge(unfair, Rules(fail_on="D"))
    assert equipoise.gate(unfair, fail_on="D") == expected
    assert equipoise.gate(str(unfair.path), Rules(fail_on="D")) == expected
    assert equipoise.gate(equipoise.Run.open(unfair.path), fail_on="D") == expected
    regressions = judge(unfair, Rules(no_regression=True), fair)
    assert equipoise.gate(unfair.path, no_regression=True, baseline=fair.path) == regressions
    assert broken(equipoise.gate(unfair["hiring_an"], fail_on="D")) == {"--fail-on D": {GAP}}


def test_rules_and_their_fields_are_not_given_at_once(audits: dict[str, Audit]) -> None:
    with pytest.raises(InputError, match="not both"):
        equipoise.gate(audits["fair"], Rules(fail_on="C"), fail_on="D")


# How it is written


def gate(*, model: str = "m", words: str = "w") -> Gate:
    checks = [Check(rule="complete", what="attempts", passed=True, found="all", limit="none pending")]
    checks += [Check(rule=f"--max {words}", what=words, passed=False, found=words, limit=words, value=0.5)]
    return Gate(model=model, file=model, checks=checks, notes=[words])


def test_junit_holds_one_case_per_check(audits: dict[str, Audit]) -> None:
    verdict = judge(audits["unfair"], Rules(fail_on="C"))
    suite = ET.fromstring(junit(verdict)).find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    assert (suite.get("tests"), suite.get("failures")) == (str(len(verdict.checks)), str(len(verdict.failed)))
    assert [case.find("failure") is None for case in cases] == [check.passed for check in verdict.checks]
    assert [case.get("name") for case in cases] == [f"{check.what} {check.rule}" for check in verdict.checks]
    failure = cases[1].find("failure")
    assert failure is not None
    assert (failure.get("message") or "").endswith("; allowed: better than C")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_foreign_text_stays_text(hostile: str) -> None:
    verdict = gate(model=hostile, words=hostile)
    shown = printable_line(hostile)
    assert shown.isprintable()

    root = ET.fromstring(junit(verdict))
    assert [case.get("name") for case in root.iter("testcase")] == ["attempts complete", f"{shown} --max {shown}"]
    assert [entry.get("value") for entry in root.iter("property")] == [shown, shown]
    assert sum(1 for _ in root.iter()) == 9

    lines = list(check_lines(verdict))
    assert [line.plain[:4] for line in lines] == ["PASS", "FAIL"]
    assert all(line.plain.isprintable() for line in lines)
    assert shown in lines[1].plain

    page = markdown(verdict)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert all(row.count("|") == 6 for row in rows)
    foreign = page.replace("<code>", "").replace("</code>", "").replace("**FAIL**", "")
    assert not set("<>*[]!`@") & set(foreign.replace("`attempts`", "").replace("`complete`", ""))
    assert "www." not in page
    assert "://" not in page
    assert len(page.splitlines()) == 10


def test_plain_names_are_plain_in_markdown(audits: dict[str, Audit]) -> None:
    verdict = judge(audits["unfair"], Rules(fail_on="C"))
    page = markdown(verdict)
    assert page.startswith(f"### equipoise gate: {headline(verdict)}\n")
    assert "Model `fake/model`" in page
    assert "| ❌ **FAIL** | `business_vocabulary.mean_diff` | `--fail-on C` | D" in page
