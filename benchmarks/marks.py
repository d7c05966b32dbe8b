"""From answers to marks, compared with GenderBench: the same prompts and answers, each with its own intervals."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.jobs import FILLER, LENGTH
from benchmarks.processes import (
    OUR_PYTHON,
    ROOT,
    format_ratio,
    format_seconds,
    installed_versions,
    log,
    markdown_table,
    run_job,
)
from equipoise.answers.files import read_python
from equipoise.answers.score import score_tables
from equipoise.assets import facts
from equipoise.measuring.plan import Plan, plan
from equipoise.probes.hiring_an.probe import INSTRUCTIONS, PHRASES
from equipoise.schema import ANSWER, ID, READINGS, REPETITION, MetricKey, slug

PEER, PEER_VERSION = "genderbench==1.1.0", "3.12"
"""The peer, and the Python that it needs."""
PEER_FOLDER = ROOT / ".venv-genderbench"
PEER_IMPORTS = (
    *("anthropic", "fsspec", "jinja2", "nest-asyncio", "nltk", "numpy", "openai", "pandas", "requests", "scipy"),
    *("huggingface-hub", "tqdm"),
)
"""What the peer imports. It is installed without the versions that it pins."""
NLTK_DATA_PACKAGE = "llama-index-core"
NLTK_DATA = PEER_FOLDER / "lib" / f"python{PEER_VERSION}" / "site-packages/llama_index/core/_static/nltk_cache"
"""A package that contains the data of NLTK that the peer needs, and where."""
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {"repeat": 5},
    "gest_creative": {"repeat": 4},
    "discrimination_tamkin": {"repeat": 3},
    # The peer adds this number to both counts of a rate, and has no parameter to change it.
    "business_vocabulary": {"repeat": 3, "smoothing": 5.0},
    "hiring_an": {"sample": 10_000},
}
QUICK_SAMPLE = 96
ROUNDS = 3
"""Of ours before the peer's, and as many after it: the speed of a machine changes within minutes."""
OUR_METRIC_NAMES = {"nonbinary_success_rate": "non_binary_success_rate"}
NOT_COMPARED = {
    ("business_vocabulary", "mean_male"): "GenderBench averages the rates of female names with those of male ones",
    ("business_vocabulary", "gest"): "its list has words that are no traits",
    ("hiring_an", "undetected_rate_items"): "an item is one prompt in GenderBench and a matched pair in equipoise",
    ("hiring_an", "diff_abs_acceptance_rate"): "only GenderBench has it",
}
"""Metrics that are not compared, by a part of their names, and why."""
TOLERANCE = 1e-9
Row = dict[str, Any]


@dataclass(kw_only=True)
class Case:
    """A probe with its plan and its answers, and what it cost to score them."""

    planned: Plan
    size: int
    """How many answers there are."""
    ours: dict[str, Row]
    """The wall and CPU seconds and the memory of equipoise, by reading; the fastest of all rounds."""
    theirs: Row
    distances: Mapping[str, float]
    """For each metric, how far the values of both packages are apart."""

    @property
    def name(self) -> str:
        """The name of the probe."""
        return self.planned.probe.name


def run(*, quick: bool) -> str:
    """Measure both packages; compare how they read the answers, and their values."""
    python = prepare()
    with tempfile.TemporaryDirectory() as folder:
        cases = [_measure_case(name, Path(folder), python, quick=quick) for name in PARAMETERS]
    return _markdown(cases, python)


def prepare() -> Path:
    """The Python of an environment with the peer in it, which is made where it is not there yet."""
    python, ready = PEER_FOLDER / "bin" / "python", PEER_FOLDER / f"{PEER}.ready"
    if not ready.exists():
        log(f"installing {PEER}")
        chosen = {**os.environ, "PYENV_VERSION": PEER_VERSION}
        subprocess.run([f"python{PEER_VERSION}", "-m", "venv", "--clear", PEER_FOLDER], env=chosen, check=True)
        install = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*install, *PEER_IMPORTS], check=True)
        subprocess.run([*install, "--no-deps", PEER, NLTK_DATA_PACKAGE], check=True)
        ready.touch()
    return python


def _measure_case(name: str, folder: Path, python: Path, *, quick: bool) -> Case:
    """Write answers, and let both packages score them: ours before the peer and after it."""
    parameters = {**PARAMETERS[name], **({"sample": QUICK_SAMPLE} if quick else {})}
    planned = plan(name, **parameters)
    asked, path = planned.attempts(), folder / f"{name}.jsonl"
    rng = np.random.default_rng(1)
    filler = [" ".join(rng.permutation(FILLER)) for _ in range(100)]
    simulated = enumerate(planned.probe.simulate(asked, "random", rng))
    asked = asked.with_columns(pl.Series(ANSWER, [f"{text} {filler[n % 100] * 3}"[:LENGTH] for n, text in simulated]))
    asked.write_ndjson(path)
    log(f"  {name}: {asked.height:,} answers")
    ours = [_measure_ours(name, path, parameters) for _ in range(1 if quick else ROUNDS)]
    theirs = _measure_peer(planned, asked.height, path, python)
    ours += [_measure_ours(name, path, parameters) for _ in range(1 if quick else ROUNDS)]
    rows = asked.select(ID, REPETITION, ANSWER).iter_rows(named=True)
    specified = score_tables(plan(name, reading="specified", **parameters), read_python(rows))
    values = {_peer_name(key): estimate.value for key, estimate in specified.estimates.items()}
    distances = {
        metric: _distance(value, values[OUR_METRIC_NAMES.get(metric, metric)])
        for metric, value in theirs["values"].items()
        if not any(name == probe and part in metric for probe, part in NOT_COMPARED)
    }
    fastest = {reading: min((one[reading] for one in ours), key=lambda cost: cost["wall"]) for reading in READINGS}
    return Case(planned=planned, size=asked.height, ours=fastest, theirs=theirs, distances=distances)


