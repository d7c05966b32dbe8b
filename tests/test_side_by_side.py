"""Runs side by side, and the gate, from Python: whatever holds results is taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import equipoise
from answering import answer_all
from equipoise import Run
from equipoise.errors import InputError
from equipoise.measuring.gate import Outcome
from simulating import simulated


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of a fair model, and one of a biased model."""
    folder = tmp_path_factory.mktemp("runs")
    fair = folder / "fair.equipoise"
    unfair = folder / "unfair.equipoise"
    simulated(fair, {"jobs_lum": "unbiased", "hiring_an": "unbiased"}, seed=0)
    simulated(unfair, {"jobs_lum": "pro-masculine", "hiring_an": "stereotyping"}, seed=1)
    return fair, unfair


RUN_LIKE: dict[str, Callable[[Path], Any]] = {
    "paths": lambda path: path,
    "texts": str,
    "runs": Run.open,
    "audits": lambda path: Run.open(path).results(),
}
RESULT_LIKE: dict[str, Callable[[Path], Any]] = {
    **RUN_LIKE,
    "results": lambda path: Run.open(path).result("jobs_lum"),
}


@pytest.mark.parametrize("kind", RUN_LIKE)
def test_runs_are_compared_whatever_they_are_given_as(kind: str, paths: tuple[Path, Path]) -> None:
    expected = equipoise.compare(*paths)
    assert set(expected.probes) == {"jobs_lum", "hiring_an"}
    convert = RUN_LIKE[kind]
    first, second = paths
    assert equipoise.compare(convert(first), convert(second)).to_dict() == expected.to_dict()
    assert equipoise.compare(convert(first), second).to_dict() == expected.to_dict()


def test_results_of_one_probe_are_compared(paths: tuple[Path, Path]) -> None:
    first = Run.open(paths[0]).result("jobs_lum")
    second = Run.open(paths[1]).result("jobs_lum")
    comparison = equipoise.compare(first, second)
    assert list(comparison.probes) == ["jobs_lum"]
    rate = comparison["jobs_lum"].metrics["masculine_rate"]
    assert rate.first == first.metrics["masculine_rate"].value
    assert rate.second == 1.0
    assert rate.difference.value == pytest.approx(1 - rate.first)
    assert rate.verdict == "worse"
    assert rate.p_holm is not None
    assert rate.p <= rate.p_holm < 0.05
    assert comparison.to_frame()["metric"].to_list() == list(first.metrics)


def test_a_probe_is_compared_alike_alone_and_beside_others(paths: tuple[Path, Path]) -> None:
    first = Run.open(paths[0]).result("jobs_lum")
    second = Run.open(paths[1]).result("jobs_lum")
    alone = equipoise.compare(first, second)["jobs_lum"].metrics["masculine_rate"]
    beside = equipoise.compare(*paths)["jobs_lum"].metrics["masculine_rate"]
    assert alone.p == beside.p
    assert alone.difference == beside.difference


def test_what_has_nothing_in_common_is_not_compared(paths: tuple[Path, Path]) -> None:
    hiring = Run.open(paths[0]).result("hiring_an")
    jobs = equipoise.score("jobs_lum", answer_all())
    nothing = r"Nothing in .* can be compared:\n  jobs_lum: only A has it"
    with pytest.raises(InputError, match=nothing):
        equipoise.compare(jobs, hiring)


@pytest.mark.parametrize("kind", RESULT_LIKE)
def test_the_gate_takes_whatever_holds_results(kind: str, paths: tuple[Path, Path]) -> None:
    fair, unfair = map(RESULT_LIKE[kind], paths)
    assert equipoise.gate(unfair, fail_on="D").outcome is Outcome.FAILED
    limits = equipoise.Rules(max={"jobs_lum.masculine_rate": 0.4})
    assert equipoise.gate(fair, limits).passed


@pytest.mark.parametrize("kind", RESULT_LIKE)
def test_a_baseline_is_whatever_holds_results(kind: str, paths: tuple[Path, Path]) -> None:
    fair, unfair = map(RESULT_LIKE[kind], paths)
    better = equipoise.gate(fair, no_regression=True, baseline=unfair)
    assert better.outcome is not Outcome.FAILED
    regression = equipoise.gate(unfair, no_regression=True, baseline=fair)
    failed = [check.what for check in regression.with_outcome(Outcome.FAILED)]
    assert "jobs_lum.masculine_rate" in failed


def test_the_gate_takes_rules_or_their_fields_and_not_both(paths: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="not both"):
        equipoise.gate(paths[0], equipoise.Rules(fail_on="C"), fail_on="D")


def test_a_gate_without_a_rule_is_refused(paths: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="A gate needs a rule"):
        equipoise.gate(paths[0])
