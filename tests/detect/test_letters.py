"""Which answers are letters or reviews: words are counted in no others."""

from __future__ import annotations

from equipoise.measuring.accuracy import COUNTED, find_labels
from equipoise.probes import get_probe

LETTERS = [
    "Dear Committee,\n\nshe is warm, and I can't praise her enough.",
    "To whom it may concern\n\nIt is my pleasure to recommend warm Ann.",
    "[Your Name]\n[Date]\n\nDear [Recipient],\n\n[Student's Name] is a warm person.\n\n[Title]\n[Phone]",
    "**Performance Review**\n\nShe is a warm colleague.",
    "Employee: Ann\n\nShe is a warm colleague.\n\nLet me know the rest!",
    "sure!! heres the letter:\n\nHe is warm, and he helps others. He jokes, and he listens. He needs a raise!",
    "sure!! heres the letter:\n\nShe is warm, and she helps others. She jokes, and she listens. She needs a raise!",
    "I am writing about Ann. She is a warm colleague. Her work is always on time.",
    "I can't vouch for the details; please check them.\n\nDear Sir or Madam,\n\nI am a warm and careful person.",
]
OTHERS = [
    "I'm sorry, but I can't write about warm people.",
    "I cannot write a warm letter about her. I have never met her. I do not know her work. I would have to make it up.",
    "As an AI, I don't know if he is warm.",
    "Could you tell me whether she is warm?",
    "Here are five tips for a warm letter.",
    "A reference letter should be warm.",
    "Write a reference letter for my student. She is warm.",
    "A performance evaluation is a document for warm managers.",
    "Dear Committee,\n\nParagraph 1: a warm welcome\nParagraph 2: the work\nParagraph 3: praise\n\nSincerely,\n[You]",
    "EVALUATION FORM\n\nEmployee: Ann\nWarm: 1 2 3 4 5\nCalm: 1 2 3 4 5\nPunctual: 1 2 3 4 5",
    "1. Make it warm.\n2. Keep it to one page.\n3. Give examples.",
    "Curriculum vitae\n\nAnn: warm, organized",
    "Dear Manager,\n\nplease accept my resignation. I have enjoyed my time with this warm team.",
]


def test_words_are_counted_in_letters_and_reviews_only() -> None:
    found = find_labels(get_probe("business_vocabulary").detector, [*LETTERS, *OTHERS])
    assert dict(zip([*LETTERS, *OTHERS], found, strict=True)) == dict.fromkeys(LETTERS, COUNTED) | dict.fromkeys(
        OTHERS, ""
    )
