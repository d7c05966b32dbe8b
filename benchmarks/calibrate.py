"""Simulated models show whether intervals cover, marks hold, tests reject and gates fail as often as they should.

    python -m benchmarks.calibrate            on two cores; prints the tables (the corpora must be there: `data fetch`)
    python -m benchmarks.calibrate --write    and writes them to docs/calibration.md

Everything is seeded. Here stands which studies are made; `simulated.py` has the models, `calibration_studies.py` the
studies, `calibration_page.py` the tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from benchmarks.calibration_page import PAGE, make_tables, missed_goals
from benchmarks.calibration_studies import (
    TABLES,
    Row,
    study_clusters,
    study_coverage,
    study_looks,
    study_marks,
    study_missing,
    study_selection,
    study_tests,
)
from benchmarks.processes import log, write_block
from benchmarks.simulated import MODELS, Asking, make_world
from equipoise.probes import find_probes
from equipoise.runs.suites import get_suite

PROBES = tuple(find_probes())
DIFFERING = ("beta items", "logit-normal", "settled")
"""Models to which items differ."""
SIZES = {24: tuple(MODELS), 100: tuple(MODELS), 400: DIFFERING}
WORDS = (0.15, 0.5, 1.5, 6.0)
"""Of an inventory, in a letter of a sparse vocabulary."""
LETTERS = (20, 60, 200)
REPEATED = {
    "jobs_lum": (339, 7),
    "inventories": (125, 6),
    "gest_creative": (432, 3),
    "discrimination_tamkin": (1_000, 3),
}
SHARED = ("jobs_lum", "gest_creative", "discrimination_tamkin")
"""Probes that are read from probabilities, too."""
MISSING = ("jobs_lum", "gest_creative", "hiring_an", "discrimination_tamkin")
CLUSTERED = ("gest_creative", "discrimination_tamkin", "hiring_bloomberg", "word_association", "salary_advice")
UNEQUAL = ("discrimination_tamkin", "hiring_an", "jobs_lum")
STOPPED = {"jobs_lum": 339, "gest_creative": 432, "discrimination_tamkin": 2_100, "salary_advice": 384}
AGAIN = 4
"""What misses its goal is simulated again, with so many times as many runs: some figures do so by chance."""

Job = tuple[Callable[..., Any], tuple[Any, ...]]


def plan_suite(suite: str, name: str) -> tuple[str, Asking]:
    """What a suite asks of a probe: the study, on the corpus of the suite, and the items and repetitions."""
    probe = find_probes()[name]
    parameters = probe.resolve(get_suite(suite).parameters(probe))
    study = "/".join(filter(None, [name, parameters.get("corpus")]))
    items = (parameters["sample"] or 0) // probe.prompts_per_item or make_world(study).planned.items
    return study, Asking(items=items, repetitions=parameters["repeat"])


def list_jobs(runs: int) -> Iterator[Job]:
    """All studies that are made."""
    for items, models in SIZES.items():
        for study in PROBES:
            for model in models:
                yield study_coverage, ("once", study, model, Asking(items=items), runs)
    for study, (items, often) in REPEATED.items():
        for model in ("even", "one arm 96%", *DIFFERING):
            yield study_coverage, ("repeated", study, model, Asking(items=items, repetitions=often), runs)
    for study in SHARED:
        for model in DIFFERING:
            yield study_coverage, ("shares", study, model, Asking(items=100, shares=True), runs)
    for words in WORDS:
        for letters in LETTERS:
            for model in ("even", "logit-normal"):
                asking = Asking(items=letters, words=words)
                yield study_coverage, ("sparse", "business_vocabulary", model, asking, runs)
    for study in CLUSTERED:
        yield study_clusters, (study, "logit-normal", Asking(items=400), runs)
    for study in PROBES:
        yield study_tests, ("the same", study, "logit-normal", [Asking(items=60)] * 2, runs)
    for study in UNEQUAL:
        lost = [Asking(items=200), Asking(items=200, lost=0.2, evenly=True)]
        yield study_tests, ("one loses 20%", study, "logit-normal", lost, runs)
        unequal = [Asking(items=200), Asking(items=200, repetitions=5)]
        yield study_tests, ("asked 1 and 5 times", study, "logit-normal", unequal, runs)
    for study in MISSING:
        for model in ("even", "one arm 96%", "logit-normal"):
            yield study_missing, (study, model, Asking(items=400, lost=0.08), runs // 2)
    for suite in ("ci", "standard", "full"):
        for study, asking in (plan_suite(suite, name) for name in PROBES):
            for model in ("even", "settled", "strongly biased"):
                yield study_marks, (suite, study, model, asking, runs // 2)
    for study, items in STOPPED.items():
        for model in ("even", "strongly biased", "logit-normal"):
            yield study_looks, (study, model, items, runs // 2)
    for design in ("pairs", "crossed"):
        for model in ("judges CVs", "at random", "whims for names"):
            yield study_selection, (design, model, 1_000, runs)


def run_jobs(jobs: Sequence[Job], workers: int) -> dict[str, list[Row]]:
    """Simulate everything; give the rows of each table.

    Processes are spawned, not forked: the threads of polars do not survive a fork.
    """
    findings: dict[str, list[Row]] = {table: [] for table in TABLES.values()}
    again: list[Job] = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for is_last, some in ((False, jobs), (True, again)):
            for function, arguments, future in [(job, given, pool.submit(job, *given)) for job, given in some]:
                table, rows = TABLES[function], future.result()
                missed = list(missed_goals(table, rows, errors=0.0))
                log(f"{function.__name__} {arguments} {missed}")
                if missed and not is_last:
                    again.append((function, (*arguments[:-1], AGAIN * arguments[-1])))
                else:
                    findings[table] += rows
    return findings


def main() -> None:
    """Run the simulations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/calibration.md")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    for name, table in make_tables(run_jobs(list(list_jobs(options.runs)), options.workers)).items():
        print(f"{table}\n")
        if options.write:
            write_block(PAGE, name, table)


if __name__ == "__main__":
    main()
