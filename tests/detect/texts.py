"""Texts to try detectors on: examples of all probes, and anything that a model may write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

import polars as pl
import pytest
from _pytest.mark import ParameterSet
from hypothesis import strategies as st

from equipoise.probes import find_probes
from equipoise.schema import replace_surrogates

MAX_ID = 70
"""Characters of the name of a test case."""

PIECES = (
    *("<think>", "</think>", "<", ">", "<b", "</", "**", "*", "_", "`", "\\", "--", "-", "/", "—", "’", "“", "#", "|"),
    *("he", "She", "her", "yes", "No", "regret to inform", "You have been selected", "leader", "self-reliant", "warm"),
    *("(s)he", "s/he", "**S**he", "<THINK>", "</thinking>", "<b>", "<thin\u212a>"),
    *("\x00", "\x1b[31m", "\r", "\n", "\x1c", "\u2028", "\u200b", "\u200f", "\u202e", "\u2066", "\ufeff", "\ufe0f"),
    *("\ud800", "\udfff", "\udcff", "א", "ه", "é", "e\u0301", "İ", "ß", "ﬀ", "²", "½", "Ⅷ", "Ⓐ", "‿", "٣"),
    *("👩\u200d🔬", "𝐡𝐞", "\uffff", "\U0010ffff", "\U000e0001"),
)
"""What markup, typography and case rules stumble over."""

ODD_CASES = ("ΟΔΟΣ", "\U00010d50", "\ua7da")
"""Letters that polars lower-cases differently; two are younger than the tables of Python."""

SHAPES = (
    *("<think>", "</think>", "<think>he</think>", "<", "<a", "</a ", "*", "**a", "**S**he ", "_", "-", "a-", "--"),
    *("\x00", " ", "\n", "a", "é", "été she ", "هي قالت ", "👩\u200d🔬 ", "\ud800", "\u200b"),
    *("he ", "yes ", "warm ", "regret to "),
)
"""Texts to be repeated very often."""

PEOPLE = (
    *("Mr.", "Mrs", "Dr. ", "Capt.", "J.", "Ann", "Lee", "al-Marri", "ex-Navy", "O'Neill", "Ann's", "James'", "Miss"),
    *("he", "She", "his", "her", "they", "I", "my", "man", "a woman", "the father", "mother of", "kind of", "like a"),
    *(".", ",", ":", "(", ")", "\n", '"', "—", "|", "is", "was", "named", "called", "Name", "Gender:", "who", "40"),
)
"""What the reading of characters goes by, in any order."""

people = st.lists(st.sampled_from(PEOPLE), max_size=30).map(" ".join)
anything = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(), st.integers(0xD800, 0xDFFF).map(chr), st.characters()), max_size=12
).map("".join)
stored_texts = anything.map(replace_surrogates)
"""Texts as a run file holds them."""

WORDS = ("He", "(s)he", "**S**he", "Yes", "self-reliant", "You have been selected", "<think>")
PAIRS = sorted(
    {replace_surrogates(text) for piece in PIECES for word in WORDS for text in (piece + word, word + piece)}
    | {replace_surrogates(shape * 3) for shape in SHAPES}
)
"""Each of the pieces before and after words that detectors look for, and the shapes."""
ODD_PAIRS = [text for piece in ODD_CASES for word in WORDS for text in (piece + word, word + piece)]
"""The same for letters of odd case."""


def list_cases(answers: Mapping[str, Sequence[str]]) -> list[ParameterSet]:
    """A test case for each answer of each label; its id is the label and the answer."""
    cases = []
    for label, with_label in answers.items():
        for answer in with_label:
            name = f"{label or 'nothing'}: {answer}"
            cases.append(pytest.param(label, answer, id=name[:MAX_ID]))
    return cases


def read_examples() -> list[str]:
    """The answers in the `examples.csv` of all packaged probes."""
    folder = files("equipoise.probes")
    paths = [folder / name / "examples.csv" for name in find_probes()]
    return [answer for path in paths for answer in pl.read_csv(path.read_bytes())["answer"].fill_null("")]
