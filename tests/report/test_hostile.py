"""S1, S2, S3, D9: text from elsewhere is only ever text, wherever it is shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from equipoise.frames import ANSWER, PROMPT, text
from equipoise.probes import get
from equipoise.report import html, sections
from equipoise.report.html import render
from equipoise.report.method import as_json
from equipoise.report.scales import Reading, scale_chart
from equipoise.report.values import ReportedRun
from equipoise.report.words import plain
from equipoise.stats.resample import Estimate
from report.fakes import run
from report.hostile import HOSTILE
from report.looking import complaints, look_at, texts

pytestmark = pytest.mark.usefixtures("chromium")

HARMLESS = [f"{place:03}".ljust(len(plain(string)), "x") for place, string in enumerate(HOSTILE)]
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


def both(hostile: Path, harmless: Path, scripts: dict[str, str] | None = None) -> tuple[dict[str, Any], list[str]]:
    """What the expressions give on the hostile page, and what is wrong with it beside the harmless one."""
    found, fine = look_at([(hostile, 1280, False), (harmless, 1280, False)], scripts or {})
    return found.found, complaints(found, hostile, fine)


def unescaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch escaping off."""
    escaping = html.environment

    def environment() -> Any:
        made = escaping()
        made.autoescape = False
        return made

    monkeypatch.setattr(html, "environment", environment)


def test_s2_s3_model_file_settings_notes(tmp_path: Path) -> None:
    hostile = written(tmp_path, named(list(HOSTILE)), "hostile")
    found, wrong = both(hostile, written(tmp_path, named(HARMLESS), "harmless"), PLACES)
    assert wrong == []
    shown = [plain(string) for string in HOSTILE]
    for place in ("model", "file", "created", "command", "notes", "heads"):
        assert found[place] == shown, place
    settings = [{string: [string, {"deeper": string}]} for string in HOSTILE]
    assert found["settings"] == [plain(as_json(value, 2)) for value in settings]


def test_s1_d9_answers_prompts_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = answered(list(HOSTILE), monkeypatch)
    harmless = written(tmp_path, [answered(HARMLESS, monkeypatch)], "harmless")
    found, wrong = both(written(tmp_path, [made], "hostile"), harmless, ANSWERS)
    assert wrong == []
    shown = sorted(plain(string) for string in HOSTILE)
    assert sorted(found["answers"]) == shown
    assert sorted(found["prompts"]) == shown
    assert set(shown) <= set(found["labels"])
    (parameters,) = found["parameters"]
    whole = plain(as_json(made.results["jobs_lum"].parameters))
    assert parameters.startswith(whole[:5000])


def test_s2_charts_of_hostile_models(tmp_path: Path) -> None:
    names = HOSTILE[::20]
    made = run("model", 0.5, {"jobs_lum": {"sample_k": 30}})

    def page(models: Sequence[str], name: str) -> Path:
        return written(tmp_path, [dataclasses.replace(made, model=model) for model in models], name)

    labels = "[...document.querySelectorAll('svg')].map(svg => svg.getAttribute('aria-label'))"
    found, wrong = both(page(names, "hostile"), page(HARMLESS[::20], "harmless"), {"labels": labels})
    assert wrong == []
    for name in names:
        assert any(plain(name) in label for label in found["labels"])


def test_s2_every_name_can_be_drawn() -> None:
    metric = next(metric for metric in get("jobs_lum").metrics if metric.bands)
    estimate = Estimate(value=0.6, low=0.5, high=0.7, n=100)
    readings = [Reading(model=name, estimate=estimate, mark=None) for name in HOSTILE]
    drawn = scale_chart(metric, readings, {}, 720)
    for svg in (drawn.svg(), drawn.inline()):
        shown = [element.text for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]
        for name in HOSTILE:
            line = " ".join(plain(name).split())
            assert any(text and (text == line or (text[-1] == "…" and line.startswith(text[:-1]))) for text in shown)


@pytest.mark.parametrize("place", ["runs", "answers"])
def test_without_escaping_it_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def page(strings: list[str], name: str) -> Path:
        runs = named(strings) if place == "runs" else [answered(strings, monkeypatch)]
        return written(tmp_path, runs, name)

    harmless = page(HARMLESS, "harmless")
    unescaped(monkeypatch)
    # What leads away from the page would leave nothing to look at.
    hostile = page([string for string in HOSTILE if "refresh" not in string], "hostile")
    _, wrong = both(hostile, harmless)
    assert any(complaint.startswith("element") and "script" in complaint for complaint in wrong)
    # The policy of the page lets no script run even then.
    assert [complaint for complaint in wrong if complaint.startswith("dialog")] == []
