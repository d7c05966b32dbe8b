"""Text from elsewhere is only ever text, wherever it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from jinja2 import Environment

from equipoise.report.charts.figures import draw_scale
from equipoise.report.html import page, sections
from equipoise.report.html.page import render
from equipoise.report.text import reveal_invisible
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, PROMPT, MetricKey, replace_surrogates, text_column
from report.browser import Look, find_harm, look_at, texts
from report.fakes import change
from report.hostile import HOSTILE
from simulating import simulated

pytestmark = pytest.mark.usefixtures("chromium", "all_answers")

HARMLESS = [f"{place:03}".ljust(len(reveal_invisible(string)), "x") for place, string in enumerate(HOSTILE)]
PLACES = {
    "model": texts(".card > summary > bdi"),
    "file": texts(".facts > dd:nth-of-type(1) > bdi"),
    "created": texts(".facts > dd:nth-of-type(2) > bdi:first-child"),
    "who": texts(".facts > dd:nth-of-type(3) > bdi"),
    "notes": texts("header .banner > bdi"),
    "heads": texts(".runs tbody th .model"),
}
ANSWERS = {
    "answers": texts(".reply > bdi"),
    "prompts": texts(".prompt > bdi"),
    "facts": texts(".answer dd:last-child > bdi"),
    "parameters": texts(".parameters > bdi"),
    "groups": texts(".numbers .heading bdi"),
    "attributes": "[...document.querySelectorAll('tr[data-slice-group]')].map(row => row.dataset.sliceGroup)",
}


@pytest.fixture(scope="module")
def all_answers() -> Iterator[None]:
    """All answers are shown, not only some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sections, "SAMPLES", len(HOSTILE))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """As many answers as there are hostile strings."""
    path = tmp_path_factory.mktemp("plain") / "run.equipoise"
    return simulated(path, {"jobs_lum": "random"}, parameters={"jobs_lum": {"sample": len(HOSTILE)}})


def name_runs(run: Run, names: list[str]) -> list[Run]:
    """Runs without probes, each with a string in every place that describes a run."""
    return [
        change(run, results={}, model=name, name=name, created=name, equipoise=name, notes=[name]) for name in names
    ]


def fill_with(run: Run, strings: list[str]) -> Run:
    """The run with strings as prompts, answers, covariates, groups of a slice and in the parameters."""
    table = run.transcripts("jobs_lum").head(len(strings))
    columns = [text_column(name, strings) for name in (PROMPT, ANSWER, "occupation")]
    result = run["jobs_lum"]
    keys = [MetricKey("masculine_rate", "occupation", replace_surrogates(string)) for string in strings]
    setup = replace(result.setup, parameters={**result.parameters, "template": " ".join(strings)})
    estimates = {**result.estimates, **dict.fromkeys(keys, result.metrics["masculine_rate"])}
    changed = replace(result, setup=setup, estimates=estimates)
    filled = change(run, results={"jobs_lum": changed}, tables={"jobs_lum": table.with_columns(columns)})
    setattr(filled, "other_reading", lambda _: None)  # noqa: B010 - it would find pronouns in some of the strings
    return filled


def write_page(folder: Path, runs: list[Run], name: str) -> Path:
    path = folder / f"{name}.html"
    path.write_text(render(runs, full=True), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory, run: Run, all_answers: None) -> dict[str, Look]:
    """Pages with strings of the same lengths that are nothing but text."""
    folder = tmp_path_factory.mktemp("harmless")
    runs = {"runs": name_runs(run, HARMLESS), "answers": [fill_with(run, HARMLESS)]}
    views = [(write_page(folder, shown, name), 1280, False) for name, shown in runs.items()]
    return dict(zip(runs, look_at(views, {}), strict=True))


@pytest.mark.fault("S2", "S3")
def test_hostile_models_files_dates_and_notes_are_only_text(
    tmp_path: Path, run: Run, harmless: dict[str, Look]
) -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60
    names = [replace_surrogates(string) for string in HOSTILE]  # a run file holds no surrogates
    page = write_page(tmp_path, name_runs(run, names), "hostile")
    (look,) = look_at([(page, 1280, False)], PLACES)
    assert find_harm(look, page, harmless["runs"]) == []
    expected = [reveal_invisible(string) for string in HOSTILE]
    for place in PLACES:
        assert look.values[place] == expected, place


@pytest.mark.fault("S1", "D9")
def test_hostile_answers_prompts_groups_and_parameters_are_only_text(
    tmp_path: Path, run: Run, harmless: dict[str, Look]
) -> None:
    filled = fill_with(run, list(HOSTILE))
    page = write_page(tmp_path, [filled], "hostile")
    (look,) = look_at([(page, 1280, False)], ANSWERS)
    assert find_harm(look, page, harmless["answers"]) == []
    shown, expected = look.values, sorted(reveal_invisible(string) for string in HOSTILE)
    assert sorted(shown["answers"]) == expected
    assert sorted(shown["prompts"]) == expected
    assert set(expected) <= set(shown["facts"])
    assert shown["groups"] == ["all items", *(f"occupation: {reveal_invisible(string)}" for string in HOSTILE)]
    assert len(shown["attributes"]) == len(HOSTILE)
    (parameters,) = shown["parameters"]
    whole = reveal_invisible(json.dumps(filled["jobs_lum"].parameters, ensure_ascii=False))
    assert parameters.startswith(whole[:5000])


@pytest.mark.fault("S2")
def test_every_hostile_name_can_be_drawn(run: Run) -> None:
    result = run["jobs_lum"]
    drawing = draw_scale(result.setup.probe.metrics[0], dict.fromkeys(HOSTILE, result), {})
    for svg in (drawing.svg(), drawing.inline()):
        shown = [element.text for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]
        for name in HOSTILE:
            line = " ".join(reveal_invisible(name).split())
            assert any(text and (text == line or (text[-1] == "…" and line.startswith(text[:-1]))) for text in shown)


def test_without_escaping_the_harm_would_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, harmless: dict[str, Look]
) -> None:
    make_environment = page.make_environment

    def make_unsafe_environment() -> Environment:
        environment = make_environment()
        environment.autoescape = False
        return environment

    monkeypatch.setattr(page, "make_environment", make_unsafe_environment)
    # A string that leads away from the page would leave nothing to look at.
    strings = [string for string in HOSTILE if "refresh" not in string]
    hostile = write_page(tmp_path, [fill_with(run, strings)], "hostile")
    (look,) = look_at([(hostile, 1280, False)], {})
    harm = find_harm(look, hostile, harmless["answers"])
    assert any(line.startswith("element") and "script" in line for line in harm)
    # The policy of the page lets no script run even then.
    assert [line for line in harm if line.startswith("dialog")] == []
