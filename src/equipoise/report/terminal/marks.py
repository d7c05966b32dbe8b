"""The marks of a run in a terminal of 24 rows: a sentence each, the worst first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from equipoise.measuring.audit import Audit
from equipoise.measuring.marks import UNDECIDED
from equipoise.measuring.precision import explain_open
from equipoise.measuring.result import Result
from equipoise.report.terminal.tables import COLOURS, WIDE
from equipoise.report.text import DISTANCES, NOT_COMPUTABLE, explain_missing_value, format_number
from equipoise.safe_text import printable_line

ROWS = 24
"""The height of the smallest terminal that is common. It has 80 columns."""
FEWEST_MARKS = 6
"""So many marks are shown, however much stands above them."""


@dataclass(frozen=True, kw_only=True)
class MarkSentence:
    """What a mark says, in a sentence."""

    mark: str
    letter: str
    who: str
    """The probe and the metric."""
    says: str
    leaning: str = ""
    """The part of it, in brackets, that says to which side the value leans."""

    def draw(self, first: int, width: int) -> Text:
        """The sentence behind its mark, on one line: without room, the leaning is left out, or the names are cut."""
        says = self.says
        if len(self.who) + len(says) > width - first - 1:
            says = says.replace(self.leaning, "")
        room = max(width - first - 1 - len(says), 12)
        who = self.who if len(self.who) <= room else f"{self.who[: room - 1]}…"
        style = "dim" if self.letter in (UNDECIDED, NOT_COMPUTABLE) else f"bold {COLOURS[self.letter]}"
        return Text(self.mark.ljust(first), style=style).append(f" {who}{says}", style="not bold not dim default")


def fit_marks(
    head: Sequence[str], audit: Audit, foot: Sequence[str], console: Console, *, rows: int | None = ROWS
) -> Iterator[Text]:
    """A head, the marks below it, as many as there is room for in so many rows (None: all), and a foot."""
    above, below = [Text(line) for line in head], [Text(line, style="bold") for line in foot]
    yield from above
    yield Text()
    most = None
    if rows is not None:
        used = sum(len(line.wrap(console, console.width)) for line in (*above, *below))
        # One row is blank, and one is for what is typed next.
        most = max(rows - used - 2, FEWEST_MARKS)
    yield from mark_lines(audit, console.width, most)
    yield from below


def mark_lines(audit: Audit, width: int, most: int | None = None) -> Iterator[Text]:
    """One line per mark: the worst first, then those that are not decided, then those without a value.

    Of more than `most`, the rest are counted in the last line.
    """
    sentences = [sentence for result in audit.values() for sentence in say_marks(result, width)]
    sentences.sort(key=lambda sentence: f"DCBA{UNDECIDED}{NOT_COMPUTABLE}".index(sentence.letter))
    first = max((len(sentence.mark) for sentence in sentences), default=0)
    shown = sentences if most is None or len(sentences) <= most else sentences[: most - 1]
    for sentence in shown:
        yield sentence.draw(first, width)
    if hidden := [sentence.letter for sentence in sentences[len(shown) :]]:
        yield Text(f"… and {len(hidden)} more marks, {_say_hidden(hidden)}: --all", style="dim")


def say_marks(result: Result, width: int) -> Iterator[MarkSentence]:
    """A sentence for each mark of a result; from a certain width on, with the interval."""
    metrics = {metric.name: metric for metric in result.setup.probe.metrics}
    wide = width >= WIDE
    for name, estimate, mark in result.marked():
        bands, leaning, value = metrics[name].bands, "", f" is {format_number(estimate.value)}"
        if wide and not math.isnan(estimate.low):
            value += f" ({format_number(estimate.low)} to {format_number(estimate.high)})"
        if mark is None or bands is None:
            says = f"{' is not computable' if wide else ''}: {explain_missing_value(result)}."
        elif mark.undecided:
            # In a narrow terminal there is no room for a value that decides nothing.
            says = f"{value if wide else ''}: {explain_open(result, name)}."
        else:
            side = metrics[name].leaning(estimate.value)
            leaning = f" ({side})" if side else ""
            why = "; missing answers could change it" if mark.by_missing else ""
            says = f"{value}, {DISTANCES[mark.letter]} {bands.centre:g}{leaning}{why}."
        yield MarkSentence(
            mark=str(mark) if mark else NOT_COMPUTABLE,
            letter=mark.letter if mark else NOT_COMPUTABLE,
            who=printable_line(f"{result.probe} {name}"),
            says=says,
            leaning=leaning,
        )


def _say_hidden(letters: Sequence[str]) -> str:
    """What is known of marks that come after all that are shown. One that is not decided may turn out worse."""
    open_marks = sum(letter in (UNDECIDED, NOT_COMPUTABLE) for letter in letters)
    if open_marks == len(letters):
        return "none of them decided"
    return f"{open_marks} not decided, the others no worse" if open_marks else "none of them worse"
