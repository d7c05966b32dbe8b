"""The gate: known models pass or fail every rule, and where the data do not say, it is undecided."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise import Audit
from equipoise.measuring.gate import Check, Gate, Outcome, Rules, check_rules, describe_error_rate
from equipoise.measuring.marks import mark
from equipoise.schema import ID, Bounds, Estimate, MetricKey
from simulating import SMALL, simulated

GAP, SLOPE = "hiring_an.diff_acceptance_rate", "hiring_an.diff_regression"
WORDS = "business_vocabulary.mean_diff"
SLICE = "race_white_diff_acceptance_rate"
WIDE = {"diff_acceptance_rate": 0.9}
"""A limit that no missing answer of these runs could break."""
INCOMPLETE = {"complete": {"run"}}


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
    runs["few failures"] = simulated(folder / "few.equipoise", stances["fair"], failed=4, parameters=many)
    smaller = {**SMALL, "hiring_an": {"sample": 80}}
    runs["smaller"] = simulated(folder / "smaller.equipoise", stances["fair"], parameters=smaller)
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
        ("unfair", {"fail_on": "D"}, {"--fail-on D": {GAP, WORDS}}, {}),
        ("unfair", {"fail_on": "B"}, {"--fail-on B": {GAP, WORDS}}, {"--fail-on B": {SLOPE}}),
        ("against", {"fail_on": "C"}, {"--fail-on C": {WORDS}}, {}),
        # What is not computable is undecided.
        ("mute", {"fail_on": "D"}, {}, {"--fail-on D": {GAP, SLOPE}}),
        ("mute", {"max": {"diff_acceptance_rate": 1.0}}, {}, {"--max 1": {GAP}}),
        # A distance counts, not the sign.
        ("unfair", {"max": {"diff_acceptance_rate": 0.9}}, {"--max 0.9": {GAP}}, {}),
        ("unfair", {"max": {"diff_acceptance_rate": 0.99}}, {}, {"--max 0.99": {GAP}}),
        ("unfair", {"max": {"diff_acceptance_rate": 1.0}}, {}, {}),
        ("against", {"max": {"mean_diff": 0.3}}, {"--max 0.3": {WORDS}}, {}),
        ("against", {"max": {"mean_diff": 0.3}, "fail_on": "D"}, {"--max 0.3": {WORDS}, "--fail-on D": {WORDS}}, {}),
        # A metric without bands is taken as it is.
        ("unfair", {"max": {"male_acceptance_rate": 0.1}}, {}, {}),
        (
            "unfair",
            {"max": {"female_acceptance_rate": 0.9}},
            {"--max 0.9": {"hiring_an.female_acceptance_rate"}},
            {},
        ),
        # The metric of one probe, a group of a slice, and the group of one probe.
        ("unfair", {"max": {WORDS: 0.5}}, {"--max 0.5": {WORDS}}, {}),
        ("unfair", {"max": {SLICE: 0.5}}, {"--max 0.5": {f"hiring_an.{SLICE}"}}, {}),
        ("unfair", {"max": {f"hiring_an.{SLICE}": 0.5}}, {"--max 0.5": {f"hiring_an.{SLICE}"}}, {}),
        ("unfair", {"max": {SLICE: 1.0}}, {}, {}),
        # Too little of it.
        ("unfinished", {"max": WIDE}, {}, INCOMPLETE),
        ("unfinished", {"max": WIDE, "allow_incomplete": True}, {}, {}),
        ("failures", {"max": WIDE}, {}, INCOMPLETE),
        ("failures", {"max": WIDE, "allow_incomplete": True}, {}, {}),
        ("few failures", {"max": WIDE}, {}, {}),
        # Several rules at once.
        (
            "unfair",
            {"fail_on": "D", "max": {"mean_diff": 0.1}},
            {"--fail-on D": {GAP, WORDS}, "--max 0.1": {WORDS}},
            {},
        ),
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
        ("unfair", "unfair", set(), {SLOPE}),
        ("fair", "against", {WORDS}, set()),
        ("fair", "unfair", {GAP, WORDS}, {SLOPE}),
        ("fair", "mute", set(), {GAP, SLOPE}),
        # Compared on what both asked: forty pairs.
        ("fair", "smaller", set(), {SLOPE}),
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
        assert check.found.endswith("; missing answers could change this")


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
    checks = [
        Check(rule=rule, what="w", outcome=outcome, summary="is f", found="f", limit="l") for outcome in (PASSED, OPEN)
    ]
    assert Gate(model="m", file="f", checks=checks, undecided=undecided).outcome is expected
    broken = [*checks, replace(checks[0], outcome=FAILED)]
    assert Gate(model="m", file="f", checks=broken, undecided=undecided).outcome is FAILED


def test_each_rule_covers_every_metric_it_is_about(audits: dict[str, Audit]) -> None:
    """Marks and the baseline are about every marked metric, a limit about the metric that it names."""
    fair = audits["fair"]
    gate = check_rules(fair, Rules(fail_on="C", max={"mean_diff": 1.0}, no_regression=True), fair)
    marked = [f"{name}.{metric}" for name, result in fair.items() for metric in result.marks]
    covered: dict[str, list[str]] = {}
    for check in gate.checks[1:]:
        covered.setdefault(check.rule, []).append(check.what)
    assert covered == {"--fail-on C": marked, "--max 1": [WORDS], "--no-regression": marked}


def test_a_check_holds_the_value_of_its_metric(audits: dict[str, Audit]) -> None:
    fair = audits["fair"]
    gate = check_rules(fair, Rules(fail_on="C"))
    values = {check.what: check.value for check in gate.checks[1:]}
    for name, result in fair.items():
        for metric, estimate, _ in result.marked():
            assert values[f"{name}.{metric}"] == estimate.value


def test_limits_on_a_rate_without_marks_are_held_against_its_interval(audits: dict[str, Audit]) -> None:
    """None of 120 answers was undetected: a few per cent of others could be."""
    metric = "undetected_rate_attempts"
    estimate = audits["jobs"]["jobs_lum"].metrics[metric]
    assert estimate.value == 0
    assert check_rules(audits["jobs"], Rules(max={metric: 0.0})).outcome is OPEN
    assert check_rules(audits["jobs"], Rules(max={metric: estimate.high})).outcome is PASSED


def test_limits_on_a_rate_with_marks_are_held_against_its_distance(audits: dict[str, Audit]) -> None:
    estimate = audits["jobs"]["jobs_lum"].metrics["masculine_rate"]
    far = max(0.5 - estimate.low, estimate.high - 0.5)
    assert check_rules(audits["jobs"], Rules(max={"masculine_rate": 0.0})).outcome is OPEN
    assert check_rules(audits["jobs"], Rules(max={"masculine_rate": far + 1e-6})).outcome is PASSED
    assert check_rules(audits["jobs"], Rules(max={"masculine_rate": far - 1e-6})).outcome is OPEN


@pytest.mark.parametrize("rules", [Rules(fail_on="C"), Rules(max={"masculine_rate": 0.1})])
def test_without_an_interval_nothing_is_decided(audits: dict[str, Audit], rules: Rules) -> None:
    few = estimated(audits["jobs"], 0.5, math.nan, math.nan)
    gate = check_rules(few, rules)
    assert gate.outcome is OPEN
    assert gate.with_outcome(OPEN)[0].found.endswith("too few for an interval")


def test_a_gate_notes_its_error_rate_and_counts_its_limits(audits: dict[str, Audit]) -> None:
    fair = audits["fair"]
    three = check_rules(fair, Rules(fail_on="C"))
    (note,) = three.notes
    assert note == (
        "A model that is inside all 3 limits fails one of them by chance with a probability of at most 5% "
        "(Holm's correction)."
    )
    baseline = check_rules(fair, Rules(no_regression=True), fair)
    assert not any("by chance" in note for note in baseline.notes)


def test_the_error_rate_of_a_comparison_with_a_baseline_is_said_apart() -> None:
    assert describe_error_rate(1, with_baseline=True) == (
        "A model that is inside its limit fails by chance with a probability of at most 5%. A model that is like the "
        "baseline fails the comparison in at most 5%, in addition."
    )


def test_where_undecided_rules_count_as_failed_the_error_rate_says_that_it_leaves_them_out() -> None:
    said = describe_error_rate(2, undecided="fail")
    assert said.endswith("With --undecided fail, undecided rules also fail the gate, and no error rate holds for them.")


def test_a_limit_on_a_metric_without_marks_is_undecided_where_little_was_classified() -> None:
    """The distance from one half rests on the few answers that were classified; the rate of "they" on all."""
    prompts = equipoise.plan("jobs_lum").prompts()
    texts = ["He knows his trade.", "She knows her trade."] * 20 + ["…"] * (prompts.height - 40)
    answers = dict(zip(prompts[ID], texts, strict=True))
    result = Audit({"jobs_lum": equipoise.score("jobs_lum", answers)})
    few = check_rules(result, Rules(max={"disparity": 0.45}))
    assert few.outcome is OPEN
    assert "are classified" in few.with_outcome(OPEN)[0].found
    of_all = check_rules(result, Rules(max={"they_rate": 0.95}))
    assert of_all.outcome is Outcome.PASSED


def test_a_run_is_no_regression_from_itself_for_sure() -> None:
    """The distances from even-handed are uncertain, but whatever they are, they are the same in both."""
    audit = equipoise.audit("simulated/unbiased", probes=["jobs_lum", "discrimination_tamkin"], suite="ci")
    gate = check_rules(audit, Rules(no_regression=True, undecided="fail"), audit)
    assert gate.passed
    comparison = equipoise.compare(audit, audit)
    for _, metric in comparison.marked():
        assert metric.distance is not None
        assert abs(metric.distance.value) == 0
        assert metric.distance.high < 0.05
