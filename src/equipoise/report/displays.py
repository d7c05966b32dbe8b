"""What is shown of a probe: as its module `figures` says, or without one, what can be shown of any probe."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType

from equipoise.figure import Evidence, Figure, Finding, Intervals, Published, Read
from equipoise.probe import Probe


@dataclass(frozen=True, kw_only=True)
class Display:
    """The pictures, the findings, the words that are read, and what is published of a probe."""

    figures: Callable[[Evidence], Sequence[Figure]]
    findings: Callable[[Evidence], Sequence[Finding]]
    read: Read | None
    published: Published | None


def display(probe: Probe) -> Display:
    """Look for a module `figures` beside the one that the probe comes from."""
    module = _beside(probe)
    return Display(
        figures=getattr(module, "figures", partial(any_figures, probe)),
        findings=getattr(module, "findings", lambda _evidence: ()),
        read=getattr(module, "READ", None),
        published=getattr(module, "PUBLISHED", None),
    )


def any_figures(probe: Probe, evidence: Evidence) -> list[Figure]:
    """All metrics of the probe, and its marked metrics in each slice."""
    pictures: list[Figure] = [
        Intervals(
            name="metrics",
            title="All metrics",
            caption="Every metric of the probe with its 95% interval.",
            axis="value",
            rows={metric.name: {"": metric.name} for metric in probe.metrics},
        )
    ]
    marked = [metric.name for metric in probe.metrics if metric.bands]
    for column in probe.slices:
        rows: dict[str, dict[str, str]] = {}
        for name in evidence.metrics:
            own = next((metric for metric in marked if name.endswith(f"_{metric}")), None)
            if own and name.startswith(f"{column}_"):
                value = name.removeprefix(f"{column}_").removesuffix(f"_{own}")
                rows.setdefault(value.replace("_", " "), {})[own] = name
        if rows:
            pictures.append(
                Intervals(
                    name=column,
                    title=f"By {column}",
                    caption=f"The marked metrics for each {column}, with their 95% intervals.",
                    axis="value",
                    rows=rows,
                )
            )
    return pictures


def _beside(probe: Probe) -> ModuleType | None:
    home = getattr(probe.items, "__module__", "").rpartition(".")[0]
    name = f"{home}.figures"
    return importlib.import_module(name) if home and importlib.util.find_spec(name) else None
