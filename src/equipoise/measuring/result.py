"""`Result`: what one probe found, as a value and as tables; `Audit`: the results of several probes."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl

import equipoise
from equipoise.measuring.clusters import Generalisation
from equipoise.measuring.marks import Mark, look_number
from equipoise.measuring.plan import Setup
from equipoise.measuring.selection import SelectionTable, Sets, make_table
from equipoise.safe_text import printable
from equipoise.schema import METRICS_TABLE, Bounds, Counts, Estimate, MetricKey, Status, without_nan
from equipoise.stats.intervals import LEVEL

ASKED, SIMULATED, IMPORTED = "asked", "simulated", "imported"
ORIGINS = {
    ASKED: "",
    SIMULATED: "The answers of the run are simulated: no language model was asked.",
    IMPORTED: "The answers were imported: how the model was asked is not known.",
}
"""Where answers come from: a word, and a sentence for readers of the result."""


_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


@dataclass(frozen=True, kw_only=True)
class Matching:
    """How many answers were read, and what became of them."""

    read: _Count = 0
    matched: _Count = 0
    surplus: _Count = 0
    """More than were planned for their prompt."""
    unknown: _Count = 0
    """They belong to no planned prompt."""


NOTHING_MATCHED = Matching()


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
    """What the missing answers (pending, failed, not classified) allow, for the marked metrics and their distances."""
    generalised: Mapping[str, Generalisation]
    """The intervals of the marked metrics for prompts like these, where the probe names clusters or items were
    asked several times."""
    marks: Mapping[str, Mark | None]
    """The marked metrics; None where the metric is not computable."""
    coverage: Mapping[str, Mapping[str, int]]
    """Attempts by state and by detected/undetected: in `all`, and for each arm."""
    attempts: pl.DataFrame | Callable[[], Iterable[pl.DataFrame]] = field(repr=False)
    """What `evaluated` gives: the table, or for a large result a function that makes it again."""
    rows: pl.DataFrame | Callable[[], Iterable[pl.DataFrame]] = field(repr=False)
    """What `item_rows` gives: the table, or for a large result a function that makes it again."""
    whole_items: Mapping[str, Estimate] = field(default_factory=dict)
    """The marked metrics on the items of which every arm was decided, if there are others."""
    level: float = LEVEL
    """What the intervals were computed at. A run that stops when its marks are certain needs more than 0.95 at each
    look, to have 0.95 over all of them."""
    looks: Sequence[int] = ()
    """How many items such a run has at each of its looks."""
    matching: Matching = NOTHING_MATCHED
    """What became of the answers that were given; nothing for a run, whose answers stand with their prompts."""
    selections: Mapping[str, Sets] = field(default_factory=dict, repr=False)
    """Applicants and selected by category, for probes whose answers select people."""

    @property
    def probe(self) -> str:
        """The name of the probe."""
        return self.setup.probe.name

    @property
    def reading(self) -> str:
        """How the answers were read: "careful", "specified" or "probabilities"."""
        return self.setup.probe.reading

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The value of every parameter."""
        return self.setup.parameters

    @property
    def look(self) -> str:
        """The look that a run with `--until-certain` has reached, in words."""
        number = look_number(self.looks, self.setup.items)
        return f"look {number} of {len(self.looks)}, {self.setup.items:,} of at most {self.looks[-1]:,} items"

    @property
    def metrics(self) -> dict[str, Estimate]:
        """The estimates by the name of the metric; those of the groups of a slice as `race_white_` and the name."""
        return {str(key): estimate for key, estimate in self.estimates.items()}

    @property
    def slices(self) -> dict[str, dict[str, dict[str, Estimate]]]:
        """The estimates of the slices: `result.slices["race"]["white"]["diff_acceptance_rate"]`."""
        slices: dict[str, dict[str, dict[str, Estimate]]] = {}
        for key, estimate in self.estimates.items():
            if key.slice is not None and key.group is not None:
                slices.setdefault(key.slice, {}).setdefault(key.group, {})[key.metric] = estimate
        return slices

    @property
    def answers(self) -> int:
        """How many answers were measured."""
        return self.coverage["all"]["detected"] + self.coverage["all"]["undetected"]

    @cached_property
    def selection(self) -> tuple[SelectionTable, ...]:
        """Selection rates and impact ratios by category, for probes whose answers select people."""
        return tuple(make_table(by, sets) for by, sets in self.selections.items() if sets.matched.height)

    @property
    def evaluated(self) -> pl.DataFrame:
        """The measured attempts: `id`, `repetition`, `item`, covariates and what each answer says."""
        return self.attempts if isinstance(self.attempts, pl.DataFrame) else pl.concat(list(self.attempts()))

    @property
    def item_rows(self) -> pl.DataFrame:
        """A row for each planned item: covariates, and for each arm what was answered and what is missing."""
        if isinstance(self.rows, pl.DataFrame):
            return self.rows
        return pl.concat(list(self.rows()))

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
        rows = []
        for key, estimate in self.estimates.items():
            row = {**origin, **key._asdict(), "name": str(key), "about": about[key.metric], **asdict(estimate)}
            if key.slice is None:
                bounds, whole = self.bounds.get(key.metric), self.whole_items.get(key.metric)
                row |= _mark_columns(self.marks.get(key.metric)) | {"whole_items": whole and whole.value}
                row |= {"bound_low": bounds and bounds.low, "bound_high": bounds and bounds.high}
            rows.append(row)
        return pl.DataFrame(rows, schema=METRICS_TABLE).with_columns(pl.col(pl.Float64).fill_nan(None))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON: what is not computable is None."""
        marks = {
            name: {
                **_mark_columns(mark),
                "undecided": mark is None or mark.undecided,
                "low_coverage": mark.low_coverage if mark else None,
            }
            for name, mark in self.marks.items()
        }
        described = {
            **self.setup.describe(),
            **{
                name: getattr(self, name)
                for name in ("items", "level", "looks", "bounds", "whole_items", "generalised")
            },
            "metrics": {str(key): estimate for key, estimate in self.estimates.items()},
            "marks": marks,
            "coverage": self.coverage,
            "matching": self.matching if self.matching.read else None,
            "selection": [table.to_dict() for table in self.selection],
        }
        plain: dict[str, Any] = without_nan(msgspec.to_builtins(described))
        return plain

    def __repr__(self) -> str:
        """The marked metrics, one line each."""
        counts, corpus = self.coverage["all"], f" on {self.setup.corpus}" if self.setup.corpus else ""
        undetected = f", {counts['undetected']:,} undetected" if counts["undetected"] else ""
        measured = f"{self.answers:,} of {counts['planned']:,} attempts measured{undetected}"
        lines = [f"{self.probe} v{self.setup.probe.version}{corpus}: {measured}"]
        for metric, estimate, mark in self.marked():
            lines.append(f"  {mark or '–'!s:8} {metric:24} {format_interval(estimate)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return show_in_notebook(self)


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
    origin: str = field(default=ASKED, kw_only=True)
    """Where the answers come from: one of ORIGINS."""
    owner: object = field(default=None, kw_only=True)
    """A temporary run file is deleted with the run that owns it."""

    def __getitem__(self, probe: str) -> Result:
        return self.results[probe]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def counts(self) -> Counts:
        """Attempts by state, over all probes."""
        return Counts({status: sum(result.coverage["all"][status] for result in self.values()) for status in Status})

    def to_frame(self) -> pl.DataFrame:
        """All metrics of all probes as one table: model, probe, metric, slice, group, value, low, high, n, mark …"""
        tables = [pl.DataFrame(schema=METRICS_TABLE), *(result.to_frame() for result in self.values())]
        return pl.concat(tables).with_columns(pl.lit(self.model or None, dtype=pl.String).alias("model"))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return {name: result.to_dict() for name, result in self.items()}

    def report(self, out: str | Path, charts: str | Path | None = None) -> list[Path]:
        """Write the report, one HTML file that works offline."""
        return equipoise.write_report(self, out, charts)

    def plot(self, metric: str | None = None, by: str | None = None) -> equipoise.Drawing:
        """A chart of `metric` or `probe.metric`, also by the groups of a slice; without a metric, all marks."""
        return equipoise.plot(self, metric, by)

    def __repr__(self) -> str:
        return "\n".join([*filter(None, [self.model, ORIGINS[self.origin]]), *map(repr, self.values())])

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
    """The repr of a value as HTML. Its text may come from anyone, so it is escaped."""
    return f"<pre>{html.escape(printable(repr(value)))}</pre>"


def _mark_columns(mark: Mark | None) -> dict[str, str | None]:
    return dict.fromkeys(("mark", "best", "worst")) if mark is None else mark.to_dict()
