"""What a reader of the answer sees: no reasoning, no markup, plain typography, lower case."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import assume, given, settings

from detect.texts import PAIRS, read_examples, stored_texts
from equipoise.detect import visible
from equipoise.detect.visible import PLAIN, trace_visible
from equipoise.schema import text_column


def show(answers: Sequence[str | None]) -> list[str | None]:
    """The visible text of each answer."""
    return pl.DataFrame([text_column("answer", answers)]).select(visible(pl.col("answer"))).to_series().to_list()


def collapse(text: str | None) -> str | None:
    """The text with single spaces, because no detector distinguishes white space."""
    return None if text is None else " ".join(text.split())


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
    assert collapse(*show([answer])) == expected


def test_answers_in_one_column_do_not_influence_each_other() -> None:
    answers = ["<think>he</think>She", None, "plain", "", "**Yes** — no", "<b"]
    assert show(answers) == [show([answer])[0] for answer in answers]


@pytest.mark.parametrize("sign", PLAIN)
def test_every_sign_is_found_between_plain_answers(sign: str) -> None:
    assert show(["Plain", f"She{sign}he", "plain"]) == ["plain", f"she{PLAIN[sign]}he", "plain"]


# One answer, with the places that its visible characters come from


@pytest.mark.parametrize("texts", [read_examples(), PAIRS], ids=["examples", "pairs"])
def test_a_traced_answer_has_the_visible_text_of_the_column(texts: list[str]) -> None:
    assert [trace_visible(text)[0] for text in texts] == show(texts)


@settings(max_examples=200)
@given(stored_texts)
def test_any_traced_answer_has_the_visible_text_of_the_column(text: str) -> None:
    # A few letters, which no word of a detector has, are lower-cased differently by polars.
    lower = pl.select(pl.lit(text).str.to_lowercase()).item()
    assume(lower == "".join(letter.lower() for letter in text))
    assert [trace_visible(text)[0]] == show([text])


@given(stored_texts)
def test_every_visible_character_has_an_origin_in_the_answer(text: str) -> None:
    shown, origins = trace_visible(text)
    assert len(origins) == len(shown)
    assert origins == sorted(origins)
    assert all(0 <= origin < len(text) for origin in origins)
    # A letter comes from the same letter, in lower or upper case; only markup and typography become something else.
    assert all(
        letter in text[origin].lower() for letter, origin in zip(shown, origins, strict=True) if letter.isalnum()
    )


@pytest.mark.parametrize(
    ("answer", "shown", "origins"),
    [
        ("She", "she", [0, 1, 2]),
        ("<think>he</think>She", " she", [0, 17, 18, 19]),
        ("he</think>She", " she", [0, 10, 11, 12]),
        ("a<b>c</b>d", "a c d", [0, 1, 4, 5, 9]),
        ("**S**he", "she", [2, 5, 6]),
        ("x **S**he **T**he", "x she the", [0, 1, 4, 7, 8, 9, 12, 15, 16]),
        ("s\u200bhe", "she", [0, 2, 3]),
        ("he--she", "he\u2003she", [0, 1, 2, 4, 5, 6]),
        ("a\x00b", "a b", [0, 1, 2]),
        ("’He", "'he", [0, 1, 2]),
        ("İx", "i\u0307x", [0, 0, 1]),
        ("", "", []),
    ],
)
def test_visible_characters_come_from_their_places_in_the_answer(answer: str, shown: str, origins: list[int]) -> None:
    assert trace_visible(answer) == (shown, origins)


def test_letters_with_two_small_forms_keep_their_places() -> None:
    shown, origins = trace_visible("ΟΔΟΣ! He")
    assert origins == list(range(8))
    assert shown.endswith(" he")
