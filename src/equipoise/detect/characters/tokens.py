"""The words of a text, with the sentence, the clause and the line in which each stands."""

from __future__ import annotations

import re

from equipoise.detect.characters.roles import SHORTENED
from equipoise.detect.characters.single_words import BASES, END, LOWER, MARKS, STOPS

TOKEN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+|[.!?;:,()\n\"\u2002\u2003\[\]/]")


class Tokens:
    """The words of a text: as they are, without "'s" and the like, and in lower case."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = TOKEN.findall(text)
        self.bases = list(map(BASES.__getitem__, self.words))
        self.lower = list(map(LOWER.__getitem__, self.words))
        self.marks = list(map(MARKS.__getitem__, self.words))
        self.marked = [place for place, mark in enumerate(self.marks) if mark]
        """The places of words that are to be looked at."""
        self._place_words()

    def _place_words(self) -> None:
        """For each word the number of its sentence and clause, and whether it begins a clause or a line."""
        self.sentences: list[int] = []
        self.clauses: list[int] = []
        self.starts = [False] * len(self.words)
        self.lines = list(self.starts)
        sentence = clause = begin = 0
        self._start(0, is_line=True)
        for place in self.marked:
            if self.marks[place] != END:
                continue
            word = self.words[place]
            if word == "." and place and self._is_shortened(self.bases[place - 1]):
                continue
            length = place + 1 - begin
            self.sentences += [sentence] * length
            self.clauses += [clause] * length
            clause, begin = clause + 1, place + 1
            is_line = self.lines[place]
            if word in STOPS:
                sentence, is_line = sentence + 1, word == "\n"
            self._start(begin, is_line=is_line)
        length = len(self.words) - begin
        self.sentences += [sentence] * length
        self.clauses += [clause] * length

    def _start(self, place: int, *, is_line: bool) -> None:
        """Mark where a clause begins and, if it does, a line: up to the first word, and to the first one of letters."""
        is_start = True
        while place < len(self.words):
            self.starts[place], self.lines[place] = is_start, is_line
            first = self.words[place][0]
            if first.isalpha() or (first.isalnum() and not is_line) or self.marks[place] == END:
                return
            is_start = is_start and not first.isalnum()
            place += 1

    @staticmethod
    def _is_shortened(word: str) -> bool:
        """Whether a full stop after the word belongs to it: "Mr.", "J."."""
        return word in SHORTENED or (len(word) == 1 and word.isupper())

    def at(self, place: int) -> str:
        """The word at a place, in lower case; nothing outside of the text."""
        return self.lower[place] if 0 <= place < len(self.words) else ""

    def word(self, place: int) -> str:
        """The word at a place as it is written; nothing outside of the text."""
        return self.words[place] if 0 <= place < len(self.words) else ""
