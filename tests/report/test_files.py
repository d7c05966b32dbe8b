"""Charts as files, the command that asks the same again, and labels of runs."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.probes import find, get
from equipoise.report.html import policy, render, save_charts, sections
from equipoise.report.method import card_html, command, origin
from equipoise.report.samples import samples
from equipoise.report.values import ReportedRun, labels
from equipoise.scoring import plan
from report.fakes import QUICK, evidence, run


def test_charts_are_written_as_svg_and_png(tmp_path: Path, one: ReportedRun) -> None:
    small = dataclasses.replace(one, model="../../evil <model>", results={"jobs_lum": one.results["jobs_lum"]})
    paths = save_charts([small, dataclasses.replace(small, name="b")], tmp_path / "charts")
    names = {path.name for path in paths}
    assert names == {path.name for path in (tmp_path / "charts").iterdir()}
    stems = {"jobs_lum-masculine_rate", "jobs_lum-stereotype_rate"}
    stems |= {
        f"jobs_lum-occupations-{place}-evil-model-{file}" for place, file in ((1, "atlas-large-2.equipoise"), (2, "b"))
    }
    assert names == {f"{stem}.{ending}" for stem in stems for ending in ("svg", "png")}
    for path in paths:
        if path.suffix == ".svg":
            assert ET.fromstring(path.read_text(encoding="utf-8")).tag.endswith("svg")
        else:
            assert path.read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("name", sorted(find()))
@pytest.mark.parametrize("more", [{}, {"random_seed": 7, "num_repetitions": 2, "sample_k": 48}])
def test_the_command_asks_the_same_again(name: str, more: dict[str, int], one: ReportedRun) -> None:
    planned = plan(name, **{**QUICK[name], **more})
    result = dataclasses.replace(one.results[name], parameters=planned.parameters, corpus=planned.corpus)
    words = shlex.split(command(planned.probe, result))
    assert words[:2] == ["equipoise", "prompts"]
    printed = CliRunner().invoke(app, words[1:])
    assert printed.exit_code == 0
    ids = [json.loads(line)["id"] for line in printed.stdout.splitlines() if line.startswith("{")]
    assert set(ids) == set(planned.prompts()["id"])


def test_a_changed_template_is_in_the_command(one: ReportedRun) -> None:
    result = one.results["jobs_lum"]
    result = dataclasses.replace(result, parameters={**result.parameters, "template": "It's a {job}."})
    assert shlex.split(command(get("jobs_lum"), result))[-2:] == ["--set", "template=It's a {job}."]


def test_published_values_are_context_with_a_note(one: ReportedRun) -> None:
    notes = {part.probe.name: part.scales[0].note for part in sections([one])}
    assert notes["jobs_lum"] == "They were asked the same prompts."
    assert notes["gest_creative"].endswith("asked about the corpus gest, not mottos: compare with care.")
    result = one.results["jobs_lum"]
    other = dataclasses.replace(result, parameters={**result.parameters, "template": "A {job}."})
    (part,) = sections([dataclasses.replace(one, results={"jobs_lum": other})])
    assert "Here, template differs from the default" in part.scales[0].note


def test_where_texts_come_from(one: ReportedRun) -> None:
    packaged = origin(get("gest_creative"), one.results["gest_creative"])
    assert packaged is not None
    assert packaged.sha256 == one.results["gest_creative"].corpus_sha256
    fetched = origin(get("gest_creative"), dataclasses.replace(one.results["gest_creative"], corpus="gest"))
    assert fetched is not None
    assert fetched.licence == "Apache-2.0"
    assert origin(get("jobs_lum"), one.results["jobs_lum"]) is None


def test_html_in_a_card_is_text() -> None:
    card = dataclasses.replace(get("jobs_lum").card, sections={"Method": "<b>x</b> [y](javascript:alert(1)) `z`"})
    shown = card_html(card)["Method"]
    assert "&lt;b&gt;" in shown
    assert "href" not in shown
    assert "<code>z</code>" in shown


def test_labels_are_unique(one: ReportedRun) -> None:
    def named(model: str, name: str) -> ReportedRun:
        return dataclasses.replace(one, model=model, name=name)

    assert labels([named("a", "1"), named("b", "2")]) == ["a", "b"]
    assert labels([named("a", "1"), named("a", "2")]) == ["a (1)", "a (2)"]
    assert labels([named("a", "1"), named("a", "1")]) == ["a (1) 1", "a (1) 2"]


def test_samples_are_typical_and_extreme(one: ReportedRun) -> None:
    seen = evidence(one, "hiring_an")
    chosen = samples(get("hiring_an"), seen, None, ["gender"], 10)
    reasons = [sample.reason for sample in chosen]
    assert reasons == sorted(reasons, key=lambda reason: reason != "typical")
    assert {"longest", "shortest", "typical"} == set(reasons)
    assert {(sample.said, dict(sample.facts)["gender"]) for sample in chosen if sample.reason == "typical"} >= {
        (said, gender) for said in ("accepted", "rejected") for gender in ("male", "female")
    }
    assert len({dict(sample.facts)["id"] for sample in chosen}) == len(chosen) == 10


def test_the_policy_allows_no_more_than_the_style() -> None:
    assert policy("").startswith("default-src 'none'; style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='")
    assert "unsafe" not in policy("x")


def test_no_runs_are_no_report() -> None:
    with pytest.raises(ValueError, match="at least one"):
        render([])


def test_a_run_without_a_probe_that_another_has(one: ReportedRun) -> None:
    other = run("other", 0.2, {"jobs_lum": {"sample_k": 40}})
    assert "not asked" in render(
        [dataclasses.replace(one, results={"gest_creative": one.results["gest_creative"]}), other]
    )
