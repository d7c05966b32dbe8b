"""A gate for pipelines: rules on an audit. Each is passed, failed, or undecided where the data do not say."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from msgspec import Struct

from equipoise.authoring import Bands, Probe
from equipoise.authoring.metrics import MARKS
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.measuring.bounds import bound_keys
from equipoise.measuring.compare import SIGNIFICANCE, Comparison, compare_audits, format_p, refuse_nothing_compared
from equipoise.measuring.differences import Verdict
from equipoise.measuring.marks import (
    MIN_READ_SHARE,
    describe_low_coverage,
    find_read_share,
    nearest_and_farthest,
)
from equipoise.measuring.result import ORIGINS, Audit, Result, format_interval
from equipoise.measuring.summarise import cells, without_clusters
from equipoise.schema import ALLOW_MISSING, NEITHER, Bounds, MetricKey, Status, without_nan
from equipoise.stats.intervals import width_factor
from equipoise.stats.multiple_testing import holm

EXAMPLE = "equipoise gate run.equipoise --fail-on C"
NO_REGRESSION = "--no-regression"
COUNTS_AS = ("pass", "fail")
"""What an undecided gate can be counted as."""


class Outcome(StrEnum):
    """What a rule says."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    """The data do not say: there are too few, or missing answers or the correction leave it open."""


SUMMARIES_OF_REGRESSIONS = {
    Outcome.FAILED: "is worse than in the baseline",
    Outcome.UNDECIDED: "could be worse than in the baseline",
    Outcome.PASSED: "is not worse than in the baseline",
}


class Rules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an audit must comply with, by the names of the options of `equipoise gate`."""

    fail_on: str | None = None
    """No marked metric may have this mark or a worse one."""
    max: dict[str, float] = {}
    """Metrics and how far from even-handed each may be; one without marks, how large.

    `metric` or `probe.metric` over all items, `race_white_metric` or `probe.race_white_metric` for a group of a slice.
    """
    no_regression: bool = False
    """No marked metric may be clearly worse than in the baseline."""
    undecided: str | None = None
    """One of COUNTS_AS. By default an undecided rule makes the gate undecided, except `no_regression`:
    undecided comparisons are listed, and the gate passes."""
    allow_incomplete: bool = False

    def __post_init__(self) -> None:
        if self.fail_on is not None and self.fail_on not in tuple(MARKS[1:]):
            raise BadParameter(f"A gate can fail on B, C or D: A is the best mark. Got {self.fail_on!r} instead.")
        if self.undecided not in (None, *COUNTS_AS):
            raise UnknownName("outcome of an undecided gate", self.undecided, COUNTS_AS)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One rule on one thing: what it says, what was found and what is allowed."""

    rule: str
    what: str
    outcome: Outcome
    summary: str
    """What a headline says after the name: "is D"."""
    found: str
    limit: str
    value: float | None = None


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The verdict on an audit."""

    model: str
    file: str
    checks: Sequence[Check]
    notes: Sequence[str] = ()
    undecided: str | None = None
    """What the rules count an undecided gate as."""

    def with_outcome(self, outcome: Outcome) -> list[Check]:
        """The checks that have this outcome."""
        return [check for check in self.checks if check.outcome is outcome]

    @property
    def tolerated(self) -> list[Check]:
        """The undecided checks with which the gate passes all the same: by default those against the baseline."""
        if self.undecided == "fail":
            return []
        undecided = self.with_outcome(Outcome.UNDECIDED)
        return [check for check in undecided if self.undecided == "pass" or check.rule == NO_REGRESSION]

    @property
    def outcome(self) -> Outcome:
        """Failed if any rule failed; else undecided if any is undecided and not tolerated; else passed."""
        undecided = self.with_outcome(Outcome.UNDECIDED)
        if self.with_outcome(Outcome.FAILED) or (undecided and self.undecided == "fail"):
            return Outcome.FAILED
        return Outcome.PASSED if len(undecided) == len(self.tolerated) else Outcome.UNDECIDED

    @property
    def passed(self) -> bool:
        """Whether all rules are passed."""
        return self.outcome is Outcome.PASSED

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return {**asdict(self), "outcome": self.outcome, "passed": self.passed}


def worst_outcome(gates: Sequence[Gate]) -> Outcome:
    """How several runs together did: failed if one is, else undecided if one is, else passed."""
    outcomes = [gate.outcome for gate in gates]
    return next((one for one in (Outcome.FAILED, Outcome.UNDECIDED) if one in outcomes), Outcome.PASSED)


