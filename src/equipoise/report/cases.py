"""Which cases were answered most differently for their arms: the man's yes beside the woman's no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from equipoise.authoring import Probe
from equipoise.schema import ID, ITEM, LABEL, REPETITION, is_measured

CONTRAST = "contrast"
"""How differently the arms of an item were answered: 0 if alike, or if they are not compared."""


def with_contrast(probe: Probe, attempts: pl.DataFrame) -> pl.DataFrame:
    """Evaluated attempts, whole items, with the contrast of their item.

    That is the largest difference between two arms in how often they got a label, or in the mean of their numbers.
    Where the prompts of an item swap two sides, it is how far the answers are from taking each side in one half. It is
    0 where nothing is compared, or words are counted.
    """
    decided = attempts.filter(is_measured() & probe.detector.detected())
    if probe.arms and probe.detector.labels:
        items = _compare_arms(probe, probe.arms.column, decided)
    elif probe.side_labels:
        lean = (2 * _takes_side(probe).mean() - 1).abs()
        items = decided.group_by(ITEM).agg(pl.when(pl.col(ID).n_unique() > 1).then(lean).alias(CONTRAST))
    else:
        return attempts.with_columns(pl.lit(0.0).alias(CONTRAST))
    joined = attempts.join(items, on=ITEM, how="left", maintain_order="left")
    return joined.with_columns(pl.col(CONTRAST).fill_null(0.0))


def _compare_arms(probe: Probe, arm: str, decided: pl.DataFrame) -> pl.DataFrame:
    detector = probe.detector
    values = [detector.number.summed()] if detector.number else [pl.col(LABEL) == label for label in detector.labels]
    columns = {f"value_{place}": value.cast(pl.Float64) for place, value in enumerate(values)}
    arms = decided.select(ITEM, arm, **columns).group_by(ITEM, arm).agg(pl.col(*columns).mean())
    return arms.group_by(ITEM).agg(
        pl.max_horizontal((pl.col(name).max() - pl.col(name).min()) for name in columns).alias(CONTRAST)
    )


def _takes_side(probe: Probe) -> pl.Expr:
    return pl.col(LABEL).is_in(probe.side_labels)


def find_case(probe: Probe, attempts: pl.DataFrame, columns: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """An answer from the most different case, and beside it its counterpart, if there is one.

    That is an answer for another arm that says something else, or where sides are swapped one that takes the same side
    all the same. The attempts have their contrast. `columns` are values that the first answer has, if any answer has
    them. Among equals the ids decide: hashes.
    """
    measured = attempts.filter(is_measured()).sort(ID, REPETITION)
    detected = measured.filter(probe.detector.detected())
    read = detected if detected.height else measured
    if probe.side_labels:  # first the side that an item takes more often
        read = read.sort(pl.len().over(ITEM, _takes_side(probe)), descending=True, maintain_order=True)
    fitting = read.filter(pl.lit(value=True), **(columns or {}))
    first = (fitting if fitting.height else read).sort(CONTRAST, descending=True, maintain_order=True)[:1]
    if first.is_empty() or not first[CONTRAST].item():
        return first
    told_apart, number = probe.arms.column if probe.arms else ID, probe.detector.number
    others = read.filter(pl.col(ITEM) == first[ITEM].item(), pl.col(told_apart) != first[told_apart].item())
    if number:
        distance = (pl.col(number.name) - first[number.name].item()).abs()
        others = others.sort(distance, descending=True, maintain_order=True)
    elif probe.arms:
        others = others.filter(pl.col(LABEL) != first[LABEL].item())
    else:
        others = others.filter(_takes_side(probe) == first.select(_takes_side(probe)).item())
    return pl.concat([first, others[:1]])
