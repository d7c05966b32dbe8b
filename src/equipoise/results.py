"""Results as values: metrics, marks, coverage; tables, text and HTML of them."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from equipoise.frames import RESULTS
from equipoise.matching import Matching
from equipoise.stats.marks import Mark
from equipoise.stats.resample import Estimate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one probe found: metrics with intervals, marks with certainty, and what they rest on."""

    probe: str
    version: int
    corpus: str | None
    corpus_sha256: str | None
    parameters: Mapping[str, Any]
    metrics: Mapping[str, Estimate]
    marks: Mapping[str, Mark | None]
    """The marked metrics; None where the metric is not computable."""
    coverage: Mapping[str, Mapping[str, int]]
    """Attempts by state and by detected/undetected: `all`, and for each gender."""
    answers: Matching
    attempts: pl.DataFrame | Callable[[], pl.DataFrame] = field(repr=False)
    """What `evaluated` gives: the table, or of a large result what makes it again."""

    @property
    def evaluated(self) -> pl.DataFrame:
        """The measured attempts: `id`, `repetition`, `item`, covariates and what each answer says."""
        return self.attempts if isinstance(self.attempts, pl.DataFrame) else self.attempts()

    def to_frame(self) -> pl.DataFrame:
        """The metrics as a table: a row a metric, slices included."""
        return pl.DataFrame(
            [
                {
                    "probe": self.probe,
                    "metric": name,
                    **asdict(estimate),
                    **_mark_columns(self.marks.get(name)),
                }
                for name, estimate in self.metrics.items()
            ],
            schema=RESULTS,
        ).with_columns(pl.col("value", "low", "high").fill_nan(None))

    def to_pandas(self) -> pd.DataFrame:
        """The same for pandas, if it is installed."""
        return self.to_frame().to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON: what is not computable is None."""
        return {
            "probe": self.probe,
            "version": self.version,
            "corpus": self.corpus,
            "corpus_sha256": self.corpus_sha256,
            "parameters": dict(self.parameters),
            "metrics": {name: _plain(asdict(estimate)) for name, estimate in self.metrics.items()},
            "marks": {name: _mark_columns(mark) for name, mark in self.marks.items()},
            "coverage": {group: dict(counts) for group, counts in self.coverage.items()},
            "answers": asdict(self.answers),
        }

    def marked(self) -> Iterator[tuple[str, Estimate, Mark | None]]:
        """The marked metrics with their estimates."""
        for name, mark in self.marks.items():
            yield name, self.metrics[name], mark

    def __repr__(self) -> str:
        counts = self.coverage["all"]
        lines = [f"{self.probe} v{self.version}{(self.corpus and f' on {self.corpus}') or ''}: {coverage_line(counts)}"]
        lines += [f"  {mark or '–'!s:8} {name:24} {interval(estimate)}" for name, estimate, mark in self.marked()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td><b>{mark or '–'}</b></td><td>{interval(estimate)}</td>"
            f"<td>{estimate.n:,}</td></tr>"
            for name, estimate, mark in self.marked()
        )
        title = html.escape(f"{self.probe}{(self.corpus and f' on {self.corpus}') or ''}")
        return (
            f"<table><caption>{title}: {coverage_line(self.coverage['all'])}</caption><thead><tr><th>metric</th>"
            f"<th>mark</th><th>value [95% interval]</th><th>items</th></tr></thead><tbody>{rows}</tbody></table>"
        )


class Audit(Mapping[str, Result]):
    """The results of several probes, by name."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        self._results = dict(results)

    def __getitem__(self, probe: str) -> Result:
        return self._results[probe]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def metrics(self) -> dict[str, Mapping[str, Estimate]]:
        """The metrics of each probe."""
        return {name: result.metrics for name, result in self.items()}

    @property
    def marks(self) -> dict[str, Mapping[str, Mark | None]]:
        """The marks of each probe."""
        return {name: result.marks for name, result in self.items()}

    def to_frame(self) -> pl.DataFrame:
        """All metrics of all probes as one table."""
        return pl.concat([result.to_frame() for result in self.values()])

    def to_pandas(self) -> pd.DataFrame:
        """The same for pandas, if it is installed."""
        return self.to_frame().to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return {name: result.to_dict() for name, result in self.items()}

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.values()))

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self.values())


def interval(estimate: Estimate) -> str:
    """A value with its interval, or that there is none."""
    if math.isnan(estimate.value):
        return "not computable"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


def coverage_line(counts: Mapping[str, int]) -> str:
    """What the numbers rest on, in a line."""
    measured = counts["detected"] + counts["undetected"]
    line = f"{measured:,} of {counts['planned']:,} attempts measured"
    return line + (f", {counts['undetected']:,} undetected" if counts["undetected"] else "")


def _mark_columns(mark: Mark | None) -> dict[str, str | None]:
    return dict.fromkeys(("mark", "best", "worst")) if mark is None else asdict(mark)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}
