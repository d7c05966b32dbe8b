"""A gate for pipelines: rules on an audit, each of them kept or broken. What cannot be judged is broken."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from equipoise.authoring import Bands
from equipoise.authoring.probe import MARKS
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.measuring.compare import SIGNIFICANCE, Comparison, Verdict, compare_audits, refuse_nothing_compared
from equipoise.measuring.marks import widened_interval
from equipoise.measuring.result import Audit, Result, format_interval
from equipoise.schema import ALLOW_MISSING, MEASURED, Estimate, MetricKey, Status, missing_share, without_nan

EXAMPLE = "equipoise gate run.equipoise --fail-on C"
NOT_COMPUTABLE = "not computable"
SIDES = ("worst", "value", "best")
"""What decides where an interval reaches over a limit: its far end, the value itself, its near end."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What an audit must comply with."""

    fail_on: str | None = None
    """No marked metric may have this mark or a worse one."""
    limits: Sequence[tuple[str, float]] = ()
    """A metric and how far from even-handed it may be; a metric without marks, how large.

    `metric` or `probe.metric` over all items, `metric@race:white` or `probe.metric@race:white` for a group of a slice.
    """
    no_regression: bool = False
    """No marked metric may be clearly worse than in the baseline."""
    uncertain: str = "value"
    """One of SIDES. The value is the default because it gives the mark that every report shows."""
    allow_incomplete: bool = False

    def __post_init__(self) -> None:
        if self.fail_on is not None and self.fail_on not in tuple(MARKS[1:]):
            raise BadParameter(
                f"A gate can fail on B, C or D: an A is as good as it gets. Got {self.fail_on!r} instead."
            )
        if self.uncertain not in SIDES:
            raise UnknownName("side of uncertainty", self.uncertain, SIDES)
        if not (self.fail_on or self.limits or self.no_regression):
            raise InputError(f"A gate needs a rule: --fail-on, --max or --no-regression. For example: {EXAMPLE}")


@dataclass(frozen=True, kw_only=True)
class Check:
    """One rule on one thing: whether it is kept, what was found and what is allowed."""

    rule: str
    what: str
    passed: bool
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

    @property
    def failed(self) -> list[Check]:
        """The rules that are broken."""
        return [check for check in self.checks if not check.passed]

    @property
    def passed(self) -> bool:
        """Whether all rules are kept."""
        return not self.failed

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return {
            "model": self.model,
            "file": self.file,
            "passed": self.passed,
            "checks": [asdict(check) for check in self.checks],
            "notes": list(self.notes),
        }


def judge(audit: Audit, rules: Rules, baseline: Audit | None = None) -> Gate:
    """Check an audit against rules, and against a baseline if there may be no regression."""
    if rules.no_regression and baseline is None:
        raise InputError("--no-regression needs a run to compare with: --baseline RUN")
    if baseline is not None and not rules.no_regression:
        raise InputError("--baseline is only used by --no-regression: give both, or neither.")
    results = list(audit.values())
    source = audit.path or audit.model or "the result"
    if (rules.fail_on or rules.no_regression) and not any(result.marks for result in results):
        raise InputError(f"No metric in {source} has marks. Use --max metric=value instead.")
    checks = [_check_complete(audit, allowed=rules.allow_incomplete)]
    notes: list[str] = []
    if rules.fail_on:
        checks += _check_marks(results, rules.fail_on, rules.uncertain)
        notes += _note_uncertain(results, rules.uncertain)
    for name, limit in rules.limits:
        checks += _check_limits(results, name, limit, rules.uncertain)
    if baseline is not None:
        comparison = compare_audits(baseline, audit, names=("the baseline", "the run"))
        refuse_nothing_compared(comparison, f"{baseline.path or baseline.model or 'the baseline'} and {source}")
        checks += _check_regressions(comparison)
        notes += comparison.notes
    return Gate(model=audit.model, file=str(audit.path or ""), checks=checks, notes=notes)


def _check_complete(audit: Audit, *, allowed: bool) -> Check:
    counts = audit.counts
    measured = sum(counts[status] for status in MEASURED)
    enough = audit.complete and missing_share(counts) <= ALLOW_MISSING
    found = f"{measured:,} of {audit.planned:,} attempts answered, {counts[Status.PENDING]:,} pending"
    return Check(
        rule="complete",
        what="attempts",
        passed=enough or allowed,
        found=f"{found} (allowed)" if allowed and not enough else found,
        limit=f"none pending, at most {ALLOW_MISSING:.0%} without an answer",
    )


