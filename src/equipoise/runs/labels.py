"""The labels of the current reading, written into a run file when its answers are there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import polars as pl

from equipoise.authoring import Probe
from equipoise.errors import EquipoiseError
from equipoise.runs.file.store import Reading, RunFile
from equipoise.runs.run import Run


def store_labels(file: RunFile, probes: Iterable[Probe]) -> None:
    """Store what the answers of a run say, for other tools.

    Labels can be made again at any time, so a full disk or a probe that is not installed ends no run: the file then has
    the labels that it had, and its table `readings` says of how many attempts they are.
    """
    with contextlib.suppress(EquipoiseError):
        file.replace_labels(_read_all(Run(file.path, probes, verify="layout")))


def _read_all(run: Run) -> Iterator[tuple[Reading, Iterable[pl.DataFrame]]]:
    for name in run.planned:
        setup = run.setup(name)
        reading = Reading(probe=name, reading=setup.probe.reading, detector=setup.probe.detector, judge=setup.judge)
        yield reading, run.transcript_batches(name)
