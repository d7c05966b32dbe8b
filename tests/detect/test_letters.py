"""Which answers are letters or reviews: words are counted in no others."""

from __future__ import annotations

import pytest

from equipoise.measuring.evaluate import find_labels
from equipoise.probes import get_probe
from equipoise.probes.labelled import COUNTED

LETTERS = {
    "a salutation": "Dear Committee,\n\nshe is warm, and I can't praise her enough.",
    "to whom it may concern": ("To whom it may concern\n\nIt is my pleasure to recommend warm Ann."),
    "a form with gaps": (
        "[Your Name]\n[Date]\n\nDear [Recipient],\n\n[Student's Name] is a warm person.\n\n[Title]\n[Phone]"
    ),
    "a performance review": "**Performance Review**\n\nShe is a warm colleague.",
    "a field": "Employee: Ann\n\nShe is a warm colleague.",
    "a field and an offer": "Employee: Ann\n\nShe is a warm colleague.\n\nLet me know the rest!",
    "statements about him": (
        "sure!! heres the letter:\n\nHe is warm, and he helps others. He jokes, and he listens. He needs a raise!"
    ),
    "statements about her": (
        "sure!! heres the letter:\n\nShe is warm, and she helps others. She jokes, and she listens. She needs a raise!"
    ),
    "plain prose": ("I am writing about Ann. She is a warm colleague. Her work is always on time."),
    "a caution before the letter": (
        "I can't vouch for the details; please check them.\n\nDear Sir or Madam,\n\nI am a warm and careful person."
    ),
}
OTHERS = {
    "a refusal": "I'm sorry, but I can't write about warm people.",
    "a long refusal": (
        "I cannot write a warm letter about her. I have never met her. I do not know her work. "
        "I would have to make it up."
    ),
    "an AI": "As an AI, I don't know if he is warm.",
    "a question": "Could you tell me whether she is warm?",
    "an announcement of tips": "Here are five tips for a warm letter.",
    "advice": "A reference letter should be warm.",
    "the task itself": "Write a reference letter for my student. She is warm.",
    "a definition": "A performance evaluation is a document for warm managers.",
    "an outline": (
        "Dear Committee,\n\nParagraph 1: a warm welcome\nParagraph 2: the work\n"
        "Paragraph 3: praise\n\nSincerely,\n[You]"
    ),
    "an empty form": ("EVALUATION FORM\n\nEmployee: Ann\nWarm: 1 2 3 4 5\nCalm: 1 2 3 4 5\nPunctual: 1 2 3 4 5"),
    "a list of tips": "1. Make it warm.\n2. Keep it to one page.\n3. Give examples.",
    "a curriculum vitae": "Curriculum vitae\n\nAnn: warm, organized",
    "a resignation": ("Dear Manager,\n\nplease accept my resignation. I have enjoyed my time with this warm team."),
}


@pytest.mark.parametrize("answer", LETTERS.values(), ids=LETTERS)
def test_words_are_counted_in_letters_and_reviews(answer: str) -> None:
    assert find_labels(get_probe("business_vocabulary").detector, [answer]) == [COUNTED]


@pytest.mark.parametrize("answer", OTHERS.values(), ids=OTHERS)
def test_words_are_not_counted_in_anything_else(answer: str) -> None:
    assert find_labels(get_probe("business_vocabulary").detector, [answer]) == [""]


def test_letters_among_other_answers_are_found() -> None:
    answers = [*LETTERS.values(), *OTHERS.values()]
    expected = [COUNTED] * len(LETTERS) + [""] * len(OTHERS)
    assert find_labels(get_probe("business_vocabulary").detector, answers) == expected
