"""Two audits side by side: known differences are found, none are made up, and only like is compared with like."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise import Audit, Comparison, Result, compare
from equipoise.detect import YES_NO
from equipoise.errors import InputError
from equipoise.measuring.compare import ProbeComparison, compare_audits
from equipoise.measuring.differences import Verdict
from equipoise.models.protocol import Sampling
from equipoise.probes import get_probe
from equipoise.runs.finished import compare_all
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, text_column
from equipoise.stats import sign_flip as signs_of_items
from equipoise.stats.multiple_testing import holm
from equipoise.stats.power import detectable_difference
from measuring.conftest import FAIR
from simulating import simulated

CLEARLY_DIFFERENT = {
    ("jobs_lum", "stereotype_rate"),
    ("gest_creative", "stereotype_rate"),
    ("hiring_an", "diff_acceptance_rate"),
    ("discrimination_tamkin", "max_diff"),
    ("business_vocabulary", "mean_diff"),
}


def verdicts(comparison: Comparison) -> dict[tuple[str, str], Verdict | None]:
    return {(probe, metric.metric): metric.verdict for probe, metric in comparison.marked()}


def jobs(men: float, *, size: int = 339, draw: int = 1, **parameters: Any) -> Result:
    """Answers to jobs_lum with this share of men."""
    prompts = equipoise.plan("jobs_lum", sample=size, **parameters).prompts()
    male = np.random.default_rng(draw).permutation(size) < men * size
    rows = prompts.select(ID).with_columns(text_column(ANSWER, ("He." if is_male else "She." for is_male in male)))
    return equipoise.score("jobs_lum", rows, sample=size, **parameters)


def compare_jobs(first: Result, second: Result) -> ProbeComparison:
    """Two results of jobs_lum, compared."""
    return compare(first, second)["jobs_lum"]


# What is found


def test_the_same_answers_do_not_differ(fair: Run) -> None:
    comparison = compare(fair, fair)
    assert set(comparison.probes) == set(FAIR)
    assert not comparison.refused
    for probe in comparison.probes.values():
        for metric in probe.metrics.values():
            difference = metric.difference
            assert (difference.value, metric.p) == (0.0, 1.0), metric
            assert math.isnan(difference.low) or difference.low <= 0.0 <= difference.high
    assert {(metric.verdict, metric.p_holm) for _, metric in comparison.marked()} == {(Verdict.UNCLEAR, 1.0)}


def test_the_same_model_asked_twice_does_not_clearly_differ(fair: Run, folder: Path) -> None:
    comparison = compare(fair, simulated(folder / "twice.equipoise", FAIR, seed=9))
    assert set(verdicts(comparison).values()) == {Verdict.UNCLEAR}
    for _, metric in comparison.marked():
        assert metric.difference.low <= 0 <= metric.difference.high


def test_leaning_against_the_stereotype_is_worse_than_fair(fair: Run, folder: Path) -> None:
    against = simulated(folder / "against.equipoise", {"business_vocabulary": "anti-stereotyping"})
    (verdict,) = verdicts(compare(fair, against)).values()
    assert verdict is Verdict.WORSE


def test_known_differences_are_found_in_both_directions(fair: Run, biased: Run) -> None:
    there, back = verdicts(compare(fair, biased)), verdicts(compare(biased, fair))
    assert {key for key, verdict in there.items() if verdict is Verdict.WORSE} == CLEARLY_DIFFERENT
    assert {key for key, verdict in back.items() if verdict is Verdict.BETTER} == CLEARLY_DIFFERENT
    assert set(there.values()) == {Verdict.WORSE, Verdict.UNCLEAR}


def test_common_prompts_and_items_are_counted(fair: Run, folder: Path) -> None:
    half = simulated(folder / "half.equipoise", {"hiring_an": "unbiased", "jobs_lum": "unbiased"}, answered=50)
    comparison = compare(fair, half)
    assert (comparison["hiring_an"].prompts, comparison["hiring_an"].items) == (50, 25)
    assert (comparison["jobs_lum"].prompts, comparison["jobs_lum"].items) == (50, 50)
    assert comparison.refused == dict.fromkeys(sorted({*FAIR} - {"hiring_an", "jobs_lum"}), "only A has it")
    assert "B is incomplete: 100 of 280 attempts" in comparison.notes


# How it is judged


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        ([0.04], [0.04]),
        # By hand: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04 may not be below the 0.06 before it.
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.5, 0.9, 0.4], [1.0, 1.0, 1.0]),
        ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
    ],
)
def test_holm_is_as_by_hand(values: list[float], expected: list[float]) -> None:
    assert holm(values) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (0.5, 0.8, Verdict.WORSE),
        (0.5, 0.2, Verdict.WORSE),
        (0.1, 0.7, Verdict.BETTER),
        (0.48, 0.95, Verdict.WORSE),
        (0.2, 0.4, Verdict.BETTER),
        (0.3, 0.7, Verdict.DIFFERENT),
        (0.5, 0.52, Verdict.UNCLEAR),
    ],
)
def test_better_is_nearer_to_even_handed(first: float, second: float, verdict: Verdict) -> None:
    metric = compare_jobs(jobs(first), jobs(second, draw=2)).metrics["masculine_rate"]
    assert metric.verdict is verdict
    assert metric.distance is not None
    assert metric.distance.value == pytest.approx(abs(metric.second - 0.5) - abs(metric.first - 0.5), abs=1e-9)


def test_what_could_have_been_seen_shrinks_with_the_data_and_is_seen_when_it_is_there() -> None:
    """A difference of twice what is detectable is clear."""
    few, many = (
        compare_jobs(jobs(0.5, size=size), jobs(0.5, draw=2, size=size)).metrics["masculine_rate"].detectable
        for size in (60, 240)
    )
    assert few is not None
    assert many is not None
    assert many == pytest.approx(few / 2, rel=0.3)
    metric = compare_jobs(jobs(0.5), jobs(min(1.0, 0.5 + 2 * few), draw=2)).metrics["masculine_rate"]
    assert metric.verdict is Verdict.WORSE


@pytest.mark.parametrize(("size", "p"), [(1, 1.0), (3, 0.25), (6, 2**-5)])
def test_few_items_are_never_sure_however_they_agree(size: int, p: float) -> None:
    """Of 2 to the m exchanges of m items, two lie as far out as the most extreme."""
    metric = compare_jobs(jobs(0.0, size=size), jobs(1.0, size=size)).metrics["masculine_rate"]
    assert (metric.first, metric.second) == (0.0, 1.0)
    assert p <= metric.p == pytest.approx(p, abs=0.02)
    assert metric.verdict is Verdict.UNCLEAR


@pytest.mark.fault("D13")
def test_what_is_not_computable_is_not_in_the_family(fair: Run, folder: Path) -> None:
    """Without a decision on any woman there is no difference between the genders, and no test of one."""
    prompts = fair.prompts("hiring_an")
    mute = dict.fromkeys(prompts.filter(gender="female")[ID], "We shall see.")
    stances = {"hiring_an": "unbiased", "jobs_lum": "stereotyping"}
    comparison = compare(fair, simulated(folder / "mute.equipoise", stances, answers=mute))
    metrics = comparison["hiring_an"].metrics
    assert metrics["diff_acceptance_rate"].verdict is Verdict.NOT_COMPUTABLE
    assert metrics["diff_acceptance_rate"].p_holm is None
    tested = [metric for _, metric in comparison.marked() if metric.p_holm is not None]
    assert [metric.p_holm for metric in tested] == holm([metric.p for metric in tested])
    assert not any(math.isnan(metric.p) for metric in tested)
    shown = comparison.to_dict()["probes"]["hiring_an"]["metrics"]["diff_acceptance_rate"]
    assert (shown["second"], shown["difference"]["value"], shown["p"], shown["verdict"]) == (
        None,
        None,
        None,
        "not computable",
    )


# What is refused


DEFINITION = "the two runs used different definitions of this probe"
DETECTOR = get_probe("jobs_lum").detector.title


@pytest.mark.parametrize(
    ("setup", "probe", "parameters", "reason"),
    [
        ({}, {}, {"seed": 4}, "seed is 0 in A and 4 in B"),
        ({}, {}, {"repeat": 2}, "repeat is 1 in A and 2 in B"),
        ({}, {"specified": YES_NO}, {}, DEFINITION),
        ({"corpus": "gest"}, {}, {}, "corpus is None in A and 'gest' in B"),
        ({"corpus_sha256": "0" * 64}, {}, {}, f"corpus_sha256 is None in A and '{'0' * 64}' in B"),
        ({}, {"version": 99}, {}, f"version is {get_probe('jobs_lum').version} in A and 99 in B"),
        (
            {},
            {"detector": YES_NO},
            {},
            f"detector is '{DETECTOR}' in A and 'yes_no v1' in B",
        ),
        # Two probe values of one name and version may still measure different things.
        ({}, {"measure": lambda total, parameters: {}}, {}, DEFINITION),
        # Equal, not identical: a probe that was made twice is the same measurement.
        ({}, {"name": "jobs_lum"}, {}, None),
    ],
)
def test_only_like_is_compared_with_like(
    setup: dict[str, Any], probe: dict[str, Any], parameters: dict[str, Any], reason: str | None
) -> None:
    first = jobs(0.5, size=20)
    given: dict[str, Any] = {
        "probe": replace(first.setup.probe, **probe),
        "parameters": {**first.parameters, **parameters},
    }
    second = replace(first, setup=replace(first.setup, **given, **setup))
    assert compare_audits([audit(first), audit(second)])[0].refused == ({"jobs_lum": reason} if reason else {})
    if reason:
        with pytest.raises(
            InputError, match=f"Nothing in a result and a result can be compared:\n  jobs_lum: {reason}"
        ):
            compare(first, second)


def test_samples_of_different_sizes_are_compared_on_what_both_have() -> None:
    every, counted = jobs(0.5), jobs(0.4)
    every = replace(every, setup=replace(every.setup, parameters={**every.parameters, "sample": None}))
    fewer = jobs(0.5, size=300)
    for first, second, prompts in ((every, counted, 339), (counted, every, 339), (every, fewer, 300)):
        assert compare_audits([audit(first), audit(second)])[0].probes["jobs_lum"].prompts == prompts


def audit(result: Result) -> Audit:
    return Audit({result.probe: result})


def test_other_settings_of_the_model_are_noted(folder: Path) -> None:
    settings = (Sampling(max_tokens=64), Sampling(temperature=0.7))
    runs = [
        simulated(folder / f"sampling-{number}.equipoise", {"jobs_lum": "unbiased"}, sampling=sampling)
        for number, sampling in enumerate(settings)
    ]
    assert compare(runs[0], runs[1]).notes == (
        "the models were asked differently: max_tokens is 64 in A and None in B",
        "the models were asked differently: temperature is None in A and 0.7 in B",
    )
    assert compare(runs[0], runs[0]).notes == ()


# Paired differences


def test_very_many_items_are_tested_by_normal_values(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = jobs(0.5), jobs(0.6)
    signs = compare_jobs(first, second).metrics
    monkeypatch.setattr(signs_of_items, "NORMAL_FROM", 10)
    for name, metric in compare_jobs(first, second).metrics.items():
        assert metric.p == pytest.approx(signs[name].p, abs=0.04), name


def test_in_a_pair_only_what_both_answered_counts() -> None:
    prompts = equipoise.plan("hiring_an", sample=200).prompts()
    yes, no = "You have been selected.", "We regret to inform you."
    his, early = pl.col("gender") == "male", pl.int_range(pl.len()) < 100
    hired = prompts.with_columns(pl.when(his & ~early).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    refused = prompts.with_columns(pl.when(his).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    first = equipoise.score("hiring_an", hired, sample=200)
    assert first.metrics["male_acceptance_rate"].value == 0.5
    fewer = equipoise.score("hiring_an", refused.filter(~his | early), sample=200)
    some_men = compare(first, fewer)["hiring_an"].metrics
    assert (some_men["male_acceptance_rate"].first, some_men["male_acceptance_rate"].second) == (1.0, 0.0)
    assert some_men["diff_acceptance_rate"].difference.value == -1.0
    no_men = compare(first, equipoise.score("hiring_an", refused.filter(~his), sample=200))["hiring_an"].metrics
    assert math.isnan(no_men["diff_acceptance_rate"].difference.value)
    assert math.isnan(no_men["diff_acceptance_rate"].p)
    assert no_men["female_acceptance_rate"].difference.value == 0.0


def test_words_without_opposites_are_compared() -> None:
    probe = get_probe("business_vocabulary")
    probe = replace(probe, detector=replace(probe.detector, opposites=()))
    prompts = equipoise.plan(probe, sample=40).prompts()
    texts = [probe.simulate(prompts, stance, np.random.default_rng(0)) for stance in ("stereotyping", "unbiased")]
    results = [
        equipoise.score(probe, prompts.select(ID).with_columns(text_column(ANSWER, each)), sample=40) for each in texts
    ]
    (comparison,) = compare_audits([Audit({probe.name: result}) for result in results])
    found = comparison[probe.name].metrics["mean_diff"]
    assert found.first == results[0].metrics["mean_diff"].value
    assert found.second == results[1].metrics["mean_diff"].value


def test_pairs_without_anything_in_common_do_not_keep_others_from_being_compared() -> None:
    """The third run asked another probe."""
    first, second = (audit(jobs(0.5, size=40, draw=draw)) for draw in (1, 2))
    third = equipoise.audit("simulated/unbiased", probes=["word_association"], suite="ci")
    comparisons = compare_all([first, second, third])
    assert [bool(comparison.probes) for comparison in comparisons] == [True, False]


def test_the_detectable_difference_follows_from_the_half_width_of_the_interval() -> None:
    (comparison,) = compare_all([audit(jobs(0.5, size=200, draw=draw)) for draw in (1, 2)])
    marked = [metric for _, metric in comparison.marked()]
    for metric in marked:
        half_width = (metric.difference.high - metric.difference.low) / 2
        expected = detectable_difference(half_width, tests=len(marked), significance=0.05)
        assert metric.detectable == pytest.approx(expected)
