"""What the simulations of `calibrate.py` found, as the page docs/calibration.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.calibration_studies import Coverage, Findings, Reach, Stops
from benchmarks.processes import ROOT
from benchmarks.simulated import STUDIES
from equipoise.measuring.looks import SPENT
from equipoise.probes import get_probe

PAGE = ROOT / "docs" / "calibration.md"
FEW = 20
STRATA = {"gest_creative": 16, "inventories": 3, "word_association": 4}
WRONG = 0.03
REJECTED, REJECTED_BY_HOLM = 0.06, 0.05
FAILED = 0.05
BY_HOLM = "any, by Holm"


def coverage_goal(study: str, metric: str, size: int) -> float:
    """Slopes, and means of strata, may cover less where there are few items, or few of each stratum."""
    (own,) = (each for each in get_probe(study).all_metrics() if each.name == metric)
    few = size / STRATA.get(study, 1) < FEW and (study in STRATA or len(own.denominators) > 1)
    return 0.90 if size < FEW or few else 0.93


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
                    lines.append(
                        f"| `{study}` | `{metric}` | {size:,} | {least.covered:.3f} | {least.model} | {mean:.3f} | "
                        f"{most.wrong:.3f} | {most.model if most.wrong else '–'} |"
                    )
    return "\n".join(lines)


def nulls_table(found: Mapping[tuple[str, int, str], Mapping[str, float]]) -> str:
    """How often two runs of one model differ, by the metric that differs most often."""
    lines = ["| probe | items | model | metric | p < 0.05 | any, by Holm |", "| --- | ---: | --- | --- | ---: | ---: |"]
    for (study, size, model), rates in found.items():
        metrics = {name: rate for name, rate in rates.items() if name != BY_HOLM}
        most = max(metrics, key=lambda name: metrics[name])
        lines.append(f"| `{study}` | {size} | {model} | `{most}` | {metrics[most]:.3f} | {rates[BY_HOLM]:.3f} |")
    return "\n".join(lines)


def gate_rows(findings: Findings) -> Sequence[tuple[str, str, str, Mapping[str, float]]]:
    """Model, sizes, rule, and how often it ends how."""
    rows = [(model, sizes, f"--fail-on {mark}", rates) for (model, sizes, mark), rates in findings.gates.items()]
    return rows + [(*key, "--no-regression", rates) for key, rates in findings.regressions.items()]


def gates_table(findings: Findings) -> str:
    """How gates on all probes end."""
    lines = ["| model | sizes | rule | passed | failed | undecided |", "| --- | --- | --- | ---: | ---: | ---: |"]
    for model, sizes, rule, rates in gate_rows(findings):
        shares = " | ".join(f"{rates[outcome]:.2f}" for outcome in ("passed", "failed", "undecided"))
        lines.append(f"| {model} | {sizes} | `{rule}` | {shares} |")
    return "\n".join(lines)


def suites_table(rows: Sequence[Reach]) -> str:
    """What each suite can decide."""
    lines = [
        "| suite | probe | items | metric | ± | mark certain | better than C | a D is shown to be C or worse |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        items, repetitions = row.size
        size = f"{items:,} × {repetitions}" if repetitions > 1 else f"{items:,}"
        lines.append(
            f"| {row.suite} | `{row.study}` | {size} | `{row.metric}` | {row.width:.2f} | {row.certain:.0%} | "
            f"{row.passed:.0%} | {row.shown:.0%} |"
        )
    return "\n".join(lines)


def stops_table(rows: Sequence[Stops]) -> str:
    """What asking until the marks are certain saves, and what it costs."""
    columns = (
        "probe",
        "model",
        "at most",
        "looks, mean",
        "prompts saved",
        "all marks certain",
        "coverage of each interval, least",
        "of all together",
        "of all, if every look were at 95%",
        "certain and wrong",
    )
    lines = [f"| {' | '.join(columns)} |", f"| --- | --- |{' ---: |' * (len(columns) - 2)}"]
    lines += [
        f"| `{row.study}` | {row.model} | {row.size:,} | {row.looks:.1f} | {row.saved:.0%} | {row.certain:.0%} | "
        f"{row.least_covered:.3f} | {row.covered:.3f} | {row.covered_at_95:.3f} | {row.wrong:.3f} |"
        for row in rows
    ]
    return "\n".join(lines)


def is_below(share: float, goal: float, simulations: int) -> bool:
    """Whether a share misses its goal by more than the luck of the simulation: by two standard errors."""
    return share < goal - 2 * math.sqrt(goal * (1 - goal) / simulations)


def missed_goals(findings: Findings, simulations: int) -> Iterator[str]:
    """What does not hold, in words."""
    for row in findings.coverage:
        what = f"`{row.metric}` of `{row.study}`, {row.size} items, {row.model}"
        goal = coverage_goal(row.study, row.metric, row.size)
        if is_below(row.covered, goal, simulations):
            yield f"{what}: covers {row.covered:.3f}, goal {goal}"
        if is_below(1 - row.wrong, 1 - WRONG, simulations):
            yield f"{what}: certain and wrong in {row.wrong:.3f}"
    for (study, size, model), rates in findings.nulls.items():
        for name, rate in rates.items():
            limit = REJECTED_BY_HOLM if name == BY_HOLM else REJECTED
            if is_below(1 - rate, 1 - limit, 2 * simulations):
                yield f"swap test, {name} of `{study}`, {size} items, {model}: rejects {rate:.3f}, at most {limit}"
    for model, sizes, rule, outcomes in gate_rows(findings):
        bad = "failed" if model == "fair" else "passed"
        if is_below(1 - outcomes[bad], 1 - FAILED, simulations // 5):
            yield f"`{rule}`, {sizes}: {bad} in {outcomes[bad]:.2f} for a model that is {model}"
    for stop in findings.stops:
        if is_below(stop.least_covered, 0.97, simulations):
            yield f"asked until certain, `{stop.study}`, {stop.model}: covers {stop.least_covered:.3f}, goal 0.97"


def make_page(findings: Findings, simulations: int) -> str:
    """The page with all tables."""
    missed = [f"- {line}" for line in missed_goals(findings, simulations)] or ["Every goal is met in this run."]
    spent = ", ".join(f"{1 - error:.1%}" for error in SPENT)
    error = math.sqrt(0.05 * 0.95 / simulations)
    return f"""# Calibration

