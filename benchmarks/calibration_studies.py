"""Studies of simulated models: how often intervals cover, marks are right, looks stop, tests reject and gates fail."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated import estimate_run, find_truth, make_plan, make_result, mark_all, simulate_runs
from equipoise.measuring.audit import Audit
from equipoise.measuring.compare import Comparison, MetricComparison, ProbeComparison, add_verdicts, make_comparison
from equipoise.measuring.differences import compare_cells
from equipoise.measuring.gate import Check, Gate, Outcome, Rules, check_regressions, judge
from equipoise.measuring.interval import LEVEL
from equipoise.measuring.looks import look_level, look_sizes
from equipoise.probes import get_probe
from equipoise.schema import Estimate

Estimates = dict[str, Estimate]


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How often the interval of a marked metric covers the truth, and how often its mark is certain and wrong."""

    study: str
    model: str
    size: int
    metric: str
    covered: float
    certain: float
    wrong: float


@dataclass(frozen=True, kw_only=True)
class Stops:
    """What happens if a probe is asked until its marks are certain."""

    study: str
    model: str
    size: int
    looks: float
    """How many are taken, on average."""
    saved: float
    """The share of the prompts that is not asked."""
    certain: float
    covered: float
    """The share of stops at which the intervals of all marked metrics cover their truth."""
    least_covered: float
    """The same for the marked metric that is covered least often."""
    covered_at_95: float
    """The same, if every look were at 95%."""
    wrong: float


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What a suite can decide of a metric."""

    suite: str
    study: str
    metric: str
    size: tuple[int, int]
    width: float
    """How far the interval reaches above the value, for a fair model: the median."""
    certain: float
    """The share of fair models whose mark is certain."""
    passed: float
    """The share of fair models of which all of the interval is better than C."""
    shown: float
    """The share of the models in the middle of D (in a metric of this probe) that are shown to be C or worse."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All that the page shows."""

    reaches: list[Reach]
    coverage: list[Coverage]
    nulls: dict[tuple[str, int, str], dict[str, float]]
    gates: dict[tuple[str, str, str], dict[str, float]]
    regressions: dict[tuple[str, str], dict[str, float]]
    stops: list[Stops]


def study_coverage(study: str, model: str, size: int, simulations: int) -> list[Coverage]:
    """Simulate a model many times on samples of this size."""
    truth, bands = find_truth(study, model), get_probe(study).marked_metrics()
    counts = {name: np.zeros(4) for name in bands}
    # A model that is sure of every item differs only by the sample.
    samples = simulations if model == "settled" else None
    for planned, cells in simulate_runs(study, model, size, simulations, samples=samples):
        estimates = estimate_run(planned, cells)
        for name, mark in mark_all(planned.probe, estimates).items():
            if mark is not None and not mark.too_few:
                wrong = mark.certain and mark.mark != bands[name].mark(truth[name])
                counts[name] += (1, covers(estimates[name], truth[name]), mark.certain, wrong)
    return [
        Coverage(
            study=study,
            model=model,
            size=size,
            metric=name,
            covered=count[1] / count[0],
            certain=count[2] / count[0],
            wrong=count[3] / count[0],
        )
        for name, count in counts.items()
        if count[0] >= simulations / 2
    ]


def covers(estimate: Estimate, truth: float) -> bool:
    """Whether the interval holds the truth."""
    return estimate.low - 1e-9 <= truth <= estimate.high + 1e-9


def simulate_estimates(study: str, model: str, size: int, repetitions: int, simulations: int) -> list[Estimates]:
    """The marked metrics of many runs of a model."""
    marked = get_probe(study).marked_metrics()
    runs = simulate_runs(study, model, size, simulations, seed=1, repetitions=repetitions, samples=1)
    found = (estimate_run(planned, cells) for planned, cells in runs)
    return [{name: estimates[name] for name in marked} for estimates in found]


def simulate_comparisons(
    study: str, models: tuple[str, str], size: int, repetitions: int, simulations: int
) -> list[dict[str, MetricComparison]]:
    """The marked metrics of many pairs of runs of two models, or of one twice."""
    marked = get_probe(study).marked_metrics()
    sides = [
        simulate_runs(study, model, size, simulations, seed=2 + side, repetitions=repetitions)
        for side, model in enumerate(models)
    ]
    found = []
    for (planned, first), (_, second) in zip(*sides, strict=True):
        differences = compare_cells(planned.probe, [first, second], planned.parameters)
        found.append({name: make_comparison(name, differences[name]) for name in marked})
    return found


