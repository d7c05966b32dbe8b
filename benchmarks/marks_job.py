"""Score answers with equipoise: `python -m benchmarks.marks_job PROBE READING ANSWERS PARAMETERS`.

Imports and reading the file and the corpus are not timed. What is timed is what `equipoise.score` does with rows in
memory: check them, make the prompts, match, evaluate, resample, mark.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy.ma  # polars imports these at its first array, and imports are not timed
import numpy.random  # noqa: F401
import orjson

from benchmarks.clock import measure_time, print_result
from equipoise.answers.rows import read_python
from equipoise.answers.score import score_rows
from equipoise.measuring.plan import plan
from equipoise.schema import ANSWER, ID, REPETITION


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read the answers of a file, with the ids of their prompts."""
    with path.open("rb") as file:
        return [{name: row[name] for name in (ID, REPETITION, ANSWER)} for row in map(orjson.loads, file)]


def main() -> None:
    """Score the answers and print what it cost."""
    probe, reading, path, parameters = sys.argv[1], sys.argv[2], Path(sys.argv[3]), orjson.loads(sys.argv[4])
    planned, rows = plan(probe, reading=reading, **parameters), read_rows(path)
    cost: dict[str, Any] = {}
    with measure_time(cost):
        result = score_rows(planned, read_python(rows))
    assert result.matching.matched == len(rows)
    print_result(cost)


if __name__ == "__main__":
    main()
