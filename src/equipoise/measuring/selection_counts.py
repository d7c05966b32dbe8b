"""Applicants and selected, counted by category in matched sets; equal sets are one row with a weight.

A set lies inside an item, or spans several items that differ in nothing else. The counts of the first kind are folded
into weights as soon as the item is there; those of the second stay by set, until all items are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from equipoise.authoring import LABEL, Grouping, Parameters, Probe
from equipoise.measuring.calling import running
from equipoise.measuring.summarise import with_reading
from equipoise.schema import ITEM

BY, CATEGORY, APPLICANTS, SELECTED, WEIGHT = "by", "category", "applicants", "selected", "weight"
CATEGORIES = "categories"
_CONTENTS = "contents"
"""A hash of what a set holds, whatever the order."""


@dataclass(frozen=True, kw_only=True)
class SelectionSums:
    """The counts of whole items. They add up over items, in any order."""

    folded: pl.DataFrame
    """Sets that lie inside an item: equal ones are one row with a weight."""
    by_set: Mapping[str, pl.DataFrame]
    """For each grouping whose sets span items: applicants and selected of each set and category."""


def count_selections(probe: Probe, answers: pl.DataFrame, parameters: Parameters) -> pl.DataFrame | None:
    """For each way of grouping, what each matched set has by category; equal sets are one row with a weight.

    `answers` holds all answers to measure. None if the probe selects nobody.
    """
    sums = sum_selections(probe, answers, parameters)
    return fold_selections(probe, sums) if sums else None


def sum_selections(probe: Probe, answers: pl.DataFrame, parameters: Parameters) -> SelectionSums | None:
    """The counts of some answers, which hold whole items.

    None if the probe selects nobody; or by probabilities, where a label is only the most probable one: a second rate
    that counts labels would contradict the first.
    """
    if probe.selection is None or (probe.detector.by_probability and not probe.selection.scored):
        return None
    with running(probe, "selection"):
        detected = probe.with_derived(answers.filter(probe.detector.detected()))
        if probe.selection.applicants:
            applicants = probe.selection.applicants(detected)
        else:
            selected = probe.selection.selected
            chosen = selected(with_reading(probe, parameters)) if callable(selected) else pl.col(LABEL) == selected
            applicants = detected.with_columns(chosen.cast(pl.Int64).alias(SELECTED))
        if ITEM in applicants.columns:
            applicants = applicants.with_columns(pl.col(ITEM).hash())  # a number is grouped twice as fast as a text
        told = {grouping: _tell(applicants, grouping) for grouping in probe.selection.by}
        inside = [_fold_sets(grouping, rows) for grouping, rows in told.items() if ITEM in grouping.matched]
        return SelectionSums(
            folded=merge_selections(inside or [_fold_sets(*next(iter(told.items())))[:0]]),
            by_set={grouping.name: _add_up(rows) for grouping, rows in told.items() if ITEM not in grouping.matched},
        )


def add_selections(parts: Iterable[SelectionSums]) -> SelectionSums:
    """The counts of several parts together."""
    parts = list(parts)
    by_set = {name: pl.concat([part.by_set[name] for part in parts]) for name in parts[0].by_set}
    return SelectionSums(
        folded=merge_selections(part.folded for part in parts),
        by_set={name: _add_up(sets) for name, sets in by_set.items()},
    )


def fold_selections(probe: Probe, sums: SelectionSums) -> pl.DataFrame:
    """The counts of all groupings, now that all items are there: by gender first, if the probe names that first."""
    assert probe.selection is not None
    folded = [
        _fold_sets(grouping, sums.by_set[grouping.name])
        if grouping.name in sums.by_set
        else sums.folded.filter(pl.col(BY) == grouping.name)
        for grouping in probe.selection.by
    ]
    return merge_selections(map(select_above_median, folded) if probe.selection.scored else folded)


def select_above_median(scores: pl.DataFrame) -> pl.DataFrame:
    """Counts of which `selected` holds scores, with 1 for each score above the median of all instead, else 0."""
    ordered = scores.select(SELECTED, WEIGHT).explode(SELECTED).sort(SELECTED)
    if ordered.is_empty():
        return scores.with_columns(pl.col(SELECTED).cast(pl.List(pl.Int64)))
    is_half = 2 * pl.col(WEIGHT).cum_sum() >= pl.col(WEIGHT).sum()
    median = ordered.filter(is_half)[SELECTED][0]
    return scores.with_columns(pl.col(SELECTED).list.eval((pl.element() > median).cast(pl.Int64)))


def merge_selections(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Folded counts of several parts together, in an order that does not depend on that of the items."""
    together = pl.concat(list(parts))
    keys = [BY, CATEGORIES, APPLICANTS, SELECTED]
    # Kept in the order of the probe: by gender first.
    order = {kind: place for place, kind in enumerate(together[BY].unique(maintain_order=True))}
    place = pl.col(BY).replace_strict(order, default=0, return_dtype=pl.Int64)
    texts = [pl.col(name).cast(pl.List(pl.String)).list.join(",") for name in keys[1:]]
    return together.group_by(keys).agg(pl.col(WEIGHT).sum()).sort(place, *texts)


def _tell(applicants: pl.DataFrame, grouping: Grouping) -> pl.DataFrame:
    """Each applicant with the matched set, the category and whether selected."""
    category = pl.concat_str([pl.col(name).cast(pl.String) for name in grouping.columns], separator=" ")
    one = pl.lit(1, pl.Int64).alias(APPLICANTS)
    return applicants.select(*grouping.matched, category.alias(CATEGORY), one, SELECTED)


def _add_up(rows: pl.DataFrame) -> pl.DataFrame:
    """Applicants and selected of each matched set and category."""
    return rows.group_by(pl.exclude(APPLICANTS, SELECTED)).agg(pl.col(APPLICANTS, SELECTED).sum())


def _fold_sets(grouping: Grouping, rows: pl.DataFrame) -> pl.DataFrame:
    """Equal sets as one row with a weight."""
    # One set of each kind is added up and made a list: to do so with hundreds of thousands takes longer than all else.
    contents = pl.struct(CATEGORY, APPLICANTS, SELECTED).hash().sum()
    kinds = (
        rows.group_by(grouping.matched)
        .agg(contents.alias(_CONTENTS))
        .group_by(_CONTENTS)
        .agg(pl.len().cast(pl.Int64).alias(WEIGHT), pl.col(grouping.matched).first())
    )
    return (
        _add_up(rows.join(kinds, on=grouping.matched, nulls_equal=True).drop(grouping.matched))
        .sort(CATEGORY)
        .group_by(_CONTENTS, WEIGHT, maintain_order=True)
        .agg(pl.col(CATEGORY).alias(CATEGORIES), APPLICANTS, SELECTED)
        .group_by(pl.lit(grouping.name).alias(BY), CATEGORIES, APPLICANTS, SELECTED)
        .agg(pl.col(WEIGHT).sum())
    )
