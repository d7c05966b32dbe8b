"""Answers to marks by this package: `python -m benchmarks.marks_job PROBE ANSWERS PARAMETERS REPLICATES`.

Importing, reading the file and the corpus are not timed. Timed is what `equipoise.score` does with rows in memory:
checking them, making the prompts, matching, evaluating, replicates, marks.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy.ma  # importing is not timed, nor is what polars imports at its first array
import numpy.random  # noqa: F401
import orjson

from benchmarks.clock import clocked, report
from equipoise import scoring
from equipoise.answers import from_python
from equipoise.frames import ANSWER, ID, REPETITION
from equipoise.stats.resample import estimates


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The answers of a file with the ids of their prompts."""
    with path.open("rb") as file:
        return [{name: row[name] for name in (ID, REPETITION, ANSWER)} for row in map(orjson.loads, file)]


def main() -> None:
    """Score, and report what it cost."""
    probe, path, parameters = sys.argv[1], Path(sys.argv[2]), orjson.loads(sys.argv[3])
    planned, rows = scoring.plan(probe, **parameters), rows_of(path)
    found: dict[str, Any] = {}
    so_many = partial(estimates, replicates=int(sys.argv[4]))
    with patch.object(scoring, "estimates", so_many), clocked(found):
        result = scoring.score_rows(planned, from_python(rows))
    assert result.answers.matched == len(rows)
    report(found)


if __name__ == "__main__":
    main()
