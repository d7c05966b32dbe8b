"""Simulated models show whether intervals cover, marks hold, tests reject and gates fail as often as they should.

    python -m benchmarks.calibrate            about five minutes on two cores; prints the tables
    python -m benchmarks.calibrate --write    and writes them to docs/calibration.md

A simulated model says how likely each answer is, so its true metrics are known. Labels are drawn directly: reading
texts is another matter. Everything is seeded.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
import polars as pl

from benchmarks.harness import ROOT
from equipoise.authoring import GENDER, Array, Probe
from equipoise.measuring.compare import compare_audits
from equipoise.measuring.gate import Outcome, Rules, judge
from equipoise.measuring.measure import Part, measure
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.resample import estimate_metrics
from equipoise.measuring.result import Audit, Result
from equipoise.measuring.summarise import cells, item_rows, merge_cells
from equipoise.probes import get_probe
from equipoise.schema import EVALUATION_FAILED, LABEL, PROMPT, REPETITION, STATUS, MetricKey, Status

PAGE = ROOT / "docs" / "calibration.md"
TRUTH_ITEMS = 60_000
TOKENS = 20
"""Gendered words of a simulated letter, for each inventory."""
Chance = Callable[[pl.DataFrame], Array]
"""For each prompt how likely the first label of the detector is (of a letter: a masculine word)."""


def constant(p: float) -> Chance:
    """The same chance for everybody."""
    return lambda prompts: np.full(prompts.height, p)


def gap(middle: float, difference: float) -> Chance:
    """Men get the middle and half the difference, women the middle less half of it, others the middle."""
    sides = {"male": difference / 2, "female": -difference / 2}
    return lambda prompts: np.array([middle + sides.get(gender, 0.0) for gender in prompts[GENDER]])


def slope(steepness: float) -> Chance:
    """The more masculine the occupation, the likelier a man (or for a woman's application, the less likely a yes)."""

    def chance(prompts: pl.DataFrame) -> Array:
        lean = steepness * (prompts["masculinity"].to_numpy() - 0.5)
        if GENDER in prompts.columns:
            lean = np.where((prompts[GENDER] == "male").to_numpy(), lean, -lean)
        return np.clip(0.5 + lean, 0.0, 1.0)

    return chance


def strata(difference: float) -> Chance:
    """Stereotypes of men bring forth men, those of women bring forth women."""
    return lambda prompts: np.where((prompts["stereotype_gender"] == "male").to_numpy(), 0.5, -0.5) * difference + 0.5


@dataclass(frozen=True, kw_only=True)
class Study:
    """A probe, the models it is asked with, and the sizes."""

    probe: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Chance]
    sizes: Sequence[int]


RATES = {f"p = {p:g}": constant(p) for p in (0.0, 0.05, 0.5, 0.95, 1.0)}
GAPS = {f"men {difference:+g}": gap(0.5, difference) for difference in (0.0, 0.04, 0.12, 0.3)}
STUDIES = {
    "jobs_lum": Study(
        probe="jobs_lum",
        models=RATES | {f"slope {b:g}": slope(b) for b in (0.1, 0.3, 0.8)},
        sizes=(6, 12, 24, 60, 339),
    ),
    "gest_creative": Study(
        probe="gest_creative",
        parameters={"corpus": "mottos"},
        models=RATES | {f"stereotypes {d:g}": strata(d) for d in (0.1, 0.4, 0.9)},
        sizes=(32, 48, 80, 432),
    ),
    "hiring_an": Study(
        probe="hiring_an",
        models=RATES | GAPS | {f"slope {b:g}": slope(b) for b in (0.1, 0.5)},
        sizes=(6, 12, 24, 60, 500),
    ),
    "discrimination_tamkin": Study(
        probe="discrimination_tamkin",
        parameters={"corpus": "scenarios"},
        models=RATES | GAPS,
        sizes=(6, 12, 24, 60, 500),
    ),
    "business_vocabulary": Study(
        probe="business_vocabulary", models=GAPS | {"fair": gap(0.6, 0.0)}, sizes=(12, 24, 60, 400)
    ),
}


def draw(probe: Probe, prompts: pl.DataFrame, chance: Chance, rng: np.random.Generator) -> pl.DataFrame:
    """Evaluated attempts of a simulated model, one for each prompt."""
    p = chance(prompts)
    attempts = prompts.drop(PROMPT).with_columns(
        pl.lit(1, dtype=pl.Int64).alias(REPETITION),
        pl.lit(Status.OK.value).alias(STATUS),
        pl.lit(value=False).alias(EVALUATION_FAILED),
    )
    if probe.detector.labels:
        first, second = probe.detector.labels[:2]
        labels = np.where(rng.random(prompts.height) < p, first, second)
        return attempts.with_columns(pl.Series(LABEL, labels))
    columns: dict[str, Any] = {}
    for masculine, feminine in probe.detector.opposites:
        words = rng.binomial(TOKENS, p)
        columns |= {masculine: words.astype(np.uint32), feminine: (TOKENS - words).astype(np.uint32)}
    return attempts.with_columns(**{name: pl.Series(counts) for name, counts in columns.items()})


