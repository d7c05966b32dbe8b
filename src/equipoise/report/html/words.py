"""The words that differ between two arms, as a figure of the report."""

from __future__ import annotations

from equipoise.authoring import Words, WordSpot
from equipoise.measuring.words import FALSE_DISCOVERIES, WordComparison
from equipoise.report.charts.words import WORDS_PER_SIDE
from equipoise.report.text import join_words


def list_spots(comparison: WordComparison) -> list[WordSpot]:
    """The words that differ clearly, the clearest first. The first side is drawn on the right."""
    return [
        WordSpot(
            word=row["word"],
            value=row["log_odds"],
            low=row["low"],
            high=row["high"],
            shares=(row["second_share"], row["first_share"]),
        )
        for row in comparison.found.iter_rows(named=True)
    ]


def make_words_figure(comparison: WordComparison) -> Words:
    """The figure of a comparison of words."""
    right, left = comparison.sides
    return Words(
        name="discovered_words",
        title=f"Words that part answers for {left} from those for {right}",
        caption=describe_comparison(comparison),
        sides=(left, right),
        spots=list_spots(comparison),
    )


def describe_comparison(comparison: WordComparison) -> str:
    """What was compared and how, for readers of the report."""
    number, tested = comparison.found.height, comparison.table.height
    if not tested:
        return f"The {comparison.answers:,} answers are too few to compare their words."
    within = f" with the same {join_words(list(comparison.matched))}" if comparison.matched else ""
    compared = f"{tested:,} words of {comparison.answers:,} answers were compared{within}"
    if not number:
        return f"{compared}: none differs by more than chance."
    cut = max(len(comparison.more_for(side)) for side in (0, 1)) > WORDS_PER_SIDE
    shown = f" The {WORDS_PER_SIDE} clearest of each side are shown." if cut else ""
    return (
        f"{compared}; {number:,} differ clearly, of which at most {FALSE_DISCOVERIES:.0%} by chance. Lines are 95% "
        "intervals; the larger a dot, the more answers hold the word. Names, pronouns, and words that only the prompts "
        f"of one side contain, are left out.{shown}"
    )
