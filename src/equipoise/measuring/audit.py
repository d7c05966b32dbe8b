"""`Audit`: the results of several probes, and where their answers come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import equipoise
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Result, show_in_notebook
from equipoise.schema import MEASURED, METRICS_TABLE, Estimate, Status

ORIGINS = {
    "asked": "",
    "simulated": "The answers of the run are simulated: no language model was asked.",
    "imported": "The answers were imported: how the model was asked is not known.",
}
"""Where answers come from, in a word, and in a sentence for who must know it."""


def name_origin(*, simulated: bool, imported: bool) -> str:
    """Where answers come from: "asked", "simulated" or "imported"."""
    return "simulated" if simulated else "imported" if imported else "asked"


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Mapping[str, Result]):
    """The results of several probes, by name, and where they come from."""

    results: Mapping[str, Result]
    model: str = field(default="", kw_only=True)
    """The model that was asked."""
    path: Path | None = field(default=None, kw_only=True)
    """The run file that holds the answers, if there is one."""
    sampling: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    """How the model was asked to answer: temperature, token limit, …"""
    simulated: bool = field(default=False, kw_only=True)
    """Whether the answers are those of a reference model: no language model was asked."""
    imported: bool = field(default=False, kw_only=True)
    """Whether the answers come from elsewhere: how the model was asked is not known."""
    owner: object = field(default=None, kw_only=True)
    """A temporary run file is deleted with the run that owns it."""

    def __getitem__(self, probe: str) -> Result:
        return self.results[probe]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def origin(self) -> str:
        """Where the answers come from, in a sentence; empty if a model was asked."""
        return ORIGINS[self.origin_name]

    @property
    def origin_name(self) -> str:
        """Where the answers come from: "asked", "simulated" or "imported"."""
        return name_origin(simulated=self.simulated, imported=self.imported)

    @property
    def metrics(self) -> dict[str, dict[str, Estimate]]:
        """The metrics of each probe."""
        return {name: result.metrics for name, result in self.items()}

    @property
    def marks(self) -> dict[str, Mapping[str, Mark | None]]:
        """The marks of each probe."""
        return {name: result.marks for name, result in self.items()}

    @property
    def counts(self) -> dict[Status, int]:
        """Attempts by state, over all probes. They add up to the plan."""
        return {status: sum(result.coverage["all"][status] for result in self.values()) for status in Status}

    @property
    def planned(self) -> int:
        """How many attempts were planned."""
        return sum(self.counts.values())

    @property
    def failed(self) -> dict[Status, int]:
        """Attempts that ended without an answer, by state."""
        others = (*MEASURED, Status.PENDING)
        return {status: count for status, count in self.counts.items() if count and status not in others}

    @property
    def ended(self) -> int:
        """How many attempts are not pending any more."""
        return self.planned - self.counts[Status.PENDING]

    @property
    def answered(self) -> int:
        """How many attempts have an answer to measure."""
        return sum(self.counts[status] for status in MEASURED)

    @property
    def complete(self) -> bool:
        """Whether nothing is pending."""
        return not self.counts[Status.PENDING]

    def to_frame(self) -> pl.DataFrame:
        """All metrics of all probes as one table: model, probe, metric, slice, group, value, low, high, n, mark …"""
        tables = [pl.DataFrame(schema=METRICS_TABLE), *(result.to_frame() for result in self.values())]
        return pl.concat(tables).with_columns(pl.lit(self.model or None, dtype=pl.String).alias("model"))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return {name: result.to_dict() for name, result in self.items()}

    def report(self, out: str | Path, charts: str | Path | None = None) -> list[Path]:
        """Write the report, one HTML file that works offline: as `equipoise.write_report`."""
        return equipoise.write_report(self, out, charts)

    def plot(self, metric: str | None = None, by: str | None = None) -> equipoise.Drawing:
        """A chart of `metric` or `probe.metric`, also by the groups of a slice; without a metric, a map of all marks.

        Notebooks show it; `.save("chart.svg")` or `.save("chart.png")` writes it.
        """
        return equipoise.plot(self, metric, by)

    def __repr__(self) -> str:
        return "\n".join([*filter(None, [self.model, self.origin]), *map(repr, self.values())])

    def _repr_html_(self) -> str:
        return show_in_notebook(self)
