"""What detectors say of answers that people labelled."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from equipoise.detect import Detector
from equipoise.measuring.evaluate import find_labels
from equipoise.probes.labelled import Row
from equipoise.schema import text_column


def label_rows(detector: Detector, rows: Sequence[Row]) -> list[str]:
    """What the detector says of labelled answers; columns of the prompt that it uses stand beside them in the file."""
    used = [text_column(name, [row.get(name) for row in rows]) for name in detector.uses]
    return find_labels(detector, [row["answer"] for row in rows], pl.DataFrame(used) if used else None)
