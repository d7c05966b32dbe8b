"""The report on paper: printed by the browser and read page by page."""

from __future__ import annotations

import html
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from equipoise.report.html.page import PRINTED_SAMPLES, build_sections, render, render_card
from equipoise.report.html.runs import ReportedRun
from equipoise.report.text import describe_marks, typeset_number
from report.browser import SHARED, Page
from report.fakes import make_run

# Boxes that hide a part of what they hold, while the page is laid out for paper.
CUT = """[...document.querySelectorAll('.scroll, .settings, table, .text, figure, .answer')].filter(box =>
  (box.scrollHeight > box.clientHeight + 2 || box.scrollWidth > box.clientWidth + 2)
  && getComputedStyle(box).overflow !== 'visible' && getComputedStyle(box).display !== 'none'
  && !box.classList.contains('text')).map(box => box.className || box.tagName)"""
WIDER = """(() => { const right = document.body.getBoundingClientRect().right + 2;
  return [...document.querySelectorAll('table, figure, .settings, .answer, svg')]
    .filter(box => box.getBoundingClientRect().right > right).map(box => box.className || box.tagName); })()"""
MOST_PAGES = 8
"""About six for one model and a quick suite; here all probes are shown."""
PAPER_WIDTH = 688
"""A4 without the margins, in pixels of the browser."""


@pytest.fixture(scope="module")
def run() -> ReportedRun:
    probes: dict[str, dict[str, Any]] = {
        "jobs_lum": {"sample": 60},
        "hiring_an": {"sample": 192},
        "gest_creative": {"corpus": "mottos"},
    }
    return make_run("atlas-large-2", 0.6, probes)


@pytest.fixture(scope="module")
def printed(
    run: ReportedRun, chromium: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], list[str], list[str]]:
    """The text of each page, and the boxes that are cut or wider than the paper."""
    folder = tmp_path_factory.mktemp("print")
    (folder / "report.html").write_text(render([run], full=True), encoding="utf-8")
    return print_report(folder / "report.html", folder / "report.pdf")


def print_report(source: Path, target: Path) -> tuple[list[str], list[str], list[str]]:
    async def visit(page: Page) -> tuple[list[str], list[str]]:
        await page.open(source, width=PAPER_WIDTH)
        await page.print(target)
        await page.call("Emulation.setEmulatedMedia", media="print")
        return await page.evaluate(CUT), await page.evaluate(WIDER)

    cut, wider = SHARED.use(visit)
    return [page.extract_text() for page in PdfReader(target).pages], cut, wider


def test_a_short_report_on_all_probes_has_few_pages(
    one: ReportedRun, pages: dict[str, Path], tmp_path: Path, chromium: str
) -> None:
    printed, cut, wider = print_report(pages["short"], tmp_path / "short.pdf")
    assert len(printed) <= MOST_PAGES
    assert cut == wider == []
    first = flatten(printed[0])
    assert flatten(describe_marks(one.results.values())) in first
    assert flatten("Worst findings") in first
    whole = flatten(" ".join(printed))
    for result in one.results.values():
        assert flatten(result.setup.probe.card.title) in whole
        for name, estimate, _ in result.marked():
            value, low, high = (typeset_number(number) for number in (estimate.value, estimate.low, estimate.high))
            assert flatten(f"{value} {low} to {high}") in whole, name
            assert f"{estimate.n:,}" in whole
    for title in ("Mark", "Value and 95% interval", "Even-handed", "Rests on"):
        assert flatten(title) in whole
    assert flatten("@software{equipoise,") in whole


def flatten(text: str) -> str:
    """The text without white space and ligatures: some fonts print "fi" as one letter."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def test_every_page_has_its_number_and_no_box_is_cut_or_wider_than_the_paper(
    printed: tuple[list[str], list[str], list[str]],
) -> None:
    pages, cut, wider = printed
    for place, page in enumerate(pages, 1):
        assert f"page {place} of {len(pages)}" in page
        assert len(page.split()) > 12, f"page {place} is empty"
    assert cut == wider == []


def test_every_number_setting_card_and_some_transcripts_are_printed(
    printed: tuple[list[str], list[str], list[str]], run: ReportedRun
) -> None:
    whole = flatten(re.sub(r"page \d+ of \d+(Gender bias report, equipoise)?", "", " ".join(printed[0])))
    for section in build_sections([run], full=True):
        for key, estimate in section.results[0].estimates.items():
            about = section.about.get(key.metric, "")
            value, low, high = (typeset_number(number) for number in (estimate.value, estimate.low, estimate.high))
            assert flatten(f"{key.metric}{about}{value}{low} to {high}{estimate.n:,}") in whole, key
        for picture in section.pictures:
            for row in picture.rows:
                assert flatten(str(row[0])) in whole
        for title, body in render_card(section.probe.card).items():
            assert flatten(title) in whole
            end = flatten(html.unescape(re.sub("<[^>]+>", " ", body)))[-20:]
            assert end in whole, title
        samples = section.read[0].samples
        for place, sample in enumerate(samples):
            assert (flatten(sample.facts[0][1]) in whole) == (place < PRINTED_SAMPLES)
        assert f"{len(samples) - PRINTED_SAMPLES}morestandintheHTMLfile." in whole
    for name, value in run.settings.items():
        assert flatten(f'"{name}": ') in whole
        assert flatten(str(value)) in whole
