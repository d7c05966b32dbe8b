"""Who applies and who is selected, for probes whose answers let people through or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from equipoise.authoring.parameters import Parameters
from equipoise.schema import ITEM


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

    by: tuple[Grouping, ...]
    selected: str | Callable[[Parameters], pl.Expr] = ""
    applicants: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    scored: bool = False