Do the intervals cover, do the marks hold, does the gate fail whom it should? Simulated models, whose true metrics are
known, answer; everything after the reading of texts is the code that users run. `make calibrate` makes this page:
{simulations} simulated runs for each row (a share near 0.95 then has a standard error of {error:.3f}),
{2 * simulations} for the test of two runs, {simulations // 5} for gates; seeded.
[How the numbers are made](method.md).

`p = 0.1` says yes (or writes a man) with that probability, whoever is asked about; `men +0.3` and `slope 0.3` are
unfair by as much; `settled` always gives the same answer to the same item. For the newer probes their own reference
models write texts, which are read: `stereotyping 0.4` does so for four prompts in ten and answers the others at random.

## What does not hold

Goals: 95% intervals cover in 0.93 (0.90 with fewer than 20 items, and for slopes and means of strata with fewer than 20
items each); a mark is certain and wrong in at most {WRONG:.0%}; the swap test rejects at most {REJECTED} at 0.05, and
{REJECTED_BY_HOLM} by Holm; a fair model fails at most {FAILED:.0%} of gates, one in band D passes at most {FAILED:.0%};
at the stop of a run that is asked until it is certain, each interval covers in 0.97. Listed is what misses its goal by
more than two standard errors; of the several hundred figures below, a few do so by chance.

{chr(10).join(missed)}

## Intervals and marks

For each size the worst of all simulated models: the least share of 95% intervals that cover the truth, and the largest
share of runs whose mark is certain and wrong.

{coverage_table(findings.coverage)}

## Comparing two runs of one model

How often the swap test tells two runs of the same model apart: the marked metric that is rejected most often, and any
marked metric of the probe after Holm's correction.

{nulls_table(findings.nulls)}

## The gate

All probes together, for a fair model, and for one that is in band D in one probe (about its middle, or the reference
model of the probe) and fair in the others.
`--no-regression` compares with a fair baseline.

{gates_table(findings)}

## What each suite can decide

A fair model that answers at random, of each suite on the packaged corpora: how far the interval reaches above the value
(median), how often the mark is certain, and how often a gate on C is passed by this metric. The last column is a model
in the middle of band D of one metric of the probe (the one that is shown most often).

{suites_table(findings.reaches)}

## Asking until the marks are certain

`--until-certain` looks at most {len(SPENT)} times, at doubling sizes, with intervals of {spent}.
It stops when all marks of the probe are certain. The sizes are those of the standard suite on the packaged corpora.
It saves most of the prompts where the truth of every marked metric is well inside a band, and nothing where one of them
is near a limit: a model that answers at random has such slopes and differences.

{stops_table(findings.stops)}
"""
