"""What the numbers rest on: attempts by state and gender, and whether the genders fare differently."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from equipoise.frames import MEASURED, Status
from equipoise.results import Result

PEOPLE = {"female": "women", "male": "men", "non-binary": "non-binary people", "all": "all"}
FAILED = tuple(str(status) for status in Status if status not in (*MEASURED, Status.PENDING, Status.FILTERED))
COLUMNS = {
    "planned": "planned",
    "answered": "answered",
    "truncated": "truncated",
    "undetected": "undetected",
    "filtered": "filtered",
    "failed": "failed",
    "pending": "not asked yet",
}
SURE = 0.01


def people(group: str) -> str:
    """A group of the coverage table in plain words."""
    return PEOPLE.get(group, group)


def counted(counts: Mapping[str, int]) -> dict[str, int]:
    """A row of the table, with what was answered and what failed summed up."""
    answered = sum(counts[status] for status in MEASURED)
    return {**counts, "answered": answered, "failed": sum(counts[status] for status in FAILED)}


def reasons(result: Result) -> str:
    """Why attempts failed, in words; empty if none did."""
    counts = result.coverage["all"]
    named = [f"{counts[status]:,} {status.replace('_', ' ')}" for status in FAILED if counts[status]]
    named += [f"{counts['evaluation_failed']:,} with a failed evaluation"] * bool(counts["evaluation_failed"])
    return ", ".join(named)


def warnings(result: Result) -> list[str]:
    """Sentences on every share in which two genders differ by more than chance explains."""
    groups = {group: counted(counts) for group, counts in result.coverage.items() if group != "all"}
    shares = (
        ("undetected", "answered", "were not detected"),
        ("truncated", "answered", "were cut off by the token limit"),
        ("failed", "asked", "failed"),
        ("filtered", "asked", "were filtered"),
    )
    found = []
    for first, second in itertools.combinations(groups, 2):
        for part, whole, verb in shares:
            sides = sorted(
                (
                    (counts[part], counts["planned"] - counts["pending"] if whole == "asked" else counts[whole], name)
                    for name, counts in ((first, groups[first]), (second, groups[second]))
                ),
                key=lambda side: -side[0] / max(side[1], 1),
            )
            (k1, n1, more), (k2, n2, less) = sides
            p = same_share(k1, n1, k2, n2)
            if p < SURE:
                found.append(
                    f"Attempts for {people(more)} {verb} more often than those for {people(less)}: {k1 / n1:.1%} "
                    f"({k1:,} of {n1:,}) against {k2 / n2:.1%} ({k2:,} of {n2:,}), p {_below(p)}. The metrics rest on "
                    "the other answers and may differ for that reason alone."
                )
    return found


def same_share(k1: int, n1: int, k2: int, n2: int) -> float:
    """The p-value of two shares being the same: the two-sided test of two proportions, with Yates' correction."""
    if not n1 or not n2 or not 0 < k1 + k2 < n1 + n2:
        return 1.0
    pooled = (k1 + k2) / (n1 + n2)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    gap = max(abs(k1 / n1 - k2 / n2) - (1 / n1 + 1 / n2) / 2, 0.0)
    return math.erfc(gap / spread / math.sqrt(2))


def _below(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"= {p:.4f}"
