"""The report of a standard run, beside showing the same run on the terminal."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.harness import OURS, command, job, seconds, table, times


def run(*, quick: bool) -> str:
    """CPU seconds of the two commands, and the size of the report."""
    with tempfile.TemporaryDirectory() as folder:
        file, page = Path(folder) / "run.equipoise", Path(folder) / "run.html"
        made = job(OURS, "benchmarks.report_job", file, "quick" if quick else "standard")
        equipoise = str(OURS.with_name("equipoise"))
        shown = command([equipoise, "show", str(file)])
        written = command([equipoise, "report", str(file), "--out", str(page)])
        size = page.stat().st_size / 2**20
    rows = [
        ("`equipoise show`: read, evaluated, scored", *map(seconds, shown), "1×"),
        (
            f"`equipoise report`: the same and {size:.1f} MB of HTML",
            *map(seconds, written),
            times(written[0] / shown[0]),
        ),
    ]
    about = (
        f"A run of the {made['suite']} suite: {made['attempts']:,} answers of 1,100 characters to {made['probes']} "
        f"probes{made['note']}. Whole commands, start included."
    )
    return f"## Report\n\n{about}\n\n{table(('command', 'time', 'CPU', 'beside showing it'), rows)}"
