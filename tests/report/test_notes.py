"""What a reader must know beside the numbers: notes, failures, what the numbers rest on, answers to look at."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from scipy.stats import chi2_contingency

from equipoise.measuring.result import Audit, Result
from equipoise.probes import get_probe
from equipoise.report.html.answers import choose_samples, read_run
from equipoise.report.html.notes import (
    describe_failed,
    equal_shares_p_value,
    gather_notes,
    list_failures,
    warn_uneven,
    with_totals,
)
from equipoise.report.html.page import render
from equipoise.report.html.runs import ReportedRun, name_models
from equipoise.report.html.write import write_report
from equipoise.schema import ANSWER, ATTEMPT
from report.fakes import make_run
from simulating import simulated

NOTES = {
    "simulated": "The answers are simulated: they are those of a reference model (x) that equipoise makes up.",
    "imported": "Imported: 12 attempts from a.csv (SHA-256 0).",
}


def test_many_models_share_their_notes() -> None:
    small = make_run("model", 0.0, {"jobs_lum": {"sample": 12}})

    def make(model: str, origin: str = "asked", *notes: str) -> ReportedRun:
        results = Audit(small.results, model=model, simulated=origin == "simulated", imported=origin == "imported")
        return replace(small, results=results, notes=(*notes, *filter(None, [NOTES.get(origin)])))

    runs = [
        make("simulated/a", "simulated"),
        make("simulated/b", "simulated", "A simulated model ignores top_p."),
        make("openai/c", "imported"),
        make("openai/d", "imported"),
        make("openai/e", "asked", "Served as e-2."),
        make("openai/f", "asked", "Served as e-2."),
    ]
    notes = dict(gather_notes(runs, name_models(runs)))
    pairs = ["simulated/a and simulated/b", "openai/c and openai/d", "openai/e and openai/f"]
    assert [*notes] == [f"Note on {pair}" for pair in pairs]
    assert "no language model was asked" in notes["Note on simulated/a and simulated/b"]
    assert gather_notes(runs[2:3], ["openai/c"]) == [("Note", NOTES["imported"])]
    page = render(runs, full=True)
    assert page.count('<p class="banner"') == len(notes)
    assert page.count("SHA-256 0") == 2, "under Method, for each"
    assert "ignores top_p" in page
    assert "<bdi>openai/</bdi><wbr><bdi>c</bdi>" in page


@pytest.mark.parametrize(("failed", "said"), [(3, ""), (11, "11 of 60 attempts (18%) have no answer: 11 ")])
def test_many_failures_are_said_at_the_top(tmp_path: Path, failed: int, said: str) -> None:
    sizes = {"jobs_lum": {"sample": 60}}
    run = simulated(tmp_path / "run.equipoise", {"jobs_lum": "random"}, failed=failed, parameters=sizes)
    found = describe_failed(run.results())
    assert found.startswith(said)
    assert bool(found) == bool(said)
    write_report(run, tmp_path / "report.html")
    top = (tmp_path / "report.html").read_text(encoding="utf-8").partition("<nav")[0]
    assert (found in top and "Many attempts failed" in top) if said else "Many attempts" not in top


@pytest.mark.parametrize(
    ("k1", "n1", "k2", "n2"), [(30, 100, 10, 100), (5, 1000, 9, 900), (50, 100, 51, 100), (1, 10, 9, 10)]
)
def test_the_p_value_is_that_of_the_chi_square_test_with_yates(k1: int, n1: int, k2: int, n2: int) -> None:
    expected = chi2_contingency([[k1, n1 - k1], [k2, n2 - k2]], correction=True).pvalue
    assert equal_shares_p_value(k1, n1, k2, n2) == pytest.approx(expected)
    for counts in ((0, 0, 1, 5), (0, 5, 0, 5), (5, 5, 5, 5), (1, 2, 1, 2)):
        assert equal_shares_p_value(*counts) == 1.0, "without evidence"


def with_counts(result: Result, **counts: dict[str, int]) -> Result:
    coverage = {group: {**known, **counts.get(group, {})} for group, known in result.coverage.items()}
    return dataclasses.replace(result, coverage=coverage)


@pytest.mark.parametrize(
    ("male", "female", "words"),
    [
        ({"undetected": 90}, {"undetected": 20}, "Attempts for men were not detected more often than those for women"),
        ({"truncated": 2}, {"truncated": 60}, "Attempts for women were cut off by the token limit more often"),
        ({"timeout": 80}, {"timeout": 1}, "Attempts for men failed more often"),
        ({"filtered": 80}, {"filtered": 1}, "Attempts for men were filtered more often"),
    ],
)
def test_a_warning_where_genders_differ(
    one: ReportedRun, male: dict[str, int], female: dict[str, int], words: str
) -> None:
    even = {"ok": 440, "truncated": 0, "filtered": 0, "timeout": 0, "undetected": 10}
    result = with_counts(one.results["hiring_an"], male=even | male, female=even | female)
    warnings = list(warn_uneven(result))
    assert any(warning.startswith(words) for warning in warnings)
    assert all("p < 0.0001" in warning for warning in warnings if warning.startswith(words))
    other = {"ok": 436, "truncated": 2, "filtered": 2, "undetected": 14}
    assert list(warn_uneven(with_counts(result, male=even, female=even | other))) == [], "by chance"
    assert list(warn_uneven(one.results["jobs_lum"])) == [], "no arms"


def test_answers_and_failures_are_summed_and_failures_named(one: ReportedRun) -> None:
    result = with_counts(
        one.results["hiring_an"], all={"ok": 7, "truncated": 2, "timeout": 3, "http_error": 1, "empty": 0}
    )
    sums = with_totals(result.coverage["all"])
    assert (sums["answered"], sums["failed"]) == (9, 4)
    assert list_failures(result) == "1 http error, 3 timeout"


def test_samples_are_of_every_label_and_arm(one: ReportedRun) -> None:
    samples = read_run(one, "hiring_an", 10).samples
    assert {(sample.outcome, dict(sample.facts)["gender"]) for sample in samples} >= {
        (outcome, gender) for outcome in ("accepted", "rejected") for gender in ("male", "female")
    }
    assert len({dict(sample.facts)["id"] for sample in samples}) == len(samples) == 10


def test_the_most_different_case_comes_first(one: ReportedRun) -> None:
    read = read_run(one, "hiring_an", 10)
    assert read.case == read.samples[:2]
    assert {dict(sample.facts)["gender"] for sample in read.case} == {"male", "female"}
    assert {sample.outcome for sample in read.case} == {"accepted", "rejected"}
    changed = [sample.prompt.replace(dict(sample.facts)["name"], "…") for sample in read.case]
    assert changed[0] == changed[1]
    assert read_run(one, "jobs_lum", 10).case == []


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
