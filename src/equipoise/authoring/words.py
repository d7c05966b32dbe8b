"""What a probe says about word discovery: between which arms words are compared, and what is matched."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.schema import ITEM


@dataclass(frozen=True, kw_only=True)
class WordContrast:
    """Ask which words the answers for one arm use more than those for another.

    sides    two values of the arms' column, and what they are called where the words are shown
    matched  columns of the prompts: answers are compared only with answers that have the same values there
    unit     the column whose values are independent of each other, such as a name that several prompts share
    names    columns with names: their words are left out
    ignored  words that name the arm itself, such as pronouns. Words that stand only in the prompts of one side are
             left out without being named
    """

    sides: tuple[tuple[str, str], tuple[str, str]]
    matched: tuple[str, ...] = ()
    unit: str = ITEM
    names: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the prompts that it uses, beside that of the arms."""
        return tuple(dict.fromkeys((*self.matched, self.unit, *self.names)))
