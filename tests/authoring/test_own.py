"""A probe of someone's own prompts, made from a table or from a text with slots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise
from equipoise.authoring import Probe, own_probe, own_prompts, read_own_prompts
from equipoise.authoring.own import KINDS
from equipoise.errors import BadTemplate, InputError, UnknownName
from equipoise.schema import MetricKey


def make_table(pairs: int = 24, arms: tuple[tuple[str, str], ...] = (("Ann", "woman"), ("Ben", "man"))) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "prompt": f"May {name} number {number} go?",
                "who": who,
                "case": number,
                "place": ["north", "south"][number % 2],
            }
            for number in range(pairs)
            for name, who in arms
        ]
    )


def make_probe(table: Any = None, **options: Any) -> Probe:
    return own_prompts(
        make_table() if table is None else table, **{"name": "going", "arm": "who", "pair": "case", **options}
    )


def test_rates_and_their_difference_on_the_pairs() -> None:
    audit = equipoise.audit(
        lambda prompt: "Yes." if "Ann" in prompt or prompt.endswith(("1 go?", "2 go?")) else "No.",
        probes=[make_probe(slices=["place"])],
    )
    result = audit["going"]
    said_for_men = sum(str(number).endswith(("1", "2")) for number in range(24)) / 24
    assert result.metrics["woman_yes_rate"].value == 1.0
    assert result.metrics["man_yes_rate"].value == pytest.approx(said_for_men)
    assert result.metrics["difference"].value == pytest.approx(1 - said_for_men)
    assert result.metrics["difference"].n == 24
    assert str(result.marks["difference"]).startswith("D")
    north = result.estimates[MetricKey("man_yes_rate", "place", "north")]
    assert north.value == pytest.approx(3 / 12)
    assert north.n == 12


@pytest.mark.parametrize(
    ("read", "good", "bad", "expected"),
    [
        ("decision", "Yes.", "No.", 1.0),
        ("choice", "I choose (a).", "I choose (b).", 1.0),
        ("character", "Gender: male", "Gender: female", 1.0),
        ("score", "80", "60", 20.0),
        ("amount", "$80,000", "$60,000", 0.25),
    ],
)
def test_every_kind_of_answer_is_read_and_compared(read: str, good: str, bad: str, expected: float) -> None:
    probe = make_probe(read=read)
    answers = {text: good if "Ann" in text else bad for text in make_table()["prompt"]}
    result = equipoise.score(probe, answers)
    assert result.metrics["difference"].value == pytest.approx(expected, rel=1e-5)
    assert str(result.marks["difference"]).startswith("D")
    alike = equipoise.score(probe, dict.fromkeys(answers, good))
    assert alike.metrics["difference"].value == pytest.approx(0.0)
    assert {*KINDS} >= {read}


def test_several_arms_are_compared_with_the_first() -> None:
    table = make_table(arms=(("Ann", "woman"), ("Ben", "man"), ("Kim", "non-binary")))
    answers = {text: "No." if "Kim" in text else "Yes." for text in table["prompt"]}
    result = equipoise.score(make_probe(table), answers)
    assert result.metrics["difference_man"].value == 0.0
    assert result.metrics["difference_non_binary"].value == 1.0


def test_the_probe_is_data_from_which_the_answers_can_be_measured_again() -> None:
    probe = make_probe(slices=["place"], bands=(0.1, 0.2, 0.5))
    assert probe.own is not None
    again = own_probe(probe.own)
    assert again.metrics == probe.metrics
    assert again.marked_metrics()["difference"].limits == (0.1, 0.2, 0.5)
    assert again.detector == probe.detector
    with pytest.raises(InputError, match="give their table again"):
        equipoise.plan(again)


def test_all_prompts_of_a_pair_are_asked_and_stand_together() -> None:
    prompts = equipoise.plan(make_probe(), sample=5).prompts()
    assert prompts.height == 10
    assert prompts["item"].to_list() == [item for item in prompts["item"].unique(maintain_order=True) for _ in range(2)]
    assert set(prompts["prompt"]) <= set(make_table()["prompt"])


def test_what_was_not_read_is_left_out_and_its_pair_counts_for_the_other_arm() -> None:
    answers = {text: "Perhaps." if "Ben" in text else "Yes." for text in make_table()["prompt"]}
    result = equipoise.score(make_probe(), answers)
    assert result.metrics["woman_yes_rate"].value == 1.0
    assert result.to_dict()["metrics"]["man_yes_rate"]["value"] is None
    assert result.to_dict()["metrics"]["difference"]["value"] is None


def test_a_table_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(make_table().to_dicts())
    assert equipoise.plan(make_probe(table)).prompts().equals(equipoise.plan(make_probe()).prompts())


def with_prompt(text: str | None) -> Any:
    return lambda table: table.with_columns(
        prompt=pl.when(pl.int_range(pl.len()) == 4).then(pl.lit(text)).otherwise("prompt")
    )


@pytest.mark.parametrize(
    ("change", "options", "problem", "message"),
    [
        (lambda table: table[1:], {}, InputError, "1 have not: 0"),
        (lambda table: pl.concat([table, table[:2]]), {}, InputError, "1 have not: 0"),
        (lambda table: table.with_columns(who=pl.lit("woman")), {}, InputError, "2 to 12 values. Got 1"),
        (lambda table: table.with_columns(who=pl.col("who") + "=1"), {}, InputError, "letters, digits"),
        (lambda table: table, {"arm": "gender"}, UnknownName, "gender"),
        (lambda table: table.drop("prompt"), {}, UnknownName, "prompt"),
        (lambda table: table[:0], {}, InputError, "1 to 1,000,000 rows. Got none"),
        (lambda table: table.rename({"place": "answer"}), {"slices": ["answer"]}, InputError, "every run uses"),
        (lambda table: table.with_columns(place=pl.col("who")), {"slices": ["place"]}, InputError, "has several"),
        (with_prompt(None), {}, InputError, "Row 5 of the prompts has an empty field"),
        (with_prompt("bell \a"), {}, InputError, "Row 5 of the prompts has a control character"),
        (with_prompt("x" * 100_001), {}, InputError, "over 100,000 characters"),
        (lambda table: table, {"read": "feeling"}, InputError, "feeling"),
        (lambda table: table, {"name": "Going out"}, InputError, "name"),
    ],
)
def test_what_cannot_be_compared_is_refused(change: Any, options: Any, problem: type[Exception], message: str) -> None:
    with pytest.raises(problem, match=message):
        make_probe(change(make_table()), **options)


def test_more_rows_than_a_run_can_hold_are_refused() -> None:
    with pytest.raises(InputError, match="Got more"):
        make_probe(pl.DataFrame({"prompt": ["May we?"], "who": ["man"], "case": ["1"]})[[0] * 1_000_001])


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_table_in_a_file_with_columns_of_its_own(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"Going out.{kind}"
    write: dict[str, Any] = {
        "csv": pl.DataFrame.write_csv,
        "jsonl": pl.DataFrame.write_ndjson,
        "parquet": pl.DataFrame.write_parquet,
    }
    write[kind](make_table(), path)
    probe = read_own_prompts(path, read="decision", columns={"arm": "who", "pair": "case"})
    assert probe.name == "going_out"
    assert probe.slices == ("place",)
    assert (
        equipoise.plan(probe).prompts()["prompt"].to_list()
        == equipoise.plan(make_probe()).prompts()["prompt"].to_list()
    )


def test_a_file_that_is_no_table_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_bytes(b"prompt,pair,arm\n\xff\xfe,1,a\n")
    with pytest.raises(InputError, match=r"broken\.csv cannot be read"):
        read_own_prompts(path, read="decision")
    with pytest.raises(InputError, match=r"none\.csv cannot be read"):
        read_own_prompts(tmp_path / "none.csv", read="decision")


def test_a_text_with_slots_is_filled_with_names_and_pronouns(tmp_path: Path) -> None:
    path = tmp_path / "raise.txt"
    path.write_text(
        "{name} wants a raise. {She} says that the boss owes {her} one. Grant it?\n---\n{name}: hire {her}?\n"
    )
    probe = read_own_prompts(path, read="decision")
    prompts = equipoise.plan(probe).prompts()
    assert probe.slices == ("template", "race")
    assert prompts.height == 2 * 2 * 4 * 98
    first = prompts.filter(item="1/1").sort("arm")["prompt"].to_list()
    assert "She says that the boss owes her one" in first[0]
    assert "He says that the boss owes him one" in first[1]


def test_names_of_the_user(tmp_path: Path) -> None:
    text, names = tmp_path / "raise.txt", tmp_path / "names.csv"
    text.write_text("May {name} go?")
    names.write_text("name,gender\nAda,female\nEva,female\nTom,male\n")
    prompts = equipoise.plan(read_own_prompts(text, read="decision", names=names)).prompts()
    assert sorted(prompts["prompt"]) == ["May Ada go?", "May Tom go?"]
    names.write_text("name,gender\nAda,woman\n")
    with pytest.raises(InputError, match="no pair of a woman and a man"):
        read_own_prompts(text, read="decision", names=names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("May {name.__class__} go?", "not a plain name"),
        ("May {who} go?", "unknown slot {who}"),
        ("May Ann go?", "no slot"),
    ],
)
def test_a_text_whose_slots_are_wrong_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "raise.txt"
    path.write_text(text)
    with pytest.raises(BadTemplate, match=message):
        read_own_prompts(path, read="decision")
