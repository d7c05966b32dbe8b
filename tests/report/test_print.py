"""The report on paper: printed by the browser and read page by page."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from pathlib import Path

import pytest
from pypdf import PdfReader

from equipoise.report.html.page import render_card
from equipoise.report.html.sections import build_sections
from equipoise.report.text import describe_marks, typeset_number
from equipoise.runs.run import Run
from equipoise.schema import Estimate
from report.browser import SHARED, Page

# Boxes that hide a part of what they hold, or are wider than the paper, while the page is laid out for it.
CUT = """[...document.querySelectorAll('.scroll, table, figure, .answer, svg')].filter(box =>
  box.getBoundingClientRect().right > document.body.getBoundingClientRect().right + 2
  || ((box.scrollHeight > box.clientHeight + 2 || box.scrollWidth > box.clientWidth + 2)
    && !['visible', ''].includes(getComputedStyle(box).overflow))).map(box => box.className || box.tagName)"""
MOST_PAGES = 8
"""About six for one model and a quick suite; here all probes are shown."""
PAPER_WIDTH = 688
"""A4 without the margins, in pixels of the browser."""


def print_report(source: Path, target: Path) -> list[str]:
    """The text of each printed page, if no box is cut."""

    async def visit(page: Page) -> list[str]:
        await page.open(source, width=PAPER_WIDTH)
        await page.print(target)
        await page.call("Emulation.setEmulatedMedia", media="print")
        cut: list[str] = await page.evaluate(CUT)
        return cut

    assert SHARED.use(visit) == []
    return [page.extract_text() for page in PdfReader(target).pages]


def flatten(text: str) -> str:
    """The text without white space and ligatures: some fonts print "fi" as one letter."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


@pytest.mark.usefixtures("chromium")
def test_a_short_report_on_all_probes_has_few_pages(one: Run, pages: dict[str, Path], tmp_path: Path) -> None:
    printed = print_report(pages["short"], tmp_path / "short.pdf")
    assert len(printed) <= MOST_PAGES
    for place, page in enumerate(printed, 1):
        assert f"page {place} of {len(printed)}" in page
    first = flatten(printed[0])
    assert flatten(describe_marks(one.results().values())) in first
    assert flatten("Worst findings") in first
    whole = flatten(" ".join(printed))
    for result in one.results().values():
        assert flatten(result.setup.probe.card.title) in whole
        for name, estimate, _ in result.marked():
            value, low, high = (typeset_number(number) for number in (estimate.value, estimate.low, estimate.high))
            assert flatten(f"{value} {low} to {high}") in whole, name
    for title in ("Mark", "Value and 95% interval", "Even-handed", "Rests on", "@software{equipoise,"):
        assert flatten(title) in whole


# The full report on one run


@pytest.fixture(scope="module")
def full(
    pages: dict[str, Path],
    chromium: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[str]:
    """The text of each page of a full report on one run; no box is cut or wider than the paper."""
    return print_report(pages["one"], tmp_path_factory.mktemp("print") / "full.pdf")


def print_interval(estimate: Estimate) -> str:
    """A value with its interval, as `flatten` gives it."""
    ends = f"{typeset_number(estimate.low)} to {typeset_number(estimate.high)}"
    return flatten(f"{typeset_number(estimate.value)} {ends}")


def join_pages(printed: list[str]) -> str:
    """The text of all pages without their feet, as `flatten` gives it."""
    foot = r"page \d+ of \d+(Gender bias report, equipoise)?"
    return flatten(re.sub(foot, "", " ".join(printed)))


def test_every_page_of_a_full_report_has_its_number_and_is_not_empty(full: list[str]) -> None:
    for place, page in enumerate(full, 1):
        assert f"page {place} of {len(full)}" in page
        assert len(page.split()) > 12, f"page {place} is empty"


def test_the_first_two_pages_of_a_full_report_have_every_mark_with_its_interval_and_its_items(
    full: list[str], three: list[Run]
) -> None:
    first = flatten(" ".join(full[:2]))
    for title in ("Mark", "Value and 95% interval", "Even-handed", "Rests on"):
        assert flatten(title) in flatten(full[0])
    for result in three[0].results().values():
        for name, estimate, _ in result.marked():
            assert print_interval(estimate) in first, name
            assert f"{estimate.n:,}" in first, name


def test_every_number_of_a_full_report_is_printed(full: list[str], three: list[Run]) -> None:
    """All metrics are folded on a screen; on paper they are open."""
    whole = join_pages(full)
    for section in build_sections(three[:1], full=True):
        for key, estimate in section.results[0].estimates.items():
            about = section.about.get(key.metric, "")
            row = f"{key.metric}{about}{print_interval(estimate)}{estimate.n:,}"
            assert flatten(row) in whole, key


def test_a_full_report_prints_what_each_probe_was_asked_with(
    full: list[str],
    three: list[Run],
) -> None:
    whole = join_pages(full)
    for name, result in three[0].results().items():
        for parameter, value in result.parameters.items():
            line = f'"{parameter}": {json.dumps(value, ensure_ascii=False)}'
            assert flatten(line) in whole, (name, parameter)


def test_a_full_report_prints_every_card_to_its_end(full: list[str], three: list[Run]) -> None:
    whole = join_pages(full)
    for result in three[0].results().values():
        for title, body in render_card(result.setup.probe.card).items():
            assert flatten(title) in whole, title
            text = flatten(html.unescape(re.sub("<[^>]+>", " ", body)))
            assert text[-20:] in whole, title


def test_of_the_answers_of_each_probe_four_are_printed_and_the_reader_is_told(
    full: list[str],
    three: list[Run],
) -> None:
    whole = join_pages(full)
    sections = build_sections(three[:1], full=True)
    told = "On paper stand four answers of each model; the HTML file has the others."
    assert whole.count(flatten(told)) == len(sections)
    assert min(len(section.samples[0]) for section in sections) > 4
    assert whole.count(flatten("Read as")) == 4 * len(sections)
