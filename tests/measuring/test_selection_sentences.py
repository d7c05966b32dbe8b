"""What a table of selection rates says in words."""

from __future__ import annotations

import polars as pl

from equipoise.measuring.selection import SelectionTable, Sets, make_table

SCHEMA = {
    "categories": pl.List(pl.String),
    "applicants": pl.List(pl.Int64),
    "selected": pl.List(pl.Int64),
    "weight": pl.Int64,
}


def select(selected: dict[str, int], applicants: int) -> SelectionTable:
    """Applicants one by one, of whom some are selected."""
    rows = []
    for category, count in selected.items():
        rows.append(([category], [1], [1], count))
        rows.append(([category], [1], [0], applicants - count))
    return make_table("gender", Sets(pl.DataFrame(rows, schema=SCHEMA, orient="row"), {}))


def test_equal_rates_are_said_to_be_equal() -> None:
    said = select({"female": 50, "male": 50}, 100).describe()
    assert said == "All categories by gender were selected at the same rate."


def test_a_ratio_above_four_fifths_that_a_fair_model_rarely_shows_is_pointed_out() -> None:
    table = select({"female": 800, "male": 900}, 1000)
    assert not table.unfair
    assert "That is not below four fifths, but a fair model would rarely show it" in table.describe()


def test_nothing_is_added_where_a_fair_model_often_shows_such_a_ratio() -> None:
    assert select({"female": 49, "male": 50}, 100).describe().endswith("of studies.")
