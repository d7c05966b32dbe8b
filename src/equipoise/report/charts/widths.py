"""How wide text is, about, in the font of the charts; and text cut to a width."""

from __future__ import annotations

from unicodedata import east_asian_width

from equipoise.report.charts.shapes import NORMAL
from equipoise.report.text import reveal_invisible


def text_width(content: str, size: float) -> float:
    """About how many pixels wide a text is."""
    return size * sum(map(_width_in_ems, content))


def fit_text(content: str, width: float, size: float = NORMAL) -> str:
    """Foreign text on one line, cut where it would be wider."""
    content = " ".join(reveal_invisible(content).split())
    room = width / size
    for place, character in enumerate(content):
        room -= _width_in_ems(character)
        if room < 0:
            return f"{content[: max(place - 1, 0)]}…"
    return content


def _width_in_ems(character: str) -> float:
    """About how wide a character is in Arial."""
    if character in " -.,:;'|!()[]fijlrtI":
        return 0.31
    if east_asian_width(character) in "WF":
        return 1.0
    return 0.7 if character.isupper() or character in "mw" else 0.55
