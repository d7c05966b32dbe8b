"""A process that exports and reports runs and prints its peak memory: `python -m report.streaming_child FILE FILE`."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from equipoise.report import exports
from equipoise.report.html.write import write_report
from equipoise.runs.file import reader


def main(*runs: str) -> None:
    """Report and export a small run, so that all is loaded, and then a large one; print the peak after each, in MB."""
    reader.BATCH_BYTES = exports.GROUP_BYTES = 1_000_000
    for run in map(Path, runs):
        write_report(run, run.with_suffix(".html"))
        for form in ("csv", "jsonl", "parquet"):
            exports.export(run, run.with_suffix(f".{form}"), "attempts", form)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        sys.stdout.write(f"{peak // (2**20 if sys.platform == 'darwin' else 2**10)} ")


if __name__ == "__main__":
    main(*sys.argv[1:])
