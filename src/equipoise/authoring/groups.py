"""Who is compared with whom: arms of an item, groups of applicants, and sides whose words are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from equipoise.authoring.parameters import Parameters
from equipoise.schema import GENDER, ITEM, slug


@dataclass(frozen=True)
class Arms:
    """What tells the prompts of one item apart: a column of the prompts and its values, such as gender."""

    column: str
    values: tuple[str, ...]

    @property
    def prefixes(self) -> dict[str, str]:
        """For each value what the columns of item rows begin with: "female_"."""
        return {value: f"{slug(value)}_" for value in self.values}


@dataclass(frozen=True)
class Grouping:
    """A way to group applicants: by the values of some columns, such as race and gender.

    `matched` are the columns that name a set of applicants who differ in nothing but these: an item, or several.
    """

    columns: tuple[str, ...]
    matched: tuple[str, ...] = (ITEM,)

    @property
    def name(self) -> str:
        """How the grouping is called: "race and gender"."""
        return " and ".join(self.columns)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Who applies and who is selected, for probes whose answers let people through or not.

    Each detected answer is one applicant, selected if its label is `selected`, or if the expression holds that it gives
    for the parameters. Where an answer chooses among several, `applicants` turns the detected attempts into one row per
    applicant: the columns of the groupings, `item`, and `selected` (0 or 1). If answers are scores (`scored`), there is
    one applicant of each category in an item, `selected` is the score, and those above the median of all are selected.
    """

    by: tuple[Grouping, ...] = (Grouping((GENDER,)), Grouping(("race", GENDER)))
    selected: str | Callable[[Parameters], pl.Expr] = ""
    applicants: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    scored: bool = False


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
