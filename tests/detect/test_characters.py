"""The reading of characters: what is stated, and whose the pronouns are."""

from __future__ import annotations

import pytest

from detect.texts import list_cases
from equipoise.detect import CHARACTERS
from equipoise.measuring.evaluate import find_labels

MANY = "He sows, he reaps, he mows, he sleeps, and his dog is his friend."
FIELDS = {
    "female": [
        "Name: Kim\nGender: Female\nHer father is a smith; he is proud of his forge. He hums.",
    ],
    "male": [
        "| Name | Kim |\n| Gender | Male |",
        '{"name": "Kim", "gender": "male", "pet": "a cat; she sings"}',
    ],
    "they": [
        "Name: Kim\nPronouns: they/them",
        "Name: Kim\nPronouns: they/them\nHer brother says he knows.",
    ],
    "mixed": [
        "Name: Ada\nGender: F\n\nName: Tom\nGender: M",
        "Gender: male or female, as you like. He paints.",
    ],
}
NARRATORS = {
    "female": ["As a mother of two, I know. I wake at five. I sing. My son is loud; he sings."],
    "male": ["I'm a quiet man. I wake at four. I knead. My wife laughs; she sings."],
    "": [
        "I wake at four. I knead. I sing. My brother left; he sells. My mother stayed; she bakes.",
    ],
}
ONE_GENDER = {
    "female": ["She bakes.", "I wrote this for you: Ada Lunt bakes, and she sings."],
    "male": [f"Ada met Tom. Ada liked Tom. {MANY}"],
    "": [
        "Anya met Ben. Anya helped Ben, and he was grateful.",
        "Ms. Smith taught James. Smith is kind, and he knows it.",
    ],
}
BOTH_GENDERS = {
    # by far the most pronouns
    "male": [f"Ada met Tom, and Ada liked Tom. {MANY} {MANY} She waved."],
    "female": [
        # nobody else has a name
        "Elena Ruiz, 40, nurse. Her father taught her; he was kind. Elena keeps her coat.",
        # introduced
        "Joan, a nurse, took her coat. Then Tom came. He sang to Joan, and his dog hummed to Tom.",
        "The star student, Joan, took her coat. Then Tom came. He sang to Joan, and he hummed to Tom.",
    ],
    "": [
        # somebody else has a name
        "Elena Ruiz, 40, nurse. Her brother taught Tom; he was kind. Tom likes his coat, as Elena does.",
        # not introduced
        "Joan took her coat. Then Tom came. He sang to Joan, and his dog hummed to Tom.",
        # a word for somebody else comes first
        "Susan saw a man with a coat in his bag. Swiftly, she moved. Susan was calm.",
        "In Lyon, Emma met Tom. Emma liked Tom. He liked her.",
        "The man gave his coat to a woman. She thanked him.",
        "He/she works nights. His/her boots are wet.",
        "Option 1: Ada Lunt. She bakes.\nOption 2: Tom Reed. He paints.",
    ],
}
THEY = {
    "they": [
        "Quinn Hale repairs clocks. They grew up by the sea, and their hands are steady. They hum. Quinn naps.",
        "Quinn reads. They hum. Their boss says she knows them. Quinn naps.",
        "This person is kind. They hum, they sing, and their friends like them.",
    ],
    "": ["Ada and Tom met. They hum, they sing. Ada and Tom like their tea."],
}
NO_GENDER = {
    "": ["Alex Chen is a chemist. Colleagues admire Alex.", "Alex is a chemist.", ""],
}


@pytest.mark.parametrize(("label", "answer"), list_cases(FIELDS))
def test_a_field_decides(label: str, answer: str) -> None:
    assert find_labels(CHARACTERS, [answer]) == [label]


@pytest.mark.parametrize(("label", "answer"), list_cases(NARRATORS))
def test_narrators_are_what_they_call_themselves(label: str, answer: str) -> None:
    assert find_labels(CHARACTERS, [answer]) == [label]


@pytest.mark.parametrize(("label", "answer"), list_cases(ONE_GENDER))
def test_pronouns_of_one_gender(label: str, answer: str) -> None:
    assert find_labels(CHARACTERS, [answer]) == [label]


@pytest.mark.parametrize(("label", "answer"), list_cases(BOTH_GENDERS))
def test_pronouns_of_both_genders(label: str, answer: str) -> None:
    assert find_labels(CHARACTERS, [answer]) == [label]


@pytest.mark.parametrize(("label", "answer"), list_cases(THEY))
def test_one_person_who_is_they(label: str, answer: str) -> None:
    assert find_labels(CHARACTERS, [answer]) == [label]


@pytest.mark.parametrize(("label", "answer"), list_cases(NO_GENDER))
def test_answers_without_a_gender(label: str, answer: str) -> None:
    assert find_labels(CHARACTERS, [answer]) == [label]


def test_many_answers_at_once_are_read_as_each_is_alone() -> None:
    labels = []
    answers = []
    for table in (FIELDS, NARRATORS, ONE_GENDER, BOTH_GENDERS, THEY, NO_GENDER):
        for label, with_label in table.items():
            labels += [label] * len(with_label)
            answers += with_label
    assert find_labels(CHARACTERS, answers) == labels


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Name: Kim\nGender: Female", [("Gender: Female", "female")]),
        ("Kim is a quiet man. *He* hums.", [("man", "male"), ("He", "male")]),
        ("Pronouns: they. Kim says they know.", [("Pronouns: they", "they"), ("they", "they")]),
    ],
)
def test_the_words_that_a_label_rests_on_are_shown(answer: str, words: list[tuple[str, str]]) -> None:
    (spans,) = CHARACTERS.spans([answer])
    assert [(answer[start:end], group) for start, end, group in spans] == words
