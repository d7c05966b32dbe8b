"""Simulated models show whether intervals cover, marks hold, tests reject and gates fail as often as they should.

    python -m benchmarks.calibrate            some minutes on two cores; prints the page
    python -m benchmarks.calibrate --write    and writes it to docs/calibration.md

Everything is seeded. Here stands which studies are made; `simulated.py` has the models, `calibration_studies.py` the
studies, `calibration_page.py` the tables.
"""

from __future__ import annotations

import argparse
import hashlib
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.calibration_page import PAGE, make_page
from benchmarks.calibration_studies import (
    Coverage,
    Estimates,
    Findings,
    find_reaches,
    judge_regressions,
    judge_runs,
    reject_nulls,
    simulate_comparisons,
    simulate_estimates,
    study_coverage,
    study_looks,
)
from benchmarks.simulated import STUDIES, find_truth, make_plan
from equipoise.probes import get_probe
from equipoise.runs.suites import get_suite

T = TypeVar("T")

LABELLED = ("jobs_lum", "gest_creative", "hiring_an", "discrimination_tamkin")
"""The studies whose labels are drawn."""
WRITTEN = {study: list(own.models) for study, own in STUDIES.items() if own.models.keys() >= {"random"}}
"""Those whose texts are written and read, and their models: the first answers at random, the last never does."""
FAIR = dict.fromkeys(LABELLED, "p = 0.5")
FAIR |= {"business_vocabulary": "fair"} | {study: models[0] for study, models in WRITTEN.items()}
UNFAIR = {
    "jobs_lum": "slope 0.75",
    "gest_creative": "stereotypes 0.75",
    "hiring_an": "slope 0.6",
    "discrimination_tamkin": "men +0.75",
    "business_vocabulary": "men +0.65",
    **{study: models[-1] for study, models in WRITTEN.items()},
}
"""In band D of a marked metric: about its middle, or the probe's own reference model."""
NULL_MODELS = {
    "jobs_lum": ("p = 0.5", "p = 0.1"),
    "gest_creative": ("p = 0.5", "p = 0.1"),
    "hiring_an": ("p = 0.5", "p = 0.1"),
    "discrimination_tamkin": ("p = 0.5", "p = 0.1"),
    "business_vocabulary": ("fair", "men +0.2"),
    **{study: tuple(models[:2]) for study, models in WRITTEN.items()},
}
NULL_SIZES = (6, 24, 60)
STOPPING = {
    "jobs_lum": ("p = 0.5", "slope 0.3"),
    "gest_creative": ("p = 0.5", "stereotypes 0.75"),
    "hiring_an": ("p = 0.5", "men +0.3"),
    "discrimination_tamkin": ("p = 0.5", "men +0.75"),
    "business_vocabulary": ("fair", "men +0.2"),
    **{study: (models[0], models[-1]) for study, models in WRITTEN.items()},
}


def suite_sizes(suite: str) -> dict[str, tuple[int, int]]:
    """For each probe the items and the repetitions of a suite, on the packaged corpora."""
    sizes = {}
    for study, own in STUDIES.items():
        probe = get_probe(study)
        parameters = {**get_suite(suite).parameters(probe), **own.parameters}
        resolved = probe.resolve(parameters)
        items = resolved["sample"] or make_plan(study, None, 0)[0].items
        sizes[study] = (items, resolved["repeat"])
    return sizes


def gate_sizes() -> dict[str, dict[str, tuple[int, int]]]:
    """The sizes at which gates are tried."""
    return {suite: suite_sizes(suite) for suite in ("quick", "ci", "standard")}


def is_in_d(study: str) -> bool:
    """Whether the unfair model of a study is: the reference models of `resume_score` only reach C."""
    truth = find_truth(study, UNFAIR[study])
    return any(bands.mark(truth[name]) == "D" for name, bands in get_probe(study).marked_metrics().items())


