"""`hiring_an` from ten thousand prompts to all 5,424,000: planned and written, and scored from a file of answers."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.harness import OURS, job, say, seconds, table

SIZES = (10_000, 100_000, 1_000_000, 5_424_000)


def run(*, quick: bool) -> str:
    """Seconds, seconds a million, and the most memory, for each size."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES[:2] if quick else SIZES:
            say(f"{size:,} prompts")
            planned = job(OURS, "benchmarks.scale_job", "plan", size, folder)
            job(OURS, "benchmarks.scale_job", "answers", size, folder)
            scored = job(OURS, "benchmarks.scale_job", "score", size, folder)
            assert scored["matched"] == size
            answers = Path(folder) / f"{size}.jsonl"
            millions = size / 1e6
            rows.append(
                (
                    f"{size:,}",
                    seconds(planned["wall"]),
                    seconds(planned["wall"] / millions),
                    f"{planned['peak_mb']:,.0f} MB",
                    f"{answers.stat().st_size / 2**20:,.0f} MB",
                    seconds(scored["wall"]),
                    seconds(scored["wall"] / millions),
                    f"{scored['peak_mb']:,.0f} MB",
                )
            )
            answers.unlink()
    about = (
        "`hiring_an`: all prompts planned and written to a run file, and a file of answers of 1,100 characters scored "
        "(read, matched, evaluated, all slices, 1,000 replicates, marks). Peak memory is that of the whole process."
    )
    head = ("prompts", "planned", "a million", "peak", "answers", "scored", "a million", "peak")
    return f"## Scale\n\n{about}\n\n{table(head, rows)}"
