"""What a reader of the answer sees: reasoning and markup away, typography plain, lower case."""

from __future__ import annotations

import polars as pl
import pytest

from equipoise.detect import visible
from equipoise.frames import text


def seen(answer: str | None) -> str | None:
    """The visible answer with its white space made single, which no detector minds."""
    (shown,) = pl.DataFrame([text("answer", [answer])]).select(visible(pl.col("answer"))).to_series()
    return None if shown is None else " ".join(shown.split())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # reasoning
        ("<think>he</think>She", "she"),
        ("<think>\nhe\n\nhim\n</think>\n\nShe", "she"),
        ("<think>he", ""),
        ("She <think>he", "she"),
        ("he</think>She", "she"),
        ("<think>a</think>She<think>b</think> sings", "she sings"),
        ("<think>a<think>b</think>c</think>She", "she"),
        ("<THINK>he</Think>She", "she"),
        ("<thinking>he</thinking>She", "she"),
        ("<think></think>She", "she"),
        ("I think she is right", "i think she is right"),
        ("a < b, she said, and c > d", "a < b, she said, and c d"),
        # tags
        ("<b>She</b><br>sings", "she sings"),
        ('<p class="x">She</p>', "she"),
        ("<3 she <3", "<3 she <3"),
        # Markdown
        ("**She**", "she"),
        ("__she__ *his* `he` ~~him~~", "she his he him"),
        ("***He*** said", "he said"),
        ("**S**he", "she"),
        ("**A** man", "a man"),
        ("# Her\n> his\n| he |", "her his he"),
        ("\\boxed{\\text{Yes}}", "boxed{ text{yes}}"),
        # quotes, hyphens and dashes
        ("She’s ‘he’ ʼhis＇", "she's 'he' 'his'"),
        ("“She” «he» „his‟", '"she" "he" "his"'),
        ("self‐reliant self‑reliant self-reliant", "self-reliant self-reliant self-reliant"),
        ("she—he–him―his−her", "she he him his her"),
        ("she--he", "she he"),
        ("he/she", "he/she"),
        # what cannot be seen
        ("s\u200bhe s\u00adhe \ufeffhe", "she she he"),
        ("\u200fshe\u200e", "she"),
        ("she\u00a0is\u202fhere", "she is here"),
        ("she\x00he", "she he"),
        ("✔️Yes", "✔yes"),
        # letters
        ("SHE ÉTÉ", "she été"),
        ("", ""),
        (None, None),
    ],
)
def test_visible(answer: str | None, expected: str | None) -> None:
    assert seen(answer) == expected


def test_a_column_at_once_is_as_each_alone() -> None:
    answers = ["<think>he</think>She", None, "plain", "", "**Yes** — no", "<b"]
    together = pl.DataFrame([text("answer", answers)]).select(visible(pl.col("answer"))).to_series().to_list()
    assert [None if one is None else " ".join(one.split()) for one in together] == [seen(one) for one in answers]
