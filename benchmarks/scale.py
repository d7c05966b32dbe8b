"""Plan and score `hiring_an` in sizes from ten thousand prompts to all 5,424,000."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.processes import OUR_PYTHON, format_seconds, log, markdown_table, run_job
from equipoise.measuring.resample import REPLICATES

SIZES = (10_000, 100_000, 1_000_000, 5_424_000)


def run(*, quick: bool) -> str:
    """Seconds, seconds per million prompts, and peak memory, for each size."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES[:2] if quick else SIZES:
            log(f"{size:,} prompts")
            planned = run_job(OUR_PYTHON, "benchmarks.scale_job", "plan", size, folder)
            run_job(OUR_PYTHON, "benchmarks.scale_job", "answers", size, folder)
            scored = run_job(OUR_PYTHON, "benchmarks.scale_job", "score", size, folder)
            assert scored["matched"] == size
            answers = Path(folder) / f"{size}.jsonl"
            millions = size / 1e6
            rows.append(
                (
                    f"{size:,}",
                    format_seconds(planned["wall"]),
                    format_seconds(planned["wall"] / millions),
                    f"{planned['peak_mb']:,.0f} MB",
                    f"{answers.stat().st_size / 2**20:,.0f} MB",
                    format_seconds(scored["wall"]),
                    format_seconds(scored["wall"] / millions),
                    f"{scored['peak_mb']:,.0f} MB",
                )
            )
            answers.unlink()
    about = (
        "`hiring_an`. Planned: all prompts are made and written to a run file. Scored: a file of answers (JSONL, 1,100 "
        "characters each) is read, matched, evaluated carefully and measured, with all slices, "
        f"{REPLICATES:,} replicates and marks. Peak memory is that of the whole process."
    )
    head = ("prompts", "planned", "per million", "peak", "file of answers", "scored", "per million", "peak")
    return f"## Scale\n\n{about}\n\n{markdown_table(head, rows)}"
