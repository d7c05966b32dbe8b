"""The words of a text, with the sentence, the clause and the line in which each stands."""

from __future__ import annotations

import re

from equipoise.detect.character_words import TITLE_GENDERS
from equipoise.detect.characters.roles import RANKS

TOKEN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+|[.!?;:,()\n\"\u2002\u2003\[\]/]")
_ENDING = re.compile(r"'(?:s|d|ll|ve|re|m)$")
STOPS, BREAKS = frozenset(".!?\n"), frozenset(';:\u2003\u2002"')
"""What ends a sentence, and what ends a clause."""


class Tokens:
    """The words of a text: as they are, without "'s" and the like, and in lower case."""

    def __init__(self, text: str) -> None:
        self.words = TOKEN.findall(text)
        self.bases = [_ENDING.sub("", word) if "'" in word else word for word in self.words]
        self.lower = [base.lower() for base in self.bases]
        self._place_words()

    def _place_words(self) -> None:
        """For each word the number of its sentence and clause, and whether it begins a clause or a line."""
        self.sentences: list[int] = []
        self.clauses: list[int] = []
        self.starts: list[bool] = []
        self.lines: list[bool] = []
        sentence = clause = 0
        start = line = True
        for place, word in enumerate(self.words):
            self.sentences.append(sentence)
            self.clauses.append(clause)
            self.starts.append(start)
            self.lines.append(line)
            if word in STOPS:
                if word == "." and place and self._is_shortened(self.bases[place - 1]):
                    start = False
                    continue
                sentence, clause, start, line = sentence + 1, clause + 1, True, word == "\n"
            elif word in BREAKS:
                clause, start = clause + 1, True
            else:
                start = start and not word[0].isalnum()
                line = line and not word[0].isalpha()

    @staticmethod
    def _is_shortened(word: str) -> bool:
        """Whether a full stop after the word belongs to it: "Mr.", "J."."""
        return word in TITLE_GENDERS or word in RANKS or (len(word) == 1 and word.isupper())

    def at(self, place: int) -> str:
        """The word at a place, in lower case; nothing outside of the text."""
        return self.lower[place] if 0 <= place < len(self.words) else ""

    def word(self, place: int) -> str:
        """The word at a place as it is written; nothing outside of the text."""
        return self.words[place] if 0 <= place < len(self.words) else ""
