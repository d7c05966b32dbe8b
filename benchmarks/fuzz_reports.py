"""Hostile strings in every text that a report, a table or a verdict shows."""

from __future__ import annotations

import io
import random
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from msgspec.structs import force_setattr
from rich.console import Console

import equipoise
from equipoise.report.html.write import write_report
from equipoise.report.terminal import gates, tables
from equipoise.runs.run import Run
from report.hostile import HOSTILE

ELEMENTS = {"script", "iframe", "object", "embed", "form", "base", "link", "meta", "img", "style", "a", "svg"}
ADDRESSES = {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}


class Census(HTMLParser):
    """Counts whatever could do something in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.active: Counter[str] = Counter()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element, and look at its attributes."""
        if tag in ELEMENTS:
            self.active[tag] += 1
        for name, value in attrs:
            leads_away = name in ADDRESSES and not (value or "").startswith(("#", "data:image/"))
            if name.startswith("on") or leads_away:
                self.active[f"{tag} {name}={(value or '')[:60]}"] += 1


def make_string(dice: random.Random) -> str:
    """Some hostile strings in a row, of a length that all cases share."""
    return "".join(dice.sample(HOSTILE, 3)).encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def open_hostile(path: Path, text: str) -> Run:
    """The run with this text in each of its own text fields."""
    run = Run.open(path)
    for name in ("model", "suite"):
        force_setattr(run.settings.spec, name, text)
    force_setattr(run.settings, "notes", [text])
    for planned in run.planned.values():
        object.__setattr__(planned, "corpus", text)
    return run


def show_hostile(dice: random.Random, count: int, folder: Path) -> Iterator[str]:
    """A run whose answers and descriptions are hostile, in the terminal, as a verdict, or as a report."""
    path = folder / "hostile.equipoise"
    for number in range(count):
        text = make_string(dice)
        try:
            if number % 20 == 0:
                path.unlink(missing_ok=True)
                answers = [text, make_string(dice)]
                model: Any = lambda prompt, answers=answers: answers[len(prompt) % 2]  # noqa: E731 - one line
                equipoise.audit(model, probes=["jobs_lum"], out=path, sample=8)
                harmless = Census(_page(open_hostile(path, "x" * 20), folder)).active
                active = Census(_page(open_hostile(path, text), folder)).active
                other = (active - harmless) + (harmless - active)
                yield f"crashed: active: {min(other)}" if other else "an inert page"
                continue
            run = open_hostile(path, text)
            shown = _show(run)
            steering = [c for c in shown if not c.isprintable() and c != "\n"]
            yield f"crashed: {steering[:3]!r} reached the terminal" if steering else "shown as text"
        except Exception as error:
            yield f"crashed: {type(error).__name__}: {str(error)[:100]}"


def _page(run: Run, folder: Path) -> str:
    write_report([run], folder / "report.html", full=True)
    return (folder / "report.html").read_text(encoding="utf-8")


def _show(run: Run) -> str:
    written = io.StringIO()
    console = Console(file=written, width=200, highlight=False, markup=False)
    for result in run.results().values():
        console.print(tables.result_table(result, slices=True))
        for line in tables.coverage_lines(result):
            console.print(line)
    gate = equipoise.gate(run, fail_on="D")
    for check in gates.gate_lines(gate, everything=True):
        console.print(check, soft_wrap=True)
    return written.getvalue() + gates.markdown(gate) + gates.junit([gate]).decode()
