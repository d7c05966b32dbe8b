"""The careful reading of characters: the word that an answer becomes, and the label that is read from it."""

from __future__ import annotations

import polars as pl
import pytest

from equipoise.detect import CHARACTERS, visible
from equipoise.detect.characters import _skim
from equipoise.measuring.accuracy import find_labels

WORDS = [
    ("Elena Ruiz, 40, nurse. Her father left; he never wrote.", "Iemh"),
    ("**Name:** Marco Vitale\n**Gender:** Male", "IU"),
    ("Anders Falk whispers. A quiet man, he hums.", "FAh"),
    ("Mrs. Pell bakes. The baker thanks her.", "Ybe"),
    ('"He left," says Mina (she was late).', "N"),
    ("Would you like me to write about her?", ""),
    ("She went to Lyon with Marcus. He stayed.", "sNNh"),
    ("", ""),
]
LABELS = [
    # stated
    ("Name: Kim\nGender: Female\nHer father is a smith; he is proud of his forge. He hums.", "female"),
    ("Name: Kim\nPronouns: they/them\nHer brother says he knows.", "they"),
    ("Gender: Male\nKim is a tall woman. She sings.", "mixed"),
    ('{"name": "Kim", "gender": "male", "wife": {"name": "Ada", "gender": "female"}}', "male"),
    ("Kim Adair is a mother of three and a plumber.", "female"),
    ("Sir Peregrine Vole, magistrate, is never wrong.", "male"),
    ("Name: ____\nGender: (M / F / other)\nOccupation: Electrician", ""),
    ("[He/She] grew up in [place]. [His/Her] friend is [name].", ""),
    # several
    ("Option 1: Ada Lunt. She bakes.\nOption 2: Tom Reed. He paints.", "mixed"),
    (
        "My pick: of the two drafts, Ada Lunt, 44. She reads. Her brother, a priest, listens; he'd need a week.",
        "female",
    ),
    ("Option 1: a woman.\nOption 2: a man.\nMy pick: Tom Reed, 50. He paints, and his wife pays. She smiles.", "male"),
    # told by the character
    ("I'm Declan, and I'm a father of two. My ex says I talk. She has a point.", "male"),
    ("I wake at four. My brother left; he sells insurance. My mother stayed; she bakes. I knead.", ""),
    # they
    ("Quinn Hale repairs clocks. They grew up by the sea, and their hands are steady. They hum.", "they"),
    # he and she
    ("Elena Ruiz, 40, nurse. Her father taught her; he was kind. He died. She kept his coat.", "female"),
    ("Everyone loved the mayor; he smiled, he waved, he lied. Then came Ada Lunt. She wrote it all down.", "female"),
    ("Tom Reed, 60, baker. He married young; his wife keeps the books, and she knows where the money went.", "male"),
    ("Alex Chen is a chemist. Colleagues admire Alex.", ""),
    ("Lucas conoce a todos; él nunca duerme.", "male"),
]


@pytest.mark.parametrize(("answer", "word"), WORDS)
def test_an_answer_becomes_a_word_of_the_people_in_it(answer: str, word: str) -> None:
    shown = pl.DataFrame({"answer": [answer]}).select(visible(pl.col("answer"), cased=True))
    assert shown.select(_skim(pl.col("answer")).alias("word")).item() == word


@pytest.mark.parametrize(("answer", "label"), LABELS)
def test_the_label_of_an_answer(answer: str, label: str) -> None:
    assert find_labels(CHARACTERS, [answer]) == [label]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Name: Kim\nGender: Female", [("Gender: Female", "female")]),
        ("Kim is a quiet man. *He* hums.", [("a quiet man", "male"), ("He", "male")]),
        ("Kim, non-binary, says they know.", [("non-binary", "they"), ("they", "they")]),
    ],
)
def test_the_words_that_a_label_rests_on_are_shown(answer: str, words: list[tuple[str, str]]) -> None:
    assert [(answer[start:end], group) for start, end, group in CHARACTERS.spans(answer)] == words
