"""Answers to evaluations: the probe's own reading of the visible text, a whole column at once."""

from __future__ import annotations

import polars as pl

from equipoise.detect.visible import visible
from equipoise.frames import ANSWER, EVALUATION_FAILED, LABEL
from equipoise.probe import Probe

SLICE = 2_000


def evaluate(probe: Probe, answers: pl.DataFrame) -> pl.DataFrame:
    """Replace `answer` by what it says: `label`, or the probe's counts, and whether the evaluation failed.

    An evaluation that raises, as a user's own may, costs only the answers on which it raises.
    """
    try:
        return _evaluated(probe, answers)
    except Exception:
        if answers.height <= 1:
            nothing = answers.with_columns(pl.lit(None, dtype=pl.String).alias(ANSWER))
            return _evaluated(probe, nothing, failed=True)
        half = answers.height // 2
        return pl.concat([evaluate(probe, answers[:half]), evaluate(probe, answers[half:])])


def _evaluated(probe: Probe, answers: pl.DataFrame, *, failed: bool = False) -> pl.DataFrame:
    said = probe.evaluate(pl.col(ANSWER))
    read = said.cast(pl.String).alias(LABEL) if probe.labels else said.alias(LABEL)
    flag = pl.lit(failed).alias(EVALUATION_FAILED)
    # Two steps, so that the visible text is made once however often the evaluation reads it; in slices, which polars
    # evaluates side by side.
    slices = [
        rows.lazy().with_columns(visible(pl.col(ANSWER))).with_columns(read, flag).drop(ANSWER)
        for rows in (answers.iter_slices(SLICE) if answers.height else [answers])
    ]
    whole = pl.concat(pl.collect_all(slices))
    return whole if probe.labels else whole.unnest(LABEL)
