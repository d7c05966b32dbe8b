"""`Result`: what one probe found, as a value and as tables."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

import equipoise
from equipoise.errors import did_you_mean
from equipoise.measuring.clusters import Generalisation
from equipoise.measuring.marks import Mark, look_number
from equipoise.measuring.plan import Setup
from equipoise.measuring.scatter import LEVEL
from equipoise.measuring.selection import SelectionTable, make_table
from equipoise.safe_text import printable
from equipoise.schema import METRICS_TABLE, Bounds, Estimate, MetricKey, Status, without_nan

Slices = dict[str, dict[str, dict[str, Estimate]]]
"""Column -> group -> metric -> estimate."""


@dataclass(frozen=True, kw_only=True)
class Matching:
    """How many answers were read and what became of them, and how many planned attempts have no answer."""

    read: int
    matched: int
    surplus: int
    unknown: int
    missing: int


class Metrics(dict[str, Estimate]):
    """The metrics over all items by name. A group of a slice is found, too: `metrics["race_white_diff_regression"]`."""

    def __init__(self, estimates: Mapping[MetricKey, Estimate]) -> None:
        super().__init__((str(key), estimate) for key, estimate in estimates.items() if key.slice is None)
        self._groups = {str(key): estimate for key, estimate in estimates.items() if key.slice is not None}

    def __missing__(self, name: str) -> Estimate:
        if name in self._groups:
            return self._groups[name]
        raise KeyError(f"No metric is called {name!r}.{did_you_mean(name, [*self, *self._groups])}")


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one probe found: estimates, marks with their certainty, and what they rest on."""

    setup: Setup = field(repr=False)
    """The probe itself, its parameters and its corpus."""
    estimates: Mapping[MetricKey, Estimate]
    """Every metric over all items, then over each group of each slice."""
    items: int
    """How many items have an answer to measure."""
    bounds: Mapping[str, Bounds]
    """What the missing answers allow, for the marked metrics: failed answers and those that were not detected."""
    generalised: Mapping[str, Generalisation]
    """The intervals of the marked metrics for prompts like these, where the probe names clusters."""
    marks: Mapping[str, Mark | None]
    """The marked metrics; None where the metric is not computable."""
    coverage: Mapping[str, Mapping[str, int]]
    """Attempts by state and by detected/undetected: in `all`, and for each arm."""
    matching: Matching
    attempts: pl.DataFrame | Callable[[], Iterable[pl.DataFrame]] = field(repr=False)
    """What `evaluated` gives: the table, or for a large result a function that makes it again."""
    complete: Mapping[str, Estimate] = field(default_factory=dict)
    """The marked metrics on the items of which every arm was decided, if there are others."""
    level: float = LEVEL
    """What the intervals were computed at. A run that stops when its marks are certain needs more than 0.95 at each
    look, to have 0.95 over all of them."""
    looks: Sequence[int] = ()
    """How many items such a run has at each of its looks."""
    selections: Mapping[str, pl.DataFrame] = field(default_factory=dict, repr=False)
    """Applicants and selected by category, for probes whose answers select people."""

    @property
    def probe(self) -> str:
        """The name of the probe."""
        return self.setup.probe.name

    @property
    def version(self) -> int:
        """The version of the probe."""
        return self.setup.probe.version

    @property
    def reading(self) -> str:
        """How the answers were read: "careful" or "specified"."""
        return self.setup.probe.reading

    @property
    def detector(self) -> str:
        """The detector that read the answers, with its version."""
        return self.setup.probe.detector.title

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The value of every parameter."""
        return self.setup.parameters

    @property
    def look(self) -> str:
        """At which look a run is that stops when its marks are certain, in words."""
        items = self.setup.drawn or 0
        number = look_number(self.looks, items)
        return f"look {number} of {len(self.looks)}, {items:,} of at most {self.looks[-1]:,} items"

    @property
    def metrics(self) -> Metrics:
        """The estimates over all items, by the name of the metric; those of slices by `race_white_` and the name."""
        return Metrics(self.estimates)

    @property
    def slices(self) -> Slices:
        """The estimates of the slices: `result.slices["race"]["white"]["diff_acceptance_rate"]`."""
        slices: Slices = {}
        for key, estimate in self.estimates.items():
            if key.slice is not None and key.group is not None:
                slices.setdefault(key.slice, {}).setdefault(key.group, {})[key.metric] = estimate
        return slices

    @property
    def answers(self) -> int:
        """How many answers were measured."""
        return self.coverage["all"]["detected"] + self.coverage["all"]["undetected"]

    @property
    def states(self) -> dict[Status, int]:
        """How many attempts are in each state. They add up to the plan."""
        return {status: self.coverage["all"][status] for status in Status}

    @cached_property
    def selection(self) -> tuple[SelectionTable, ...]:
        """Selection rates and impact ratios by category, for probes whose answers select people."""
        return tuple(make_table(by, counts) for by, counts in self.selections.items() if counts.height)

    @property
    def evaluated(self) -> pl.DataFrame:
        """The measured attempts: `id`, `repetition`, `item`, covariates and what each answer says."""
        return self.attempts if isinstance(self.attempts, pl.DataFrame) else pl.concat(list(self.attempts()))

    def marked(self) -> Iterator[tuple[str, Estimate, Mark | None]]:
        """The marked metrics with their estimates."""
        for name, mark in self.marks.items():
            yield name, self.estimates[MetricKey(name)], mark

    def to_frame(self) -> pl.DataFrame:
        """The metrics as a table: one row per metric, over all items and for each group of each slice.

        The model is empty here: an `Audit` knows it.
        """
        about = {metric.name: metric.about or None for metric in self.setup.probe.all_metrics()}
        setup = self.setup.describe()
        origin = {"level": self.level, **{name: setup[name] for name in ("probe", "reading", "detector", "judge")}}
        rows = [
            {**origin, **key._asdict(), "name": str(key), "about": about[key.metric], **asdict(estimate)}
            | (self._marked_columns(key.metric) if key.slice is None else {})
            for key, estimate in self.estimates.items()
        ]
        return pl.DataFrame(rows, schema=METRICS_TABLE).with_columns(pl.col(pl.Float64).fill_nan(None))

    def _marked_columns(self, metric: str) -> dict[str, Any]:
        """What a marked metric has beside its interval."""
        bounds, complete = self.bounds.get(metric), self.complete.get(metric)
        return {
            **_mark_columns(self.marks.get(metric)),
            "bound_low": bounds.low if bounds else None,
            "bound_high": bounds.high if bounds else None,
            "complete": complete.value if complete else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON: what is not computable is None."""
        plain: dict[str, Any] = without_nan(
            {
                **self.setup.describe(),
                "items": self.items,
                "level": self.level,
                "looks": list(self.looks),
                "metrics": {str(key): asdict(estimate) for key, estimate in self.estimates.items()},
                "bounds": {name: asdict(bounds) for name, bounds in self.bounds.items()},
                "complete": {name: asdict(estimate) for name, estimate in self.complete.items()},
                "generalised": {name: asdict(found) for name, found in self.generalised.items()},
                "marks": {
                    name: _mark_columns(mark)
                    | {"undecided": mark is None or mark.undecided, "silent": mark.silent if mark else None}
                    for name, mark in self.marks.items()
                },
                "coverage": {group: dict(counts) for group, counts in self.coverage.items()},
                "matching": asdict(self.matching),
                "selection": [table.to_dict() for table in self.selection],
            }
        )
        return plain

    def plot(self, metric: str, by: str | None = None) -> equipoise.Drawing:
        """A chart of a metric on its scale, or of each group of a slice: `result.plot("diff_acceptance_rate", "race")`.

        Notebooks show it; `.save("chart.svg")` or `.save("chart.png")` writes it.
        """
        return equipoise.plot(self, metric, by)

    def __repr__(self) -> str:
        """The marked metrics, one line each."""
        counts = self.coverage["all"]
        corpus = self.setup.corpus
        undetected = f", {counts['undetected']:,} undetected" if counts["undetected"] else ""
        name = f"{self.probe} v{self.version}{f' on {corpus}' if corpus else ''}"
        lines = [f"{name}: {self.answers:,} of {counts['planned']:,} attempts measured{undetected}"]
        for metric, estimate, mark in self.marked():
            lines.append(f"  {mark or '–'!s:8} {metric:24} {format_interval(estimate)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return show_in_notebook(self)


def format_interval(estimate: Estimate) -> str:
    """A value with its interval, or that there is none."""
    if math.isnan(estimate.value):
        return "not computable"
    if math.isnan(estimate.low):
        return f"{estimate.value:+.3f}, too few for an interval"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


def show_in_notebook(value: object) -> str:
    """What a value shows of itself, as HTML. It may hold text that is anybody's, which cannot leave its place."""
    return f"<pre>{html.escape(printable(repr(value)))}</pre>"


def _mark_columns(mark: Mark | None) -> dict[str, str | None]:
    return dict.fromkeys(("mark", "best", "worst")) if mark is None else mark.to_dict()
