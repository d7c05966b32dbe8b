"""Gates on all probes together: each simulated run has one run of every probe.

The studies keep the estimates of each run. Here they are held against the limits of a gate, or
compared with a baseline, by the code behind `equipoise gate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.calibration.models import EVEN, SETTLED, STRONG
from benchmarks.calibration.runs import Findings, Row
from benchmarks.calibration.worlds import make_world
from equipoise.authoring import Bands, Probe
from equipoise.authoring.metrics import MARKS
from equipoise.measuring.compare import Comparison, ProbeComparison, _add_verdicts
from equipoise.measuring.differences import MetricComparison
from equipoise.measuring.gate import Limit, Outcome, _check_regressions, check_limits
from equipoise.measuring.marks import Mark, mark
from equipoise.measuring.result import Result
from equipoise.schema import Bounds, Estimate, MetricKey
from equipoise.stats.intervals import LEVEL

RULES: Mapping[str, Sequence[str]] = {EVEN: ("C", "D"), SETTLED: ("C", "D"), STRONG: ("C",)}
"""The rules that each model is held against; one just inside a limit is held against that."""


@dataclass(frozen=True, kw_only=True)
class SimulatedResult:
    """The parts of a Result that a limit looks at."""

    probe: str
    setup: Any
    estimates: Mapping[MetricKey, Estimate]
    marks: Mapping[str, Mark | None]
    level: float = LEVEL
    coverage: Mapping[str, Mapping[str, int]] = field(
        default_factory=lambda: {"all": {"planned": 1, "detected": 1, "undetected": 0}}
    )
    """All answers could be classified: the share that could only matters below one half."""


def bands_of(row: Row) -> Bands:
    """The bands of the metric of a row."""
    return _bands_of_study(row["study"])[row["metric"]]


@cache
def _bands_of_study(study: str) -> dict[str, Bands]:
    return make_world(study).probe.marked_metrics()


def judge_all(findings: Findings) -> Findings:
    """The findings with how all gates did, in two tables of their own."""
    suites = [row for row in findings.get("coverage", ()) if row["estimates"]]
    gates = judge_gates([*suites, *findings.get("gate limits", ())])
    regressions = judge_regressions(findings.get("pairs", ()))
    return {**findings, "gates": [*gates], "regressions": [*regressions]}


def judge_gates(rows: Sequence[Row]) -> Iterator[Row]:
    """For each size, model, loss and rule: how often a gate passes, fails and fails wrongly.

    It fails wrongly if a metric fails whose true mark is better than the rule.
    """
    groups: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["size"], row["model"], row.get("lost", 0.0)), []).append(row)
    for (size, model, lost), members in groups.items():
        for rule in RULES.get(model) or [members[0]["rule"]]:
            counts = {"passed": 0, "failed": 0, "wrongly": 0}
            runs = members[0]["runs"]
            for run in range(runs):
                for name, happened in _judge_run(members, run, rule).items():
                    counts[name] += happened
            about = {"size": size, "model": model, "lost": lost, "rule": rule, "runs": runs}
            yield {**about, **counts}


def _judge_run(rows: Sequence[Row], run: int, rule: str) -> dict[str, bool]:
    """Whether a gate on the metrics of one run passes, fails, and fails wrongly."""
    limits = [_make_limit(row, run, rule) for row in rows]
    checks = check_limits(limits)
    is_inside = [bands_of(row).mark(row["estimates"][run][4]) < rule for row in rows]
    failed = [check.outcome is Outcome.FAILED for check in checks]
    return {
        "passed": all(check.outcome is Outcome.PASSED for check in checks),
        "failed": any(failed),
        "wrongly": any(fails and inside for fails, inside in zip(failed, is_inside, strict=True)),
    }


def _make_limit(row: Row, run: int, rule: str) -> Limit:
    """The limit of `--fail-on` for one metric."""
    bands = bands_of(row)
    value, low, high, degrees, _, *packed_bounds = row["estimates"][run]
    estimate = Estimate(value=value, low=low, high=high, n=row.get("items", 0), degrees=degrees)
    key = MetricKey(row["metric"])
    setup = SimpleNamespace(probe=make_world(row["study"]).probe)
    bounds: Bounds | None = None
    if packed_bounds:
        smallest, largest, lowest, highest = packed_bounds
        bounds = Bounds(smallest=smallest, largest=largest, low=lowest, high=highest)
    result = SimulatedResult(
        probe=row["study"],
        setup=setup,
        estimates={key: estimate},
        marks={row["metric"]: mark(bands, estimate, bounds)},
    )
    return Limit(
        result=cast(Result, result),
        key=key,
        limit=bands.limits[MARKS.index(rule) - 1],
        rule=f"--fail-on {rule}",
        allowed=f"better than {rule}",
        bounds=bounds,
    )


def judge_regressions(rows: Sequence[Row]) -> Iterator[Row]:
    """For each pair of models how often `--no-regression` on all probes fails, and passes for sure.

    All of them have equal metrics, so that each failure is wrong.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["tests"] and row["equal_metrics"]:
            groups.setdefault((row["kind"], row["models"]), []).append(row)
    probes = {row["study"] for row in rows}
    for (kind, models), members in groups.items():
        if {row["study"] for row in members} != probes:
            continue
        failed = 0
        passed = 0
        runs = members[0]["runs"]
        for run in range(runs):
            outcomes = _judge_regression(members, run)
            failed += Outcome.FAILED in outcomes
            passed += all(outcome is Outcome.PASSED for outcome in outcomes)
        yield {"kind": kind, "models": models, "runs": runs, "failed": failed, "passed": passed}


def _judge_regression(rows: Sequence[Row], run: int) -> list[Outcome]:
    """The outcomes of the checks of all metrics of one run."""
    by_probe: dict[str, dict[str, MetricComparison]] = {}
    for row in rows:
        p_value, value, low, high = row["tests"][run]
        distance = Estimate(value=value, low=low, high=high, n=row["items"])
        by_probe.setdefault(row["study"], {})[row["metric"]] = MetricComparison(
            metric=row["metric"],
            first=0.0,
            second=0.0,
            difference=distance,
            p=p_value,
            p_answered=p_value,
            distance=distance,
        )
    compared = {
        name: ProbeComparison(
            setup=make_world(name).planned.setup, prompts=0, items=0, metrics=metrics
        )
        for name, metrics in by_probe.items()
    }
    (comparison,) = _add_verdicts([Comparison(probes=compared, refused={})])
    probes: dict[str, Probe] = {name: make_world(name).probe for name in compared}
    return [check.outcome for check in _check_regressions(comparison, probes)]
