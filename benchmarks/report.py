"""The report of a standard run, beside showing the same run on the terminal."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.harness import OURS, job, seconds, table, times


def run(*, quick: bool) -> str:
    """CPU seconds of the two commands, and the size of the report."""
    with tempfile.TemporaryDirectory() as folder:
        file, page = Path(folder) / "run.equipoise", Path(folder) / "run.html"
        made = job(OURS, "benchmarks.report_job", file, "quick" if quick else "standard")
        equipoise = str(OURS.with_name("equipoise"))
        shown = _cost([equipoise, "show", str(file)])
        written = _cost([equipoise, "report", str(file), "--out", str(page)])
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


def _cost(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a command that ends well."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return took, used.ru_utime + used.ru_stime