@cache
def make_plan(study: str, size: int | None, seed: int) -> tuple[Plan, pl.DataFrame]:
    """A plan of a study and its prompts."""
    planned = plan(study, **STUDIES[study].parameters, sample_k=size, random_seed=seed)
    return planned, planned.prompts()


@cache
def find_truth(study: str, model: str) -> dict[str, float]:
    """The metrics of a model on very many items: on all there are, asked again and again."""
    size = 30_000 if study == "hiring_an" else None
    planned, prompts = make_plan(study, size, 0)
    rng, probe = np.random.default_rng(12345), planned.probe
    times = max(1, TRUTH_ITEMS // planned.items)
    parts = [
        cells(probe, item_rows(probe, draw(probe, prompts, STUDIES[study].models[model], rng))) for _ in range(times)
    ]
    estimates = estimate_metrics(probe, merge_cells(parts), planned.parameters, replicates=1)
    return {key.metric: estimate.value for key, estimate in estimates.items() if key.slice is None}


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How often the interval of a marked metric covers the truth, and how often its mark is certain and wrong."""

    study: str
    model: str
    size: int
    metric: str
    covered: float
    certain: float
    wrong: float


def study_coverage(study: str, model: str, size: int, simulations: int, replicates: int) -> list[Coverage]:
    """Simulate a model many times on samples of this size."""
    truth = find_truth(study, model)
    probe = get_probe(study)
    bands = probe.marked_metrics()
    counts = {name: np.zeros(4) for name in bands}
    for number in range(simulations):
        planned, prompts = make_plan(study, size, number % 20)
        rng = np.random.default_rng([number, size, sum(map(ord, model))])
        evaluated = draw(probe, prompts, STUDIES[study].models[model], rng)
        table = merge_cells([cells(probe, item_rows(probe, evaluated))])
        seeded = {**planned.parameters, "random_seed": number}
        estimates = estimate_metrics(probe, table, seeded, replicates)
        for name, band in bands.items():
            one = estimates[MetricKey(name)]
            if math.isnan(one.value) or math.isnan(truth[name]):
                continue
            low, high = one.low - 1e-9, one.high + 1e-9
            nearest = min(max(band.centre, one.low), one.high)
            possible = {band.mark(value) for value in (one.low, one.high, one.value, nearest)}
            certain = len(possible) == 1
            wrong = certain and band.mark(one.value) != band.mark(truth[name])
            counts[name] += (1, low <= truth[name] <= high, certain, wrong)
    return [
        Coverage(
            study=study,
            model=model,
            size=size,
            metric=name,
            covered=c[1] / c[0],
            certain=c[2] / c[0],
            wrong=c[3] / c[0],
        )
        for name, c in counts.items()
        if c[0] >= simulations / 2
    ]


def simulate_result(study: str, model: str, size: int, seed: int, sample: int = 0) -> Result:
    """The result of one simulated run."""
    planned, prompts = make_plan(study, size, sample)
    rng = np.random.default_rng([seed, size, sum(map(ord, model))])
    evaluated = draw(planned.probe, prompts, STUDIES[study].models[model], rng)
    return measure(planned.setup, lambda: [Part(prompts.drop(PROMPT), evaluated)])


def study_comparison(study: str, model: str, size: int, simulations: int) -> dict[str, float]:
    """How often two runs of one model are told apart at p < 0.05, for each marked metric, and by Holm at all."""
    rejected: dict[str, int] = dict.fromkeys(get_probe(study).marked_metrics(), 0)
    by_holm = 0
    for number in range(simulations):
        first, second = (simulate_result(study, model, size, 2 * number + side) for side in (0, 1))
        comparison = compare_audits(Audit({study: first}), Audit({study: second}))
        found = [metric for _, metric in comparison.marked()]
        for metric in found:
            rejected[metric.metric] += metric.p < 0.05
        by_holm += any(metric.p_holm is not None and metric.p_holm < 0.05 for metric in found)
    return {**{name: count / simulations for name, count in rejected.items()}, "any, by Holm": by_holm / simulations}


def study_gate(model: Mapping[str, str], size: Mapping[str, int], fail_on: str, simulations: int) -> dict[str, float]:
    """How a gate on all probes ends for a model."""
    outcomes: dict[str, int] = dict.fromkeys(Outcome, 0)
    for number in range(simulations):
        results = {study: simulate_result(study, model[study], size[study], number) for study in model}
        outcomes[judge(Audit(results, model="simulated"), Rules(fail_on=fail_on)).outcome] += 1
    return {name: count / simulations for name, count in outcomes.items()}


FAIR = {
    study: "men +0" if study in ("hiring_an", "discrimination_tamkin", "business_vocabulary") else "p = 0.5"
    for study in STUDIES
}
UNFAIR = {
    "jobs_lum": "slope 0.8",
    "gest_creative": "stereotypes 0.9",
    "hiring_an": "slope 0.5",
    "discrimination_tamkin": "men +0.3",
    "business_vocabulary": "men +0.3",
}
SIZES = {
    "quick": {name: int(get_probe(name).quick["sample_k"]) for name in STUDIES},
    "standard": {
        "jobs_lum": 339,
        "gest_creative": 432,
        "hiring_an": 2_000,
        "discrimination_tamkin": 2_000,
        "business_vocabulary": 2_400,
    },
}


def run_jobs(simulations: int, replicates: int, workers: int) -> Iterator[str]:
    """All tables of the page."""
    # Spawned, not forked: the threads of polars do not survive a fork.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        coverage = [
            pool.submit(study_coverage, name, model, size, simulations, replicates)
            for name, study in STUDIES.items()
            for model in study.models
            for size in study.sizes
        ]
        comparisons = {
            (name, size): pool.submit(study_comparison, name, FAIR[name], size, simulations)
            for name, study in STUDIES.items()
            for size in study.sizes[:3]
        }
        gates = {
            (label, suite, mark): pool.submit(study_gate, models, SIZES[suite], mark, max(20, simulations // 4))
            for label, models in (("fair", FAIR), ("unfair", UNFAIR))
            for suite in SIZES
            for mark in ("C", "D")
        }
        yield coverage_table([row for job in coverage for row in job.result()])
        yield comparison_table({key: job.result() for key, job in comparisons.items()})
        yield gate_table({key: job.result() for key, job in gates.items()})


def coverage_table(rows: Sequence[Coverage]) -> str:
    """For each marked metric and size the least coverage over all models, the mean, and certain but wrong marks."""
    lines = [
        "| probe | metric | items | coverage, least | with | coverage, mean | certain and wrong, most | with |",
        "| --- | --- | ---: | ---: | --- | ---: | ---: | --- |",
    ]
    for study, own in STUDIES.items():
        for metric in get_probe(study).marked_metrics():
            for size in own.sizes:
                here = [row for row in rows if (row.study, row.metric, row.size) == (study, metric, size)]
                if here:
                    least, most = min(here, key=lambda row: row.covered), max(here, key=lambda row: row.wrong)
                    mean = sum(row.covered for row in here) / len(here)
                    which = most.model if most.wrong else "–"
                    lines.append(
                        f"| `{study}` | `{metric}` | {size:,} | {least.covered:.3f} | {least.model} | {mean:.3f} | "
                        f"{most.wrong:.3f} | {which} |"
                    )
    return "\n".join(lines)


def comparison_table(found: Mapping[tuple[str, int], Mapping[str, float]]) -> str:
    """How often two runs of one fair model differ at p < 0.05."""
    lines = ["| probe | items | metric | rejected at 0.05 |", "| --- | ---: | --- | ---: |"]
    for (study, size), rates in found.items():
        lines += [f"| `{study}` | {size:,} | {metric} | {rate:.3f} |" for metric, rate in rates.items()]
    return "\n".join(lines)


def gate_table(found: Mapping[tuple[str, str, str], Mapping[str, float]]) -> str:
    """How a gate on all probes ends."""
    lines = ["| model | sizes | rule | passed | failed | undecided |", "| --- | --- | --- | ---: | ---: | ---: |"]
    for (model, suite, mark), rates in found.items():
        shares = " | ".join(f"{rates[outcome]:.2f}" for outcome in ("passed", "failed", "undecided"))
        lines.append(f"| {model} | {suite} | `--fail-on {mark}` | {shares} |")
    return "\n".join(lines)


def make_page(tables: Sequence[str], simulations: int, replicates: int) -> str:
    """The page with all tables."""
    coverage, comparisons, gates = tables
    return f"""# Calibration

Do the intervals cover, do the marks hold, does the gate fail whom it should? Simulated models, whose true metrics are
known, answer; everything after the reading of texts is the code that users run. `make calibrate` makes this page:
{simulations} simulated runs for each row, {replicates:,} replicates, seeded. [How the numbers are made](method.md).

## Intervals and marks

For each size the worst of all simulated models: the least share of 95% intervals that cover the truth, and the largest
share of runs whose mark is certain and wrong.

{coverage}

## Comparing two runs of one model

How often two runs of the same fair model are told apart by the swap test.

{comparisons}

## The gate

A fair model, and one in band D of every stereotype metric, by `equipoise gate --fail-on` on all probes together.

{gates}
"""


def main() -> None:
    """Run the simulations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/calibration.md")
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    tables = list(run_jobs(options.simulations, options.replicates, options.workers))
    page = make_page(tables, options.simulations, options.replicates)
    sys.stdout.write(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
