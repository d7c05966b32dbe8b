"""The page in a real browser: at both widths, light and dark, accessible, and with the right numbers."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from equipoise.measuring.compare import compare_audits
from equipoise.report.charts.drawing import COLOURS
from equipoise.report.html.findings import count_marks
from equipoise.report.html.page import build_sections, render
from equipoise.report.html.pieces import MAX_CHARACTERS
from equipoise.report.html.runs import ReportedRun
from equipoise.report.text import describe_mark, describe_marks, typeset_number
from equipoise.schema import MetricKey, without_nan
from report.fakes import hand_out, make_run, packaged_parameters, rename_model, whole_table
from report.looking import look_at, texts

pytestmark = pytest.mark.usefixtures("chromium")

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
VISIBLE = "[...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0).length"
LOOKS = [(1280, False), (1280, True), (390, False), (390, True)]

ACCESSIBILITY = {
    "charts": """[...document.querySelectorAll('svg')]
        .filter(svg => svg.getAttribute('role') !== 'img' || !svg.getAttribute('aria-label')).length""",
    "headings": "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(heading => +heading.tagName[1])",
    "scopes": "document.querySelectorAll('th:not([scope])').length",
    "landmarks": "['header', 'nav', 'main', 'footer'].map(name => document.querySelectorAll(name).length)",
    "language": "document.documentElement.lang",
    "ids": "[...document.querySelectorAll('[id]')].map(element => element.id)",
    "targets": "[...document.querySelectorAll('a[href^=\"#\"]')].map(link => link.getAttribute('href').slice(1))",
    "nameless": "[...document.querySelectorAll('a, summary')].filter(element => !element.textContent.trim()).length",
    "regions": "[...document.querySelectorAll('[role=region]')].filter(box => !box.getAttribute('aria-label')).length",
    "first": "document.querySelector('a').className",
}
NUMBERS = """[...document.querySelectorAll('[data-run] data')].map(data => {
  const cell = data.closest('[data-run]'), row = data.closest('tr');
  const {metric, slice, sliceGroup} = cell.dataset.metric ? cell.dataset : row.dataset;
  return {
    run: +cell.dataset.run, probe: cell.dataset.probe ?? row.dataset.probe, group: row.dataset.group,
    key: [metric, slice, sliceGroup], part: data.className, value: data.value, text: data.textContent,
  };
})"""

# Tables whose last column is not wholly seen, and numbers that stand on two lines.
CUT_COLUMNS = """[
  ...[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1),
  ...[...document.querySelectorAll('data, .num')].filter(number => number.getClientRects().length > 1),
].map(element => element.textContent.slice(0, 80))"""
DIFFERENCES = """[...document.querySelectorAll('[data-compared]')].map(cell => ({
  compared: +cell.dataset.compared, ...cell.closest('tr').dataset,
  verdict: cell.querySelector('.verdict').textContent,
  values: [...cell.querySelectorAll('data')].map(data => data.value),
}))"""


def write_page(folder: Path, runs: list[ReportedRun]) -> Path:
    path = folder / "report.html"
    path.write_text(render(runs, full=True), encoding="utf-8")
    return path


def test_the_table_of_all_marks_needs_no_scrollbar_and_breaks_names_only_at_a_slash(
    pages: dict[str, Path], one: ReportedRun
) -> None:
    scripts = {
        "hidden": "(box => box.scrollWidth - box.clientWidth)(document.querySelector('.matrix').parentElement)",
        "columns": "document.querySelector('.matrix').rows[0].cells.length",
        "breaks": "getComputedStyle(document.querySelector('.matrix tbody th bdi')).overflowWrap",
    }
    (look,) = look_at([(pages["three"], 1280, False)], scripts)
    marks = sum(len(result.marks) for result in one.results.values())
    assert look.values == {"hidden": 0, "columns": 1 + marks, "breaks": "break-word"}


def test_one_and_three_runs_at_both_widths_light_and_dark(
    pages: dict[str, Path], one: ReportedRun, three: list[ReportedRun]
) -> None:
    views = [(page, width, dark) for page in pages.values() for width, dark in LOOKS]
    expected = {
        "one": count_charts([one], full=True),
        "three": count_charts(three, full=True),
        "short": count_charts([one], full=False),
        "three-short": count_charts(three, full=False),
    }
    looks = look_at(views, {"background": BACKGROUND, "charts": VISIBLE})
    for (page, width, dark), look in zip(views, looks, strict=True):
        assert look.activity.requests == [page.as_uri()]
        assert look.activity.problems == look.activity.dialogs == []
        assert look.overflow == [False, False], (page.name, width)
        shade = COLOURS["page"][dark].lstrip("#")
        assert look.values["background"] == f"rgb{tuple(bytes.fromhex(shade))}"
        assert look.values["charts"] == expected[page.stem]
        assert look.census.get("script") == (1 if "three" in page.stem else None)


def count_charts(runs: list[ReportedRun], *, full: bool) -> int:
    """How many charts a page shows: one per marked metric, and one per figure and run."""
    return sum(
        len(section.scales) + sum(panel.chart is not None for picture in section.pictures for panel in picture.panels)
        for section in build_sections(runs, full=full)
    )


def test_a_short_report_opens_with_the_verdict_and_every_mark_and_shows_answers(
    pages: dict[str, Path], one: ReportedRun
) -> None:
    scripts = {
        "verdict": texts(".verdict-line"),
        "counts": texts(".mark-counts > span"),
        "findings": texts(".findings li > div > p:first-child"),
        "examples": texts(".findings blockquote .said"),
        "order": texts("main h2"),
        "cut": CUT_COLUMNS,
    }
    look, several = look_at([(pages[name], 1280, False) for name in ("short", "three-short")], scripts)
    values = look.values
    counts = count_marks(one.results.values())
    assert values["verdict"] == [describe_marks(one.results.values())]
    assert [int(text.split()[0]) for text in values["counts"]] == list(counts.values())
    assert sum(counts.values()) == sum(len(result.marks) for result in one.results.values())
    assert len(values["examples"]) == len(values["findings"]) > 3
    answers = {
        " ".join(answer.split())[:60]
        for name in one.results
        for answer in whole_table(one, name)["answer"].drop_nulls()
    }
    assert all(
        any(" ".join(example.split()).startswith(answer) for answer in answers) for example in values["examples"]
    )
    assert values["order"][:2] == ["Worst findings", "Marks"]
    assert values["order"][-1] == "Method"
    assert values["cut"] == several.values["cut"] == []
    assert several.values["order"][:2] == ["Worst findings", "Marks"]


def test_every_number_is_that_of_the_results(pages: dict[str, Path], three: list[ReportedRun]) -> None:
    (look,) = look_at([(pages["three"], 1280, False)], {"numbers": NUMBERS})
    shown: set[tuple[Any, ...]] = set()
    for entry in look.values["numbers"]:
        result = three[entry["run"]].results[entry["probe"]]
        if entry.get("group"):
            counts = result.coverage[entry["group"]]
            failed = ("empty", "malformed", "too_large", "http_error", "timeout", "context_length")
            sums = {"answered": counts["ok"] + counts["truncated"], "failed": sum(counts[state] for state in failed)}
            assert int(entry["value"]) == {**counts, **sums}[entry["part"]], entry
            assert entry["text"] == f"{int(entry['value']):,}"
            continue
        key = MetricKey(*entry["key"])
        expected = getattr(result.estimates[key], entry["part"])
        assert float(entry["value"]) == pytest.approx(expected, rel=0, abs=0, nan_ok=True), entry
        assert entry["text"] == (f"{expected:,}" if entry["part"] == "n" else typeset_number(expected)), entry
        if not math.isnan(expected):
            shown.add((entry["run"], entry["probe"], key, entry["part"]))
    assert shown == {
        (place, probe, key, part)
        for place, run in enumerate(three)
        for probe, result in run.results.items()
        for key, estimate in result.estimates.items()
        for part, value in without_nan(asdict(estimate)).items()
        if value is not None and (part == "n" or not math.isnan(estimate.value))
    }


def test_every_difference_is_that_of_the_comparison(pages: dict[str, Path], three: list[ReportedRun]) -> None:
    (look,) = look_at([(pages["three"], 1280, False)], {"differences": DIFFERENCES})
    results = [run.results for run in three]
    expected = {
        (place, probe, metric.metric): metric
        for place in (1, 2)
        for probe, metric in compare_audits(results[0], results[place]).marked()
    }
    shown = {(entry["compared"], entry["probe"], entry["metric"]): entry for entry in look.values["differences"]}
    assert shown.keys() == expected.keys()
    for key, metric in expected.items():
        gap = metric.difference
        assert shown[key]["verdict"] == metric.verdict
        numbers = [gap.value, gap.low, gap.high, metric.p_holm]
        assert [float(value) for value in shown[key]["values"]] == pytest.approx(numbers, rel=0, abs=0, nan_ok=True)


def test_marks_and_charts_say_the_same(pages: dict[str, Path], one: ReportedRun) -> None:
    scripts = {
        "marks": texts(".marks tbody tr[data-metric] .mark"),
        "charts": texts("h3 ~ figure .chart svg"),
        "labels": "[...document.querySelectorAll('.chart svg')].map(svg => svg.getAttribute('aria-label'))",
    }
    (look,) = look_at([(pages["one"], 1280, False)], scripts)
    marked = [
        (name, estimate, mark)
        for section in build_sections([one])
        for name, estimate, mark in section.results[0].marked()
    ]
    shown_marks = [re.sub(r"^([A-D]) could", r"\1, could", mark.removeprefix("? ")) for mark in look.values["marks"]]
    assert shown_marks == [describe_mark(mark) for *_, mark in marked]
    for name, estimate, mark in marked:
        value, low, high = (typeset_number(number) for number in (estimate.value, estimate.low, estimate.high))
        sentence = f"{value}, interval {low} to {high}, mark {describe_mark(mark)}."
        assert any(f"{name} " in label and sentence in label for label in look.values["labels"])
        assert any(value in chart and str(mark) in chart for chart in look.values["charts"])


def test_the_even_handed_value_stands_in_the_first_table(pages: dict[str, Path], one: ReportedRun) -> None:
    first, many = look_at(
        [(pages["one"], 1280, False), (pages["three"], 1280, False)],
        {"one": texts(".marks .even"), "many": texts(".matrix .even td")},
    )
    bands = [metric.bands for section in build_sections([one]) for metric, _ in section.marked]
    centres = [f"{each.centre:g}" for each in bands if each]
    assert first.values["one"] == many.values["many"] == centres
    assert {"0", "0.5"} <= set(centres)


def test_models_are_rows_that_a_click_sorts(pages: dict[str, Path], three: list[ReportedRun]) -> None:
    names = ".matrix tbody th"
    click = "document.querySelectorAll('.matrix .sort')[{}].click()"
    scripts = {"before": texts(names), "cells": texts(".matrix tbody tr:first-child td b")}
    for place, column in enumerate((0, 0, 2, 2)):
        scripts |= {f"click {place}": click.format(column), f"order {place}": texts(names)}
    scripts["sorted"] = "[...document.querySelectorAll('.matrix thead th')].map(head => head.getAttribute('aria-sort'))"
    (look,) = look_at([(pages["three"], 1280, False)], scripts)
    models = [run.results.model for run in three]
    metric, cells = [marked for part in build_sections(three) for marked in part.marked][1]
    assert metric.bands is not None
    distances = {
        model: metric.bands.distance(cell.estimate.value)
        for model, cell in zip(models, cells, strict=True)
        if cell.estimate
    }
    assert look.values["before"] == models
    assert look.values["order 0"] == sorted(models)
    assert look.values["order 1"] == sorted(models, reverse=True)
    assert look.values["order 2"] == sorted(models, key=distances.__getitem__)
    assert look.values["order 3"] == look.values["order 2"][::-1]
    assert [place for place, value in enumerate(look.values["sorted"]) if value] == [2]
    marks = [cells[0].mark for part in build_sections(three) for _, cells in part.marked]
    assert look.values["cells"] == [mark.letter for mark in marks if mark]
    assert look.activity.problems == []


def test_a_page_on_many_models_is_hardly_longer_than_on_one(tmp_path: Path) -> None:
    run = make_run("model", 0.5, {"jobs_lum": {"sample": 40}, "hiring_an": {"sample": 96}})
    height = {
        "height": "document.scrollingElement.scrollHeight",
        "open": "document.querySelectorAll('.fold[open]').length",
    }
    pages = []
    for count in (1, 12):
        (tmp_path / str(count)).mkdir()
        pages.append(write_page(tmp_path / str(count), [rename_model(run, f"model {place}") for place in range(count)]))
    one, many = look_at([(page, 1280, False) for page in pages], height)
    assert many.values["height"] < 1.5 * one.values["height"]
    assert many.values["open"] == 0
    assert many.overflow == [False, False]


def test_readers_who_cannot_see_the_page(pages: dict[str, Path]) -> None:
    for look in look_at([(page, 1280, False) for page in pages.values()], ACCESSIBILITY):
        values = look.values
        assert values["charts"] == values["scopes"] == values["nameless"] == values["regions"] == 0
        assert values["headings"][0] == 1
        assert values["headings"].count(1) == 1
        steps = zip(values["headings"], values["headings"][1:], strict=False)
        assert all(after <= before + 1 for before, after in steps)
        assert values["landmarks"] == [1, 1, 1, 1]
        assert values["language"] == "en"
        assert len(set(values["ids"])) == len(values["ids"])
        assert set(values["targets"]) <= set(values["ids"])
        assert values["first"] == "skip"


@pytest.mark.fault("U10", "E20")
def test_banners_tell_of_an_incomplete_run_and_of_another_model(
    pages: dict[str, Path], three: list[ReportedRun]
) -> None:
    (look,) = look_at([(pages["three"], 1280, False)], {"banners": texts("header .banner")})
    incomplete, other = look.values["banners"]
    results = three[1].results
    assert f"Incomplete: {results.ended:,} of {results.planned:,} attempts of atlas-small-2 have ended" in incomplete
    assert "Note on borealis-7b-instruct: The endpoint served borealis-7b-chat" in other


@pytest.mark.fault("U10", "D13")
def test_a_run_without_answers_is_marked_as_incomplete(tmp_path: Path) -> None:
    page = write_page(tmp_path, [make_run("model", 0.5, {"jobs_lum": {}, "hiring_an": {"sample": 96}}, answered=0.0)])
    scripts = {"banners": texts("header .banner"), "marks": texts(".marks .mark")}
    (look,) = look_at([(page, 390, False)], scripts)
    assert look.activity.problems == []
    assert "Incomplete: 0 of 435" in look.values["banners"][0]
    assert set(look.values["marks"]) == {"not computable"}


@pytest.mark.fault("D8", "D9")
def test_a_huge_answer_is_cut_and_text_directions_are_isolated(tmp_path: Path) -> None:
    run = make_run("model", 0.5, {"jobs_lum": {"sample": 2}})
    answers = ["she " * 2_500_000, "abc \u202edef\u202c ghi"]
    table = whole_table(run, "jobs_lum").with_columns(pl.Series("answer", answers), status=pl.lit("ok"))
    page = write_page(tmp_path, [replace(run, transcripts=hand_out({"jobs_lum": table}))])
    scripts = {
        "answers": texts(".reply"),
        "cuts": texts(".reply .cut"),
        "bidi": "getComputedStyle(document.querySelector('.reply bdi')).unicodeBidi",
    }
    (look,) = look_at([(page, 390, False)], scripts)
    assert page.stat().st_size < 1_000_000
    assert look.values["cuts"] == [f"[cut: {10_000_000 - MAX_CHARACTERS:,} more characters]"]
    assert "abc U+202EdefU+202C ghi" in look.values["answers"]
    assert look.values["bidi"] == "isolate"
    assert look.overflow == [False, False]


def test_a_standard_run_is_small(tmp_path: Path) -> None:
    page = write_page(tmp_path, [make_run("model", 0.7, packaged_parameters())])
    assert page.stat().st_size < 200_000 * len(packaged_parameters())  # 5 MB is what is promised for a report


def test_colours_have_enough_contrast() -> None:
    def luminance(colour: str) -> float:
        parts = [value / 255 for value in bytes.fromhex(colour.lstrip("#"))]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    def contrast(first: str, second: str, scheme: int) -> float:
        high, low = sorted((luminance(COLOURS[name][scheme]) for name in (first, second)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    text = [(name, ground) for name in ("ink", "soft", "accent", "text-c") for ground in ("page", "panel")]
    text += [(f"text-{mark}", f"band-{mark}") for mark in "abcd"] + [("ink", "band-c")]
    shapes = [(name, "page") for name in ("first", "second", "third")]
    shapes += [("accent", f"band-{mark}") for mark in "abcd"]
    for scheme in (0, 1):
        for pair in text:
            assert contrast(*pair, scheme) >= 4.5, pair
        for pair in shapes:
            assert contrast(*pair, scheme) >= 3, pair


@pytest.mark.parametrize("name", ["one", "three"])
def test_tables_have_heads_and_are_reached_and_told_apart_without_a_mouse(pages: dict[str, Path], name: str) -> None:
    page = pages[name].read_text(encoding="utf-8")
    labels = re.findall(r'<div class="scroll" role="region" tabindex="0" aria-label="([^"]*)">', page)
    assert len(labels) > 10
    assert len(labels) == len(set(labels)), "every region has a name of its own"
    assert not re.search(r"<th[^>]*>\s*(<bdi>\s*</bdi>)?\s*</th>", page), "a head says what stands below it"
    cards = re.findall(r"<table[^>]*>", page[page.index('id="method"') :])
    assert cards
    assert all('tabindex="0"' in tag for tag in cards if "class" not in tag)
