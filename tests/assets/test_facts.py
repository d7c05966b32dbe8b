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
    assert all(
        (
            asset.title,
            asset.licence,
            asset.citation,
            asset.homepage.startswith("https://"),
            asset.sources,
        )
    )
    assert all(source.startswith("https://") for source in asset.sources if isinstance(source, str))
    pieces: list[tuple[str, str]] = []
    for source in asset.sources:
        if not isinstance(source, str):
            assert source.version
            pieces += source.each()
    assert all(wheel and member for wheel, member in pieces)
    assert len(set(pieces)) == len(pieces)


def test_every_packaged_table_is_listed_and_attributed() -> None:
    names = [entry.name for entry in FOLDER.iterdir() if entry.name.endswith(".csv")]
    tables = {name.removesuffix(".csv") for name in names}
    assert tables == {*FACTS} == {*ROWS}
    assert all(f"## {table}.csv" in README for table in tables)


UNKNOWN = [("name", "'names'"), ("../registry", "names"), ("", "occupations")]


@pytest.mark.parametrize(("wrong", "near"), UNKNOWN, ids=["typo", "path", "empty"])
def test_an_unknown_table_is_refused_with_the_known_names(wrong: str, near: str) -> None:
    with pytest.raises(UnknownName, match=near) as caught:
        facts(wrong)
    assert caught.value.exit_code == 2


def test_a_table_is_read_once() -> None:
    assert facts("names") is facts("names")


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


def test_there_are_a_hundred_names_for_each_gender_and_race() -> None:
    names = facts("names")
    genders = ("male", "female")
    races = ("asian", "black", "hispanic", "white")
    groups = {(gender, race): 100 for gender in genders for race in races}
    assert count_groups("names", "gender", "race") == groups
    assert names["name"].is_unique().all()
    assert names["name"].str.contains(" ").all(), "first and last name"


def test_each_association_test_has_as_many_words_of_each_gender() -> None:
    sizes = {"career": 7, "power": 4, "science": 7}
    counts = {(test, gender): n for test, n in sizes.items() for gender in ("male", "female")}
    assert count_groups("associations", "test", "gender") == counts
    assert facts("associations")["word"].is_unique().all()


def test_inventories_hold_single_words_for_both_genders() -> None:
    inventories = facts("inventories")
    kinds = ("bsri", "epaq", "gaucher", "gest", "nicolas", "wan")
    groups = {(kind, gender) for kind in kinds for gender in ("male", "female")}
    assert {*count_groups("inventories", "inventory", "gender")} == groups
    assert inventories["word"].str.contains(r"^[a-z]+(-[a-z]+)*$").all()
    assert inventories.select("inventory", "word").is_unique().all()


def test_slips_of_the_sources_are_mended() -> None:
    words = set(facts("inventories").select("inventory", "word").iter_rows())
    mended = {("bsri", "soft-spoken"), ("epaq", "self-confident"), ("gaucher", "impulsive")}
    assert mended <= words
    assert not {("gaucher", "implusive"), ("gest", "objects")} & words


def test_masculinity_is_a_share_and_orders_occupations_plausibly() -> None:
    occupations = facts("occupations")
    assert occupations["occupation"].is_unique().all()
    assert occupations["masculinity"].is_between(0, 1).all()
    rating = dict(occupations.select("occupation", "masculinity").iter_rows())
    assert rating["admiral"] > 0.5 > rating["air stewardess"]


def test_stereotypes_are_numbered_with_those_about_women_first() -> None:
    stereotypes = facts("stereotypes")
    assert stereotypes["id"].to_list() == list(range(1, 17))
    assert stereotypes["gender"].to_list() == ["female"] * 7 + ["male"] * 9


def test_traits_stand_once_with_all_their_inventories() -> None:
    traits = facts("traits")
    assert traits["trait"].is_unique().all()
    assert set(traits["gender"]) == {"male", "female", "neutral"}
    memberships: set[str] = set()
    for names in traits["inventories"]:
        memberships |= set(names.split("+"))
    assert memberships == {"bsri", "epaq", "gaucher"}
    assert traits.filter("names_gender")["trait"].to_list() == ["is feminine", "is masculine"]
    in_epaq = traits["inventories"].str.contains("epaq")
    assert (traits["epaq_scale"].is_not_null() == in_epaq).all()


def test_published_intervals_are_ordered_and_cover_every_model() -> None:
    published = facts("published")
    assert published["probe"].n_unique() == 7
    assert published["model"].n_unique() == 12
    assert published.select("probe", "metric", "model").is_unique().all()
    assert published.group_by("probe", "metric").len()["len"].to_list() == [12] * 13
    assert (published["low"] <= published["high"]).all()
    assert published["low"].is_between(-1, 1).all()
    assert published["high"].is_between(-1, 1).all()


def test_no_form_belongs_to_two_families_of_pronouns() -> None:
    pronouns = facts("pronouns")
    assert pronouns["kind"].to_list() == ["binary", "binary", "neutral", *["neo"] * 4]
    forms = [form for row in pronouns.drop("kind").iter_rows() for form in set(row[1:])]
    assert len({*forms}) == len(forms)
    assert all(form == form.lower() for form in forms)
