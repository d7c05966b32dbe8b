"""The same answers by a probe's other reading: a number that depends on the reading should be seen to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import polars as pl

from equipoise.authoring import Probe
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.measure import Part, measure
from equipoise.measuring.plan import Setup
from equipoise.measuring.result import Result
from equipoise.schema import EVALUATION_FAILED, ID, LABEL, PROMPT, READ_DIFFERENTLY


def measure_other_reading(setup: Setup, parts: Callable[[], Iterable[pl.DataFrame]]) -> Result | None:
    """The result by the other detector of a probe, without slices and clusters; None where there is only one.

    Each part holds attempts of whole items with their prompts, answers and what the setup's own reading found in them.
    How many answers the two read differently is counted in the coverage.
    """
    other = find_other_setup(setup)
    if other is None:
        return None
    return measure(other, lambda: (read_again(setup, other, part) for part in parts()))


def find_other_setup(setup: Setup) -> Setup | None:
    """The setup with the other reading of its probe. What a judge said belongs to neither reading."""
    reading = setup.probe.other_reading
    if reading is None:
        return None
    return replace(setup, probe=replace(setup.probe.read_by(reading), slices=(), clusters=()), judge=None)


def read_again(setup: Setup, other: Setup, part: pl.DataFrame) -> Part:
    """Attempts by the other reading, and whether both give different decided labels, numbers or counts."""
    detector = setup.probe.detector
    attempts = part.drop(*detector.columns, EVALUATION_FAILED, strict=False)
    before = evaluate(detector, attempts) if setup.judge else part
    after = evaluate(other.probe.detector, attempts).drop(PROMPT)
    first, second = before.select(_outcomes(setup.probe)), after.select(_outcomes(other.probe))
    different = pl.any_horizontal(first[name].ne_missing(second[name]) for name in {*first.columns} & {*second.columns})
    return Part(after.unique(ID, maintain_order=True), after.with_columns(different.alias(READ_DIFFERENTLY)))


def _outcomes(probe: Probe) -> list[pl.Expr]:
    """What the metrics rest on: the label if it decides something, or the number, or the counts."""
    if probe.detector.number:
        return [pl.col(probe.detector.number.name)]
    if probe.detector.counts:
        return [pl.col(name) for name in probe.detector.counts]
    return [pl.when(probe.detector.detected()).then(pl.col(LABEL).cast(pl.String)).alias(LABEL)]
