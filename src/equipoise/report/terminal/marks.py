"""The marks of a run in a terminal of 24 rows: a sentence each, the worst first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from equipoise.measuring.marks import UNDECIDED, Mark
from equipoise.measuring.precision import explain_open
from equipoise.measuring.result import Audit, Result
from equipoise.report.terminal.tables import COLOURS
from equipoise.report.text import DISTANCES, NOT_COMPUTABLE, explain_missing_value, format_number
from equipoise.safe_text import printable_line

ROWS = 24
"""The height of the smallest terminal that is common. It has 80 columns."""
WIDE = 110
"""From this width on, there is room for the intervals."""
FEWEST_MARKS = 6
"""So many marks are shown, however much stands above them."""
FEWEST_LETTERS = 12
"""So many letters of the names are shown, however long the sentence is."""


def fit_marks(
    head: Sequence[str], audit: Audit, foot: Sequence[str], console: Console, *, rows: int | None = ROWS
) -> Iterator[Text]:
    """A head, one line per mark, and a foot.

    The worst marks come first, then those that are not decided, then those without a value. Of more than there is room
    for in so many rows (None: for all), the rest are counted in the last line.
    """
    above, below = [Text(line) for line in head], [Text(line, style="bold") for line in foot]
    yield from above
    yield Text()
    marks = [(result, name, mark) for result in audit.values() for name, mark in result.marks.items()]
    marks.sort(key=lambda given: f"DCBA{UNDECIDED}{NOT_COMPUTABLE}".index(_letter(given[2])))
    shown = marks
    if rows is not None:
        used = sum(len(line.wrap(console, console.width)) for line in (*above, *below))
        # One row is blank, and one is for what is typed next.
        most = max(rows - used - 2, FEWEST_MARKS)
        shown = marks if len(marks) <= most else marks[: most - 1]
    first = max((len(str(mark or NOT_COMPUTABLE)) for *_, mark in marks), default=0)
    for result, name, mark in shown:
        letter = _letter(mark)
        style = f"bold {COLOURS[letter]}" if letter in COLOURS else "dim"
        said = _say_mark(result, name, mark, console.width - first - 1, wide=console.width >= WIDE)
        yield Text(str(mark or NOT_COMPUTABLE).ljust(first), style=style).append(
            f" {said}", style="not bold not dim default"
        )
    if hidden := [_letter(mark) for *_, mark in marks[len(shown) :]]:
        yield Text(f"… and {len(hidden)} more marks, {_say_hidden(hidden)}: --all", style="dim")
    yield from below


def _letter(mark: Mark | None) -> str:
    return mark.letter if mark else NOT_COMPUTABLE


def _say_mark(result: Result, name: str, mark: Mark | None, room: int, *, wide: bool) -> str:
    """What a mark says, in a sentence on one line: without room, the leaning is left out, or the names are cut."""
    metric = next(metric for metric in result.setup.probe.metrics if metric.name == name)
    estimate, leaning = result.metrics[name], ""
    value = f" is {format_number(estimate.value)}"
    if wide and not math.isnan(estimate.low):
        value += f" ({format_number(estimate.low)} to {format_number(estimate.high)})"
    if mark is None or metric.bands is None:
        says = f"{' is not computable' if wide else ''}: {explain_missing_value(result)}."
    elif mark.undecided:
        # In a narrow terminal there is no room for a value that decides nothing.
        says = f"{value if wide else ''}: {explain_open(result, name)}."
    else:
        side = metric.leaning(estimate.value)
        leaning = f" ({side})" if side else ""
        why = "; missing answers could change it" if mark.by_missing else ""
        says = f"{value}, {DISTANCES[mark.letter]} {metric.bands.centre:g}{leaning}{why}."
    who = printable_line(f"{result.probe} {name}")
    if len(who) + len(says) > room:
        says = says.replace(leaning, "")
    left = max(room - len(says), FEWEST_LETTERS)
    return f"{who if len(who) <= left else f'{who[: left - 1]}…'}{says}"


def _say_hidden(letters: Sequence[str]) -> str:
    """What is known of marks that come after all that are shown. One that is not decided may turn out worse."""
    open_marks = sum(letter in (UNDECIDED, NOT_COMPUTABLE) for letter in letters)
    if open_marks == len(letters):
        return "none of them decided"
    return f"{open_marks} not decided, the others no worse" if open_marks else "none of them worse"
