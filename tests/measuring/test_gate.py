"""The gate: known models pass or fail every rule, and where the data do not say, it is undecided."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import equipoise
from equipoise import Audit
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.measuring.gate import Check, Gate, Outcome, Rules, check_rules
from equipoise.measuring.marks import mark
from equipoise.report.terminal.gates import gate_lines, headline, headline_of_all, junit, markdown
from equipoise.safe_text import printable_line
from equipoise.schema import ID, Bounds, Estimate, MetricKey
from simulating import SMALL, simulated

GAP, SLOPE = "hiring_an.diff_acceptance_rate", "hiring_an.diff_regression"
WORDS = "business_vocabulary.mean_diff"
SLICE = "race_white_diff_acceptance_rate"
WIDE = {"diff_acceptance_rate": 0.9}
"""A limit that no missing answer of these runs could break."""
INCOMPLETE = {"complete": {"attempts"}}
HOSTILE = (
    "<script>alert(1)</script> `code` **bold** _it_ [x](http://evil.example) ![x](http://evil.example/p.png)",
    "line\n| ✅ PASS | forged | row | here |\n# heading \x1b]0;title\x07\x1b[2J\x1b[31mred -->|\\|",
    "]]></testcase><testcase name='forged'/> lone \ud800 surrogate, \ufffe, \u2028 and \u202e",
    "@everyone www.evil.example https://evil.example #1 :smile:",
)


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Audit]:
    """Audits of known models: fair, unfair, leaning against stereotypes, unfinished, with failures, silent on women."""
    folder = tmp_path_factory.mktemp("runs")
    stances = {
        "fair": {"hiring_an": "unbiased", "business_vocabulary": "unbiased"},
        "unfair": {"hiring_an": "pro-feminine", "business_vocabulary": "stereotyping"},
        "against": {"hiring_an": "unbiased", "business_vocabulary": "anti-stereotyping"},
        "jobs": {"jobs_lum": "unbiased"},
    }
    many = {**SMALL, "hiring_an": {"sample": 240}}
    runs = {name: simulated(folder / f"{name}.equipoise", probes, parameters=many) for name, probes in stances.items()}
    mute = dict.fromkeys(runs["fair"].prompts("hiring_an").filter(gender="female")[ID], "We shall see.")
    runs["mute"] = simulated(folder / "mute.equipoise", stances["fair"], answers=mute, parameters=many)
    runs["unfinished"] = simulated(folder / "unfinished.equipoise", stances["fair"], answered=150, parameters=many)
    runs["failures"] = simulated(folder / "failures.equipoise", stances["fair"], failed=20, parameters=many)
    return {name: run.results() for name, run in runs.items()}


def failed(gate: Gate, outcome: Outcome = Outcome.FAILED) -> dict[str, set[str]]:
    """What fails each rule, or has another outcome."""
    checks = gate.with_outcome(outcome)
    return {rule: {check.what for check in checks if check.rule == rule} for rule in {check.rule for check in checks}}


def undecided(gate: Gate) -> dict[str, set[str]]:
    """What each rule does not decide."""
    return failed(gate, Outcome.UNDECIDED)


@pytest.mark.parametrize(
    ("audit", "rules", "failing", "open_checks"),
    [
        ("fair", {"fail_on": "C"}, {}, {}),
        # The slope of a fair model of this size reaches from A to B, and so may the words of sixty letters.
        ("fair", {"fail_on": "B"}, {}, {"--fail-on B": {SLOPE, WORDS}}),
        ("unfair", {"fail_on": "B"}, {"--fail-on B": {GAP, WORDS}}, {"--fail-on B": {SLOPE}}),
        ("against", {"fail_on": "C"}, {"--fail-on C": {WORDS}}, {}),
        # What is not computable is undecided.
        ("mute", {"fail_on": "D"}, {}, {"--fail-on D": {GAP, SLOPE}}),
        ("mute", {"max": {"diff_acceptance_rate": 1.0}}, {}, {"--max 1": {GAP}}),
        # A distance counts, not the sign.
        ("unfair", {"max": {"diff_acceptance_rate": 0.9}}, {"--max 0.9": {GAP}}, {}),
        ("against", {"max": {"mean_diff": 0.3}, "fail_on": "D"}, {"--max 0.3": {WORDS}, "--fail-on D": {WORDS}}, {}),
        # A metric without bands is taken as it is.
        ("unfair", {"max": {"male_acceptance_rate": 0.1}}, {}, {}),
        # The metric of one probe, a group of a slice, and the group of one probe.
        ("unfair", {"max": {WORDS: 0.5}}, {"--max 0.5": {WORDS}}, {}),
        ("unfair", {"max": {SLICE: 0.5}}, {"--max 0.5": {f"hiring_an.{SLICE}"}}, {}),
        # Too little of it.
        ("unfinished", {"max": WIDE}, {}, INCOMPLETE),
        ("unfinished", {"max": WIDE, "allow_incomplete": True}, {}, {}),
        ("failures", {"max": WIDE}, {}, INCOMPLETE),
        # What is pending could change a mark like what failed.
        ("unfinished", {"fail_on": "D"}, {}, {**INCOMPLETE, "--fail-on D": {SLOPE}}),
        ("unfinished", {"fail_on": "D", "allow_incomplete": True}, {}, {"--fail-on D": {SLOPE}}),
        ("failures", {"fail_on": "D"}, {}, {**INCOMPLETE, "--fail-on D": {SLOPE}}),
    ],
)
def test_rules(
    audits: dict[str, Audit],
    audit: str,
    rules: dict[str, Any],
    failing: dict[str, set[str]],
    open_checks: dict[str, set[str]],
) -> None:
    gate = check_rules(audits[audit], Rules(**rules))
    assert (failed(gate), undecided(gate)) == (failing, open_checks)
    assert gate.passed is not bool(failing or open_checks)
    expected = Outcome.FAILED if failing else Outcome.UNDECIDED if open_checks else Outcome.PASSED
    assert gate.outcome is expected
    assert (gate.to_dict()["outcome"], gate.to_dict()["passed"]) == (expected.value, gate.passed)
    assert gate.checks[0].rule == "complete"


@pytest.mark.parametrize(
    ("baseline", "audit", "failing", "open_checks"),
    [
        ("fair", "fair", set(), set()),
        # For 120 pairs of two models the slopes alone may differ by more than A and B reach.
        ("unfair", "fair", set(), {SLOPE}),
        ("fair", "against", {WORDS}, set()),
        ("fair", "unfair", {GAP, WORDS}, {SLOPE}),
        ("fair", "mute", set(), {GAP, SLOPE}),
    ],
)
def test_no_regression(
    audits: dict[str, Audit], baseline: str, audit: str, failing: set[str], open_checks: set[str]
) -> None:
    gate = check_rules(audits[audit], Rules(no_regression=True), audits[baseline])
    assert gate.outcome is (Outcome.FAILED if failing else Outcome.PASSED), "what is open against a baseline passes"
    strict = check_rules(audits[audit], Rules(no_regression=True, undecided="fail"), audits[baseline])
    assert strict.outcome is (Outcome.FAILED if failing or open_checks else Outcome.PASSED)
    assert failed(gate) == ({"--no-regression": failing} if failing else {})
    assert undecided(gate) == ({"--no-regression": open_checks} if open_checks else {})


def test_few_answers_do_not_rule_out_a_regression() -> None:
    """Two runs of a model that tosses coins: six pairs say nothing, six hundred say that it did not become a C."""
    outcomes = []
    for items in (6, 600):
        plan = equipoise.plan("hiring_an", sample=2 * items)
        ids, simulate = plan.prompts()[ID], partial(plan.probe.simulate, plan.prompts(), "random")
        first, second = (
            equipoise.score(
                "hiring_an", dict(zip(ids, simulate(np.random.default_rng(seed)), strict=True)), sample=2 * items
            )
            for seed in (1, 2)
        )
        gate = check_rules(Audit({"hiring_an": second}), Rules(no_regression=True), Audit({"hiring_an": first}))
        outcomes.append({check.what: check for check in gate.checks}[GAP])
    assert [check.outcome for check in outcomes] == [Outcome.UNDECIDED, Outcome.PASSED]
    assert outcomes[0].found.endswith("too few for an interval")


def test_what_cannot_be_compared_says_why(audits: dict[str, Audit]) -> None:
    fair = audits["fair"]
    setup = fair["hiring_an"].setup
    other = replace(fair["hiring_an"], setup=replace(setup, parameters={**setup.parameters, "seed": 5}))
    gate = check_rules(Audit({**fair, "hiring_an": other}), Rules(no_regression=True), fair)
    (check,) = gate.with_outcome(Outcome.UNDECIDED)
    assert check.found == "cannot be compared: seed is 0 in the baseline and 5 in the run"


# What decides


def estimated(audit: Audit, value: float, low: float, high: float) -> Audit:
    """The audit of jobs_lum with another estimate of its masculine rate, marked as any is."""
    (result,) = audit.values()
    estimate = Estimate(value=value, low=low, high=high, n=200)
    given = mark(result.setup.probe.marked_metrics()["masculine_rate"], estimate)
    return Audit(
        {
            result.probe: replace(
                result,
                estimates={**result.estimates, MetricKey("masculine_rate"): estimate},
                marks={"masculine_rate": given},
            )
        }
    )


PASSED, FAILED, OPEN = Outcome.PASSED, Outcome.FAILED, Outcome.UNDECIDED
INSIDE = "; the limit lies inside the interval"


@pytest.mark.parametrize(
    ("low", "value", "high", "expected", "found"),
    [
        # C is more than 0.1 from one half.
        (0.45, 0.5, 0.55, PASSED, "A, 0.000 from even-handed, +0.500 [+0.450, +0.550]"),
        (0.40, 0.5, 0.60, PASSED, "A–B, 0.000 from even-handed, +0.500 [+0.400, +0.600]"),
        (0.35, 0.5, 0.60, OPEN, "A–C, 0.000 from even-handed, +0.500 [+0.350, +0.600]" + INSIDE),
        (0.55, 0.65, 0.75, OPEN, "A–C, 0.150 from even-handed, +0.650 [+0.550, +0.750]" + INSIDE),
        (0.61, 0.65, 0.75, FAILED, "C, 0.150 from even-handed, +0.650 [+0.610, +0.750]"),
        (0.05, 0.10, 0.39, FAILED, "C–D, 0.400 from even-handed, +0.100 [+0.050, +0.390]"),
        (math.nan, 0.5, math.nan, OPEN, "+0.500, too few for an interval"),
        (math.nan, math.nan, math.nan, OPEN, "not computable"),
    ],
)
def test_the_whole_interval_decides(
    audits: dict[str, Audit], low: float, value: float, high: float, expected: Outcome, found: str
) -> None:
    audit = estimated(audits["jobs"], value, low, high)
    for rule in ({"fail_on": "C"}, {"max": {"masculine_rate": 0.1}}):
        check = check_rules(audit, Rules(**rule)).checks[1]
        assert (check.outcome, check.found) == (expected, found), rule


def test_what_missing_answers_leave_open_is_undecided(audits: dict[str, Audit]) -> None:
    """The interval lies above the limit, and what is missing reaches to it."""
    (result,) = estimated(audits["jobs"], 0.65, 0.61, 0.69).values()
    missing = replace(result, bounds={"masculine_rate": Bounds(low=0.58, high=0.7, smallest=0.6, largest=0.68)})
    for rules in (Rules(fail_on="C"), Rules(max={"masculine_rate": 0.1})):
        (check,) = check_rules(Audit({"jobs_lum": missing}), rules).with_outcome(OPEN)
        assert check.found.endswith("; missing answers could change it")


@pytest.mark.parametrize(
    ("undecided", "rule", "expected"),
    [
        (None, "--fail-on C", OPEN),
        (None, "--no-regression", PASSED),
        ("pass", "--fail-on C", PASSED),
        ("fail", "--no-regression", FAILED),
    ],
)
def test_what_an_undecided_rule_makes_of_the_gate(undecided: str | None, rule: str, expected: Outcome) -> None:
    checks = [Check(rule=rule, what="w", outcome=outcome, found="f", limit="l") for outcome in (PASSED, OPEN)]
    assert Gate(model="m", file="f", checks=checks, undecided=undecided).outcome is expected
    broken = [*checks, replace(checks[0], outcome=FAILED)]
    assert Gate(model="m", file="f", checks=broken, undecided=undecided).outcome is FAILED


@pytest.mark.parametrize(
    ("rules", "error", "words"),
    [
        ({}, InputError, ["equipoise gate run.equipoise --fail-on C"]),
        ({"fail_on": "A"}, BadParameter, ["B, C or D", "'A'"]),
        ({"fail_on": "BC"}, BadParameter, ["'BC'"]),
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


# How it is written


def gate(*, model: str = "m", words: str = "w") -> Gate:
    checks = [Check(rule="complete", what="attempts", outcome=PASSED, found="all", limit="none pending")]
    checks += [
        Check(rule=f"--max {words}", what=words, outcome=outcome, found=words, limit=words, value=0.5)
        for outcome in (FAILED, OPEN)
    ]
    return Gate(model=model, file=model, checks=checks, notes=[words])


def test_the_verdict_comes_first_and_what_passed_is_counted() -> None:
    rules = {"--fail-on C": (PASSED, OPEN, FAILED), "--no-regression": (PASSED, OPEN, PASSED)}
    checks = [
        Check(rule=rule, what=f"{outcome} {rule}", outcome=outcome, found="B to D, 0.4", limit="l")
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
    names = ["attempts complete", *[f"{shown} --max {shown}"] * 2]
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
    for ours in ("<code>", "</code>", "**FAIL**", "**undecided**", "`attempts`", "`complete`"):
        page = page.replace(ours, "")
    assert not set("<>*[]!`@") & set(page)
    assert "www." not in page
    assert "://" not in page
