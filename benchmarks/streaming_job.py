"""One step with many answers to `hiring_an`: `python -m benchmarks.streaming_job STEP PROMPTS FOLDER`.

`answers` writes answers of about 1,100 characters as JSONL and as Parquet. `import`, `export-FORMAT` and `report` do
what the commands do. `careful-FORMAT` and `specified-FORMAT` score by these readings; `read-FORMAT` only reads and
checks them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.clock import measure_time, print_result
from benchmarks.scale_job import make_plan, write_answers
from equipoise.answers.files import read_tables
from equipoise.answers.score import score_tables
from equipoise.measuring.plan import plan
from equipoise.report.exports import export
from equipoise.report.html.write import write_report
from equipoise.runs.imports import import_answers
from equipoise.schema import READINGS

PROBE = "hiring_an"
FORMS = ("jsonl", "parquet")


def prepare_answers(size: int, folder: Path) -> int:
    """Write the answers in both formats; give their number."""
    path = folder / f"{size}.jsonl"
    write_answers(make_plan(size), path)
    pl.scan_ndjson(path).sink_parquet(path.with_suffix(".parquet"), row_group_size=20_000)
    return size


def store_answers(size: int, folder: Path) -> int:
    """Import the answers into a run file; give how many are new."""
    run_file = folder / f"{size}.equipoise"
    parameters = {"sample": size // 2}
    _, new, _ = import_answers(folder / f"{size}.jsonl", run_file, probes=PROBE, parameters=parameters)
    return new


def export_answers(form: str) -> Callable[[int, Path], int]:
    """What exports all attempts in this format; gives the number of rows."""
    return lambda size, folder: export(folder / f"{size}.equipoise", folder / f"exported.{form}", "attempts", form)


def report_answers(size: int, folder: Path) -> int:
    """Write a report; give the number of answers of the run."""
    write_report(folder / f"{size}.equipoise", folder / "report.html")
    return size


def score_answers(reading: str, form: str) -> Callable[[int, Path], int]:
    """What scores the answers in this format by a reading; gives how many were matched."""

    def score(size: int, folder: Path) -> int:
        planned = plan(PROBE, reading=reading, sample=size // 2)
        return score_tables(planned, read_tables(folder / f"{size}.{form}")).matching.matched

    return score


def read_answers(form: str) -> Callable[[int, Path], int]:
    """What reads and checks the answers in this format, and no more; gives how many there are."""
    return lambda size, folder: sum(table.height for table in read_tables(folder / f"{size}.{form}"))


STEPS: dict[str, Callable[[int, Path], int]] = {
    "answers": prepare_answers,
    "import": store_answers,
    "report": report_answers,
    **{f"export-{form}": export_answers(form) for form in ("csv", "jsonl", "parquet")},
    **{f"read-{form}": read_answers(form) for form in FORMS},
    **{f"{reading}-{form}": score_answers(reading, form) for reading in READINGS for form in FORMS},
}


def main() -> None:
    """Run the step and print what it cost."""
    step, size, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    result: dict[str, Any] = {}
    with measure_time(result):
        result["answers"] = STEPS[step](size, folder)
    print_result(result)


if __name__ == "__main__":
    main()
