"""Text from elsewhere is only ever text, wherever it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from jinja2 import Environment

from equipoise.measuring.result import Audit
from equipoise.report.charts.scales import draw_scale
from equipoise.report.html import page, sections
from equipoise.report.html.page import render
from equipoise.report.html.runs import ReportedRun
from equipoise.report.text import reveal_invisible
from equipoise.schema import ANSWER, PROMPT, MetricKey, replace_surrogates, text_column
from report.fakes import hand_out, make_run, whole_table, with_parameters, with_results
from report.hostile import HOSTILE
from report.looking import Look, find_harm, look_at, texts

pytestmark = pytest.mark.usefixtures("chromium", "all_answers")

HARMLESS = [f"{place:03}".ljust(len(reveal_invisible(string)), "x") for place, string in enumerate(HOSTILE)]
PLACES = {
    "model": texts(".card > summary > bdi"),
    "file": texts(".facts > dd:nth-of-type(1) > bdi"),
    "created": texts(".facts > dd:nth-of-type(2) > bdi:first-child"),
    "command": texts(".facts > dd:nth-of-type(3) > bdi"),
    "settings": texts(".settings > bdi"),
    "notes": texts("header .banner > bdi"),
    "heads": texts(".runs tbody th .model"),
}
ANSWERS = {
    "answers": texts(".reply > bdi"),
    "prompts": texts(".prompt > bdi"),
    "parameters": texts(".parameters > bdi"),
    "labels": texts("figure tbody th[scope=row]"),
    "groups": texts(".numbers .heading bdi"),
    "attributes": "[...document.querySelectorAll('tr[data-slice-group]')].map(row => row.dataset.sliceGroup)",
}


@pytest.fixture(scope="module")
def all_answers() -> Iterator[None]:
    """All answers are shown, not only some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sections, "SAMPLES", len(HOSTILE))
        yield


def runs_named(names: list[str]) -> list[ReportedRun]:
    """Runs without probes, each with a string in every place that describes a run."""
    return [
        ReportedRun(
            name=name,
            created=name,
            equipoise=name,
            settings={name: [name, {"deeper": name}]},
            notes=[name],
            command=name,
            results=Audit({}, model=name),
            transcripts=lambda *_: [pl.DataFrame()],
        )
        for name in names
    ]


def run_with_strings(strings: list[str]) -> ReportedRun:
    """A run of one probe with strings as prompts, answers, covariates, groups of a slice and in the parameters."""
    run = make_run("model", 0.5, {"jobs_lum": {"sample": len(strings)}})
    table = whole_table(run, "jobs_lum").with_columns(
        text_column(PROMPT, strings),
        text_column(ANSWER, strings),
        text_column("occupation", strings),
        pl.lit("ok").alias("status"),
        pl.lit("male").alias("label"),
    )
    result = with_parameters(run.results["jobs_lum"], template=" ".join(strings))
    estimate = result.metrics["masculine_rate"]
    keys = [MetricKey("masculine_rate", "occupation", replace_surrogates(string)) for string in strings]
    # Without another reading, which would find pronouns in some of the strings and so have numbers to show.
    setup = replace(result.setup, probe=replace(result.setup.probe, specified=None))
    result = replace(result, setup=setup, estimates={**result.estimates, **dict.fromkeys(keys, estimate)})
    return replace(with_results(run, jobs_lum=result), transcripts=hand_out({"jobs_lum": table}))


def write_page(folder: Path, runs: list[ReportedRun], name: str) -> Path:
    path = folder / f"{name}.html"
    path.write_text(render(runs, full=True), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory, all_answers: None) -> dict[str, Look]:
    """Pages with strings of the same lengths that are nothing but text."""
    folder = tmp_path_factory.mktemp("harmless")
    runs = {"runs": runs_named(HARMLESS), "answers": [run_with_strings(HARMLESS)]}
    views = [(write_page(folder, shown, name), 1280, False) for name, shown in runs.items()]
    return dict(zip(runs, look_at(views, {}), strict=True))


@pytest.mark.fault("S2", "S3")
def test_hostile_model_file_settings_and_notes_are_only_text(tmp_path: Path, harmless: dict[str, Look]) -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 100
    page = write_page(tmp_path, runs_named(list(HOSTILE)), "hostile")
    (look,) = look_at([(page, 1280, False)], PLACES)
    assert find_harm(look, page, harmless["runs"]) == []
    expected = [reveal_invisible(string) for string in HOSTILE]
    for place in ("model", "file", "created", "command", "notes", "heads"):
        assert look.values[place] == expected, place
    settings = [{string: [string, {"deeper": string}]} for string in HOSTILE]
    shown = [json.dumps(value, ensure_ascii=False, indent=2) for value in settings]
    assert look.values["settings"] == [reveal_invisible(text) for text in shown]


@pytest.mark.fault("S1", "D9")
def test_hostile_answers_prompts_groups_and_parameters_are_only_text(tmp_path: Path, harmless: dict[str, Look]) -> None:
    run = run_with_strings(list(HOSTILE))
    page = write_page(tmp_path, [run], "hostile")
    (look,) = look_at([(page, 1280, False)], ANSWERS)
    assert find_harm(look, page, harmless["answers"]) == []
    shown, expected = look.values, sorted(reveal_invisible(string) for string in HOSTILE)
    assert sorted(shown["answers"]) == expected
    assert sorted(shown["prompts"]) == expected
    assert set(expected) <= set(shown["labels"])
    assert shown["groups"] == ["all items", *(f"occupation: {reveal_invisible(string)}" for string in HOSTILE)]
    assert len(shown["attributes"]) == len(HOSTILE)
    (parameters,) = shown["parameters"]
    whole = reveal_invisible(json.dumps(run.results["jobs_lum"].parameters, ensure_ascii=False))
    assert parameters.startswith(whole[:5000])


@pytest.mark.fault("S2")
def test_every_hostile_name_can_be_drawn() -> None:
    result = make_run("model", 0.5, {"jobs_lum": {"sample": 2}}).results["jobs_lum"]
    drawing = draw_scale(result.setup.probe.metrics[0], dict.fromkeys(HOSTILE, result), {})
    for svg in (drawing.svg(), drawing.inline()):
        shown = [element.text for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]
        for name in HOSTILE:
            line = " ".join(reveal_invisible(name).split())
            assert any(text and (text == line or (text[-1] == "…" and line.startswith(text[:-1]))) for text in shown)


def test_without_escaping_the_harm_would_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harmless: dict[str, Look]
) -> None:
    make_environment = page.make_environment

    def make_unsafe_environment() -> Environment:
        environment = make_environment()
        environment.autoescape = False
        return environment

    monkeypatch.setattr(page, "make_environment", make_unsafe_environment)
    # A string that leads away from the page would leave nothing to look at.
    strings = [string for string in HOSTILE if "refresh" not in string]
    hostile = write_page(tmp_path, [run_with_strings(strings)], "hostile")
    (look,) = look_at([(hostile, 1280, False)], {})
    harm = find_harm(look, hostile, harmless["answers"])
    assert any(line.startswith("element") and "script" in line for line in harm)
    # The policy of the page lets no script run even then.
    assert [line for line in harm if line.startswith("dialog")] == []
