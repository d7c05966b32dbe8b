"""Two runs side by side: known differences are found, none are made up, and only like is compared with like."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise import Result
from equipoise.comparing import NAMES, Comparison, Verdict, compare_results, compare_runs, holm, refusal
from equipoise.errors import InputError
from equipoise.frames import ANSWER, ID, text
from equipoise.run import Run
from simulating import SMALL, simulated

FAIR = dict.fromkeys(SMALL, "unbiased")
BIASED = {
    "jobs_lum": "stereotyping",
    "gest_creative": "stereotyping",
    "hiring_an": "pro-masculine",
    "discrimination_tamkin": "biased",
    "business_vocabulary": "stereotyping",
}
FOUND = {
    ("jobs_lum", "stereotype_rate"),
    ("gest_creative", "stereotype_rate"),
    ("hiring_an", "diff_acceptance_rate"),
    ("discrimination_tamkin", "max_diff"),
    ("discrimination_tamkin", "diff_mvf_success_rate"),
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


def jobs(men: float, *, size: int = 339, seed: int = 1, **parameters: Any) -> Result:
    """Answers to jobs_lum with this share of men."""
    prompts = equipoise.plan("jobs_lum", sample_k=size, **parameters).prompts()
    male = np.random.default_rng(seed).permutation(size) < men * size
    rows = prompts.select(ID).with_columns(text(ANSWER, ("He." if one else "She." for one in male)))
    return equipoise.score("jobs_lum", rows, sample_k=size, **parameters)


# What is found


def test_the_same_answers_do_not_differ(fair: Run, folder: Path) -> None:
    again = simulated(folder / "again.equipoise", FAIR)
    for other in (fair, again):
        found = compare_runs(fair, other)
        assert set(found.probes) == set(FAIR)
        assert not found.refused
        for probe in found.probes.values():
            for metric in probe.metrics.values():
                gap = metric.difference
                assert (gap.value, gap.low, gap.high, metric.p) == (0.0, 0.0, 0.0, 1.0), metric
        assert set(verdicts(found).values()) == {Verdict.UNCLEAR}
        assert {metric.p_holm for _, metric in found.marked()} == {1.0}


def test_the_same_model_asked_twice_does_not_clearly_differ(fair: Run, folder: Path) -> None:
    found = compare_runs(fair, simulated(folder / "twice.equipoise", FAIR, seed=9))
    assert set(verdicts(found).values()) == {Verdict.UNCLEAR}
    for _, metric in found.marked():
        assert metric.difference.low <= 0 <= metric.difference.high


def test_known_differences_are_found_in_both_directions(fair: Run, biased: Run) -> None:
    there, back = verdicts(compare_runs(fair, biased)), verdicts(compare_runs(biased, fair))
    assert {key for key, verdict in there.items() if verdict is Verdict.WORSE} == FOUND
    assert {key for key, verdict in back.items() if verdict is Verdict.BETTER} == FOUND
    assert set(there.values()) == {Verdict.WORSE, Verdict.UNCLEAR}


def test_the_numbers_are_those_of_the_library(fair: Run, biased: Run) -> None:
    found = compare_runs(fair, biased)
    for name, probe in found.probes.items():
        expected = equipoise.compare(fair.results()[name], biased.results()[name])
        assert list(probe.metrics) == list(expected)
        for metric in probe.metrics.values():
            own = expected[metric.metric]
            assert (metric.first, metric.second, metric.p) == (own.first, own.second, own.p)
            assert metric.difference == own.difference


def test_common_prompts_and_items_are_counted(fair: Run, folder: Path) -> None:
    half = simulated(folder / "half.equipoise", {"hiring_an": "unbiased", "jobs_lum": "unbiased"}, answered=50)
    found = compare_runs(fair, half)
    assert (found.probes["hiring_an"].prompts, found.probes["hiring_an"].items) == (50, 25)
    assert (found.probes["jobs_lum"].prompts, found.probes["jobs_lum"].items) == (50, 50)
    assert found.refused == dict.fromkeys(
        ["business_vocabulary", "discrimination_tamkin", "gest_creative"], "only A has it"
    )
    assert "B is incomplete: 100 of 280 attempts" in found.notes


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
    found = compare_runs(fair, biased)
    marked = list(found.marked())
    names = {(name, own) for name in FAIR for own in fair.results()[name].marks}
    assert {(name, metric.metric) for name, metric in marked} == names
    assert [metric.p_holm for _, metric in marked] == holm([metric.p for _, metric in marked])
    others = [metric for probe in found.probes.values() for metric in probe.metrics.values() if not metric.verdict]
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
    found = compare_results({"jobs_lum": jobs(first)}, {"jobs_lum": jobs(second, seed=2)})
    metric = found.probes["jobs_lum"].metrics["masculine_rate"]
    assert metric.verdict is verdict
    assert metric.distance is not None
    assert metric.distance.value == pytest.approx(abs(metric.second - 0.5) - abs(metric.first - 0.5), abs=1e-9)


def test_leaning_against_the_stereotype_is_neither_better_nor_worse(fair: Run, folder: Path) -> None:
    against = simulated(folder / "against.equipoise", {"business_vocabulary": "anti-stereotyping"})
    (found,) = verdicts(compare_runs(fair, against)).values()
    assert found is Verdict.DIFFERENT


@pytest.mark.parametrize(("size", "p"), [(1, 1.0), (3, 0.25), (6, 2**-5)])
def test_few_items_are_never_sure_however_they_agree(size: int, p: float) -> None:
    found = compare_results({"jobs_lum": jobs(0.0, size=size)}, {"jobs_lum": jobs(1.0, size=size)})
    metric = found.probes["jobs_lum"].metrics["masculine_rate"]
    assert (metric.first, metric.second, metric.p) == (0.0, 1.0, p)
    assert metric.verdict is Verdict.UNCLEAR


def test_what_is_not_computable_is_not_in_the_family(fair: Run, folder: Path) -> None:
    """D13: without a decision on any woman there is no difference between the genders, and no test of one."""
    prompts = fair.prompts("hiring_an")
    mute = dict.fromkeys(prompts.filter(gender="female")[ID], "We shall see.")
    stances = {"hiring_an": "unbiased", "jobs_lum": "stereotyping"}
    found = compare_runs(fair, simulated(folder / "mute.equipoise", stances, answers=mute))
    metrics = found.probes["hiring_an"].metrics
    assert metrics["diff_acceptance_rate"].verdict is Verdict.NOT_COMPUTABLE
    assert metrics["diff_acceptance_rate"].p_holm is None
    tested = [metric for _, metric in found.marked() if metric.p_holm is not None]
    assert [metric.p_holm for metric in tested] == holm([metric.p for metric in tested])
    assert not any(math.isnan(metric.p) for metric in tested)
    shown = found.to_dict()["probes"]["hiring_an"]["metrics"]["diff_acceptance_rate"]
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
        ({"sample_k": 60}, "sample_k is 120 in A and 60 in B"),
        ({"random_seed": 4}, "random_seed is 0 in A and 4 in B"),
        ({"num_repetitions": 2}, "num_repetitions is 1 in A and 2 in B"),
        ({"template": "A {job}."}, "template is 'I am writing a novel"),
    ],
)
def test_other_parameters_are_refused_with_the_reason(change: dict[str, Any], reason: str) -> None:
    first, second = jobs(0.5, size=120), jobs(0.5, **{"size": change.get("sample_k", 120), **_own(change)})
    found = compare_results({"jobs_lum": first}, {"jobs_lum": second})
    assert not found.probes
    assert found.refused["jobs_lum"].startswith(reason)


def _own(change: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in change.items() if name != "sample_k"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "version is 1 in A and 2 in B"),
        ({"corpus": "gest"}, "corpus is None in A and 'gest' in B"),
        ({"corpus_sha256": "0" * 64}, f"corpus_sha256 is None in A and '{'0' * 64}' in B"),
    ],
)
def test_other_versions_and_corpora_are_refused(change: dict[str, Any], reason: str) -> None:
    first = jobs(0.5, size=20)
    assert refusal(first, replace(first, **change)) == reason
    assert refusal(first, first) is None


def test_a_probe_that_cannot_be_compared_does_not_keep_the_others(fair: Run, folder: Path) -> None:
    other = {**SMALL, "gest_creative": {"corpus": "mottos", "sample_k": 32}}
    mixed = simulated(folder / "mixed.equipoise", FAIR, parameters=other)
    found = compare_runs(fair, mixed)
    assert set(found.probes) == set(FAIR) - {"gest_creative"}
    assert found.refused == {"gest_creative": "sample_k is 160 in A and 32 in B"}


def test_nothing_to_compare_is_an_error_with_every_reason(fair: Run, folder: Path) -> None:
    lost = simulated(folder / "lost.equipoise", {"jobs_lum": "unbiased"}, failed=120)
    with pytest.raises(InputError) as error:
        compare_runs(fair, lost)
    assert error.value.exit_code == 2
    for words in (str(lost.path), "jobs_lum: no prompt has an answer in both", "hiring_an: only A has it"):
        assert words in str(error.value)


def test_other_settings_of_the_model_are_said(folder: Path) -> None:
    runs = [
        simulated(folder / f"{limit}.equipoise", {"jobs_lum": "unbiased"}, sampling=sampling)
        for limit, sampling in ((64, {"max_tokens": 64}), (512, {"max_tokens": 512}), (0, ["no", "mapping"]))
    ]
    assert compare_runs(runs[0], runs[1]).notes == (
        "the models were asked differently: max_tokens is 64 in A and 512 in B",
    )
    assert compare_runs(runs[0], runs[2]).notes == (
        "the models were asked differently: max_tokens is 64 in A and None in B",
    )
    assert compare_runs(runs[0], runs[0]).notes == ()


def test_all_of_it_is_json(fair: Run, biased: Run) -> None:
    found = compare_runs(fair, biased)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    own = found.probes["jobs_lum"].metrics["stereotype_rate"]
    assert plain["probes"]["jobs_lum"]["metrics"]["stereotype_rate"]["p_holm"] == own.p_holm
    assert plain["probes"]["jobs_lum"]["metrics"]["stereotype_rate"]["verdict"] == "worse"
    assert NAMES == ("A", "B")
