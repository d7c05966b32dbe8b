"""What a result is made of, summed over whole items: cells, totals of clusters, selections.

All of it are sums of whole numbers, or distinct rows with whole weights. So sums of any parts, added in any order, are
those of the whole, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from equipoise.authoring import Parameters, Probe
from equipoise.measuring.clusters import cluster_totals, merge_totals
from equipoise.measuring.selection_counts import SelectionSums, add_selections, sum_selections
from equipoise.measuring.summarise import cells, item_rows, merge_cells
from equipoise.schema import is_measured


@dataclass(frozen=True, kw_only=True)
class Sums:
    """The sums of some items."""

    cells: pl.DataFrame
    clusters: Mapping[str, pl.DataFrame]
    selections: SelectionSums | None


def sum_items(probe: Probe, attempts: pl.DataFrame, parameters: Parameters) -> Sums:
    """The sums of evaluated attempts, which hold whole items in the order of the plan."""
    rows = item_rows(probe, attempts)
    return Sums(
        cells=cells(probe, rows),
        clusters=cluster_totals(probe, rows, parameters),
        selections=sum_selections(probe, attempts.filter(is_measured()), parameters),
    )


def add_sums(parts: Iterable[Sums]) -> Sums:
    """The sums of several parts together, in an order that does not depend on theirs."""
    parts = list(parts)
    selections = [part.selections for part in parts if part.selections is not None]
    return Sums(
        cells=merge_cells(part.cells for part in parts),
        clusters=merge_totals(part.clusters for part in parts),
        selections=add_selections(selections) if selections else None,
    )
