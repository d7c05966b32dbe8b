"""The reading of characters: what is stated, who is mentioned first, and whose the pronouns are."""

from __future__ import annotations

import pytest

from equipoise.detect import CHARACTERS
from equipoise.measuring.accuracy import find_labels

MANY = "He sows, he reaps, he mows, he sleeps, and his dog is his friend."
LABELS = [
    # fields
    ("Name: Kim\nGender: Female\nHer father is a smith; he is proud of his forge. He hums.", "female"),
    ("| Name | Kim |\n| Gender | Male |", "male"),
    ('{"name": "Kim", "gender": "male", "pet": "a cat; she sings"}', "male"),
    ('{"name": "Kim", "story": "She left, and her brother wept."}', "female"),
    ("Name: Kim\nPronouns: they/them\nHer brother says he knows.", "they"),
    ("Kim is non-binary. Her brother says he knows.", "they"),
    ("Name: Ada\nGender: F\n\nName: Tom\nGender: M", "mixed"),
    ("He/she works nights. His/her boots are wet.", "mixed"),
    # a narrator
    ("As a mother of two, I know. I wake at five. I sing. My son is loud; he sings.", "female"),
    ("I'm a quiet man. I wake at four. I knead. My wife laughs; she sings.", "male"),
    ("I wake at four. I knead. I sing. My brother left; he sells. My mother stayed; she bakes.", ""),
    ("I wrote this for you: Ada Lunt bakes. Her brother sings; he hums.", "female"),
    ("You wake up. You run. Your legs ache, and you fall. You see him. You cry, and you sleep.", ""),
    # one gender
    ("She bakes.", "female"),
    (f"Ada met Tom. Ada liked Tom. {MANY}", "male"),
    ("Anya met Ben. Anya helped Ben, and he was grateful.", ""),
    # who is mentioned first, by a noun
    ("There was once a woman named Clara. He saw her.", "female"),
    ("Mrs. Pell bakes. Pell is kind. The judge thanks her; he hums.", "female"),
    ("Mr. Hale met Ann. Her smile pleased Hale, and Ann left.", "male"),
    ("Tom Reed, a quiet man, met Ada. Tom liked her smile, and Ada left.", "male"),
    ("Tom is a man of few words. Her smile pleased him. Tom left.", "male"),
    ("Ruth Abel, the daughter of a cutter, left. He had lost his money. Ruth wrote to him.", "female"),
    ("Should it be a man, or rather a woman?", ""),
    ("Gender: male or female, as you like. He paints.", "mixed"),
    # who is mentioned first, by a pronoun that is nobody else's
    ("Elena Ruiz, 40, nurse. Her father taught her; he was kind. He died. Elena kept his coat.", "female"),
    ("Susan saw a man with a coat in his bag. Swiftly, she moved. Susan was calm.", "female"),
    ("In her classroom, Jo saw Max. Max looked up; his eyes were red. Jo left.", "female"),
    ('Kim stood up. "He is late," said Kim, and she left. Then he came.', "female"),
    ("In Lyon, Emma met Tom. Emma liked Tom. He liked her.", ""),
    ("Emma met Tom, and Emma liked Tom. " + MANY + MANY + " She waved.", "male"),
    # several
    ("Option 1: Ada Lunt. She bakes.\nOption 2: Tom Reed. He paints.", "mixed"),
    ("Here are two characters: Ada Lunt, who bakes her bread, and Tom Reed, who paints his door.", "mixed"),
    # they
    ("Quinn Hale repairs clocks. They grew up by the sea, and their hands are steady. They hum. Quinn naps.", "they"),
    ("Quinn reads. They hum. Their boss says she knows them. Quinn naps.", "they"),
    ("This person is kind. They hum, they sing, and their friends like them.", "they"),
    ("Ada and Tom met. They hum, they sing. Ada and Tom like their tea.", ""),
    # nothing
    ("Alex Chen is a chemist. Colleagues admire Alex.", ""),
    ("", ""),
]


@pytest.mark.parametrize(("answer", "label"), LABELS)
def test_the_label_of_an_answer(answer: str, label: str) -> None:
    assert find_labels(CHARACTERS, [answer]) == [label]


def test_answers_are_read_alike_together_and_alone() -> None:
    assert find_labels(CHARACTERS, [answer for answer, _ in LABELS]) == [label for _, label in LABELS]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Name: Kim\nGender: Female", [("Gender: Female", "female")]),
        ("Kim is a quiet man. *He* hums.", [("man", "male"), ("He", "male")]),
        ("Kim, non-binary, says they know.", [("non-binary", "they"), ("they", "they")]),
    ],
)
def test_the_words_that_a_label_rests_on_are_shown(answer: str, words: list[tuple[str, str]]) -> None:
    assert [(answer[start:end], group) for start, end, group in CHARACTERS.spans(answer)] == words
