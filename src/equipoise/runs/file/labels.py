"""What the answers say, stored beside them so that any SQLite tool can filter by it.

These rows are derived. They are replaced as a whole, and equipoise never reads them: it reads the answers anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from equipoise.detect import Detector
from equipoise.runs.file import sql
from equipoise.runs.file.columns import encode_json
from equipoise.runs.file.digests import write_label_digest
from equipoise.schema import ID, JUDGED, LABEL, REPETITION, is_measured


@dataclass(frozen=True, kw_only=True)
class Reading:
    """By whom the answers of a probe were read."""

    probe: str
    reading: str
    detector: Detector
    judge: str | None


def write_labels(connection: sqlite3.Connection, labels: Iterable[tuple[Reading, Iterable[pl.DataFrame]]]) -> None:
    """Replace all labels. The frames hold evaluated attempts. The caller has begun a transaction."""
    for statement in sql.REMOVE_LABELS:
        connection.execute(statement)
    for reading, frames in labels:
        connection.execute(sql.ADD_READING, (reading.probe, reading.reading, reading.detector.title, reading.judge))
        for frame in frames:
            connection.executemany(sql.ADD_LABEL, _label_rows(reading, frame.filter(is_measured())))
    write_label_digest(connection)


def _label_rows(reading: Reading, measured: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Label, counts as JSON, whether the label is the judge's; then the key of the attempt."""
    counts = reading.detector.counts
    labels = measured[LABEL] if not counts else [None] * measured.height
    counted = measured.select(counts).iter_rows(named=True) if counts else [None] * measured.height
    judged = measured[JUDGED] if JUDGED in measured.columns else [False] * measured.height
    for key, repetition, label, numbers, is_judged in zip(
        measured[ID], measured[REPETITION], labels, counted, judged, strict=True
    ):
        encoded = None if numbers is None else encode_json(numbers)
        yield label, encoded, int(is_judged), reading.probe, key, repetition
