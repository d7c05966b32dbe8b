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

    That is the largest difference between two arms in how often they got a label, or in the mean of their numbers; 0
    where no arms are compared, or words are counted.
    """
    detector = probe.detector
    if probe.arms is None or not detector.labels:
        return attempts.with_columns(pl.lit(0.0).alias(CONTRAST))
    values = [detector.number.summed()] if detector.number else [pl.col(LABEL) == label for label in detector.labels]
    columns = {f"value_{place}": value.cast(pl.Float64) for place, value in enumerate(values)}
    decided = attempts.filter(is_measured() & detector.detected()).select(ITEM, probe.arms.column, **columns)
    arms = decided.group_by(ITEM, probe.arms.column).agg(pl.col(*columns).mean())
    items = arms.group_by(ITEM).agg(
        pl.max_horizontal((pl.col(name).max() - pl.col(name).min()) for name in columns).alias(CONTRAST)
    )
    joined = attempts.join(items, on=ITEM, how="left", maintain_order="left")
    return joined.with_columns(pl.col(CONTRAST).fill_null(0.0))


def find_case(probe: Probe, attempts: pl.DataFrame, columns: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """An answer from the most different case, and beside it one for another arm that says something else, if there is.

    `columns` are values that the first answer has, if any answer has them. Among equals the ids decide: hashes.
    """
    read = attempts.filter(is_measured() & probe.detector.detected())
    read = with_contrast(probe, read if read.height else attempts.filter(is_measured()))
    fitting = read.filter(pl.lit(value=True), **(columns or {}))
    worst_first = [CONTRAST, ID, REPETITION]
    first = (fitting if fitting.height else read).sort(worst_first, descending=[True, False, False])[:1]
    if first.is_empty() or probe.arms is None or not first[CONTRAST].item():
        return first.drop(CONTRAST)
    arm, number = probe.arms.column, probe.detector.number
    others = read.filter(pl.col(ITEM) == first[ITEM].item(), pl.col(arm) != first[arm].item())
    if number:
        others = others.sort((pl.col(number.name) - first[number.name].item()).abs(), ID, descending=[True, False])
    else:
        others = others.filter(pl.col(LABEL) != first[LABEL].item()).sort(ID, REPETITION)
    return pl.concat([first, others[:1]]).drop(CONTRAST)
