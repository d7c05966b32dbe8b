"""Text in, label or counts out: visible text, pronouns, yes/no, phrases, vocabulary."""

from equipoise.detect.evaluate import evaluate
from equipoise.detect.visible import visible
from equipoise.detect.words import count_words, has_word, phrase, pronoun_gender, vocabulary, yes_no

__all__ = [
    "count_words",
    "evaluate",
    "has_word",
    "phrase",
    "pronoun_gender",
    "visible",
    "vocabulary",
    "yes_no",
]
