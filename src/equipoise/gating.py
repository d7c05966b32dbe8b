"""A gate for pipelines: rules on a run, each of them kept or broken. What cannot be judged is broken."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from equipoise.comparing import SURE, Comparison, Verdict, compare_runs
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.frames import MEASURED, Status
from equipoise.probe import MARKS, Bands, Probe
from equipoise.probes import get
from equipoise.results import Result, interval
from equipoise.run import Run
from equipoise.runs import ALLOW_MISSING, missing_share
from equipoise.stats.resample import Estimate

EXAMPLE = "equipoise gate run.equipoise --fail-on C"
NOT_COMPUTABLE = "not computable"
SIDES = ("worst", "value", "best")
"""What decides where an interval reaches over a limit: its far end, the value itself, its near end."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a run must keep to."""

    fail_on: str | None = None
    """No marked metric may have this mark or a worse one."""
    limits: Sequence[tuple[str, float]] = ()
    """`metric` or `probe.metric`, and how far from even-handed it may be; a metric without marks, how large."""
    no_regression: bool = False
    """No marked metric may be clearly worse than in the baseline."""
    uncertain: str = "value"
    """One of SIDES. The value is the default because it is also the mark that every report shows."""
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
    """The verdict on a run."""

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


def judge(run: Run, rules: Rules, baseline: Run | None = None) -> Gate:
    """Check a run against rules, and against a baseline if there may be no regression."""
    if rules.no_regression and baseline is None:
        raise InputError("--no-regression needs a run to compare with: --baseline RUN")
    if baseline is not None and not rules.no_regression:
        raise InputError("--baseline is only used by --no-regression: give both, or neither.")
    results = list(run.results().values())
    if (rules.fail_on or rules.no_regression) and not any(result.marks for result in results):
        raise InputError(f"No metric in {run.path} has marks. Use --max metric=value instead.")
    checks = [_complete(run, allowed=rules.allow_incomplete)]
    notes: list[str] = []
    if rules.fail_on:
        checks += _marks(results, rules.fail_on, rules.uncertain)
        notes += _uncertain(results, rules.uncertain)
    for name, limit in rules.limits:
        checks += _limits(results, name, limit, rules.uncertain)
    if baseline is not None:
        comparison = compare_runs(baseline, run, names=("the baseline", "the run"))
        checks += _regressions(comparison)
        notes += comparison.notes
    return Gate(model=run.model, file=str(run.path), checks=checks, notes=notes)


def _complete(run: Run, *, allowed: bool) -> Check:
    measured = sum(run.counts[status] for status in MEASURED)
    whole = run.complete and missing_share(run.counts) <= ALLOW_MISSING
    found = f"{measured:,} of {run.size:,} attempts answered, {run.counts[Status.PENDING]:,} pending"
    return Check(
        rule="complete",
        what="attempts",
        passed=whole or allowed,
        found=found + ("" if whole or not allowed else " (allowed)"),
        limit=f"none pending, at most {ALLOW_MISSING:.0%} without an answer",
    )


def _uncertain(results: Sequence[Result], side: str) -> Iterator[str]:
    marks = [mark for result in results for mark in result.marks.values() if mark is not None]
    if unsure := sum(not mark.certain for mark in marks):
        yield f"{unsure} of {len(marks)} marks are uncertain and judged by {side} (--uncertain {'|'.join(SIDES)})"


def _marks(results: Sequence[Result], fail_on: str, side: str) -> Iterator[Check]:
    for result in results:
        for name, estimate, mark in result.marked():
            judged = None if mark is None else {"worst": mark.worst, "value": mark.mark, "best": mark.best}[side]
            found = NOT_COMPUTABLE if mark is None else f"{mark}, {interval(estimate)}"
            if mark is not None and judged != mark.mark:
                found += f", judged as {judged}"
            yield Check(
                rule=f"--fail-on {fail_on}",
                what=f"{result.probe}.{name}",
                passed=judged is not None and judged < fail_on,
                found=found,
                limit=f"better than {fail_on}",
                value=_number(estimate.value),
            )


def _limits(results: Sequence[Result], name: str, limit: float, side: str) -> Iterator[Check]:
    """A limit on every metric of this name, slices included."""
    found = [(result, own) for result in results for own in result.metrics if name in (own, f"{result.probe}.{own}")]
    if not found:
        raise _unknown(results, name)
    for result, own in found:
        yield _limit(result, own, limit, side)


def _limit(result: Result, name: str, limit: float, side: str) -> Check:
    bands, estimate = _bands(get(result.probe), name), result.metrics[name]
    if bands and limit < 0:
        raise BadParameter(f"The limit of {name} is a distance from even-handed, 0 or more. Got {limit} instead.")
    judged = _judged(bands, estimate, side)
    known = not math.isnan(judged)
    words = f"{judged:.3f}{' from even-handed' * bool(bands)}{f' at {side}' * (side != 'value')}"
    return Check(
        rule=f"--max {limit:g}",
        what=f"{result.probe}.{name}",
        passed=known and judged <= limit,
        found=f"{words}, {interval(estimate)}" if known else NOT_COMPUTABLE,
        limit=f"at most {limit:g}",
        value=_number(estimate.value),
    )


def _judged(bands: Bands | None, estimate: Estimate, side: str) -> float:
    """The distance (or the value, where there are no bands) that is held against a limit. NaN: not computable."""
    if math.isnan(estimate.value) or math.isnan(estimate.low):
        return math.nan
    if side == "value":
        return bands.distance(estimate.value) if bands else estimate.value
    # The interval is read as for marks: never narrower than the rule of three allows.
    room = 3 / max(estimate.n, 1)
    low, high = min(estimate.low, estimate.value - room), max(estimate.high, estimate.value + room)
    if bands is None:
        return high if side == "worst" else low
    if side == "worst":
        return max(bands.distance(low), bands.distance(high))
    return bands.distance(min(max(bands.centre, low), high))


def _bands(probe: Probe, name: str) -> Bands | None:
    """The bands of a metric; a slice is read as the metric it is a slice of."""
    metrics = {metric.name: metric.bands for metric in probe.all_metrics()}
    own = max((base for base in metrics if name == base or name.endswith(f"_{base}")), key=len)
    return metrics[own]


def _regressions(comparison: Comparison) -> Iterator[Check]:
    rule, limit = "--no-regression", f"not worse than the baseline with p (Holm) < {SURE}"
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
            value=_number(metric.second),
        )
    for probe, reason in comparison.refused.items():
        yield Check(rule=rule, what=probe, passed=False, found=f"cannot be compared: {reason}", limit=limit)


def _unknown(results: Sequence[Result], name: str) -> UnknownName:
    """Who has a metric of this name, else the nearest names, else the marked ones: all would fill the screen."""
    known = {full for result in results for own in result.metrics for full in (own, f"{result.probe}.{own}")}
    owners = [full for full in known if full.endswith(f".{name.rpartition('.')[2]}")]
    near = owners or difflib.get_close_matches(name, known, cutoff=0.5)
    marked = [f"{result.probe}.{own}" for result in results for own in result.marks]
    return UnknownName("metric of this run", name, near or marked, "All metrics: equipoise show RUN --slices")


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
