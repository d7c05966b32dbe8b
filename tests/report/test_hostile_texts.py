"""Hostile text adds no element to a page and can be drawn; this needs no browser."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from jinja2 import Environment

from equipoise.report.charts.figures import draw_scale
from equipoise.report.html import page
from equipoise.report.html.page import render
from equipoise.report.text import reveal_invisible
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, PROMPT, replace_surrogates, text_column
from report.fakes import change
from report.hostile import HOSTILE
from simulating import simulated

PLAIN = [f"{place:03}".ljust(len(reveal_invisible(text)), "x") for place, text in enumerate(HOSTILE)]
PIECES = {"bdi", "span", "mark", "text"}
"""Elements that are left out or repeated by the pieces of a text."""


class Census(HTMLParser):
    """Counts the elements of a page, and collects attributes that could run a script."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.handlers: list[str] = []
        self.labels: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in PIECES:
            self.elements[tag] += 1
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.labels += [value or "" for name, value in attrs if name == "aria-label"]


def count_elements(html: str) -> Census:
    census = Census()
    census.feed(html)
    return census


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """As many answers as there are hostile strings."""
    path = tmp_path_factory.mktemp("plain") / "run.equipoise"
    sizes = {"jobs_lum": {"sample": len(HOSTILE)}}
    return simulated(path, {"jobs_lum": "random"}, parameters=sizes)


def with_answers(run: Run, strings: list[str]) -> Run:
    table = run.transcripts("jobs_lum").head(len(strings))
    columns = [text_column(name, strings) for name in (PROMPT, ANSWER, "occupation")]
    changed = change(run, tables={"jobs_lum": table.with_columns(columns)})
    # It would find pronouns in some of the strings, and so have other numbers to show.
    setattr(changed, "other_reading", lambda _: None)  # noqa: B010
    return changed


def with_name(run: Run, text: str) -> Run:
    return change(run, results={}, model=text, name=text, created=text, equipoise=text, notes=[text])


def test_there_are_enough_hostile_strings() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 100


@pytest.mark.fault("S1", "D9")
def test_hostile_answers_and_prompts_add_no_element(run: Run) -> None:
    hostile = count_elements(render([with_answers(run, list(HOSTILE))], full=True))
    plain = count_elements(render([with_answers(run, PLAIN)], full=True))
    assert hostile.elements == plain.elements
    assert hostile.handlers == []


@pytest.mark.fault("S2", "S3")
def test_hostile_models_files_and_notes_add_no_element(run: Run) -> None:
    names = [replace_surrogates(text) for text in HOSTILE]
    hostile = count_elements(render([with_name(run, name) for name in names]))
    plain = count_elements(render([with_name(run, name) for name in PLAIN]))
    assert hostile.elements == plain.elements
    assert hostile.handlers == []


@pytest.mark.fault("S2")
def test_hostile_models_add_no_element_to_the_charts_of_a_report(run: Run) -> None:
    def count_of(names: list[str]) -> Census:
        return count_elements(render([change(run, model=name) for name in names], full=True))

    names = [replace_surrogates(text) for text in HOSTILE[::20]]
    hostile = count_of(names)
    plain = count_of(PLAIN[::20])
    assert hostile.elements == plain.elements
    assert hostile.handlers == []
    for name in names:
        assert any(reveal_invisible(name) in label for label in hostile.labels), name


@pytest.mark.fault("S2")
@pytest.mark.parametrize("inline", [False, True], ids=["file", "page"])
def test_every_hostile_name_can_be_drawn(run: Run, inline: bool) -> None:
    result = run["jobs_lum"]
    drawing = draw_scale(result.setup.probe.metrics[0], dict.fromkeys(HOSTILE, result), {})
    svg = drawing.inline() if inline else drawing.svg()
    shown = [each.text or "" for each in ET.fromstring(svg).iter() if each.tag.endswith("text")]
    for name in HOSTILE:
        line = " ".join(reveal_invisible(name).split())
        whole = line in shown
        cut = any(text.endswith("…") and line.startswith(text[:-1]) for text in shown)
        assert whole or cut, name


def test_without_escaping_the_elements_would_be_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    make_environment = page.make_environment

    def make_unsafe_environment() -> Environment:
        environment = make_environment()
        environment.autoescape = False
        return environment

    monkeypatch.setattr(page, "make_environment", make_unsafe_environment)
    hostile = count_elements(render([with_answers(run, list(HOSTILE))], full=True))
    plain = count_elements(render([with_answers(run, PLAIN)], full=True))
    assert hostile.elements["script"] > plain.elements["script"]