def check_rules(audit: Audit, rules: Rules, baseline: Audit | None = None) -> Gate:
    """Check an audit against rules, and against a baseline if there may be no regression."""
    if not (rules.fail_on or rules.max or rules.no_regression):
        raise InputError(f"A gate needs a rule: --fail-on, --max or --no-regression. For example: {EXAMPLE}")
    if rules.no_regression and baseline is None:
        raise InputError("--no-regression needs a run to compare with: --baseline RUN")
    if baseline is not None and not rules.no_regression:
        raise InputError("--baseline is only used by --no-regression: give both, or neither.")
    results = list(audit.values())
    source = audit.path or audit.model or "the result"
    if (rules.fail_on or rules.no_regression) and not any(result.marks for result in results):
        raise InputError(f"No metric in {source} has marks. Use --max metric=value instead.")
    checks = [_check_complete(audit, allowed=rules.allow_incomplete)]
    notes = [*filter(None, [ORIGINS[audit.origin]])]
    limits = [*_limits_of_marks(results, rules), *_limits_of_metrics(results, rules)]
    checks += check_limits(_add_bounds(results, limits))
    if limits:
        with_baseline = baseline is not None
        notes.append(describe_error_rate(len(limits), with_baseline=with_baseline, undecided=rules.undecided))
    if baseline is not None:
        (comparison,) = compare_audits([baseline, audit], ("the baseline", "the run"))
        refuse_nothing_compared([comparison], f"{baseline.path or baseline.model or 'the baseline'} and {source}")
        checks += _check_regressions(comparison, {result.probe: result.setup.probe for result in results})
        notes += comparison.notes
    return Gate(model=audit.model, file=str(audit.path or ""), checks=checks, notes=notes, undecided=rules.undecided)


def _check_complete(audit: Audit, *, allowed: bool) -> Check:
    pending = audit.counts[Status.PENDING]
    enough = not pending and audit.counts.missing_share <= ALLOW_MISSING
    answered = f"{audit.counts.answered:,} of {audit.counts.planned:,} attempts answered"
    found = f"{answered}, {pending:,} pending"
    summary = f"is complete: {answered}"
    if not enough:
        found = f"incomplete: {found}"
        summary = f"is incomplete: {answered}"
    if allowed and not enough:
        found += " (allowed)"
    return Check(
        rule="complete",
        what="run",
        outcome=_decide(fails=False, passes=enough or allowed),
        summary=summary,
        found=found,
        limit=f"none pending, at most {ALLOW_MISSING:.0%} without an answer",
    )


@dataclass(frozen=True, kw_only=True)
class Limit:
    """How far from even-handed a metric may be, or how large one without marks."""

    result: Result
    key: MetricKey
    limit: float
    rule: str
    allowed: str
    bounds: Bounds | None = None
    """What the missing answers allow; None if nothing is missing that the metric rests on."""

    @property
    def bands(self) -> Bands | None:
        """The bands of the metric, if it has any."""
        return self.result.setup.probe.marked_metrics().get(self.key.metric)


def _limits_of_marks(results: Sequence[Result], rules: Rules) -> Iterator[Limit]:
    """The limits of `--fail-on`."""
    if not rules.fail_on:
        return
    worst = MARKS.index(rules.fail_on)
    for result in results:
        for name in result.marks:
            yield Limit(
                result=result,
                key=MetricKey(name),
                limit=result.setup.probe.marked_metrics()[name].limits[worst - 1],
                rule=f"--fail-on {rules.fail_on}",
                allowed=f"better than {rules.fail_on}",
            )


def _limits_of_metrics(results: Sequence[Result], rules: Rules) -> Iterator[Limit]:
    """The limits of `--max`."""
    for name, limit in rules.max.items():
        for result, key in _find_metric(results, name):
            if limit < 0 and key.metric in result.marks:
                raise BadParameter(
                    f"The limit of {key} is a distance from even-handed, 0 or more. Got {limit} instead."
                )
            yield Limit(
                result=result,
                key=key,
                limit=limit,
                rule=f"--max {limit:g}",
                allowed=f"at most {limit:g}",
            )


def _add_bounds(results: Sequence[Result], limits: Sequence[Limit]) -> list[Limit]:
    """The same limits with what the missing answers allow for the metric and the group of each."""
    bounds = {}
    for result in results:
        keys = [limit.key for limit in limits if limit.result is result]
        bounds[result.probe] = _find_bounds(result, keys)
    return [replace(limit, bounds=bounds[limit.result.probe].get(limit.key)) for limit in limits]


