"""Which studies are made, with how many runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from benchmarks.calibration.answers import (
    GAP,
    LEVEL,
    NO_LOSS,
    NUMBERS,
    SLOPE,
    Asking,
    lose_by_content,
    lose_evenly,
)
from benchmarks.calibration.comparing import Pair, study_pair
from benchmarks.calibration.coverage import GATED, study_coverage, study_looks
from benchmarks.calibration.generalising import (
    DOMINANT,
    DOUBLED,
    EQUAL,
    FALLING,
    Design,
    study_clusters,
    study_designs,
)
from benchmarks.calibration.limits import study_gate_limits, study_limits
from benchmarks.calibration.missing import QUESTIONS, study_missing, study_one_unread
from benchmarks.calibration.models import BETA, CLUSTERS, EVEN, ONE_ARM, SETTLED, STRONG
from benchmarks.calibration.rates import study_rates
from benchmarks.calibration.ratios import list_studies, study_ratios
from benchmarks.calibration.runs import Row
from benchmarks.calibration.worlds import make_world
from equipoise.probes import find_probes
from equipoise.runs.suites import get_suite

PROBES = tuple(find_probes())
COVERED_MODELS = (EVEN, SETTLED, BETA, CLUSTERS, STRONG)
SUITES = ("ci", "standard", "full")
SMALL = 20
SMALL_SIZES = {"word_association": 28}
"""A fourth of its items are a control, which no marked metric counts."""
RATES = (20, 120)
REPEATED = (
    ("jobs_lum", 339, 7),
    ("inventories", 125, 6),
    ("gest_creative", 432, 3),
    ("gest_creative", 216, 3),
    ("discrimination_tamkin", 1_000, 3),
)
READ_FROM_PROBABILITIES = ("jobs_lum", "gest_creative", "discrimination_tamkin")
WORDS = (0.15, 0.5, 1.5, 6.0)
"""Of an inventory, in a letter with few words."""
LETTERS = (20, 60, 200)
LOSSES = (0.0, 0.05, 0.2, 0.4)
LOST_AT_GATES = 0.05
"""As many missing answers as a gate accepts."""
LIMITS = (0, 1, 2)
ITEMS_AT_LIMITS = 300
WIDTHS = (0.0, 0.3, 0.6, 1.0, 3.0)
ONE_UNREAD = ((20, 1), (60, 1), (200, 1), (339, 2), (339, 8))
CLUSTER_COUNTS = (2, 3, 5, 10, 40)
DEVIATIONS = (0.5, 1.0)
CLUSTERED = (
    "gest_creative",
    "discrimination_tamkin",
    "hiring_an",
    "hiring_bloomberg",
    "business_vocabulary",
    "word_association",
    "salary_advice",
)
COMPARED_ITEMS = 100
UNEQUAL = ("discrimination_tamkin", "hiring_an", "jobs_lum")
"""Probes of which one run is asked more often."""
LOSING = {
    "discrimination_tamkin": [GAP],
    "hiring_an": [GAP, SLOPE],
    "jobs_lum": [LEVEL, SLOPE],
    "business_vocabulary": [GAP],
    "salary_advice": [GAP],
}
"""Probes of which one run loses answers, and what that pulls."""
SHOWN_PULL = {LEVEL: "level", GAP: "gap", SLOPE: "slope"}
LEANING = ("hiring_an", "jobs_lum", "salary_advice", "business_vocabulary")
LOOKED = {
    "jobs_lum": 339,
    "gest_creative": 432,
    "discrimination_tamkin": 2_100,
    "salary_advice": 384,
}


@dataclass(frozen=True)
class Job:
    """A study with its arguments."""

    function: Callable[..., list[Row]]
    arguments: tuple[Any, ...]

    @property
    def key(self) -> str:
        """What tells the job from all others, also in a file of results."""
        return f"{self.function.__name__}{self.arguments!r}"

    def run(self) -> list[Row]:
        """Make the study."""
        return self.function(*self.arguments)


def plan_suite(suite: str, name: str) -> tuple[str, Asking]:
    """What a suite asks of a probe: the study on the texts of the suite, items and repetitions."""
    probe = find_probes()[name]
    parameters = probe.resolve(get_suite(suite).parameters(probe))
    study = "/".join(filter(None, [name, parameters.get("corpus")]))
    items = (parameters["sample"] or 0) // probe.prompts_per_item
    items = items or make_world(study).planned.items
    return study, Asking(items=items, repetitions=parameters["repeat"])


def plan_suites(suites: tuple[str, ...], name: str) -> dict[tuple[str, Asking], list[str]]:
    """What some suites ask of a probe. Suites that ask the same share their runs."""
    asked: dict[tuple[str, Asking], list[str]] = {}
    for suite in suites:
        asked.setdefault(plan_suite(suite, name), []).append(suite)
    return asked


def list_jobs(runs: int) -> Iterator[Job]:
    """All studies."""
    yield Job(study_rates, RATES)
    yield from _cover(runs)
    yield from _lose(runs)
    yield from _generalise(runs)
    yield from _compare(runs)
    for name in list_studies():
        yield Job(study_ratios, (name, runs))
    for study, items in LOOKED.items():
        for model in (EVEN, STRONG, CLUSTERS):
            yield Job(study_looks, (study, model, items, runs))


def _cover(runs: int) -> Iterator[Job]:
    for name in PROBES:
        small = Asking(items=SMALL_SIZES.get(name, SMALL))
        for model in COVERED_MODELS:
            yield Job(study_coverage, ("coverage", (str(SMALL),), name, model, small, runs))
        for (study, asking), sizes in plan_suites(SUITES, name).items():
            models = GATED if sizes == ["full"] else COVERED_MODELS
            for model in models:
                arguments = ("coverage", tuple(sizes), study, model, asking, runs)
                yield Job(study_coverage, arguments)
        for (study, asking), sizes in plan_suites(("ci", "standard"), name).items():
            for limit in LIMITS:
                at_limit = (tuple(sizes), study, asking, limit, 1.0, 0.0, runs)
                yield Job(study_gate_limits, at_limit)
        study, asking = plan_suite("ci", name)
        for limit, side in product(LIMITS, (1.0, -1.0)):
            at_limit = (("ci",), study, asking, limit, side, LOST_AT_GATES, runs)
            yield Job(study_gate_limits, at_limit)
    for study, items, repetitions in REPEATED:
        asking = Asking(items=items, repetitions=repetitions)
        for model in (EVEN, ONE_ARM, BETA, CLUSTERS, SETTLED):
            yield Job(study_coverage, ("repeated", (str(items),), study, model, asking, runs))
    for study in READ_FROM_PROBABILITIES:
        asking = Asking(items=100, shares=True)
        for model in (BETA, CLUSTERS, SETTLED):
            yield Job(study_coverage, ("shares", ("100",), study, model, asking, runs))
    for words in WORDS:
        for letters in LETTERS:
            asking = Asking(items=letters, words=words)
            for model in (EVEN, CLUSTERS):
                arguments = ("sparse", (str(letters),), "business_vocabulary", model, asking, runs)
                yield Job(study_coverage, arguments)


def _lose(runs: int) -> Iterator[Job]:
    for study in PROBES:
        for limit in LIMITS:
            yield Job(study_limits, (study, limit, LOSSES, ITEMS_AT_LIMITS, runs))
    for kind in QUESTIONS:
        for width in WIDTHS:
            yield Job(study_missing, (kind, width, runs))
    for items, repetitions in ONE_UNREAD:
        yield Job(study_one_unread, (items, repetitions))


def _generalise(runs: int) -> Iterator[Job]:
    for sizes in (EQUAL, DOUBLED, DOMINANT, FALLING):
        for clusters in CLUSTER_COUNTS:
            for is_crossed, deviation in product((False, True), DEVIATIONS):
                design = Design(
                    clusters=clusters, sizes=sizes, is_crossed=is_crossed, deviation=deviation
                )
                yield Job(study_designs, (design, runs))
    for clusters in CLUSTER_COUNTS:
        design = Design(clusters=clusters, sizes=EQUAL, is_extreme=True)
        yield Job(study_designs, (design, runs))
    for study in CLUSTERED:
        yield Job(study_clusters, (study, CLUSTERS, 400, runs))


def _compare(runs: int) -> Iterator[Job]:
    same = Pair(kind="the same model", models=(CLUSTERS, CLUSTERS))
    coins = Pair(kind="the same model", models=("coin", "coin"))
    is_sure = Pair(kind="equal metrics", models=("coin", "sure of each item"))
    is_beta = Pair(kind="equal metrics", models=("coin", "even beta items"))
    for study in PROBES:
        for pair in (same, is_sure, is_beta):
            yield Job(study_pair, (pair, study, COMPARED_ITEMS, runs))
    is_skewed = Pair(kind="equal metrics", models=("coin", "rarely far apart"))
    for study in NUMBERS:
        yield Job(study_pair, (is_skewed, study, COMPARED_ITEMS, runs))
    for study in UNEQUAL:
        yield Job(study_pair, (coins, study, COMPARED_ITEMS, runs))
    evenly = Pair(
        kind="one loses 20% evenly",
        models=(CLUSTERS, CLUSTERS),
        losses=(NO_LOSS, lose_evenly(0.2)),
    )
    for study, pulled in LOSING.items():
        yield Job(study_pair, (evenly, study, COMPARED_ITEMS, runs))
        for what in pulled:
            by_content = Pair(
                kind=f"one loses 20% by content, against the {SHOWN_PULL[what]}",
                models=(CLUSTERS, CLUSTERS),
                losses=(NO_LOSS, lose_by_content(0.2, what)),
            )
            yield Job(study_pair, (by_content, study, COMPARED_ITEMS, runs))
    often = Pair(kind="asked 1 and 5 times", models=(CLUSTERS, CLUSTERS), repetitions=(1, 5))
    for study in UNEQUAL:
        yield Job(study_pair, (often, study, COMPARED_ITEMS, runs))
    opposite = Pair(
        kind="equal distances",
        models=("leaning to men", "leaning to women"),
        equal_metrics=False,
    )
    for study in LEANING:
        yield Job(study_pair, (opposite, study, COMPARED_ITEMS, runs))
