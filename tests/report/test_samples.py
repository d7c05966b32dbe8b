"""The answers that are shown: some of each kind."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from equipoise.probes import get_probe
from equipoise.report.html.answers import choose_samples, list_covariates, read_run
from equipoise.report.html.runs import ReportedRun
from equipoise.schema import ANSWER, ATTEMPT
from report.fakes import make_run


def test_samples_are_of_every_label_and_arm(one: ReportedRun) -> None:
    samples = read_run(one, "hiring_an", 10).samples
    assert {(sample.outcome, dict(sample.facts)["gender"]) for sample in samples} >= {
        (outcome, gender) for outcome in ("accepted", "rejected") for gender in ("male", "female")
    }
    assert len({dict(sample.facts)["id"] for sample in samples}) == len(samples) == 10


def test_samples_do_not_depend_on_the_order_of_the_answers(one: ReportedRun) -> None:
    probe, evidence = get_probe("jobs_lum"), read_run(one, "jobs_lum", 0).evidence
    turned = replace(evidence, attempts=evidence.attempts.sort(ATTEMPT, descending=True))
    assert choose_samples(one, evidence, probe, 6) == choose_samples(one, turned, probe, 6) != []


def test_answers_that_a_damaged_file_lacks_are_left_out() -> None:
    run = make_run("model", 0.5, {"jobs_lum": {"sample": 2}})
    damaged = replace(
        run,
        transcripts=lambda *arguments: [
            part.with_columns(pl.lit(None, dtype=pl.String).alias(ANSWER)) for part in run.transcripts(*arguments)
        ],
    )
    assert choose_samples(damaged, read_run(run, "jobs_lum", 0).evidence, get_probe("jobs_lum"), 8) == []


def test_covariates_are_what_tells_prompts_apart(one: ReportedRun) -> None:
    for name, expected in (("jobs_lum", {"occupation", "masculinity"}), ("business_vocabulary", {"gender", "race"})):
        detector = get_probe(name).detector
        covariates = set(list_covariates(detector, one.results[name].evaluated.columns))
        assert covariates >= expected
        assert not covariates & {"id", "item", "repetition", "status", "prompt", "evaluation_failed", *detector.columns}