def _find_bounds(result: Result, keys: Sequence[MetricKey]) -> dict[MetricKey, Bounds]:
    """The bounds of metrics: those of the result, and others from the rows of its items."""
    probe = result.setup.probe
    bounds = {MetricKey(metric): bound for metric, bound in result.bounds.items()}
    others = [key for key in keys if key not in bounds and rests_on_classified(probe, key.metric)]
    coverage = result.coverage["all"]
    if others and coverage["detected"] < coverage["planned"]:
        table = without_clusters(probe, cells(result.item_rows))
        population = None
        if result.setup.repetitions > 1:
            population = result.setup.population
        bounds |= bound_keys(probe, table, result.parameters, others, result.level, population)
    return bounds


def check_limits(limits: Sequence[Limit]) -> list[Check]:
    """Check metrics against their limits; failures are corrected by Holm for the number of limits."""
    corrected = holm([_p_value(limit) for limit in limits])
    return [_check_limit(limit, p_value, len(limits)) for limit, p_value in zip(limits, corrected, strict=True)]


def describe_error_rate(limits: int, *, with_baseline: bool = False, undecided: str | None = None) -> str:
    """How often a gate with this many limits fails by chance, in a sentence or two."""
    inside = "inside its limit fails"
    if limits > 1:
        inside = f"inside all {limits} limits fails one of them"
    sentence = f"A model that is {inside} by chance with a probability of at most {SIGNIFICANCE:.0%}"
    if limits > 1:
        sentence += " (Holm's correction)"
    if with_baseline:
        sentence += (
            f". A model that is like the baseline fails the comparison in at most {SIGNIFICANCE:.0%}, in addition"
        )
    if undecided == "fail":
        sentence += ". With --undecided fail, undecided rules also fail the gate, and no error rate holds for them"
    return f"{sentence}."


def _check_limit(limit: Limit, p_value: float, limits: int) -> Check:
    """Failed if all that is possible lies beyond the limit, passed if nothing does, else undecided.

    What is possible is the interval and what the missing answers allow.
    """
    result = limit.result
    key = limit.key
    estimate = result.estimates[key]
    mark = result.marks.get(key.metric)
    interval_alone = _possible_range(limit, with_missing=False)
    nearest, farthest = _possible_range(limit, with_missing=True)
    outcome = _decide(fails=p_value < SIGNIFICANCE, passes=farthest <= limit.limit)
    found = format_interval(estimate)
    has_interval = not math.isnan(estimate.low)
    if limit.bands and has_interval:
        found = f"{limit.bands.distance(estimate.value):.3f} from even-handed, {found}"
        if mark and key.slice is None:
            found = f"{mark.possible}, {found}"
    if outcome is Outcome.UNDECIDED and has_interval:
        if nearest > limit.limit:
            found += f"; beyond the limit, but not clearly enough after Holm's correction for {limits} limits"
        elif interval_alone[0] <= limit.limit < interval_alone[1]:
            found += "; the limit lies inside the interval"
        else:
            found += "; missing answers could change this"
    read_share = find_read_share(result.setup.probe, result.estimates, result.coverage["all"])
    is_open = outcome is not Outcome.FAILED
    if is_open and read_share < MIN_READ_SHARE and rests_on_classified(result.setup.probe, key.metric):
        outcome = Outcome.UNDECIDED
        found = f"{describe_low_coverage(read_share)}, {found}"
    return Check(
        rule=limit.rule,
        what=f"{result.probe}.{key}",
        outcome=outcome,
        summary=_summarise(limit, outcome),
        found=found,
        limit=limit.allowed,
        value=without_nan(estimate.value),
    )


def _summarise(limit: Limit, outcome: Outcome) -> str:
    """What a headline says of a metric that was checked."""
    if outcome is Outcome.UNDECIDED:
        return "is undecided"
    mark = limit.result.marks.get(limit.key.metric)
    if mark and limit.key.slice is None:
        return f"is {mark.possible}"
    return f"is {limit.result.estimates[limit.key].value:.3f}"


def rests_on_classified(probe: Probe, metric: str) -> bool:
    """Whether a metric rests on the answers that could be classified, and not on all of them."""
    of_all = {f"{label}_rate" for label in probe.detector.counted_labels}
    of_all |= {f"{NEITHER}_mass{suffix}" for suffix in probe.masses}
    return metric not in of_all and not metric.startswith("undetected_rate")


def _p_value(limit: Limit) -> float:
    """The smallest error at which everything that is possible lies beyond the limit; 1 if none does."""
    if not _possible_range(limit, with_missing=True, error=1.0)[0] > limit.limit:
        return 1.0
    # The range grows as the error gets smaller: halve the gap between an error that fails and one that does not.
    low = -40.0
    high = 0.0
    for _ in range(50):
        middle = (low + high) / 2
        nearest, _ = _possible_range(limit, with_missing=True, error=10.0**middle)
        if nearest > limit.limit:
            high = middle
        else:
            low = middle
    return float(10.0**high)