def _measure_ours(name: str, answers: Path, parameters: Row) -> dict[str, Row]:
    """Score the answers by each reading."""
    arguments = (answers, json.dumps(parameters))
    return {
        reading: run_job(OUR_PYTHON, "benchmarks.jobs", "score_in_memory", name, reading, *arguments)
        for reading in READINGS
    }


def _measure_peer(planned: Plan, size: int, answers: Path, python: Path) -> Row:
    """Let the peer score the same answers."""
    nowhere = "http://127.0.0.1:9"  # the peer tries to download data that it has; so it fails at once
    variables = {"NLTK_DATA": str(NLTK_DATA), "TQDM_DISABLE": "1"}
    variables |= {"http_proxy": nowhere, "https_proxy": nowhere, "GENDER_BENCH_LOG_DIR": str(answers.parent)}
    arguments = (planned.probe.name, answers, json.dumps(_peer_arguments(planned, size)))
    cost: Row = run_job(python, "benchmarks.genderbench", *arguments, variables=variables)
    return cost


def _peer_arguments(planned: Plan, size: int) -> Row:
    """What makes the peer's probe ask our prompts: arguments of its constructor, by its names, and attributes."""
    parameters = planned.parameters
    options: Row = {"num_repetitions": parameters["repeat"]}
    options |= {name: parameters[name] for name in ("template", "templates") if name in parameters}
    jobs = dict(facts("occupations").select("occupation", "masculinity").iter_rows())
    attributes: Row = {"jobs": jobs} if planned.probe.name == "jobs_lum" else {}
    if planned.probe.name == "hiring_an":
        options["sample_k"] = size
        templates = [instruction + PHRASES[parameters["wording"]] for instruction in INSTRUCTIONS]
        attributes = {"roles": jobs, "templates": templates}
    return {"options": options, "attributes": attributes}


def _peer_name(key: MetricKey) -> str:
    """The name of a metric in GenderBench, where a group of a slice is a prefix: `race_white_diff_regression`."""
    return key.metric if key.slice is None else f"{key.slice}_{slug(key.group)}_{key.metric}"


def _distance(first: float, second: float) -> float:
    """How far apart two values are: 0 if both are undefined, infinite if one is."""
    if math.isnan(first) or math.isnan(second):
        return 0.0 if math.isnan(first) and math.isnan(second) else math.inf
    return abs(first - second)


def _markdown(cases: Sequence[Case], python: Path) -> str:
    """The results as Markdown."""
    corpora = ", ".join(f"{case.name} with {case.planned.corpus}" for case in cases if case.planned.corpus)
    intro = (
        f"Both packages get the same prompts and the same answers of about {LENGTH:,} characters, in memory, and do "
        f"the evaluation, the metrics and the intervals, by the defaults of each ({corpora}). Each probe runs in its "
        "own process. The time of equipoise includes checking the rows, making the prompts "
        "and matching the answers to them. As specified, equipoise looks for the same words and phrases as "
        "GenderBench; carefully, as it does by default, it reads sentences, of which GenderBench has no counterpart."
    )
    parts = ["## Answers to marks", intro]
    ours = [column for reading in READINGS for column in (f"equipoise, {reading}", "faster", "less CPU")]
    rows = [*(_row(case.name, [case]) for case in cases), _row("all", cases)]
    speed = markdown_table(("probe", "answers", "GenderBench", *ours), rows)
    versions = installed_versions(python, ["genderbench", "nltk", "numpy", "pandas", "scipy"])
    peer = (
        f"GenderBench ({versions}; Python 3.12) gets the same prompts, word for word, in its own probes and items, and "
        "the same masculinity of occupations. Its `evaluate` and `calculate_metrics` are timed."
    )
    return "\n\n".join([*parts, speed, peer, _value_comparison(cases)])


def _row(name: str, cases: Sequence[Case]) -> tuple[str, ...]:
    """The seconds of the peer for these cases together, and for each reading ours and the ratios."""
    wall, cpu = (sum(case.theirs[kind] for case in cases) for kind in ("wall", "cpu"))
    columns = [name, f"{sum(case.size for case in cases):,}", format_seconds(wall)]
    for reading in READINGS:
        our_wall, our_cpu = (sum(case.ours[reading][kind] for case in cases) for kind in ("wall", "cpu"))
        columns += [format_seconds(our_wall), format_ratio(wall / our_wall), format_ratio(cpu / our_cpu)]
    return tuple(columns)


def _value_comparison(cases: Sequence[Case]) -> str:
    """How far apart the values of both packages are."""
    rows = []
    for case in cases:
        equal = sum(distance <= TOLERANCE for distance in case.distances.values())
        largest = max(case.distances, key=case.distances.__getitem__)
        rows.append((case.name, len(case.distances), equal, f"{case.distances[largest]:.1g} ({largest})"))
    head = ("probe", "metrics compared", "equal to 1e-9", "largest difference")
    not_compared = "; ".join(f"`{part}` of {probe} ({why})" for (probe, part), why in NOT_COMPARED.items())
    return (
        f"Values on these answers, equipoise as specified:\n\n{markdown_table(head, rows)}\n\n"
        f"Not compared, because the definitions differ: {not_compared}. business_vocabulary is measured with "
        "`smoothing=5`, which is fixed in GenderBench."
    )
