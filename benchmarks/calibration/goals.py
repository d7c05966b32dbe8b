"""The goals of docs/calibration.md, and which of them the simulations miss.

Each goal is that something goes wrong in at most a given share of runs. It is missed if so many
runs went wrong that this is hardly chance: by the exact one-sided binomial test, with Holm's
correction over all goals of the page. What is computed exactly is compared with its goal as it
is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scipy.stats import binom

from benchmarks.calibration.jobs import SMALL, SMALL_SIZES
from benchmarks.calibration.models import ONE_ARM, STRONG
from benchmarks.calibration.runs import Findings, Row
from equipoise.stats.multiple_testing import holm

SIGNIFICANCE = 0.05
RATE_LEAST = 0.935
RATE_MEAN = 0.985
COVERED = 0.94
COVERED_SMALL = 0.93
"""For the smallest size that is simulated: 20 items, and 28 of `word_association`."""
WRONG = 0.025
WIDER = 1.15
WIDER_FROM = 100
UNITED = 0.945
WIDER_BY_ONE = 2.0
"""Times 1/n: how far one unread answer may widen the interval of a rate."""
GENERALISED = 0.93
REJECTED = 0.06
JUDGED = 0.05
FAILED = 0.05
UNFAIR = 0.06
CATEGORIES_COVERED = 0.94
ONE_OUTCOME_IS_RARE = (ONE_ARM,)
"""Models for which the plain linearised interval is too narrow."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """Something may go wrong in at most a share of the runs."""

    what: str
    happened: str
    """What went wrong: "does not cover"."""
    wrong: int
    runs: int
    allowed: float

    @property
    def p_value(self) -> float:
        """The chance of at least so many wrong runs, if the goal is just met."""
        return float(binom.sf(self.wrong - 1, self.runs, self.allowed))

    def describe(self) -> str:
        """What is missed, in a line."""
        share = self.wrong / self.runs
        found = f"{self.what}: {self.happened} in {share:.3f} of {self.runs:,} runs"
        return f"{found} (goal: at most {self.allowed:g})"


def list_goals(findings: Findings) -> Iterator[Goal]:
    """All goals that are tested."""
    for table in ("coverage", "repeated", "shares", "sparse"):
        for row in findings.get(table, ()):
            what = _name(row, table, row["asked"])
            if table == "sparse":
                what = _name(row, f"{row['words']:g} words", f"{row['items']} letters")
            goal = COVERED_SMALL if _is_small(row) else COVERED
            yield from _coverage_goal(row, what, goal)
            yield _mark_goal(row, what, row["intervals"])
    for row in findings.get("limits", ()):
        what = (
            f"{_name(row, 'limit')}, {row['where']} {row['target']:.3f}, favours {row['favours']}"
        )
        what += f", {row['loss']:.0%} lost"
        yield _mark_goal(row, what, row["runs"])
    for row in findings.get("missing", ()):
        what = f"missing answers, {row['kind']}, {row['errors']:g} standard errors"
        yield from _coverage_goal(row, what, UNITED)
        yield _mark_goal(row, what, row["runs"])
    for row in findings.get("designs", ()):
        what = f"prompts like these, {row['clusters']} clusters, {row['sizes']}"
        what += f", factors: {row['factors']}, effects: {row['effects']}"
        yield from _coverage_goal(row, f"{what}, `{row['metric']}`", GENERALISED)
    for row in findings.get("clusters", ()):
        yield from _coverage_goal(row, _name(row, "prompts like these"), GENERALISED)
    for row in findings.get("pairs", ()):
        yield from _pair_goals(row)
    for row in findings.get("gates", ()):
        yield _gate_goal(row)
    for row in findings.get("regressions", ()):
        yield Goal(
            what=f"--no-regression, {row['kind']}, {row['models']}",
            happened="fails",
            wrong=row["failed"],
            runs=row["runs"],
            allowed=FAILED,
        )
    yield from _selection_goals(findings)
    for row in findings.get("looks", ()):
        what = _name(row, "until certain")
        yield _mark_goal(row, what, row["runs"])
        wrong = row["runs"] - row["covered"]
        yield Goal(
            what=what,
            happened="does not cover",
            wrong=wrong,
            runs=row["runs"],
            allowed=1 - COVERED,
        )


def _is_small(row: Row) -> bool:
    """Whether a row has the smallest size that is simulated."""
    return bool(row["items"] == SMALL_SIZES.get(row["study"], SMALL))


def _name(row: Row, *parts: str) -> str:
    metric = f" `{row['metric']}`" if "metric" in row else ""
    model = [row["model"]] if "model" in row else []
    return ", ".join([*parts, f"`{row['study']}`{metric}", *model])


def _coverage_goal(row: Row, what: str, goal: float) -> Iterator[Goal]:
    if row["intervals"]:
        yield Goal(
            what=what,
            happened="does not cover",
            wrong=row["intervals"] - row["covered"],
            runs=row["intervals"],
            allowed=round(1 - goal, 6),
        )


def _mark_goal(row: Row, what: str, runs: int) -> Goal:
    return Goal(
        what=what,
        happened="certain and wrong",
        wrong=row["wrong"],
        runs=max(runs, 1),
        allowed=WRONG,
    )


def _pair_goals(row: Row) -> Iterator[Goal]:
    what = f"{_name(row, 'compare', row['kind'])}, {row['models']}"
    if row["computed"]:
        if row["equal_metrics"]:
            yield Goal(
                what=what,
                happened="told apart",
                wrong=row["rejected"],
                runs=row["computed"],
                allowed=REJECTED,
            )
        yield Goal(
            what=what,
            happened="called better or worse",
            wrong=row["judged"],
            runs=row["computed"],
            allowed=JUDGED,
        )
    if row["intervals"]:
        if row["equal_metrics"]:
            yield from _coverage_goal(row, what, COVERED)
        yield Goal(
            what=what,
            happened="does not cover the distance",
            wrong=row["intervals"] - row["distance"],
            runs=row["intervals"],
            allowed=round(1 - COVERED, 6),
        )


def _gate_goal(row: Row) -> Goal:
    what = f"gate on {row['rule']}, suite {row['size']}, {row['model']}, {row['lost']:.0%} lost"
    is_biased = row["model"] == STRONG
    return Goal(
        what=what,
        happened="passes" if is_biased else "fails wrongly",
        wrong=row["passed"] if is_biased else row["wrongly"],
        runs=row["runs"],
        allowed=FAILED,
    )


def _selection_goals(findings: Findings) -> Iterator[Goal]:
    for row in findings.get("ratios", ()):
        what = _name(row, "impact ratios", f"by {row['by']}", row["design"])
        if row["is_fair"]:
            yield Goal(
                what=what,
                happened="called unfair",
                wrong=row["unfair"],
                runs=row["runs"],
                allowed=UNFAIR,
            )
        # Intervals of impact ratios are those of the answers that could be classified.
        if not row["lost"]:
            yield Goal(
                what=what,
                happened="do not all cover",
                wrong=row["runs"] - row["covered"],
                runs=row["runs"],
                allowed=round(1 - CATEGORIES_COVERED, 6),
            )


def find_exact(findings: Findings) -> Iterator[str]:
    """What misses a goal that no chance is part of, in words."""
    for row in findings.get("rates", ()):
        if row["least"] < RATE_LEAST:
            yield (
                f"rates of {row['items']} items: covers {row['least']:.4f} at {row['at']:.4f} "
                f"(goal: at least {RATE_LEAST})"
            )
        if row["mean"] > RATE_MEAN:
            found = f"rates of {row['items']} items: covers {row['mean']:.4f} on average"
            yield f"{found} (goal: at most {RATE_MEAN})"
    for row in findings.get("coverage", ()):
        is_wide = row["items"] >= WIDER_FROM and row["width"] > WIDER
        if is_wide and row["model"] not in ONE_OUTCOME_IS_RARE:
            yield (
                f"{_name(row, 'coverage', row['asked'])}: {row['width']:.2f} times as wide as the "
                f"plain linearised interval (goal: at most {WIDER})"
            )
    for row in findings.get("one unread", ()):
        if row["wider"] > WIDER_BY_ONE:
            yield (
                f"one unread answer, {row['asked']} items: the interval gets wider by "
                f"{row['wider']:.2f}/n (goal: at most {WIDER_BY_ONE:g}/n)"
            )


def find_missed(findings: Findings, *, correct: bool = True) -> list[str]:
    """The goals that are missed, in words; `correct` says whether by Holm's correction."""
    goals = [*list_goals(findings)]
    p_values = [goal.p_value for goal in goals]
    adjusted = holm(p_values) if correct else p_values
    missed = [
        goal.describe()
        for goal, p_value in zip(goals, adjusted, strict=True)
        if p_value < SIGNIFICANCE
    ]
    return [*find_exact(findings), *missed]
