"""What a reader must know beside the numbers: notes, failures, origins, coverage, answers to look at."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec import structs

import equipoise
from equipoise.measuring.result import Result
from equipoise.probes import find_probes, get_probe
from equipoise.probes.labelled import describe_accuracy
from equipoise.report.html.notes import (
    describe_coverage,
    describe_failed,
    describe_provenance,
    gather_notes,
    run_command,
    warn_uneven,
    with_totals,
)
from equipoise.report.html.page import content_policy, describe_source, render, render_card
from equipoise.report.html.sections import Section, build_sections, name_models
from equipoise.runs.file.store import RunFile
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, Status
from report.fakes import alone, change
from simulating import simulated


def test_many_models_share_their_notes(one: Run) -> None:
    imported: dict[str, Any] = {
        "model_settings": {"imported": True},
        "notes": ["Imported: 12 attempts from a.csv (SHA-256 of it)."],
    }
    served = {"notes": ["Served as e-2."]}
    made_up = {"model_settings": {"simulated": "x"}, "notes": ["A simulated model ignores top_p."]}
    runs = [
        alone(one, "jobs_lum", model=model, **settings)
        for settings, models in ((made_up, "ab"), (imported, "cd"), (served, "ef"))
        for model in (f"x/{letter}" for letter in models)
    ]
    notes = gather_notes(runs, name_models(runs))
    assert list(notes.values()) == ["x/a and x/b", "x/c and x/d", "x/e and x/f"]
    assert "no language model was asked" in next(iter(notes))
    assert gather_notes(runs[2:3], ["x/c"]) == {imported["notes"][0]: ""}
    page = render(runs, full=True)
    assert page.count('<p class="banner"') == len(notes)
    assert page.count("SHA-256 of it") == 2, "under Method, for each"
    assert "ignores top_p" in page
    assert "<bdi>x/</bdi><wbr><bdi>c</bdi>" in page


@pytest.mark.parametrize(("failed", "said"), [(3, ""), (11, "11 of 60 attempts (18%) have no answer: 11 ")])
def test_many_failures_are_said_at_the_top(tmp_path: Path, failed: int, said: str) -> None:
    sizes = {"jobs_lum": {"sample": 60}}
    run = simulated(tmp_path / "run.equipoise", {"jobs_lum": "random"}, failed=failed, parameters=sizes)
    found = describe_failed(run.results())
    assert found.startswith(said)
    assert bool(found) == bool(said)
    top = render([run]).partition("<nav")[0]
    assert (found in top and "Many attempts failed" in top) if said else "Many attempts" not in top


def test_failures_that_were_asked_again_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    simulated(path, {"jobs_lum": "random"}, failed=11, parameters={"jobs_lum": {"sample": 20}})
    assert describe_provenance(Run.open(path))["What failed"] == "11 timeout (most often: too late)"
    with RunFile.open(path) as file:
        file.ask_again([Status.TIMEOUT])
    said = describe_provenance(Run.open(path))["What failed"]
    assert said == "11 pending; 11 failures that were asked again"


def with_counts(result: Result, **counts: dict[str, int]) -> Result:
    coverage = {group: {**known, **counts.get(group, {})} for group, known in result.coverage.items()}
    return replace(result, coverage=coverage)


@pytest.mark.parametrize(
    ("male", "female", "words"),
    [
        ({"undetected": 90}, {"undetected": 20}, "Attempts for men were not detected more often than those for women"),
        ({"truncated": 2}, {"truncated": 60}, "Attempts for women were cut off by the token limit more often"),
        ({"timeout": 80}, {"timeout": 1}, "Attempts for men failed more often"),
        ({"filtered": 80}, {"filtered": 1}, "Attempts for men were filtered more often"),
    ],
)
def test_a_warning_where_genders_differ(one: Run, male: dict[str, int], female: dict[str, int], words: str) -> None:
    even = {"planned": 500, "ok": 440, "truncated": 0, "filtered": 0, "timeout": 0, "undetected": 10}
    result = with_counts(one["hiring_an"], male=even | male, female=even | female)
    warnings = list(warn_uneven(result))
    assert any(warning.startswith(words) for warning in warnings)
    assert all("p <0.001" in warning for warning in warnings if warning.startswith(words))


@pytest.mark.parametrize("full", [False, True], ids=["short", "full"])
def test_a_report_warns_where_genders_differ(one: Run, full: bool) -> None:
    even = {"planned": 500, "ok": 500, "truncated": 0, "filtered": 0}
    male = even | {"undetected": 90}
    female = even | {"undetected": 20}
    uneven = with_counts(one["hiring_an"], male=male, female=female)
    page = render([change(one, results={"hiring_an": uneven})], full=full)
    assert "Attempts for men were not detected more often than those for women: 18.0% (90 of 500)" in page
    assert "Attempts for men" not in render([alone(one, "hiring_an")], full=full)


def test_no_warning_where_genders_differ_by_chance(one: Run) -> None:
    even = {"planned": 500, "ok": 470, "truncated": 3, "filtered": 1, "undetected": 10}
    other = {"planned": 500, "ok": 468, "truncated": 5, "filtered": 3, "undetected": 14}
    assert list(warn_uneven(with_counts(one["hiring_an"], male=even, female=other))) == []


def test_no_warning_where_there_are_no_arms(one: Run) -> None:
    assert list(warn_uneven(one["jobs_lum"])) == []


def test_answers_and_failures_are_summed() -> None:
    counts = dict.fromkeys(map(str, Status), 0)
    counts |= {"planned": 20, "ok": 7, "truncated": 2, "timeout": 3, "http_error": 1, "pending": 7}
    sums = with_totals(counts)
    assert (sums["answered"], sums["failed"], sums["asked"]) == (9, 4, 13)


def test_coverage_names_every_failure(one: Run) -> None:
    changed = with_counts(one["jobs_lum"], all={"timeout": 3, "http_error": 1})
    sentence = describe_coverage(changed)
    assert "1 http error" in sentence
    assert "3 timeout" in sentence
    assert "empty" not in sentence


def show(run: Run, probe: str) -> Section:
    (section,) = build_sections([alone(run, probe)], full=True)
    return section


def test_samples_are_of_every_label_and_arm(one: Run) -> None:
    found = show(one, "hiring_an")
    assert {(sample.outcome, sample.facts["gender"]) for sample in found.samples[0]} >= {
        (outcome, gender) for outcome in ("accepted", "rejected") for gender in ("male", "female")
    }
    assert len({sample.facts["id"] for sample in found.samples[0]}) == len(found.samples[0]) == 10


def test_the_case_that_was_answered_most_differently_comes_first(one: Run) -> None:
    found = show(one, "hiring_an")
    assert found.case == found.samples[0][:2]
    assert {sample.facts["gender"] for sample in found.case} == {"male", "female"}
    assert {sample.outcome for sample in found.case} == {"accepted", "rejected"}
    changed = [sample.prompt.replace(sample.facts["name"], "…") for sample in found.case]
    assert changed[0] == changed[1]


def test_where_no_arms_are_compared_there_is_no_case(one: Run) -> None:
    assert show(one, "jobs_lum").case == []


def test_samples_do_not_depend_on_the_order_of_the_answers(one: Run) -> None:
    result = one["jobs_lum"]
    turned = change(one, results={"jobs_lum": replace(result, attempts=result.evaluated.reverse())})
    assert show(one, "jobs_lum").samples == show(turned, "jobs_lum").samples != {0: []}


def test_answers_that_a_damaged_file_lacks_are_left_out(one: Run) -> None:
    missing = pl.lit(None, dtype=pl.String).alias(ANSWER)
    damaged = one.transcripts("jobs_lum").with_columns(missing)
    assert show(change(one, tables={"jobs_lum": damaged}), "jobs_lum").samples == {0: []}


@pytest.mark.parametrize(
    ("probe", "expected"),
    [("jobs_lum", {"occupation", "masculinity"}), ("business_vocabulary", {"gender", "race"})],
)
def test_what_tells_prompts_apart_stands_beside_a_sample(one: Run, probe: str, expected: set[str]) -> None:
    counts = set(one[probe].setup.probe.detector.columns)
    for sample in show(one, probe).samples[0]:
        assert set(sample.facts) >= expected
        assert not set(sample.facts) & {"item", "repetition", "prompt", "evaluation_failed", *counts}


def test_where_texts_come_from(one: Run) -> None:
    result = one["gest_creative"]
    assert describe_source(result) == "packaged with the probe"
    fetched = replace(result, setup=replace(result.setup, corpus="gest"))
    assert describe_source(fetched).startswith("Apache-2.0, ")
    assert describe_source(one["jobs_lum"]) == ""


CITED: dict[str, Any] = {
    "model": "a/model_1 {50%}",
    "created": "2025-11-04T09:30:00+00:00",
    "equipoise": "0.1.0",
}


def read_page(run: Run, *, full: bool) -> str:
    """The text of a report, as a reader sees it."""
    return unescape(re.sub(r"</?bdi>", "", render([run], full=full)))


@pytest.mark.parametrize("full", [False, True], ids=["short", "full"])
def test_a_report_says_in_a_paragraph_how_it_was_measured(one: Run, full: bool) -> None:
    run = alone(one, "jobs_lum", **CITED)
    page = read_page(run, full=full)
    answered = run.results().counts.answered
    version = run["jobs_lum"].setup.probe.version
    assert (
        "Gender bias of a/model_1 {50%} was measured with equipoise 0.1.0 "
        f"(jobs_lum version {version}). {answered:,} answers were asked for on 4 November 2025"
    ) in page
    assert f"what the values could be. SHA-256 of the run: {run.provenance.digest}.</p>" in page


@pytest.mark.parametrize("full", [False, True], ids=["short", "full"])
def test_a_report_says_how_the_software_is_cited(one: Run, full: bool) -> None:
    page = read_page(alone(one, "jobs_lum", **CITED), full=full)
    assert "@software{equipoise," in page
    assert "author = {{The equipoise authors}}," in page
    entry = page[page.index("@software") :].partition("</")[0]
    assert entry.count("{") == entry.count("}")


def test_html_in_a_card_is_shown_as_text() -> None:
    card = replace(get_probe("jobs_lum").card, sections={"Method": "<b>x</b> [y](javascript:alert(1)) `z`"})
    shown = render_card(card)["Method"]
    assert "&lt;b&gt;" in shown
    assert "href" not in shown
    assert "<code>z</code>" in shown


@pytest.mark.parametrize("name", sorted(find_probes()))
def test_every_card_states_the_measured_error(name: str) -> None:
    probe = get_probe(name)
    shown = render_card(probe.card)["Evaluation"]
    assert describe_accuracy(probe) in shown
    assert (describe_accuracy(probe.read_by("specified")) in shown) == (probe.specified is not None)
    assert "generated" not in shown


@pytest.mark.parametrize(
    ("models", "names"), [("ab", ["a", "b"]), ("aa", ["a 1", "a 2"]), ("aba", ["a 1", "b", "a 2"])]
)
def test_names_of_models_are_unique(one: Run, models: str, names: list[str]) -> None:
    assert name_models([change(one, model=model) for model in models]) == names


def test_a_run_may_lack_a_probe_that_another_has(one: Run) -> None:
    assert "not asked" in render([alone(one, "gest_creative"), alone(one, "jobs_lum")])


def test_published_values_stand_beside_those_of_the_same_prompts(one: Run) -> None:
    page = render([alone(one, "jobs_lum")], full=True)
    assert show(one, "jobs_lum").published
    assert "compare with care" in page
    assert get_probe("jobs_lum").published in unescape(page)


def test_the_policy_allows_nothing_but_the_style() -> None:
    empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    assert content_policy("").startswith(f"default-src 'none'; style-src 'sha256-{empty}'")
    assert "unsafe" not in content_policy("x")
    assert "script-src" not in content_policy("x")


def test_a_policy_with_a_script_allows_that_one_alone() -> None:
    policy = content_policy("", "go()")
    assert re.search(r"script-src 'sha256-[\w+/=]+'; require-trusted-types-for 'script'", policy)
    assert "unsafe" not in policy


def test_the_command_repeats_a_run_that_the_command_line_can_ask(one: Run) -> None:
    spec = structs.replace(one.record.spec, model="openai/x y", temperature=0.5, model_seed=7)
    words = "equipoise run 'openai/x y' --probe jobs_lum --suite quick --temperature 0.5 --max-tokens 64 --model-seed 7"
    assert run_command(alone(one, "jobs_lum", spec=spec)) == words


def test_no_command_repeats_a_function(one: Run) -> None:
    assert run_command(alone(one, "jobs_lum", model_settings={"function": "f"})) == ""


def test_no_command_repeats_imported_answers(tmp_path: Path) -> None:
    imported, _, _ = equipoise.import_answers([], tmp_path / "run.equipoise", probes="jobs_lum")
    assert run_command(imported) == ""