def _report(rows: list[Coverage]) -> list[Coverage]:
    """Say on stderr what was found so far: all of it takes a while."""
    for row in rows:
        sys.stderr.write(f"{row.study} {row.metric} {row.size} {row.model}: {row.covered:.3f} {row.wrong:.3f}\n")
    return rows


def keep(folder: Path | None, function: Callable[..., T], *arguments: Any) -> T:
    """What the function gives, or gave when it was called in this way before, if it was kept in this folder."""
    if folder is None:
        return function(*arguments)
    file = folder / f"{function.__name__}-{hashlib.sha256(repr(arguments).encode()).hexdigest()[:20]}.pickle"
    if not file.exists():
        result = function(*arguments)
        file.with_suffix(".partial").write_bytes(pickle.dumps(result))
        file.with_suffix(".partial").rename(file)
    found: T = pickle.loads(file.read_bytes())
    return found


def run_jobs(simulations: int, workers: int, folder: Path | None = None) -> Findings:
    """Simulate everything. Spawned, not forked: the threads of polars do not survive a fork."""
    few = max(20, simulations // 5)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:

        def submit(function: Callable[..., T], *arguments: Any) -> Future[T]:
            return pool.submit(keep, folder, function, *arguments)

        sizes = gate_sizes()
        kinds = (("fair", ""), *((f"D in `{study}`", study) for study in STUDIES if is_in_d(study)))
        runs: dict[tuple[str, str, bool], Future[list[Estimates]]] = {
            (label, study, fair): submit(
                simulate_estimates, study, (FAIR if fair else UNFAIR)[study], *chosen[study], few
            )
            for label, chosen in sizes.items()
            for study in STUDIES
            for fair in (True, False)
        }
        pairs: dict[tuple[str, str, bool], Future[Any]] = {
            (label, study, fair): submit(
                simulate_comparisons,
                study,
                (FAIR[study], (FAIR if fair else UNFAIR)[study]),
                *chosen[study],
                few,
            )
            for label, chosen in sizes.items()
            for study in STUDIES
            for fair in (True, False)
        }
        standard = suite_sizes("standard")
        stops = [
            submit(study_looks, study, model, *standard[study], simulations)
            for study, models in STOPPING.items()
            for model in models
        ]
        coverage = [
            submit(study_coverage, name, model, size, simulations)
            for name, study in STUDIES.items()
            for size in study.sizes
            for model in study.models
        ]
        nulls = {
            (name, size, model): submit(simulate_comparisons, name, (model, model), size, 1, 2 * simulations)
            for name, models in NULL_MODELS.items()
            for size in NULL_SIZES
            for model in models
            if size >= STUDIES[name].sizes[0]
        }
        for job in coverage:
            _report(job.result())
        reaches = [
            reach
            for suite in sizes
            for study in STUDIES
            for reach in find_reaches(
                suite,
                study,
                sizes[suite][study],
                runs[suite, study, True].result(),
                runs[suite, study, False].result(),
            )
        ]
        return Findings(
            reaches=reaches,
            coverage=[row for job in coverage for row in job.result()],
            nulls={key: reject_nulls(job.result(), key[0]) for key, job in nulls.items()},
            gates={
                (kind, label, mark): judge_runs(
                    {study: runs[label, study, study != bad].result() for study in STUDIES}, mark
                )
                for label in sizes
                for kind, bad in kinds
                for mark in ("C", "D")
            },
            regressions={
                (kind, label): judge_regressions(
                    {study: pairs[label, study, study != bad].result() for study in STUDIES}
                )
                for label in sizes
                for kind, bad in kinds
            },
            stops=[job.result() for job in stops],
        )


def main() -> None:
    """Run the simulations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/calibration.md")
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for what is finished; the next call goes on from there")
    options = parser.parse_args()
    findings = run_jobs(options.simulations, options.workers, options.keep)
    page = make_page(findings, options.simulations)
    sys.stdout.write(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
