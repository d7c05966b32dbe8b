"""Answers to evaluations: the probe's own reading of the visible text, a whole column at once."""

from __future__ import annotations

import polars as pl

from equipoise.detect.visible import visible
from equipoise.frames import ANSWER, EVALUATION_FAILED, LABEL
from equipoise.probe import Probe


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
    # Two steps, so that the visible text is made once however often the evaluation reads it.
    answers = answers.with_columns(visible(pl.col(ANSWER)))
    said = probe.evaluate(pl.col(ANSWER))
    flag = pl.lit(failed).alias(EVALUATION_FAILED)
    if probe.labels:
        return answers.with_columns(said.cast(pl.String).alias(LABEL), flag).drop(ANSWER)
    return answers.with_columns(said.alias(LABEL), flag).unnest(LABEL).drop(ANSWER)
