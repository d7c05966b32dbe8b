"""The answers that are shown: typical ones of each kind, and extreme ones."""

from __future__ import annotations

import polars as pl

from equipoise.authoring import Probe
from equipoise.probes import get_probe
from equipoise.report.html.answers import Sample, SampleChoice, list_covariates
from equipoise.report.html.runs import ReportedRun
from equipoise.schema import ANSWER, ID
from report.fakes import add_evaluation, collect_evidence, make_run, whole_table


def choose_samples(probe: Probe, answers: pl.DataFrame, covariates: list[str], most: int) -> list[Sample]:
    """Choose from answers that come in parts of three."""
    choice = SampleChoice(probe)
    for part in answers.iter_slices(3):
        choice.add(part)
    return choice.choose(covariates, most, lambda ids: [answers.filter(pl.col(ID).is_in(ids))])


def test_samples_are_typical_and_extreme(one: ReportedRun) -> None:
    answers = collect_evidence(one, "hiring_an").measured()
    samples = choose_samples(get_probe("hiring_an"), answers, ["gender"], 10)
    reasons = [sample.reason for sample in samples]
    assert reasons == sorted(reasons, key=lambda reason: reason != "typical")
    assert {"longest", "shortest", "typical", "most rejected words"} == set(reasons)
    assert {(sample.outcome, dict(sample.facts)["gender"]) for sample in samples if sample.reason == "typical"} >= {
        (outcome, gender) for outcome in ("accepted", "rejected") for gender in ("male", "female")
    }
    assert len({dict(sample.facts)["id"] for sample in samples}) == len(samples) == 10


def test_the_answers_with_most_words_for_either_side_are_shown() -> None:
    probe = get_probe("jobs_lum")
    table = whole_table(make_run("model", 0.5, {"jobs_lum": {"sample": 5}}), "jobs_lum")
    answers = ["he he", "she she she", "he he he (s)he", "he", "she she"]
    table = table.with_columns(pl.Series(ANSWER, answers), status=pl.lit("ok")).select(pl.exclude("label"))
    samples = choose_samples(probe, add_evaluation(probe.detector, table.drop("evaluation_failed")), [], 8)
    extremes = {sample.reason: (sample.answer, sample.outcome) for sample in samples if "words" in sample.reason}
    assert extremes == {
        "most male words": ("he he he (s)he", "male"),
        "most female words": ("she she she", "female"),
    }


def test_no_answer_leans_to_a_side_that_has_no_words() -> None:
    probe = get_probe("jobs_lum")
    table = whole_table(make_run("model", 0.5, {"jobs_lum": {"sample": 2}}), "jobs_lum")
    table = table.with_columns(pl.Series(ANSWER, ["she " * 5, "she " * 4]), status=pl.lit("ok"))
    reasons = {sample.reason for sample in choose_samples(probe, table, [], 8)}
    assert "most female words" in reasons
    assert "most male words" not in reasons


def test_answers_that_a_damaged_file_lacks_are_left_out() -> None:
    table = whole_table(make_run("model", 0.5, {"jobs_lum": {"sample": 2}}), "jobs_lum")
    none = table.with_columns(pl.lit(None, dtype=pl.String).alias(ANSWER))
    assert choose_samples(get_probe("jobs_lum"), none, [], 8) == []


def test_covariates_are_what_tells_prompts_apart(one: ReportedRun) -> None:
    for name, expected in (("jobs_lum", {"occupation", "masculinity"}), ("business_vocabulary", {"gender", "race"})):
        detector = get_probe(name).detector
        covariates = set(list_covariates(detector, one.results[name].evaluated.columns))
        assert covariates >= expected
        assert not covariates & {"id", "item", "repetition", "status", "prompt", "evaluation_failed", *detector.columns}
