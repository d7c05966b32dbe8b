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
    "read": "read and checked",
    "specified": "scored, reading as specified",
    "careful": "scored, reading carefully",
}
FORMS = ("jsonl", "parquet")
BARRED = {"read": "2×", "specified": "2×"}
"""The careful reading takes longer than all else, and as long for either format: its ratio says nothing."""


Costs = dict[tuple[str, int], dict[str, float]]
"""What a step with so many answers cost: `cpu` seconds and `peak_mb`."""


def run(*, quick: bool) -> str:
    """Time and peak memory of each step, with its ceiling; and how much faster Parquet is scored than JSONL."""
    costs: Costs = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in (QUICK,) if quick else (IMPORTED, SHOWN):
            run_job(OUR_PYTHON, "benchmarks.streaming_job", "answers", size, folder)
            steps = (
                ["import"] if size == IMPORTED else [*CEILINGS, *(f"{work}-{form}" for work in WORK for form in FORMS)]
            )
            for step in steps:
                log(f"{step}, {size:,} answers")
                costs[step, size] = run_job(OUR_PYTHON, "benchmarks.streaming_job", step, size, folder)
                assert costs[step, size]["answers"] == size
    return describe(costs)


def describe(costs: Costs) -> str:
    """The costs as Markdown, with what missed its bar."""
    rows, formats, missed = [], [], []
    for (step, size), cost in costs.items():
        if step in CEILINGS:
            peak = f"{cost['peak_mb']:,.0f} MB"
            rows.append(
                (step.replace("-", ", "), f"{size:,}", format_seconds(cost["cpu"]), peak, f"{CEILINGS[step]} MB")
            )
            if cost["peak_mb"] > CEILINGS[step]:
                missed.append(f"{step} of {size:,} answers needed {peak}")
        elif step.endswith("-jsonl"):
            work = step.partition("-")[0]
            jsonl, parquet = cost["cpu"], costs[f"{work}-parquet", size]["cpu"]
            ratio = format_ratio(jsonl / parquet)
            formats.append(
                (WORK[work], f"{size:,}", format_seconds(jsonl), format_seconds(parquet), ratio, BARRED.get(work, ""))
            )
            if work in BARRED and jsonl / parquet < MIN_RATIO:
                missed.append(f"{WORK[work]}, Parquet was {ratio} as fast as JSONL")
    head = ("step", "answers", "CPU", "peak memory", "ceiling")
    about = (
        "Answers of 1,100 characters to `hiring_an`, each step in a process of its own. `import`: from JSONL into a "
        "new run file. `export`: every attempt with its prompt, covariates, answer and label."
    )
    compared = markdown_table(("CPU", "answers", "JSONL", "Parquet", "faster", "bar"), formats)
    verdict = f"Missed: {'; '.join(missed)}." if missed else "All bars were met."
    return f"## Streaming\n\n{about}\n\n{markdown_table(head, rows)}\n\n{compared}\n\n{verdict}"
