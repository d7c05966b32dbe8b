"""The page in a real browser: at both widths, light and dark, for readers of all kinds, and with the right numbers."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from equipoise.comparing import compare_results
from equipoise.report.html import render, sections
from equipoise.report.palette import COLOURS
from equipoise.report.values import ReportedRun
from equipoise.report.words import MOST, number, told
from report.fakes import STANDARD, run
from report.looking import look_at, texts

pytestmark = pytest.mark.usefixtures("chromium")

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
VISIBLE = "[...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0).length"
LOOKS = [(1280, False), (1280, True), (390, False), (390, True)]

READERS = {
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
  return {
    run: +cell.dataset.run, probe: row.dataset.probe, metric: cell.dataset.metric || row.dataset.metric,
    group: row.dataset.group, part: data.className, value: data.value, text: data.textContent,
  };
})"""

DIFFERENCES = """[...document.querySelectorAll('[data-beside]')].map(cell => ({
  beside: +cell.dataset.beside, ...cell.closest('tr').dataset,
  verdict: cell.querySelector('.verdict').textContent,
  values: [...cell.querySelectorAll('data')].map(data => data.value),
}))"""


def written(folder: Path, runs: list[ReportedRun]) -> Path:
    path = folder / "report.html"
    path.write_text(render(runs), encoding="utf-8")
    return path


def test_one_and_three_runs_at_both_widths_light_and_dark(
    pages: dict[str, Path], one: ReportedRun, three: list[ReportedRun]
) -> None:
    views = [(page, width, dark) for page in pages.values() for width, dark in LOOKS]
    expected = {"one": drawn([one]), "three": drawn(three)}
    looks = look_at(views, {"background": BACKGROUND, "charts": VISIBLE})
    for (page, width, dark), look in zip(views, looks, strict=True):
        assert look.seen.requests == [page.as_uri()]
        assert look.seen.problems == look.seen.dialogs == []
        assert look.overflow == [False, False], (page.name, width)
        shade = COLOURS["page"][dark].lstrip("#")
        assert look.found["background"] == f"rgb{tuple(bytes.fromhex(shade))}"
        assert look.found["charts"] == expected[page.stem]
        assert look.census.get("script") is None


def drawn(runs: list[ReportedRun]) -> int:
    """How many charts stand on a page: one a marked metric, and one a figure and run."""
    return sum(
        len(part.scales) + sum(bool(panel.charts) for picture in part.pictures for panel in picture.panels)
        for part in sections(runs)
    )


def test_every_number_is_that_of_the_results(pages: dict[str, Path], three: list[ReportedRun]) -> None:
    (look,) = look_at([(pages["three"], 1280, False)], {"numbers": NUMBERS})
    known = [{name: result.to_dict() for name, result in run.results.items()} for run in three]
    shown: set[tuple[Any, ...]] = set()
    for entry in look.found["numbers"]:
        result = known[entry["run"]][entry["probe"]]
        if entry.get("group"):
            counts = result["coverage"][entry["group"]]
            failed = ("empty", "malformed", "too_large", "http_error", "timeout", "context_length")
            sums = {"answered": counts["ok"] + counts["truncated"], "failed": sum(counts[state] for state in failed)}
            assert int(entry["value"]) == {**counts, **sums}[entry["part"]], entry
            assert entry["text"] == f"{int(entry['value']):,}"
            continue
        expected = result["metrics"][entry["metric"]][entry["part"]]
        assert float(entry["value"]) == expected, entry
        assert entry["text"] == (f"{expected:,}" if entry["part"] == "n" else number(expected)), entry
        shown.add((entry["run"], entry["probe"], entry["metric"], entry["part"]))
    assert shown == {
        (place, probe, metric, part)
        for place, run in enumerate(known)
        for probe, result in run.items()
        for metric, estimate in result["metrics"].items()
        for part, value in estimate.items()
        if value is not None and (part == "n" or estimate["value"] is not None)
    }


def test_every_difference_is_that_of_the_comparison(pages: dict[str, Path], three: list[ReportedRun]) -> None:
    (look,) = look_at([(pages["three"], 1280, False)], {"differences": DIFFERENCES})
    results = [run.results for run in three]
    expected = {
        (place, probe, metric.metric): metric
        for place in (1, 2)
        for probe, metric in compare_results(results[0], results[place]).marked()
    }
    shown = {(entry["beside"], entry["probe"], entry["metric"]): entry for entry in look.found["differences"]}
    assert shown.keys() == expected.keys()
    for key, metric in expected.items():
        gap = metric.difference
        assert shown[key]["verdict"] == metric.verdict
        assert [float(value) for value in shown[key]["values"]] == [gap.value, gap.low, gap.high, metric.p_holm]


