"""The figures of a probe that brings none of its own: all its metrics, and its marked metrics in each slice."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.authoring import Estimate, Figure, Intervals, MetricKey, Probe


def default_figures(probe: Probe, estimates: Mapping[MetricKey, Estimate]) -> list[Figure]:
    """One figure of all metrics, and one per slice with the marked metrics of each of its groups."""
    figures: list[Figure] = [
        Intervals(
            name="metrics",
            title="All metrics",
            caption="Every metric of the probe with its 95% interval.",
            axis="value",
            rows={metric.name: {"": MetricKey(metric.name)} for metric in probe.metrics},
        )
    ]
    for column in probe.slices:
        rows: dict[str, dict[str, MetricKey]] = {}
        for key in estimates:
            if key.slice == column and key.group is not None and key.metric in probe.marked_metrics():
                rows.setdefault(key.group, {})[key.metric] = key
        if rows:
            figures.append(
                Intervals(
                    name=column,
                    title=f"By {column}",
                    caption=f"The marked metrics for each {column}, with their 95% intervals.",
                    axis="value",
                    rows=rows,
                )
            )
    return figures
