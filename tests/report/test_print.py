"""The report on paper: printed by the browser and read page by page."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from pypdf import PdfReader

from equipoise.report.text import describe_marks, typeset_number
from equipoise.runs.run import Run
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
