"""A process that exports or reports a run and prints its peak memory: `python -m report.streaming_child FILE WORK`."""

from __future__ import annotations

import sys
from pathlib import Path

from equipoise.report.exports import export
from equipoise.report.html.write import write_report
from equipoise.runs.file import tables
from runs.large_child import peak_megabytes


def main(small: str, path: str, work: str) -> None:
    """Do the work on a small run, so that all is loaded, and then on another; print the peak after each, in MB."""
    tables.BATCH_BYTES = 1_000_000
    for run in (small, path):
        out = Path(run).with_suffix(f".{work}")
        if work == "html":
            write_report(run, out)
        else:
            export(run, out, "attempts", work)
        sys.stdout.write(f"{peak_megabytes()} ")


if __name__ == "__main__":
    main(*sys.argv[1:])