def _possible_range(limit: Limit, *, with_missing: bool, error: float = SIGNIFICANCE) -> tuple[float, float]:
    """The smallest and the largest distance (or value, without bands) that is possible; NaN: not computable.

    `error` is that of the interval: 0.05 stands for the level of the result, which is higher in a run
    that looks several times.
    """
    estimate = limit.result.estimates[limit.key]
    if math.isnan(estimate.value):
        return math.nan, math.nan
    if math.isnan(estimate.low):  # too few for an interval: anything is possible
        low, high = -math.inf, math.inf
    else:
        level = limit.result.level
        factor = 1.0
        if error != SIGNIFICANCE:
            own_error = min(error * (1 - level) / SIGNIFICANCE, 1 - 1e-12)
            factor = width_factor(estimate.degrees, level, 1 - own_error)
        low = _stretch(estimate.value, estimate.low, factor)
        high = _stretch(estimate.value, estimate.high, factor)
        bounds = limit.bounds
        if bounds is not None and with_missing:
            low = _stretch(bounds.smallest, bounds.low, factor)
            high = _stretch(bounds.largest, bounds.high, factor)
    if limit.bands is None:
        return low, high
    nearest, farthest = nearest_and_farthest(limit.bands, low, high)
    return limit.bands.distance(nearest), limit.bands.distance(farthest)


def _stretch(value: float, end: float, factor: float) -> float:
    """The end of an interval that is wider by a factor. An end that is unknown stays so."""
    if math.isinf(end):
        return end
    return value + factor * (end - value)


def _decide(*, fails: bool, passes: bool) -> Outcome:
    if fails:
        return Outcome.FAILED
    return Outcome.PASSED if passes else Outcome.UNDECIDED


def _check_regressions(comparison: Comparison, probes: Mapping[str, Probe]) -> Iterator[Check]:
    """Check every marked metric against the baseline.

    That it is not clearly worse says little if the data are few. So the check is undecided unless they rule out that it
    is farther from even-handed by as much as A and B reach: that an even-handed model has become a C.
    """
    limit = "not clearly worse than the baseline"
    nothing = Check(
        rule=NO_REGRESSION,
        what="",
        outcome=Outcome.UNDECIDED,
        summary="is not computable",
        found="not computable",
        limit=limit,
    )
    for probe, metric in comparison.marked():
        check = replace(nothing, what=f"{probe}.{metric.metric}", value=without_nan(metric.second))
        if metric.p_holm is not None and metric.distance is not None:
            found = f"{metric.verdict}: {metric.first:.3f} -> {metric.second:.3f}, p (Holm) {format_p(metric.p_holm)}"
            allowed = probes[probe].marked_metrics()[metric.metric].limits[1]
            highest = metric.distance.high
            if metric.distance_bounds is not None:
                highest = max(highest, metric.distance_bounds.high)
            outcome = _decide(fails=metric.verdict is Verdict.WORSE, passes=highest <= allowed)
            summary = SUMMARIES_OF_REGRESSIONS[outcome]
            if math.isnan(highest):
                found += "; too few for an interval"
            elif outcome is Outcome.UNDECIDED:
                found += (
                    f"; undecided: it could be {highest:.3f} farther from even-handed, which is more than {allowed:g}, "
                    "the limit of B"
                )
            check = replace(check, outcome=outcome, summary=summary, found=found)
        yield check
    for probe, reason in comparison.refused.items():
        yield replace(nothing, what=probe, summary="cannot be compared", found=f"cannot be compared: {reason}")


def _find_metric(results: Sequence[Result], name: str) -> list[tuple[Result, MetricKey]]:
    """Every metric, or group of a slice, of this name; if there is none, offer the nearest names."""
    keys = [(result, key) for result in results for key in result.estimates]
    matches = [(result, key) for result, key in keys if name in (str(key), f"{result.probe}.{key}")]
    if matches:
        return matches
    known = [full for result, key in keys for full in (f"{result.probe}.{key}", str(key))]
    owners = [full for full in known if full.endswith(f".{name.rpartition('.')[2]}")]
    near = owners or difflib.get_close_matches(name, known, cutoff=0.5)
    marked = [f"{result.probe}.{metric}" for result in results for metric in result.marks]
    raise UnknownName("metric of this run", name, near or marked, "All metrics: equipoise show RUN --all")
