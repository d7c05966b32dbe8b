"""The time to write the HTML report of a run, compared with showing the same run on the terminal."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.processes import OUR_PYTHON, format_ratio, format_seconds, markdown_table, run_job, time_command

ROUNDS = 3
"""The commands take turns; the medians count."""


def run(*, quick: bool) -> str:
    """CPU seconds of the commands, and the size of the report."""
    with tempfile.TemporaryDirectory() as folder:
        file, page = Path(folder) / "run.equipoise", Path(folder) / "run.html"
        run_file = run_job(OUR_PYTHON, "benchmarks.report_job", file, "quick" if quick else "standard")
        equipoise = str(OUR_PYTHON.with_name("equipoise"))
        commands = {
            "`equipoise show`: read, evaluated, scored": ["show", str(file)],
            "`equipoise show --all`: the same, the other reading, and the words": ["show", "--all", str(file)],
            "`equipoise report`: all of that as HTML": ["report", str(file), "--out", str(page)],
        }
        rounds = [{name: time_command([equipoise, *words]) for name, words in commands.items()} for _ in range(ROUNDS)]
        size = page.stat().st_size / 2**20
    times = {name: [median(took[name][part] for took in rounds) for part in (0, 1)] for name in commands}
    least = next(iter(times.values()))[1]
    rows = [(name, *map(format_seconds, took), format_ratio(took[1] / least)) for name, took in times.items()]
    about = (
        f"A run of the {run_file['suite']} suite: {run_file['attempts']:,} answers of 1,100 characters to "
        f"{run_file['probes']} probes{run_file['note']}. Whole commands, including the start of Python; "
        f"medians of {ROUNDS} rounds. The report has {size:.1f} MB."
    )
    return f"## Report\n\n{about}\n\n{markdown_table(('command', 'time', 'CPU', 'CPU compared with `show`'), rows)}"
