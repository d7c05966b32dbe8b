"""The time to write the HTML report of a run, compared with showing the same run on the terminal."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.harness import OUR_PYTHON, format_ratio, format_seconds, markdown_table, run_job, time_command


def run(*, quick: bool) -> str:
    """CPU seconds of the two commands, and the size of the report."""
    with tempfile.TemporaryDirectory() as folder:
        file, page = Path(folder) / "run.equipoise", Path(folder) / "run.html"
        run_file = run_job(OUR_PYTHON, "benchmarks.report_job", file, "quick" if quick else "standard")
        equipoise = str(OUR_PYTHON.with_name("equipoise"))
        shown = time_command([equipoise, "show", str(file)])
        written = time_command([equipoise, "report", str(file), "--out", str(page)])
        size = page.stat().st_size / 2**20
    rows = [
        ("`equipoise show`: read, evaluated, scored", *map(format_seconds, shown), "1×"),
        (
            f"`equipoise report`: the same, and {size:.1f} MB of HTML written",
            *map(format_seconds, written),
            format_ratio(written[0] / shown[0]),
        ),
    ]
    about = (
        f"A run of the {run_file['suite']} suite: {run_file['attempts']:,} answers of 1,100 characters to "
        f"{run_file['probes']} probes{run_file['note']}. Whole commands, including the start of Python."
    )
    return f"## Report\n\n{about}\n\n{markdown_table(('command', 'time', 'CPU', 'compared with `show`'), rows)}"
