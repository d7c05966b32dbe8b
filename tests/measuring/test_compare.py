"""Two audits side by side: known differences are found, none are made up, and only like is compared with like."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise import Audit, Comparison, Result, compare
from equipoise.authoring import YES_NO
from equipoise.errors import InputError
from equipoise.measuring.compare import ProbeComparison, Verdict, compare_audits, holm
from equipoise.models import Sampling
from equipoise.probes import get_probe
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ID, text_column
from simulating import SMALL, simulated

FAIR = dict.fromkeys(SMALL, "unbiased")
BIASED = {
    "jobs_lum": "stereotyping",
    "gest_creative": "stereotyping",
    "hiring_an": "pro-masculine",
    "discrimination_tamkin": "biased",
    "business_vocabulary": "stereotyping",
}
CLEARLY_DIFFERENT = {
    ("jobs_lum", "stereotype_rate"),
    ("gest_creative", "stereotype_rate"),
    ("hiring_an", "diff_acceptance_rate"),
    ("discrimination_tamkin", "max_diff"),
    ("business_vocabulary", "mean_diff"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def fair(folder: Path) -> Run:
    return simulated(folder / "fair.equipoise", FAIR)


@pytest.fixture(scope="module")
def biased(folder: Path) -> Run:
    return simulated(folder / "biased.equipoise", BIASED, seed=2)


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


def test_the_same_answers_do_not_differ(fair: Run, folder: Path) -> None:
    again = simulated(folder / "again.equipoise", FAIR)
    for other in (fair, again):
        comparison = compare(fair, other)
        assert set(comparison.probes) == set(FAIR)
        assert not comparison.refused
        for probe in comparison.probes.values():
            for metric in probe.metrics.values():
                difference = metric.difference
                assert (difference.value, metric.p) == (0.0, 1.0), metric
                assert math.isnan(difference.low) or difference.low <= 0.0 <= difference.high
        assert set(verdicts(comparison).values()) == {Verdict.UNCLEAR}
        assert {metric.p_holm for _, metric in comparison.marked()} == {1.0}


def test_the_same_model_asked_twice_does_not_clearly_differ(fair: Run, folder: Path) -> None:
    comparison = compare(fair, simulated(folder / "twice.equipoise", FAIR, seed=9))
    assert set(verdicts(comparison).values()) == {Verdict.UNCLEAR}
    for _, metric in comparison.marked():
        assert metric.difference.low <= 0 <= metric.difference.high


def test_known_differences_are_found_in_both_directions(fair: Run, biased: Run) -> None:
    there, back = verdicts(compare(fair, biased)), verdicts(compare(biased, fair))
    assert {key for key, verdict in there.items() if verdict is Verdict.WORSE} == CLEARLY_DIFFERENT
    assert {key for key, verdict in back.items() if verdict is Verdict.BETTER} == CLEARLY_DIFFERENT
    assert set(there.values()) == {Verdict.WORSE, Verdict.UNCLEAR}


def test_paths_runs_audits_and_results_give_the_same_numbers(fair: Run, biased: Run) -> None:
    expected = compare_audits(fair.results(), biased.results()).to_dict()
    assert compare(fair, biased).to_dict() == expected
    assert compare(fair.path, str(biased.path)).to_dict() == expected
    assert compare(fair.results(), biased).to_dict() == expected
    for name, probe in expected["probes"].items():
        # A single result is corrected for its own metrics only, so p_holm and verdict may differ.
        metrics = compare(fair.result(name), biased.result(name)).to_dict()["probes"][name]["metrics"]
        assert list(metrics) == list(probe["metrics"])
        for metric, values in metrics.items():
            for field in ("first", "second", "difference", "p", "distance"):
                assert values[field] == probe["metrics"][metric][field], (name, metric, field)


def test_a_table_has_one_row_per_metric(fair: Run, biased: Run) -> None:
    comparison = compare(fair, biased)
    table = comparison.to_frame()
    metrics = [(name, metric) for name, probe in comparison.probes.items() for metric in probe.metrics]
    assert table.select("probe", "metric").rows() == metrics
    row = table.row(by_predicate=pl.col("metric") == "diff_acceptance_rate", named=True)
    metric = comparison["hiring_an"].metrics["diff_acceptance_rate"]
    assert (row["first"], row["second"], row["p_holm"], row["verdict"]) == (0.0, 1.0, metric.p_holm, "worse")
    assert (row["difference"], row["items"]) == (1.0, 80)
    assert (row["low"], row["high"]) == (metric.difference.low, metric.difference.high)
    assert 0.9 < row["low"] < 1.0 <= row["high"] < 1.1


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


def test_all_marked_metrics_are_corrected_together_and_no_others(fair: Run, biased: Run) -> None:
    comparison = compare(fair, biased)
    marked = list(comparison.marked())
    names = {(name, metric) for name in BIASED for metric in fair.results()[name].marks}
    assert {(name, metric.metric) for name, metric in marked} == names
    assert [metric.p_holm for _, metric in marked] == holm([metric.p for _, metric in marked])
    others = [metric for probe in comparison.probes.values() for metric in probe.metrics.values() if not metric.verdict]
    assert others
    assert {(metric.p_holm, metric.distance) for metric in others} == {(None, None)}


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (0.5, 0.8, Verdict.WORSE),
        (0.5, 0.2, Verdict.WORSE),
        (0.2, 0.4, Verdict.BETTER),
        (0.1, 0.7, Verdict.BETTER),
        (0.48, 0.95, Verdict.WORSE),
        (0.3, 0.7, Verdict.DIFFERENT),
        (0.5, 0.52, Verdict.UNCLEAR),
    ],
)
def test_better_is_nearer_to_even_handed(first: float, second: float, verdict: Verdict) -> None:
    metric = compare_jobs(jobs(first), jobs(second, draw=2)).metrics["masculine_rate"]
    assert metric.verdict is verdict
    assert metric.distance is not None
    assert metric.distance.value == pytest.approx(abs(metric.second - 0.5) - abs(metric.first - 0.5), abs=1e-9)


def test_leaning_against_the_stereotype_is_worse_than_fair(fair: Run, folder: Path) -> None:
    against = simulated(folder / "against.equipoise", {"business_vocabulary": "anti-stereotyping"})
    (verdict,) = verdicts(compare(fair, against)).values()
    assert verdict is Verdict.WORSE


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


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": 4}, "seed is 0 in A and 4 in B"),
        ({"repeat": 2}, "repeat is 1 in A and 2 in B"),
        ({"template": "A {job}."}, "template is 'I am writing a novel"),
    ],
)
def test_other_parameters_are_refused_with_the_reason(change: dict[str, Any], reason: str) -> None:
    comparison = compare_audits(audit(jobs(0.5, size=120)), audit(jobs(0.5, size=120, **change)))
    assert not comparison.probes
    assert comparison.refused["jobs_lum"].startswith(reason)


def test_samples_of_different_sizes_are_compared_on_what_both_have() -> None:
    every, counted = jobs(0.5), jobs(0.4)
    every = replace(every, setup=replace(every.setup, parameters={**every.parameters, "sample": None}))
    fewer = jobs(0.5, size=300)
    for first, second, prompts in ((every, counted, 339), (counted, every, 339), (every, fewer, 300)):
        assert compare_audits(audit(first), audit(second)).probes["jobs_lum"].prompts == prompts


def audit(result: Result) -> Audit:
    return Audit({result.probe: result})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"corpus": "gest"}, "corpus is None in A and 'gest' in B"),
        ({"corpus_sha256": "0" * 64}, f"corpus_sha256 is None in A and '{'0' * 64}' in B"),
    ],
)
def test_other_corpora_are_refused(change: dict[str, Any], reason: str) -> None:
    first = jobs(0.5, size=20)
    second = replace(first, setup=replace(first.setup, **change))
    assert compare_audits(audit(first), audit(second)).refused == {"jobs_lum": reason}
    assert compare_audits(audit(first), audit(first)).refused == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 99}, f"version is {get_probe('jobs_lum').version} in A and 99 in B"),
        ({"detector": YES_NO}, f"detector is '{get_probe('jobs_lum').detector.title}' in A and 'yes_no v1' in B"),
        ({"specified": YES_NO}, "the two runs used different definitions of this probe"),
        ({"measure": lambda total, parameters: {}}, "the two runs used different definitions of this probe"),
    ],
)
def test_probes_that_differ_are_refused(change: dict[str, Any], reason: str) -> None:
    """Two probe values of one name and version may still measure different things."""
    first = jobs(0.5, size=20)
    second = replace(first, setup=replace(first.setup, probe=replace(first.setup.probe, **change)))
    assert compare_audits(audit(first), audit(second)).refused == {"jobs_lum": reason}
    with pytest.raises(InputError, match=f"Nothing in a result and a result can be compared:\n  jobs_lum: {reason}"):
        compare(first, second)


def test_probes_that_are_equal_values_are_compared() -> None:
    """Equal, not identical: a probe that was made twice is the same measurement."""
    first = jobs(0.5, size=20)
    again = replace(first, setup=replace(first.setup, probe=replace(first.setup.probe)))
    assert again.setup.probe is not first.setup.probe
    assert compare_jobs(first, again).prompts == 20


def test_a_probe_that_cannot_be_compared_does_not_stop_the_others(fair: Run, folder: Path) -> None:
    other = {**SMALL, "gest_creative": {"corpus": "mottos", "sample": 160, "seed": 7}}
    mixed = simulated(folder / "mixed.equipoise", FAIR, parameters=other)
    comparison = compare(fair, mixed)
    assert set(comparison.probes) == set(FAIR) - {"gest_creative"}
    assert comparison.refused == {"gest_creative": "seed is 0 in A and 7 in B"}


def test_nothing_to_compare_is_an_error_with_every_reason(fair: Run, folder: Path) -> None:
    unanswered = simulated(folder / "unanswered.equipoise", {"jobs_lum": "unbiased"}, failed=120)
    with pytest.raises(InputError) as error:
        compare(fair, unanswered)
    assert error.value.exit_code == 2
    for words in (str(unanswered.path), "jobs_lum: no prompt has an answer in both", "hiring_an: only A has it"):
        assert words in str(error.value)


def test_other_settings_of_the_model_are_noted(folder: Path) -> None:
    settings = (Sampling(max_tokens=64), Sampling(max_tokens=512), Sampling(temperature=0.7))
    runs = [
        simulated(folder / f"sampling-{number}.equipoise", {"jobs_lum": "unbiased"}, sampling=sampling)
        for number, sampling in enumerate(settings)
    ]
    assert compare(runs[0], runs[1]).notes == ("the models were asked differently: max_tokens is 64 in A and 512 in B",)
    assert compare(runs[0], runs[2]).notes == (
        "the models were asked differently: max_tokens is 64 in A and None in B",
        "the models were asked differently: temperature is None in A and 0.7 in B",
    )
    assert compare(runs[0], runs[0]).notes == ()


def test_all_of_it_is_json(fair: Run, biased: Run) -> None:
    comparison = compare(fair, biased)
    plain = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    metric = plain["probes"]["jobs_lum"]["metrics"]["stereotype_rate"]
    assert metric["p_holm"] == comparison["jobs_lum"].metrics["stereotype_rate"].p_holm
    assert metric["verdict"] == "worse"
