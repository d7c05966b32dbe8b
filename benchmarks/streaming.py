"""Import, export, report and score many answers: the peak memory of each must stay below a ceiling."""

from __future__ import annotations

import tempfile

from benchmarks.harness import OUR_PYTHON, format_ratio, format_seconds, log, markdown_table, run_job

IMPORTED, SHOWN = 1_000_000, 300_000
QUICK = 30_000
CEILINGS = {"import": 600, "export-csv": 450, "export-jsonl": 450, "export-parquet": 450, "report": 600}
"""Megabytes that a step may need at most, the whole process."""
MIN_RATIO = 2.0
"""So many times as fast Parquet must be scored as JSONL, by CPU."""
WORK = {
    "match": "read and matched",
    "specified": "scored, reading as specified",
    "careful": "scored, reading carefully",
}
BARRED = {"match": "2×", "specified": "2×"}
"""The careful reading takes longer than all else, and as long for either format: its ratio says little."""


def run(*, quick: bool) -> str:
    """Time and peak memory of each step, with its ceiling; and how much faster Parquet is scored than JSONL."""
    rows, missed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for size in (QUICK,) if quick else (IMPORTED, SHOWN):
            run_job(OUR_PYTHON, "benchmarks.streaming_job", "answers", size, folder)
            steps = [step for step in CEILINGS if step == "import" or size != IMPORTED]
            for step in steps:
                log(f"{step}, {size:,} answers")
                cost = run_job(OUR_PYTHON, "benchmarks.streaming_job", step, size, folder)
                assert cost["answers"] == size
                peak, ceiling = f"{cost['peak_mb']:,.0f} MB", CEILINGS[step]
                rows.append((step.replace("-", ", "), f"{size:,}", format_seconds(cost["cpu"]), peak, f"{ceiling} MB"))
                if cost["peak_mb"] > ceiling:
                    missed.append(f"{step} of {size:,} answers needed {peak}")
        ratios = {work: _compare_formats(work, size, folder) for work in WORK}
    for work, (_, _, ratio) in ratios.items():
        if work in BARRED and ratio < MIN_RATIO:
            missed.append(f"{WORK[work]}: Parquet was only {format_ratio(ratio)} as fast as JSONL")
    head = ("step", "answers", "CPU", "peak memory", "ceiling")
    about = (
        "Answers of 1,100 characters to `hiring_an`, each step in a process of its own. `import`: from JSONL into a "
        "new run file. `export`: every attempt with its prompt, covariates, answer and label."
    )
    formats = [
        (WORK[work], format_seconds(jsonl), format_seconds(parquet), format_ratio(ratio), BARRED.get(work, ""))
        for work, (jsonl, parquet, ratio) in ratios.items()
    ]
    compared = markdown_table((f"{size:,} answers, CPU", "JSONL", "Parquet", "faster", "bar"), formats)
    verdict = f"Missed: {'; '.join(missed)}." if missed else "All bars were met."
    return f"## Streaming\n\n{about}\n\n{markdown_table(head, rows)}\n\n{compared}\n\n{verdict}"


def _compare_formats(work: str, size: int, folder: str) -> tuple[float, float, float]:
    """CPU seconds of the same work on JSONL and on Parquet, and their ratio."""
    log(WORK[work])
    jsonl, parquet = (
        run_job(OUR_PYTHON, "benchmarks.streaming_job", f"{work}-{form}", size, folder, rounds=2)["cpu"]
        for form in ("jsonl", "parquet")
    )
    return jsonl, parquet, jsonl / parquet
