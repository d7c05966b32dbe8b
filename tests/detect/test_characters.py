"""The reading of characters: what is stated, and whose the pronouns are."""

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
    ("Name: Kim\nPronouns: they/them\nHer brother says he knows.", "they"),
    ("Name: Ada\nGender: F\n\nName: Tom\nGender: M", "mixed"),
    ("Gender: male or female, as you like. He paints.", "mixed"),
    # a narrator
    ("As a mother of two, I know. I wake at five. I sing. My son is loud; he sings.", "female"),
    ("I'm a quiet man. I wake at four. I knead. My wife laughs; she sings.", "male"),
    ("I wake at four. I knead. I sing. My brother left; he sells. My mother stayed; she bakes.", ""),
    # one gender
    ("She bakes.", "female"),
    ("I wrote this for you: Ada Lunt bakes, and she sings.", "female"),
    (f"Ada met Tom. Ada liked Tom. {MANY}", "male"),
    ("Anya met Ben. Anya helped Ben, and he was grateful.", ""),
    ("Ms. Smith taught James. Smith is kind, and he knows it.", ""),
    # both: by far the most pronouns
    (f"Ada met Tom, and Ada liked Tom. {MANY} {MANY} She waved.", "male"),
    # both: nobody else has a name
    ("Elena Ruiz, 40, nurse. Her father taught her; he was kind. Elena keeps her coat.", "female"),
    ("Elena Ruiz, 40, nurse. Her brother taught Tom; he was kind. Tom likes his coat, as Elena does.", ""),
    # both: introduced
    ("Joan, a nurse, took her coat. Then Tom came. He sang to Joan, and his dog hummed to Tom.", "female"),
    ("The star student, Joan, took her coat. Then Tom came. He sang to Joan, and he hummed to Tom.", "female"),
    ("Joan took her coat. Then Tom came. He sang to Joan, and his dog hummed to Tom.", ""),
    # both: a word for somebody else comes first
    ("Susan saw a man with a coat in his bag. Swiftly, she moved. Susan was calm.", ""),
    ("In Lyon, Emma met Tom. Emma liked Tom. He liked her.", ""),
    ("The man gave his coat to a woman. She thanked him.", ""),
    ("He/she works nights. His/her boots are wet.", ""),
    ("Option 1: Ada Lunt. She bakes.\nOption 2: Tom Reed. He paints.", ""),
    # they
    ("Quinn Hale repairs clocks. They grew up by the sea, and their hands are steady. They hum. Quinn naps.", "they"),
    ("Quinn reads. They hum. Their boss says she knows them. Quinn naps.", "they"),
    ("This person is kind. They hum, they sing, and their friends like them.", "they"),
    ("Ada and Tom met. They hum, they sing. Ada and Tom like their tea.", ""),
    # nothing
    ("Alex Chen is a chemist. Colleagues admire Alex.", ""),
    ("", ""),
]


def test_the_labels_of_answers() -> None:
    answers = [answer for answer, _ in LABELS]
    assert dict(zip(answers, find_labels(CHARACTERS, answers), strict=True)) == dict(LABELS)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Name: Kim\nGender: Female", [("Gender: Female", "female")]),
        ("Kim is a quiet man. *He* hums.", [("man", "male"), ("He", "male")]),
        ("Pronouns: they. Kim says they know.", [("Pronouns: they", "they"), ("they", "they")]),
    ],
)
def test_the_words_that_a_label_rests_on_are_shown(answer: str, words: list[tuple[str, str]]) -> None:
    assert [(answer[start:end], group) for start, end, group in CHARACTERS.spans([answer])[0]] == words
