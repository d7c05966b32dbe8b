"""S1, S2, S3, D9: text from elsewhere is only ever text, wherever it is shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report.fakes import run
from report.hostile import HOSTILE
from report.looking import Look, complaints, look, texts

from equipoise.frames import ANSWER, PROMPT, text
from equipoise.report import html, sections
from equipoise.report.html import render
from equipoise.report.method import as_json
from equipoise.report.values import ReportedRun
from equipoise.report.words import plain

pytestmark = pytest.mark.usefixtures("chromium")

HARMLESS = [f"harmless {place}" for place in range(len(HOSTILE))]
TEMPLATE = "a {{job}} {} b"
PLACES = {
    "model": texts(".facts > dd:nth-of-type(1) > bdi"),
    "file": texts(".facts > dd:nth-of-type(2) > bdi"),
    "created": texts(".facts > dd:nth-of-type(3) > bdi:first-child"),
    "command": texts(".facts > dd:nth-of-type(5) > bdi"),
    "settings": texts(".settings > bdi"),
    "notes": texts("header .banner > bdi"),
    "heads": texts(".runs tbody th > bdi"),
}
ANSWERS = {
    "answers": texts(".reply > bdi"),
    "prompts": texts(".prompt > bdi"),
    "parameters": texts(".parameters > bdi"),
    "labels": texts("figure tbody th[scope=row]"),
}


def test_there_are_enough() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 100


def named(names: list[str]) -> list[ReportedRun]:
    """Runs without probes, each with a string in every place that describes a run."""
    return [
        ReportedRun(
            model=name,
            name=name,
            created=name,
            equipoise=name,
            settings={name: [name, {"deeper": name}]},
            notes=[name],
            command=name,
            planned=1,
            answered=1,
            complete=True,
            results={},
            transcripts=lambda _probe: pl.DataFrame(),
        )
        for name in names
    ]


def answered(strings: list[str], monkeypatch: pytest.MonkeyPatch) -> ReportedRun:
    """A run of one probe with strings as prompts, answers, covariates and in the parameters; all answers are shown."""
    monkeypatch.setattr(sections, "SAMPLES", len(strings))
    made = run("model", 0.5, {"jobs_lum": {"sample_k": len(strings)}})
    table = made.transcripts("jobs_lum").with_columns(
        text(PROMPT, strings),
        text(ANSWER, strings),
        text("occupation", strings),
        pl.lit("ok").alias("status"),
        pl.lit("male").alias("label"),
    )
    result = made.results["jobs_lum"]
    parameters = {**result.parameters, "template": " ".join(strings)}
    results = {"jobs_lum": dataclasses.replace(result, parameters=parameters)}
    return dataclasses.replace(made, results=results, transcripts=lambda _probe: table)


def written(folder: Path, runs: list[ReportedRun], name: str) -> Path:
    path = folder / f"{name}.html"
    path.write_text(render(runs), encoding="utf-8")
    return path


def seen(path: Path, scripts: dict[str, str] | None = None) -> Look:
    return look(path, scripts or {})


def unescaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch escaping off."""
    escaping = html.environment

    def environment() -> Any:
        made = escaping()
        made.autoescape = False
        return made

    monkeypatch.setattr(html, "environment", environment)


def test_s2_s3_model_file_settings_notes(tmp_path: Path) -> None:
    path = written(tmp_path, named(list(HOSTILE)), "hostile")
    found = seen(path, PLACES)
    assert complaints(found, path, seen(written(tmp_path, named(HARMLESS), "harmless"))) == []
    shown = [plain(string) for string in HOSTILE]
    for place in ("model", "file", "created", "command", "notes", "heads"):
        assert found.found[place] == shown, place
    settings = [{string: [string, {"deeper": string}]} for string in HOSTILE]
    assert found.found["settings"] == [plain(as_json(value, 2)) for value in settings]


def test_s1_d9_answers_prompts_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = answered(list(HOSTILE), monkeypatch)
    path = written(tmp_path, [made], "hostile")
    found = seen(path, ANSWERS)
    assert complaints(found, path, seen(written(tmp_path, [answered(HARMLESS, monkeypatch)], "harmless"))) == []
    shown = sorted(plain(string) for string in HOSTILE)
    assert sorted(found.found["answers"]) == shown
    assert sorted(found.found["prompts"]) == shown
    assert set(shown) <= set(found.found["labels"])
    (parameters,) = found.found["parameters"]
    whole = plain(as_json(made.results["jobs_lum"].parameters))
    assert parameters.startswith(whole[:5000])


@pytest.mark.parametrize("names", [HOSTILE[start::12] for start in (0, 5)])
def test_s2_charts_of_hostile_models(tmp_path: Path, names: tuple[str, ...]) -> None:
    probes = {"jobs_lum": {"sample_k": 30}}
    made = run("model", 0.5, probes)

    def page(models: list[str], name: str) -> Path:
        return written(tmp_path, [dataclasses.replace(made, model=model) for model in models], name)

    path = page(list(names), "hostile")
    found = seen(path, {"labels": "[...document.querySelectorAll('svg')].map(svg => svg.getAttribute('aria-label'))"})
    harmless = seen(page([f"model {place}" for place in range(len(names))], "harmless"))
    assert complaints(found, path, harmless) == []
    for name in names:
        assert any(plain(name) in label for label in found.found["labels"])


@pytest.mark.parametrize("place", ["runs", "answers"])
def test_without_escaping_it_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def page(strings: list[str], name: str) -> Path:
        runs = named(strings) if place == "runs" else [answered(strings, monkeypatch)]
        return written(tmp_path, runs, name)

    harmless = seen(page(HARMLESS, "harmless"))
    unescaped(monkeypatch)
    # What leads away from the page would leave nothing to look at.
    path = page([string for string in HOSTILE if "refresh" not in string], "hostile")
    found = complaints(seen(path), path, harmless)
    assert any("element" in complaint for complaint in found)
    assert any("script" in complaint for complaint in found)
