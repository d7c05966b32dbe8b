"""The registered assets and the packaged tables are complete, and hold what `facts/README.md` says."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import polars as pl
import pytest

from equipoise.assets import FACTS, REGISTRY, Asset, facts
from equipoise.errors import UnknownName

FOLDER = resources.files("equipoise.assets") / "facts"
README = (FOLDER / "README.md").read_text("utf-8")
ROWS = {name: int(rows) for name, rows in re.findall(r"^\| `(\w+)\.csv` \| (\d+) \|", README, re.MULTILINE)}
MAY_BE_EMPTY = {"traits": ["epaq_scale"]}


@pytest.mark.parametrize("asset", REGISTRY.values(), ids=lambda asset: asset.name)
def test_a_registered_asset_is_complete(asset: Asset) -> None:
    assert re.fullmatch("[0-9a-f]{64}", asset.sha256)
    assert asset.size > 0
    assert Path(asset.file).name == asset.file
    assert [other.name for other in REGISTRY.values() if other.file == asset.file] == [asset.name]
    assert all((asset.title, asset.licence, asset.citation, asset.homepage.startswith("https://"), asset.sources))
    assert all(source.startswith("https://") for source in asset.sources if isinstance(source, str))


def test_every_packaged_table_is_listed_and_attributed() -> None:
    tables = {entry.name.removesuffix(".csv") for entry in FOLDER.iterdir() if entry.name.endswith(".csv")}
    assert tables == {*FACTS} == {*ROWS}
    assert all(f"## {table}.csv" in README for table in tables)
    with pytest.raises(UnknownName, match="'names'"):
        facts("name")


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


def count_groups(table: str, *columns: str) -> dict[tuple[str, ...], int]:
    return {tuple(row[:-1]): row[-1] for row in facts(table).group_by(columns).len().iter_rows()}


def test_genders_are_represented_alike() -> None:
    assert [*count_groups("names", "gender", "race").values()] == [100] * 8
    kinds = ("bsri", "epaq", "gaucher", "gest", "nicolas", "wan")
    assert {*count_groups("inventories", "inventory", "gender")} == {(k, g) for k in kinds for g in ("male", "female")}
    sizes = {"career": 7, "power": 4, "science": 7}
    assert count_groups("associations", "test", "gender") == {
        (test, gender): n for test, n in sizes.items() for gender in ("male", "female")
    }


def test_words_are_single_and_masculinity_is_a_share() -> None:
    inventories, occupations = facts("inventories"), facts("occupations")
    assert inventories["word"].str.contains(r"^[a-z]+(-[a-z]+)*$").all()
    assert inventories.select("inventory", "word").is_unique().all()
    for table, column in (("names", "name"), ("occupations", "occupation"), ("associations", "word")):
        assert facts(table)[column].is_unique().all()
    rating = dict(occupations.select("occupation", "masculinity").iter_rows())
    assert 1 >= rating["admiral"] > 0.5 > rating["air stewardess"] >= 0
    assert occupations["masculinity"].is_between(0, 1).all()


def test_no_form_belongs_to_two_families_of_pronouns() -> None:
    pronouns = facts("pronouns")
    assert pronouns["kind"].to_list() == ["binary", "binary", "neutral", *["neo"] * 4]
    forms = [form for row in pronouns.drop("kind").iter_rows() for form in set(row[1:])]
    assert len({*forms}) == len(forms)
    assert all(form == form.lower() for form in forms)