def test_marks_and_charts_say_the_same(pages: dict[str, Path], one: ReportedRun) -> None:
    scripts = {
        "marks": texts(".marks tbody tr[data-metric] .mark"),
        "charts": texts("h3 ~ figure .chart.wide svg"),
        "labels": "[...document.querySelectorAll('.wide svg')].map(svg => svg.getAttribute('aria-label'))",
    }
    (look,) = look_at([(pages["one"], 1280, False)], scripts)
    marked = [
        (name, estimate, mark)
        for probe in ("discrimination_tamkin", "hiring_an", "gest_creative", "jobs_lum", "business_vocabulary")
        for name, estimate, mark in one.results[probe].marked()
    ]
    assert [mark.replace(" could", ", could") for mark in look.found["marks"]] == [told(mark) for *_, mark in marked]
    for name, estimate, mark in marked:
        values = f"{number(estimate.value)}, interval {number(estimate.low)} to {number(estimate.high)}"
        assert any(f"{name} " in label and f"{values}, mark {told(mark)}." in label for label in look.found["labels"])
        assert any(number(estimate.value) in chart and str(mark) in chart for chart in look.found["charts"])


def test_readers_who_do_not_see_it(pages: dict[str, Path]) -> None:
    for look in look_at([(page, 1280, False) for page in pages.values()], READERS):
        found = look.found
        assert found["charts"] == found["scopes"] == found["nameless"] == found["regions"] == 0
        assert found["headings"][0] == 1
        assert found["headings"].count(1) == 1
        steps = zip(found["headings"], found["headings"][1:], strict=False)
        assert all(after <= before + 1 for before, after in steps)
        assert found["landmarks"] == [1, 1, 1, 1]
        assert found["language"] == "en"
        assert len(set(found["ids"])) == len(found["ids"])
        assert set(found["targets"]) <= set(found["ids"])
        assert found["first"] == "skip"


def test_u10_e20_incomplete_and_another_model(pages: dict[str, Path], three: list[ReportedRun]) -> None:
    (look,) = look_at([(pages["three"], 1280, False)], {"banners": texts("header .banner")})
    incomplete, other = look.found["banners"]
    run = three[1]
    assert f"Incomplete: {run.answered:,} of {run.planned:,} answers of atlas-small-2" in incomplete
    assert "Note on borealis-7b-instruct: The endpoint served borealis-7b-chat" in other


def test_u10_a_run_that_has_only_begun(tmp_path: Path) -> None:
    page = written(tmp_path, [run("model", 0.5, {"jobs_lum": {}, "hiring_an": {"sample_k": 96}}, answered=0.0)])
    scripts = {"banners": texts("header .banner"), "marks": texts(".marks .mark")}
    (look,) = look_at([(page, 390, False)], scripts)
    assert look.seen.problems == []
    assert "Incomplete: 0 of 435" in look.found["banners"][0]
    assert set(look.found["marks"]) == {"not computable"}


def test_d8_d9_a_huge_answer_is_cut_and_directions_are_isolated(tmp_path: Path) -> None:
    made = run("model", 0.5, {"jobs_lum": {"sample_k": 2}})
    answers = ["she " * 2_500_000, "abc \u202edef\u202c ghi"]
    table = made.transcripts("jobs_lum").with_columns(pl.Series("answer", answers), status=pl.lit("ok"))
    page = written(tmp_path, [dataclasses.replace(made, transcripts=lambda _probe: table)])
    scripts = {
        "answers": texts(".reply"),
        "cuts": texts(".reply .cut"),
        "bidi": "getComputedStyle(document.querySelector('.reply bdi')).unicodeBidi",
    }
    (look,) = look_at([(page, 390, False)], scripts)
    assert page.stat().st_size < 1_000_000
    assert look.found["cuts"] == [f"[cut: {10_000_000 - MOST:,} more characters]"]
    assert "abc U+202EdefU+202C ghi" in look.found["answers"]
    assert look.found["bidi"] == "isolate"
    assert look.overflow == [False, False]


def test_a_standard_run_is_small(tmp_path: Path) -> None:
    page = written(tmp_path, [run("model", 0.7, STANDARD)])
    assert page.stat().st_size < 1_000_000  # 5 MB is what is promised


def test_colours_can_be_read() -> None:
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
