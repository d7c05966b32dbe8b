"""The packaged tables are complete and hold what `facts/README.md` says."""

from __future__ import annotations

from importlib import resources

import polars as pl
import pytest

from equipoise.assets import FACTS, facts
from equipoise.errors import UnknownName

ROWS = {
    "associations": 36,
    "inventories": 465,
    "names": 800,
    "occupations": 339,
    "pronouns": 7,
    "published": 156,
    "stereotypes": 16,
    "traits": 127,
}
MAY_BE_EMPTY = {"traits": ["epaq_scale"]}


def test_every_packaged_table_is_listed_and_attributed() -> None:
    folder = resources.files("equipoise.assets") / "facts"
    tables = {entry.name for entry in folder.iterdir() if entry.name.endswith(".csv")}
    assert tables == {f"{name}.csv" for name in FACTS}
    page = (folder / "README.md").read_text("utf-8")
    assert all(f"## {table}" in page for table in tables)


@pytest.mark.parametrize("name", FACTS)
def test_a_table_is_complete(name: str) -> None:
    table = facts(name)
    assert table.height == ROWS[name]
    assert table.is_unique().all()
    full = table.drop(MAY_BE_EMPTY.get(name, []))
    assert full.null_count().sum_horizontal().item() == 0
    texts = full.select(pl.col(pl.String))
    assert texts.equals(texts.with_columns(pl.all().str.strip_chars()))
    assert not texts.select(pl.any_horizontal((pl.all() == "").any())).item()


def test_there_are_a_hundred_names_for_each_gender_and_race() -> None:
    names = facts("names")
    groups = names.group_by("gender", "race").len()
    assert groups["len"].to_list() == [100] * 8
    assert names["name"].is_unique().all()


def test_masculinity_is_a_share_and_orders_occupations_plausibly() -> None:
    occupations = facts("occupations")
    assert occupations["masculinity"].is_between(0, 1).all()
    assert occupations["occupation"].is_unique().all()
    rating = dict(occupations.select("occupation", "masculinity").iter_rows())
    assert rating["admiral"] > 0.5 > rating["air stewardess"]


def test_inventories_hold_single_words_for_both_genders() -> None:
    inventories = facts("inventories")
    groups = {(row[0], row[1]) for row in inventories.select("inventory", "gender").iter_rows()}
    kinds = {"bsri", "epaq", "gaucher", "gest", "nicolas", "wan"}
    assert groups == {(kind, gender) for kind in kinds for gender in ("male", "female")}
    assert inventories["word"].str.contains(r"^[a-z]+(-[a-z]+)*$").all()
    assert inventories.select("inventory", "word").is_unique().all()


def test_no_form_belongs_to_two_families_of_pronouns() -> None:
    pronouns = facts("pronouns")
    assert pronouns["kind"].to_list() == ["binary", "binary", "neutral", *["neo"] * 4]
    forms = [(form, row[0]) for row in pronouns.drop("kind").iter_rows() for form in set(row[1:])]
    assert len({form for form, _ in forms}) == len(forms)
    assert all(form == form.lower() for form, _ in forms)


def test_each_association_test_has_as_many_words_of_each_gender() -> None:
    words = facts("associations")
    assert words["word"].is_unique().all()
    counts = {(test, gender): n for test, gender, n in words.group_by("test", "gender").len().iter_rows()}
    sizes = {"career": 7, "power": 4, "science": 7}
    assert counts == {(test, gender): n for test, n in sizes.items() for gender in ("male", "female")}


@pytest.mark.parametrize(("wrong", "near"), [("name", "'names'"), ("../registry", "names")])
def test_an_unknown_table_is_refused_with_the_known_names(wrong: str, near: str) -> None:
    with pytest.raises(UnknownName, match=near):
        facts(wrong)