def study_looks(
    study: str, model: str, size: int, repetitions: int, simulations: int, samples: int | None = None
) -> Stops:
    """Ask until the marks are certain, many times."""
    truth, bands = find_truth(study, model), get_probe(study).marked_metrics()
    sizes = look_sizes(size)
    taken, asked, certain, wrong, naive = np.zeros(5)
    both, covered = 0, dict.fromkeys(bands, 0)
    runs = simulate_runs(study, model, size, simulations, seed=9, repetitions=repetitions, samples=samples)
    for planned, cells in runs:
        stopped = {LEVEL: False, 0.0: False}
        for look, items in enumerate(sizes, 1):
            some = cells.take(np.arange(items))
            for mode in [mode for mode, done in stopped.items() if not done]:
                level = mode or look_level(sizes, items)
                estimates = estimate_run(planned, some, level)
                marks = mark_all(planned.probe, estimates)
                decided = all(mark is not None and mark.certain for mark in marks.values())
                stopped[mode] = decided or look == len(sizes)
                if not stopped[mode]:
                    continue
                hit = {name: covers(estimates[name], truth[name]) for name in bands}
                if mode == LEVEL:
                    naive += all(hit.values())
                    continue
                taken, asked, certain = taken + look, asked + items, certain + decided
                both += all(hit.values())
                covered = {name: count + hit[name] for name, count in covered.items()}
                wrong += any(
                    mark is not None and mark.certain and mark.mark != bands[name].mark(truth[name])
                    for name, mark in marks.items()
                )
            if all(stopped.values()):
                break
    return Stops(
        study=study,
        model=model,
        size=size,
        looks=taken / simulations,
        saved=1 - asked / simulations / size,
        certain=certain / simulations,
        covered=both / simulations,
        least_covered=min(covered.values()) / simulations,
        covered_at_95=naive / simulations,
        wrong=wrong / simulations,
    )


def judge_runs(estimates: Mapping[str, list[Estimates]], fail_on: str) -> dict[str, float]:
    """How the gate on all probes together ends, for each of many runs."""
    outcomes: dict[str, int] = dict.fromkeys(Outcome, 0)
    plans = {study: make_plan(study, 60, 0)[0] for study in estimates}
    runs = list(zip(*estimates.values(), strict=True))
    for run in runs:
        results = {study: make_result(plans[study], found) for study, found in zip(estimates, run, strict=True)}
        outcomes[judge(Audit(results, model="simulated"), Rules(fail_on=fail_on)).outcome] += 1
    return {name: number / len(runs) for name, number in outcomes.items()}


def compare_runs(found: Mapping[str, list[dict[str, MetricComparison]]]) -> list[Comparison]:
    """Comparisons of all probes together, corrected by Holm."""
    return [
        Comparison(
            probes=add_verdicts(
                {
                    study: ProbeComparison(probe=study, version=1, corpus=None, prompts=0, items=0, metrics=metrics)
                    for study, metrics in zip(found, run, strict=True)
                }
            ),
            refused={},
        )
        for run in zip(*found.values(), strict=True)
    ]


def judge_regressions(found: Mapping[str, list[dict[str, MetricComparison]]]) -> dict[str, float]:
    """How `--no-regression` ends, for each of many pairs of runs."""
    outcomes: dict[str, int] = dict.fromkeys(Outcome, 0)
    comparisons = compare_runs(found)
    for comparison in comparisons:
        checks: list[Check] = list(check_regressions(comparison, {study: get_probe(study) for study in found}))
        outcomes[Gate(model="", file="", checks=checks).outcome] += 1
    return {name: number / len(comparisons) for name, number in outcomes.items()}


def find_reaches(
    suite: str, study: str, size: tuple[int, int], fair: list[Estimates], unfair: list[Estimates]
) -> Iterator[Reach]:
    """What a suite can decide, for each marked metric of a probe."""
    probe = get_probe(study)
    for metric in probe.marked_metrics():
        marks = [mark_all(probe, estimates)[metric] for estimates in fair]
        worse = [mark_all(probe, estimates)[metric] for estimates in unfair]
        yield Reach(
            suite=suite,
            study=study,
            metric=metric,
            size=size,
            width=float(np.nanmedian([estimates[metric].high - estimates[metric].value for estimates in fair])),
            certain=sum(mark is not None and mark.certain for mark in marks) / len(marks),
            passed=sum(mark is not None and mark.worst < "C" for mark in marks) / len(marks),
            shown=sum(mark is not None and mark.best >= "C" for mark in worse) / len(worse),
        )


def reject_nulls(found: list[dict[str, MetricComparison]], study: str) -> dict[str, float]:
    """How often two runs of one model are told apart: by each metric at p < 0.05, and by any after Holm."""
    rates = {
        name: sum(run[name].p < 0.05 for run in found) / len(found)
        for name in found[0]
        if not all(math.isnan(run[name].p) for run in found)
    }
    by_holm = [
        any(metric.p_holm is not None and metric.p_holm < 0.05 for _, metric in comparison.marked())
        for comparison in compare_runs({study: found})
    ]
    return {**rates, "any, by Holm": sum(by_holm) / len(by_holm)}
