"""How it was measured: origins of texts, cards, names of models, how to cite."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from equipoise.measuring.accuracy import describe_accuracy
from equipoise.measuring.result import Result
from equipoise.probes import find_probes, get_probe
from equipoise.report.html.page import build_sections, content_policy, describe_source, render, render_card
from equipoise.report.html.runs import ReportedRun, name_models
from report.fakes import make_run, rename_model, with_parameters, with_results


def test_published_values_have_a_note_on_how_far_they_compare(one: ReportedRun) -> None:
    def describe(result: Result) -> str:
        (section,) = build_sections([with_results(one, **{result.probe: result})], full=False)
        return section.published_note

    assert describe(one.results["jobs_lum"]) == "They were asked the same prompts."
    assert describe(one.results["gest_creative"]).endswith("about the corpus gest, not mottos: compare with care.")
    other = with_parameters(one.results["jobs_lum"], template="A {job}.")
    assert "Here, template differs from the default" in describe(other)


def test_where_texts_come_from(one: ReportedRun) -> None:
    result = one.results["gest_creative"]
    assert describe_source(result) == "packaged with the probe"
    fetched = replace(result, setup=replace(result.setup, corpus="gest"))
    assert describe_source(fetched).startswith("Apache-2.0, ")
    assert describe_source(one.results["jobs_lum"]) == ""


def test_a_report_can_be_cited(one: ReportedRun) -> None:
    small = with_results(one, jobs_lum=one.results["jobs_lum"])
    run = replace(rename_model(small, "a/model_1 {50%}"), digest="0" * 64)
    for full in (False, True):
        text = unescape(re.sub(r"</?bdi>", "", render([run], full=full)))
        assert (
            f"Gender bias of a/model_1 {{50%}} was measured with equipoise 0.1.0 (jobs_lum version "
            f"{run.results['jobs_lum'].version}). {run.results.answered:,} answers were asked for on 4 November 2025"
        ) in text
        assert f"what the values could be. SHA-256 of the run: {run.digest}.</p>" in text
        bibtex = text[text.index("@software{equipoise,") : text.index("<p>Please also cite")]
        assert r"title = {Gender bias of {a/model\_1 \{50\%\}}, measured with equipoise}," in bibtex
        assert "author = {{The equipoise authors}}," in bibtex
        assert "year = {2025}" in bibtex
        assert bibtex.count("{") - bibtex.count(r"\{") == bibtex.count("}") - bibtex.count(r"\}")


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
    ("runs", "names"),
    [
        ([("a", "1"), ("b", "2")], ["a", "b"]),
        ([("a", "1"), ("a", "2")], ["a (1)", "a (2)"]),
        ([("a", "1"), ("a", "1")], ["a (1) 1", "a (1) 2"]),
    ],
)
def test_names_of_models_are_unique(one: ReportedRun, runs: list[tuple[str, str]], names: list[str]) -> None:
    assert name_models([replace(rename_model(one, model), name=file) for model, file in runs]) == names


def test_the_policy_allows_nothing_but_the_style() -> None:
    empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    assert content_policy("").startswith(f"default-src 'none'; style-src 'sha256-{empty}'")
    assert "unsafe" not in content_policy("x")


def test_a_run_may_lack_a_probe_that_another_has(one: ReportedRun) -> None:
    other = make_run("other", 0.2, {"jobs_lum": {"sample": 40}})
    assert "not asked" in render([with_results(one, gest_creative=one.results["gest_creative"]), other])
