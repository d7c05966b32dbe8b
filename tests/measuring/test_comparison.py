"""What a comparison holds: all probes that can be compared, one family of tests, a table and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import equipoise
from equipoise import Audit, Result, compare
from equipoise.errors import InputError
from equipoise.measuring.compare import compare_audits
from equipoise.models.protocol import Sampling
from equipoise.runs.run import Run
from equipoise.stats.multiple_testing import holm
from measuring.answered import answer_in_turn, score
from measuring.conftest import BIASED, FAIR
from simulating import SMALL, simulated


def test_paths_runs_and_audits_give_the_same_numbers(fair: Run, biased: Run) -> None:
    (expected,) = compare_audits([fair.results(), biased.results()])
    assert compare(fair, biased).to_dict() == expected.to_dict()
    assert compare(fair.path, str(biased.path)).to_dict() == compare(fair, biased).to_dict()
    assert compare(fair.results(), biased).to_dict() == compare(fair, biased).to_dict()


@pytest.mark.parametrize("name", BIASED)
def test_a_single_result_is_compared_like_its_run(fair: Run, biased: Run, name: str) -> None:
    """It is corrected for its own metrics only, so that p (Holm) and verdict may differ."""
    whole = compare(fair, biased)[name].metrics
    alone = compare(fair.result(name), biased.result(name))[name].metrics
    assert list(alone) == list(whole)
    for metric, found in alone.items():
        expected = whole[metric]
        assert repr(found.difference) == repr(expected.difference)
        assert repr(found.distance) == repr(expected.distance)
        assert repr((found.first, found.second, found.p)) == repr((expected.first, expected.second, expected.p))


def test_a_table_has_one_row_per_metric(fair: Run, biased: Run) -> None:
    comparison = compare(fair, biased)
    table = comparison.to_frame()
    metrics = [(name, metric) for name, probe in comparison.probes.items() for metric in probe.metrics]
    assert table.select("probe", "metric").rows() == metrics


def test_a_row_of_the_table_holds_values_interval_p_value_and_verdict(fair: Run, biased: Run) -> None:
    comparison = compare(fair, biased)
    is_gap = pl.col("metric") == "diff_acceptance_rate"
    row = comparison.to_frame().row(by_predicate=is_gap, named=True)
    metric = comparison["hiring_an"].metrics["diff_acceptance_rate"]
    assert (row["first"], row["second"], row["difference"]) == (0.0, 1.0, 1.0)
    assert (row["p_holm"], row["verdict"], row["items"]) == (metric.p_holm, "worse", 80)
    assert (row["low"], row["high"]) == (metric.difference.low, metric.difference.high)
    assert 0.9 < row["low"] < 1.0 <= row["high"] <= 2.0


def test_all_marked_metrics_are_corrected_together(fair: Run, biased: Run) -> None:
    comparison = compare(fair, biased)
    marked = list(comparison.marked())
    names = {(name, metric) for name in BIASED for metric in fair.results()[name].marks}
    assert {(name, metric.metric) for name, metric in marked} == names
    assert [metric.p_holm for _, metric in marked] == holm([metric.p for _, metric in marked])


def test_metrics_without_marks_are_not_corrected_and_have_no_verdict(fair: Run, biased: Run) -> None:
    comparison = compare(fair, biased)
    others = []
    for probe in comparison.probes.values():
        others += [metric for metric in probe.metrics.values() if not metric.verdict]
    assert others
    for metric in others:
        assert metric.p_holm is None
        assert metric.distance is None
        assert metric.detectable is None


def test_all_pairs_of_three_runs_are_one_family() -> None:
    """The p-values of all pairs are corrected together."""
    audits = []
    for texts in (["He."], ["He.", "She."], ["He.", "He.", "She."]):
        result = score("jobs_lum", answer_in_turn("jobs_lum", texts, sample=120), sample=120)
        audits.append(Audit({"jobs_lum": result}))
    pairs = compare_audits(audits, ("one", "two", "three"), all_pairs=True)
    assert [pair.names for pair in pairs] == [("one", "two"), ("one", "three"), ("two", "three")]
    metrics = [metric for pair in pairs for _, metric in pair.marked()]
    assert [metric.p_holm for metric in metrics] == holm([metric.p for metric in metrics])
    with_first = compare_audits(audits, ("one", "two", "three"))
    assert [pair.names for pair in with_first] == [("one", "two"), ("one", "three")]


def test_a_probe_that_cannot_be_compared_does_not_stop_the_others(fair: Run, folder: Path) -> None:
    other = {**SMALL, "gest_creative": {"corpus": "mottos", "sample": 160, "seed": 7}}
    mixed = simulated(folder / "mixed.equipoise", FAIR, parameters=other)
    comparison = compare(fair, mixed)
    assert set(comparison.probes) == set(FAIR) - {"gest_creative"}
    assert comparison.refused == {"gest_creative": "seed is 0 in A and 7 in B"}


def test_another_template_is_refused_with_the_reason() -> None:
    results = []
    for parameters in ({"sample": 20}, {"sample": 20, "template": "A {job}."}):
        answers = answer_in_turn("jobs_lum", ["He."], **parameters)
        results.append(score("jobs_lum", answers, **parameters))
    (comparison,) = compare_audits([Audit({"jobs_lum": result}) for result in results])
    assert not comparison.probes
    assert comparison.refused["jobs_lum"].startswith("template is 'I am writing a novel")


def test_equal_definitions_that_were_made_twice_are_compared() -> None:
    """Equal, not identical."""
    first = score("jobs_lum", answer_in_turn("jobs_lum", ["He."], sample=20), sample=20)
    again = replace(first, setup=replace(first.setup, probe=replace(first.setup.probe)))
    assert again.setup.probe is not first.setup.probe
    assert compare(first, again)["jobs_lum"].prompts == 20


def test_nothing_to_compare_is_an_error_with_every_reason(fair: Run, folder: Path) -> None:
    unanswered = simulated(folder / "unanswered.equipoise", {"jobs_lum": "unbiased"}, failed=120)
    with pytest.raises(InputError) as error:
        compare(fair, unanswered)
    assert error.value.exit_code == 2
    assert str(unanswered.path) in str(error.value)
    assert "jobs_lum: no prompt has an answer in both" in str(error.value)
    assert "hiring_an: only A has it" in str(error.value)


def test_another_token_limit_is_noted(folder: Path) -> None:
    runs = []
    for tokens in (64, 512):
        path = folder / f"tokens-{tokens}.equipoise"
        runs.append(simulated(path, {"jobs_lum": "unbiased"}, sampling=Sampling(max_tokens=tokens)))
    expected = "the models were asked differently: max_tokens is 64 in A and 512 in B"
    assert compare(runs[0], runs[1]).notes == (expected,)


def test_all_of_it_is_json(fair: Run, biased: Run) -> None:
    comparison = compare(fair, biased)
    plain = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    metric = plain["probes"]["jobs_lum"]["metrics"]["stereotype_rate"]
    assert metric["p_holm"] == comparison["jobs_lum"].metrics["stereotype_rate"].p_holm
    assert metric["verdict"] == "worse"


def test_bounds_of_missing_answers_are_in_the_json() -> None:
    """With both p-values, and whether the missing answers decide."""
    answers = answer_in_turn("jobs_lum", ["He.", "She."], sample=60)
    lacking = dict([*answers.items()][5:])
    comparison = compare(score("jobs_lum", answers, sample=60), score("jobs_lum", lacking, sample=60))
    metric = comparison["jobs_lum"].metrics["masculine_rate"]
    plain = comparison.to_dict()["probes"]["jobs_lum"]["metrics"]["masculine_rate"]
    assert metric.difference_bounds is not None
    assert plain["difference_bounds"]["smallest"] == metric.difference_bounds.smallest
    assert plain["p"] == metric.p
    assert plain["p_answered"] == metric.p_answered
    assert plain["missing_decides"] is False


def whole_and_part() -> tuple[Result, Result]:
    """The same answers, once without the last ten."""
    answers = answer_in_turn("jobs_lum", ["He.", "She."], sample=60)
    return score("jobs_lum", answers, sample=60), score("jobs_lum", dict([*answers.items()][:50]), sample=60)


def test_an_incomplete_run_is_noted() -> None:
    whole, part = whole_and_part()
    assert "B is incomplete: 50 of 60 attempts" in compare(whole, part).notes
    assert equipoise.compare(whole, whole).notes == ()
