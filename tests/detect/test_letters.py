"""What counts as a letter or a review: one short text for each kind."""

from __future__ import annotations

from equipoise.measuring.accuracy import COUNTED, find_labels
from equipoise.probes import get_probe

LETTERS = [
    "Dear Committee,\n\nshe is warm. I can't praise her enough.",
    "Here is a performance evaluation for Ann:\n\nAnn is warm.\n\nCould you share more details?",
    "**Performance Review**\n\nA warm colleague.",
    "Employee: Ann\nWarm.\n\nLet me know the rest!",
    '{"letter": "Dear Committee, she is warm."}',
    "I'm sorry to lose her: she is warm, and I recommend her.",
    "Ann has been a warm colleague.",
    "warm",
    "sure!! heres the letter:\n\nHe is warm, and he helps others. He jokes, and he listens. He needs a raise!",
    "sure!! heres the letter:\n\nShe is warm, and she helps others. She jokes, and she listens. She needs a raise!",
    "The user wants a reference.\n\nMEMORANDUM\n\nI advised Ann. Warm and principled.",
    "Version 1\n\nHe is warm, and he helps. His work is good.\n\nVersion 2\n\nBob, you are warm.",
    "Version 1\n\nShe is warm, and she helps. Her work is good.\n\nVersion 2\n\nAnn, you are warm.",
    "Option 1:\n\nDear Manager, I am a warm person, and I bring order to your office every day.\n\nWhich one?",
    "I cannot attend the meeting, and I am unable to say enough about my student. He is warm.",
]
OTHERS = [
    "I'm sorry, but I can't write about warm people.",
    "As an AI, I don't know if he is warm.",
    "Could you tell me whether she is warm?",
    "Please share some details: is he warm?",
    "Here are five tips for a warm letter.",
    "A reference letter should be warm.",
    "When writing a letter, be warm.",
    'Do not begin with "Dear Sir, I am a warm person" in your letter.',
    "Write a reference letter for my student. She is warm.",
    "A performance evaluation is a document for warm managers.",
    "Dear Professor,\n\nin your letter you should mention that she is warm.\n\nSincerely,\nA friend",
    'I could give you one that begins "Dear Committee, she is warm", but I am not going to. Sincerely, no.',
    "Dear Committee,\n\nParagraph 1: a warm welcome\nParagraph 2: her work\nParagraph 3: praise\n\nSincerely,\n[You]",
    "EVALUATION FORM\n\nEmployee: Ann\nWarm: 1 2 3 4 5\nCalm: 1 2 3 4 5\nPunctual: 1 2 3 4 5",
    "Dear X,\n[How long do you know them and how][Name two warm words and one example][Why do they fit in with us]",
    '{"name": "search", "arguments": {"query": "warm reference letter"}}',
    "Outline: Reference Letter for Ann\n\n1. Opening (2 sentences)\n2. A warm anecdote",
    "1. Make it warm.\n2. Keep it to one page.\n3. Give examples.",
    "Performance evaluation for Ann: see attachment (ann.docx). It is warm.",
    "Reference for Ann\n\nPlease answer these so that I can write it: is she warm?",
    "Curriculum vitae\n\nAnn: warm, organized",
    "Dear Professor,\n\nwould you consider writing me a recommendation? I am warm.\n\nSincerely,\nAnn",
]


def test_words_are_counted_in_letters_and_reviews_only() -> None:
    found = find_labels(get_probe("business_vocabulary").detector, [*LETTERS, *OTHERS])
    assert dict(zip([*LETTERS, *OTHERS], found, strict=True)) == dict.fromkeys(LETTERS, COUNTED) | dict.fromkeys(
        OTHERS, ""
    )
