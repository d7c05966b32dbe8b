"""The page in a real browser: at both widths, light and dark, accessible, and with the right numbers."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from equipoise.measuring.compare import compare_audits
from equipoise.report.charts.drawing import COLOURS
from equipoise.report.html.page import render
from equipoise.report.html.pieces import MAX_CHARACTERS
from equipoise.report.text import count_marks, describe_mark, describe_marks, typeset_number
from equipoise.runs.run import Run
from equipoise.schema import MetricKey, without_nan
from report.browser import Look, look_at, texts
from report.fakes import alone, change, make_run

pytestmark = pytest.mark.usefixtures("chromium")

SCRIPTS = {
    # for readers who cannot see the page
    "unnamed charts": """[...document.querySelectorAll('svg')]
        .filter(svg => svg.getAttribute('role') !== 'img' || !svg.getAttribute('aria-label')).length""",
    "unscoped heads": "document.querySelectorAll('th:not([scope])').length",
    "empty heads": "[...document.querySelectorAll('th')].filter(head => !head.textContent.trim()).length",
    "nameless": "[...document.querySelectorAll('a, summary')].filter(element => !element.textContent.trim()).length",
    "headings": "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(heading => +heading.tagName[1])",
    "landmarks": "['header', 'nav', 'main', 'footer'].map(name => document.querySelectorAll(name).length)",
    "language": "document.documentElement.lang",
    "ids": "[...document.querySelectorAll('[id]')].map(element => element.id)",
    "targets": "[...document.querySelectorAll('a[href^=\"#\"]')].map(link => link.getAttribute('href').slice(1))",
    "regions": "[...document.querySelectorAll('[role=region][tabindex=\"0\"]')].map(box => box.ariaLabel)",
    "unreachable": "document.querySelectorAll('.card table:not([tabindex]):not([class])').length",
    "first": "document.querySelector('a').className",
    # what is shown
    "order": texts("main h2"),
    "banners": texts("header .banner"),
    "verdict": texts(".verdict-line"),
    "counts": texts(".mark-counts > span"),
    "findings": texts(".findings li > div > p:first-child"),
    "examples": texts(".findings blockquote .said"),
    "charts": "document.querySelectorAll('svg').length",
    "hidden": "[...document.querySelectorAll('svg')].filter(svg => !svg.getBoundingClientRect().width).length",
    "background": "getComputedStyle(document.body).backgroundColor",
    "cases": """Object.fromEntries([...document.querySelectorAll('.case')].map(box => [
        box.closest('section').querySelector('h2').id.slice(6),
        [...box.querySelectorAll('.note, blockquote')].map(each => each.textContent)]))""",
    "quoted": "[...document.querySelectorAll('.findings li')].map(li => li.querySelectorAll('.said').length)",
    "labels": "[...document.querySelectorAll('.chart svg')].map(svg => svg.getAttribute('aria-label'))",
    "marks": """Object.fromEntries([...document.querySelectorAll('.marks tbody tr[data-metric]')].map(row =>
        [row.dataset.probe + '.' + row.dataset.metric, [...row.querySelectorAll('.mark, .even')]
            .map(cell => cell.textContent.trim())]))""",
    "numbers": """[...document.querySelectorAll('[data-run] data')].map(data => {
      const cell = data.closest('[data-run]'), row = data.closest('tr');
      const {metric, slice, sliceGroup} = cell.dataset.metric ? cell.dataset : row.dataset;
      return {
        run: +cell.dataset.run, probe: cell.dataset.probe ?? row.dataset.probe, group: row.dataset.group,
        key: [metric, slice, sliceGroup], part: data.className, value: data.value, text: data.textContent,
      };
    })""",
    "differences": """[...document.querySelectorAll('[data-compared]')].map(cell => ({
      compared: +cell.dataset.compared, ...cell.closest('tr').dataset,
      verdict: cell.querySelector('.verdict').textContent,
      values: [...cell.querySelectorAll('data')].map(data => data.value),
    }))""",
    # tables whose last column is not wholly seen, and numbers that stand on two lines
    "cut": """[
      ...[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1),
      ...[...document.querySelectorAll('data, .num')].filter(number => number.getClientRects().length > 1),
    ].map(element => element.textContent.slice(0, 80))""",
}


@pytest.fixture(scope="module")
def looks(pages: dict[str, Path]) -> dict[str, Look]:
    """Each page in a wide window, looked at once for all tests."""
    views = [(page, 1280, False) for page in pages.values()]
    return dict(zip(pages, look_at(views, SCRIPTS), strict=True))


def write_page(path: Path, runs: list[Run]) -> Path:
    path.write_text(render(runs, full=True), encoding="utf-8")
    return path


def test_pages_at_both_widths_light_and_dark(
    pages: dict[str, Path], looks: dict[str, Look], one: Run, three: list[Run]
) -> None:
    views = [*((page, 390, False) for page in pages.values()), (pages["short"], 1280, True)]
    narrow = zip(
        views, look_at(views, {name: SCRIPTS[name] for name in ("background", "hidden", "charts")}), strict=True
    )
    wide = [((pages[name], 1280, False), look) for name, look in looks.items()]
    for (page, width, dark), look in (*narrow, *wide):
        assert {*look.activity.requests} == {page.as_uri()}, "it loads nothing but itself"
        assert look.activity.problems == look.activity.dialogs == []
        assert look.overflow == [False, False], (page.name, width)
        shade = COLOURS["page"][dark].lstrip("#")
        assert look.values["background"] == f"rgb{tuple(bytes.fromhex(shade))}"
        assert look.values["hidden"] == 0
        shown = one if page.stem == "short" else three[0]
        assert look.values["charts"] >= sum(len(result.marks) for result in shown.results().values())
        assert look.census.get("script") == (1 if page.stem == "three" else None)


def test_a_short_report_opens_with_the_verdict_and_every_mark_and_shows_answers(
    looks: dict[str, Look], one: Run
) -> None:
    shown, results = looks["short"].values, one.results()
    counts = count_marks(results.values())
    assert shown["verdict"] == [describe_marks(results.values())]
    assert [int(text.split()[0]) for text in shown["counts"]] == list(counts.values())
    assert sum(counts.values()) == sum(len(result.marks) for result in results.values())
    assert len(shown["quoted"]) == len(shown["findings"]) > 3
    assert {*shown["quoted"]} <= {1, 2}, "each finding has its example, or the two sides of a case"
    answers = {" ".join(answer.split())[:60] for name in one for answer in one.transcripts(name)["answer"]}
    examples = [" ".join(example.split()) for example in shown["examples"]]
    assert all(any(example.startswith(answer) for answer in answers) for example in examples)
    assert shown["order"][:2] == ["Worst findings", "Marks"]
    assert shown["order"][-1] == "Method"
    assert shown["cut"] == []


def test_a_short_report_on_several_runs_begins_with_findings_and_marks_and_fits(
    three: list[Run],
    tmp_path: Path,
) -> None:
    page = tmp_path / "three-short.html"
    page.write_text(render(three), encoding="utf-8")
    scripts = {name: SCRIPTS[name] for name in ("order", "cut", "hidden")}
    wide, narrow = look_at([(page, 1280, False), (page, 390, True)], scripts)
    assert wide.values["order"][:2] == ["Worst findings", "Marks"]
    assert wide.values["order"][-1] == "Method"
    assert wide.values["cut"] == []
    for look in (wide, narrow):
        assert {*look.activity.requests} == {page.as_uri()}, "it loads nothing but itself"
        assert look.activity.problems == look.activity.dialogs == []
        assert look.overflow == [False, False]
        assert look.values["hidden"] == 0
        assert look.census.get("script") == 1, "the one that sorts the models"


def test_the_table_of_all_marks_needs_no_scrollbar(pages: dict[str, Path]) -> None:
    box = "document.querySelector('.matrix').parentElement"
    scripts = {"hidden": f"{box}.scrollWidth - {box}.clientWidth"}
    (look,) = look_at([(pages["three"], 1280, False)], scripts)
    assert look.values == {"hidden": 0}


def test_names_of_models_break_at_a_slash_before_they_break_within_a_word(
    pages: dict[str, Path],
) -> None:
    name = "document.querySelector('.matrix tbody th bdi')"
    scripts = {"breaks": f"getComputedStyle({name}).overflowWrap"}
    (look,) = look_at([(pages["three"], 1280, False)], scripts)
    assert look.values == {"breaks": "break-word"}


def test_each_probe_opens_with_the_case_that_was_answered_most_differently(
    looks: dict[str, Look], three: list[Run]
) -> None:
    for page, runs in (("one", three[:1]), ("three", three)):
        cases = looks[page].values["cases"]
        assert cases.keys() == {"hiring_an", "hiring_bloomberg"}
        for probe, (note, *quoted) in cases.items():
            assert len(set(quoted)) == 2, f"{probe}: what tells the two apart is not seen"
            assert sum(f"by {run.model}:" in note for run in runs) == (len(runs) > 1)
        assert "Name: " in cases["hiring_bloomberg"][1]


def test_every_number_is_that_of_the_results(looks: dict[str, Look], three: list[Run]) -> None:
    shown: set[tuple[Any, ...]] = set()
    for entry in looks["three"].values["numbers"]:
        result = three[entry["run"]].result(entry["probe"])
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
        for probe, result in run.results().items()
        for key, estimate in result.estimates.items()
        for part, value in without_nan(asdict(estimate)).items()
        # The degrees of freedom are for tables and gates; a page shows the interval that they give.
        if part != "degrees" and value is not None and (part == "n" or not math.isnan(estimate.value))
    }


def test_every_difference_is_that_of_the_comparison(looks: dict[str, Look], three: list[Run]) -> None:
    expected = {
        (place, probe, metric.metric): metric
        for place in (1, 2)
        for probe, metric in compare_audits([three[0].results(), three[place].results()])[0].marked()
    }
    entries = looks["three"].values["differences"]
    shown = {(entry["compared"], entry["probe"], entry["metric"]): entry for entry in entries}
    assert shown.keys() == expected.keys()
    for key, metric in expected.items():
        gap = metric.difference
        assert shown[key]["verdict"] == metric.verdict
        if not math.isnan(gap.value):
            numbers = [gap.value, gap.low, gap.high, *([] if metric.p_holm is None else [metric.p_holm])]
            assert [float(value) for value in shown[key]["values"]] == pytest.approx(numbers, rel=0, abs=0, nan_ok=True)


def test_marks_and_charts_say_the_same_and_even_handed_values_stand_beside(looks: dict[str, Look], one: Run) -> None:
    shown = looks["short"].values
    marked = {
        f"{name}.{metric}": (metric, estimate, mark, result.setup.probe.marked_metrics()[metric].centre)
        for name, result in one.results().items()
        for metric, estimate, mark in result.marked()
    }
    assert shown["marks"].keys() == marked.keys()
    for key, (name, estimate, mark, centre) in marked.items():
        letter, even = shown["marks"][key]
        assert re.sub(r"^([A-D]) could", r"\1, could", letter.removeprefix("? ")) == describe_mark(mark)
        assert even == f"{centre:g}"
        value, low, high = (typeset_number(number) for number in (estimate.value, estimate.low, estimate.high))
        sentence = f"{value}, interval {low} to {high}, mark {describe_mark(mark)}."
        assert any(f"{name} " in label and sentence in label for label in shown["labels"])


def test_models_are_rows_that_a_click_sorts(pages: dict[str, Path], three: list[Run]) -> None:
    scripts = {
        "cells": """[...document.querySelectorAll('.matrix tbody tr:first-child td')].map(cell =>
            [cell.dataset.probe, cell.dataset.metric, cell.querySelector('b')?.textContent])""",
        "even": texts(".matrix .even td"),
        "hidden": "(box => box.scrollWidth - box.clientWidth)(document.querySelector('.matrix').parentElement)",
        "breaks": """[...document.querySelectorAll('.matrix tbody th bdi, .runs tbody th bdi')].map(
            name => getComputedStyle(name).overflowWrap)""",
    }
    for place, column in enumerate((0, 0, 2, 2)):
        scripts[f"click {place}"] = f"document.querySelectorAll('.matrix .sort')[{column}].click()"
        scripts[f"order {place}"] = texts(".matrix tbody th")
    scripts["sorted"] = "[...document.querySelectorAll('.matrix thead th')].map(head => head.getAttribute('aria-sort'))"
    (look,) = look_at([(pages["three"], 1280, False)], scripts)
    shown, audits = look.values, [run.results() for run in three]
    for (probe, metric, letter), even in zip(shown["cells"], shown["even"], strict=True):
        mark = audits[0][probe].marks[metric]
        assert letter == (mark.letter if mark else None)
        assert even == f"{audits[0][probe].setup.probe.marked_metrics()[metric].centre:g}"
    probe, metric, _ = shown["cells"][1]
    bands = audits[0][probe].setup.probe.marked_metrics()[metric]
    distances = {audit.model: bands.distance(audit[probe].metrics[metric].value) for audit in audits}
    assert shown["order 0"] == sorted(distances)
    assert shown["order 1"] == sorted(distances, reverse=True)
    assert shown["order 2"] == sorted(distances, key=distances.__getitem__)
    assert shown["order 3"] == shown["order 2"][::-1]
    assert [place for place, value in enumerate(shown["sorted"]) if value] == [2]
    assert (shown["hidden"], {*shown["breaks"]}) == (0, {"break-word"}), "no scrollbar, and no break inside a word"
    assert look.activity.problems == []


def test_a_page_on_many_models_is_hardly_longer_than_on_one(one: Run, tmp_path: Path) -> None:
    scripts = {
        "height": "document.scrollingElement.scrollHeight",
        "open": "document.querySelectorAll('.fold[open]').length",
    }
    run = alone(one, "hiring_an")
    pages = [write_page(tmp_path / f"{count}.html", [run] * count) for count in (1, 8)]
    single, many = look_at([(page, 1280, False) for page in pages], scripts)
    assert many.values["height"] < 1.5 * single.values["height"]
    assert many.values["open"] == 0
    assert many.overflow == [False, False]
    assert all(page.stat().st_size < 2_000_000 for page in pages), "5 MB is what is promised for a report"


@pytest.mark.parametrize("name", ["one", "three", "short"])
def test_readers_who_cannot_see_the_page(looks: dict[str, Look], name: str) -> None:
    shown = looks[name].values
    for fault in ("unnamed charts", "unscoped heads", "empty heads", "nameless", "unreachable"):
        assert shown[fault] == 0, fault
    assert shown["headings"][0] == shown["headings"].count(1) == 1
    steps = zip(shown["headings"], shown["headings"][1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    assert (shown["landmarks"], shown["language"], shown["first"]) == ([1, 1, 1, 1], "en", "skip")
    assert len(set(shown["ids"])) == len(shown["ids"])
    assert set(shown["targets"]) <= set(shown["ids"])
    assert all(shown["regions"])
    assert len(set(shown["regions"])) == len(shown["regions"]), "every region has a name of its own"


@pytest.mark.fault("U10", "E20")
def test_banners_tell_of_an_incomplete_run_and_of_another_model(looks: dict[str, Look], three: list[Run]) -> None:
    incomplete, other = looks["three"].values["banners"]
    results = three[1].results()
    assert (
        f"Incomplete: {results.counts.ended:,} of {results.counts.planned:,} attempts of atlas-small-2 have ended"
        in incomplete
    )
    assert "Note on borealis-7b-instruct: The endpoint served borealis-7b-chat" in other


@pytest.mark.fault("U10", "D13")
def test_a_run_without_answers_is_marked_as_incomplete(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run.equipoise", "model", "random", ["jobs_lum", "hiring_an"], answered=0)
    page = write_page(tmp_path / "report.html", [run])
    scripts = {"banners": texts("header .banner"), "marks": texts(".marks .mark")}
    (look,) = look_at([(page, 390, False)], scripts)
    assert look.activity.problems == []
    assert "Incomplete: 0 of 136" in look.values["banners"][0]
    assert set(look.values["marks"]) == {"not computable"}


@pytest.mark.fault("D8", "D9")
def test_a_huge_answer_is_cut_and_text_directions_are_isolated(one: Run, tmp_path: Path) -> None:
    table = one.transcripts("jobs_lum")
    answers = ["she " * 2_500_000, *["abc \u202edef\u202c ghi"] * (table.height - 1)]
    tables = {"jobs_lum": table.sort("id").with_columns(pl.Series("answer", answers))}
    page = write_page(tmp_path / "report.html", [change(alone(one, "jobs_lum"), tables=tables)])
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
