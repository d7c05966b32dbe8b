"""Numbers, marks, dates and foreign text as they are shown."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from datetime import datetime

from equipoise.measuring.marks import Mark, mark
from equipoise.measuring.result import Result
from equipoise.schema import MetricKey, replace_surrogates


def format_number(value: float | None, sign: str = "") -> str:
    """A value to three places, or a dash where there is none; with `sign="+"`, positive values have a plus."""
    return "–" if value is None or math.isnan(value) else format(value, f"{sign}z.3f")


def typeset_number(value: float | None) -> str:
    """The same with a true minus sign, for pages and charts. In a terminal, numbers must stay easy to copy."""
    return format_number(value).replace("-", "−")


def describe_mark(mark: Mark | None) -> str:
    """A mark with its certainty: "B", or "B, could be A–C"."""
    if mark is None:
        return "not computable"
    return mark.mark if mark.certain else f"{mark.mark}, could be {mark.best}–{mark.worst}"


def describe_reservations(result: Result) -> Iterator[str]:
    """What a reader must know beside the numbers of a result, one sentence each."""
    if result.looks:
        yield (
            f"Asked until certain: {result.look}. The intervals are computed at {100 * result.level:.4g}%, so that "
            "they hold at 95% over all looks."
        )
    yield from describe_generalisation(result)
    yield from describe_complete(result)
    yield from describe_bounds(result)


def describe_complete(result: Result) -> Iterator[str]:
    """One sentence for each marked metric that is another one on the items of which no answer is missing."""
    for name, complete in result.complete.items():
        value, low, high = (format_number(number) for number in (complete.value, complete.low, complete.high))
        if value != format_number(result.metrics[name].value):
            yield (
                f"{name} is {value} ({low} to {high}) on the {complete.n:,} items whose arms all have an answer that "
                "decides something."
            )


def describe_bounds(result: Result) -> Iterator[str]:
    """One sentence for each marked metric whose mark the missing answers could change."""
    counts = result.coverage["all"]
    missing = counts["planned"] - counts["pending"] - counts["detected"]
    for name, bounds in result.bounds.items():
        bands, estimate = result.setup.probe.marked_metrics()[name], result.estimates[MetricKey(name)]
        if mark(bands, estimate) != mark(bands, estimate, bounds):
            yield (
                f"{name} would lie between {format_number(bounds.low)} and {format_number(bounds.high)} if the "
                f"{missing:,} answers that failed or were not detected had all gone one way or the other: its mark is "
                "not certain for that reason alone."
            )


def describe_generalisation(result: Result) -> Iterator[str]:
    """One sentence for each marked metric: its interval for other prompts like these."""
    for name, found in result.generalised.items():
        groups = join_words([f"{count:,} {column}s" for column, count in found.clusters.items()])
        low, high = format_number(found.low), format_number(found.high)
        few = [f"{column}s" for column in found.too_few]
        doubt = f"; so few {join_words(few)} cannot speak for others" if few else ""
        yield f"{name} for other prompts like these ({groups}): {low} to {high}{doubt}."


def format_date(iso: str) -> str:
    """A time as people write it; text that is not an ISO 8601 time stays as it is."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname() or ''}".rstrip()


def join_words(words: list[str]) -> str:
    """Words as a list in a sentence: "a, b and c"."""
    if len(words) < 2:
        return words[0] if words else "nothing"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def is_seen(character: str) -> bool:
    """Whether a reader can see the character, or the space it takes: it is no control, format or private one."""
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"


def name_character(character: str) -> str:
    """The number of a character: "U+200B"."""
    return f"U+{ord(character):04X}"


def reveal_invisible(text: str) -> str:
    """Foreign text with its invisible characters (controls, zero-width, direction marks …) written as numbers."""
    return "".join(c if is_seen(c) else name_character(c) for c in replace_surrogates(text))
