"""The words that differ between two arms, as a figure of the report."""

from __future__ import annotations

from equipoise.authoring import TypicalWord
from equipoise.measuring.words import FALSE_DISCOVERIES, WordComparison
from equipoise.report.charts.figures import WORDS_PER_SIDE, WordFigure
from equipoise.report.text import join_words


def list_spots(comparison: WordComparison) -> list[TypicalWord]:
    """The words that differ clearly, the clearest first. The first side is drawn on the right."""
    return [
        TypicalWord(
            word=row["word"],
            value=row["log_odds"],
            low=row["low"],
            high=row["high"],
            shares=(row["second_share"], row["first_share"]),
        )
        for row in comparison.found.iter_rows(named=True)
    ]


def make_words_figure(comparison: WordComparison) -> WordFigure:
    """The figure of a comparison of words."""
    right, left = comparison.sides
    within = (
        f", compared among answers with the same {join_words(list(comparison.matched))}" if comparison.matched else ""
    )
    return WordFigure(
        name="discovered_words",
        title=f"Words that part answers for {left} from those for {right}",
        caption=f"Words that stand in clearly more of the answers for one side{within}. At most "
        f"{FALSE_DISCOVERIES:.0%} of those shown are expected to differ by chance. Lines are 95% intervals; the larger "
        "a dot, the more answers hold the word. Names, pronouns, and words that only the prompts of one side contain, "
        "are left out.",
        sides=(left, right),
        spots=list_spots(comparison),
        summary=summarise_comparison(comparison),
    )


def summarise_comparison(comparison: WordComparison) -> str:
    """How many words were compared and differ, for readers of the report."""
    number, tested = comparison.found.height, comparison.table.height
    if not tested:
        return f"The {comparison.answers:,} answers are too few to compare their words."
    compared = f"{tested:,} words of {comparison.answers:,} answers were compared"
    if not number:
        return f"{compared}; none differs by more than chance."
    cut = max(len(comparison.more_for(side)) for side in (0, 1)) > WORDS_PER_SIDE
    shown = f" The {WORDS_PER_SIDE} clearest of each side are shown." if cut else ""
    return f"{compared}; {number:,} {'differs' if number == 1 else 'differ'} clearly.{shown}"