def _note_uncertain(results: Sequence[Result], side: str) -> Iterator[str]:
    marks = [mark for result in results for mark in result.marks.values() if mark is not None]
    if uncertain := sum(not mark.certain for mark in marks):
        yield f"{uncertain} of {len(marks)} marks are uncertain and judged by {side} (--uncertain {'|'.join(SIDES)})"


def _check_marks(results: Sequence[Result], fail_on: str, side: str) -> Iterator[Check]:
    for result in results:
        for name, estimate, mark in result.marked():
            judged = None if mark is None else {"worst": mark.worst, "value": mark.mark, "best": mark.best}[side]
            found = NOT_COMPUTABLE if mark is None else f"{mark}, {format_interval(estimate)}"
            if mark is not None and judged != mark.mark:
                found += f", judged as {judged}"
            yield Check(
                rule=f"--fail-on {fail_on}",
                what=f"{result.probe}.{name}",
                passed=judged is not None and judged < fail_on,
                found=found,
                limit=f"better than {fail_on}",
                value=without_nan(estimate.value),
            )


def _check_limits(results: Sequence[Result], name: str, limit: float, side: str) -> Iterator[Check]:
    """Hold every metric, or group of a slice, of this name against a limit."""
    matches = [
        (result, key) for result in results for key in result.estimates if name in (str(key), f"{result.probe}.{key}")
    ]
    if not matches:
        raise _unknown(results, name)
    for result, key in matches:
        yield _check_limit(result, key, limit, side)


def _check_limit(result: Result, key: MetricKey, limit: float, side: str) -> Check:
    bands, estimate = result.setup.probe.marked_metrics().get(key.metric), result.estimates[key]
    if bands and limit < 0:
        raise BadParameter(f"The limit of {key} is a distance from even-handed, 0 or more. Got {limit} instead.")
    judged = _judged_value(bands, estimate, side)
    known = not math.isnan(judged)
    words = f"{judged:.3f}{' from even-handed' if bands else ''}{'' if side == 'value' else f' at {side}'}"
    return Check(
        rule=f"--max {limit:g}",
        what=f"{result.probe}.{key}",
        passed=known and judged <= limit,
        found=f"{words}, {format_interval(estimate)}" if known else NOT_COMPUTABLE,
        limit=f"at most {limit:g}",
        value=without_nan(estimate.value),
    )


def _judged_value(bands: Bands | None, estimate: Estimate, side: str) -> float:
    """The distance (or the value, where there are no bands) that is held against a limit. NaN: not computable."""
    if math.isnan(estimate.value) or math.isnan(estimate.low):
        return math.nan
    if side == "value":
        return bands.distance(estimate.value) if bands else estimate.value
    low, high = widened_interval(estimate)
    if bands is None:
        return high if side == "worst" else low
    if side == "worst":
        return max(bands.distance(low), bands.distance(high))
    return bands.distance(min(max(bands.centre, low), high))


def _check_regressions(comparison: Comparison) -> Iterator[Check]:
    rule, limit = "--no-regression", f"not worse than the baseline with p (Holm) < {SIGNIFICANCE}"
    for probe, metric in comparison.marked():
        found = NOT_COMPUTABLE
        if metric.p_holm is not None:
            found = f"{metric.verdict}: {metric.first:.3f} -> {metric.second:.3f}, p (Holm) {metric.p_holm:.3f}"
        yield Check(
            rule=rule,
            what=f"{probe}.{metric.metric}",
            passed=metric.verdict not in (Verdict.WORSE, Verdict.NOT_COMPUTABLE),
            found=found,
            limit=limit,
            value=without_nan(metric.second),
        )
    for probe, reason in comparison.refused.items():
        yield Check(rule=rule, what=probe, passed=False, found=f"cannot be compared: {reason}", limit=limit)


def _unknown(results: Sequence[Result], name: str) -> UnknownName:
    """Offer who has a metric of this name, else the nearest names, else the marked ones: all would fill the screen."""
    known = {full for result in results for key in result.estimates for full in (str(key), f"{result.probe}.{key}")}
    owners = [full for full in known if full.endswith(f".{name.rpartition('.')[2]}")]
    near = owners or difflib.get_close_matches(name, known, cutoff=0.5)
    marked = [f"{result.probe}.{metric}" for result in results for metric in result.marks]
    return UnknownName("metric of this run", name, near or marked, "All metrics: equipoise show RUN --slices")
