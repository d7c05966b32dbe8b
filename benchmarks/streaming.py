"""Import, export, report and score many answers: the peak memory of each must stay below a ceiling."""

from __future__ import annotations

import tempfile

from benchmarks.processes import OUR_PYTHON, format_ratio, format_seconds, log, markdown_table, run_job

IMPORTED, SHOWN = 1_000_000, 300_000
QUICK = 30_000
CEILINGS = {"import": 600, "export-csv": 450, "export-jsonl": 450, "export-parquet": 450, "report": 600}
"""Megabytes that a step may need at most, the whole process."""
MIN_RATIO = 2.0
"""So many times as fast Parquet must be scored as JSONL, by the wall."""
ROUNDS = 5
"""So often the two formats are read and scored. The fastest round counts: other programs only add to it."""
WORK = {
    "read": "read and checked",
    "specified": "scored, reading as specified",
    "careful": "scored, reading carefully",
}
FORMS = ("jsonl", "parquet")
SIZES = {"read": IMPORTED, "specified": IMPORTED, "careful": QUICK}
"""How many answers are read and scored in both formats: the careful reading takes as long for a tenth of them."""
BARRED = {"read": "2×", "specified": "2×"}
"""The careful reading takes longer than all else, and as long for either format: its ratio says nothing."""


Costs = dict[tuple[str, int], dict[str, float]]
"""What a step with so many answers cost: `wall` and `cpu` seconds, and `peak_mb`."""


def run(*, quick: bool) -> str:
    """Time and peak memory of each step, with its ceiling; and how much faster Parquet is scored than JSONL."""
    costs: Costs = {}
    with tempfile.TemporaryDirectory() as folder:
        for step, size in list_steps(quick=quick):
            log(f"{step}, {size:,} answers")
            cost = run_job(OUR_PYTHON, "benchmarks.streaming_job", step, size, folder)
            assert cost["answers"] == size
            log(str(cost))
            costs[step, size] = min(cost, costs.get((step, size), cost), key=lambda one: float(one["wall"]))
    return describe(costs)


def list_steps(*, quick: bool) -> list[tuple[str, int]]:
    """All steps with their numbers of answers, in order: answers are written before they are read."""
    imported, shown = (QUICK, QUICK) if quick else (IMPORTED, SHOWN)
    sizes = {work: QUICK if quick else size for work, size in SIZES.items()}
    return [
        *(("answers", size) for size in sorted({imported, shown, *sizes.values()})),
        # The formats take turns, so that both meet the same moods of the machine.
        *((f"{work}-{form}", size) for work, size in sizes.items() for _ in range(ROUNDS) for form in FORMS),
        *((step, shown) for step in CEILINGS),
        *([("import", imported)] if imported != shown else []),
    ]


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
        elif step.endswith("-jsonl"):  # beside it stands the same with Parquet
            work = step.partition("-")[0]
            parquet = costs[f"{work}-parquet", size]
            faster, less = (cost[kind] / parquet[kind] for kind in ("wall", "cpu"))
            seconds = (format_seconds(form["wall"]) for form in (cost, parquet))
            ratios = (format_ratio(faster), BARRED.get(work, ""), format_ratio(less))
            formats.append((WORK[work], f"{size:,}", *seconds, *ratios))
            if work in BARRED and faster < MIN_RATIO:
                missed.append(f"{WORK[work]}, Parquet was {ratios[0]} as fast as JSONL")
    head = ("step", "answers", "CPU", "peak memory", "ceiling")
    about = (
        "Answers of 1,100 characters to `hiring_an`, no two the same, each step in a process of its own. `import`: "
        "from JSONL into a new run file, with the careful reading of every answer. `export`: every attempt with its "
        "prompt, covariates, answer and label."
    )
    formats_about = (
        f"The same answers in JSONL and in Parquet, by the wall, the fastest of {ROUNDS} rounds in which they "
        "take turns. "
        "All that follows the reading of the file is the same work for both: making the prompts and their ids, "
        "matching, the detector, the sums, the intervals. It is done on all cores; JSONL is read on one."
    )
    compared = markdown_table(("work", "answers", "JSONL", "Parquet", "faster", "bar", "less CPU"), formats)
    verdict = f"Missed: {'; '.join(missed)}." if missed else "All bars were met."
    return f"## Streaming\n\n{about}\n\n{markdown_table(head, rows)}\n\n{formats_about}\n\n{compared}\n\n{verdict}"
