"""A probe of someone's own prompts, made from a table or from a text with slots."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise
from equipoise.authoring import Probe, own_probe, own_prompts
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.schema import MetricKey


def make_table(**more: str) -> pl.DataFrame:
    rows = [
        (f"May {name} number {number} go?", who, number, ["north", "south"][number % 2])
        for number in range(24)
        for name, who in {"Ann": "woman", "Ben": "man", **more}.items()
    ]
    return pl.DataFrame(rows, schema=["prompt", "who", "case", "place"], orient="row")


def make_probe(table: Any = None, **options: Any) -> Probe:
    return own_prompts(
        make_table() if table is None else table, **{"name": "going", "arm": "who", "pair": "case", **options}
    )


def test_rates_and_their_difference_on_the_pairs() -> None:
    audit = equipoise.audit(
        lambda prompt: "Yes." if "Ann" in prompt or prompt.endswith(("1 go?", "2 go?")) else "No.",
        probes=[make_probe()],
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
    answers = {text: good if "Ann" in text else bad for text in make_table(Kim="non-binary")["prompt"]}
    result = equipoise.score(probe, {text: answers[text] for text in make_table()["prompt"]})
    assert result.metrics["difference"].value == pytest.approx(expected, rel=1e-5)
    assert str(result.marks["difference"]).startswith("D")
    several = equipoise.score(make_probe(make_table(Kim="non-binary"), read=read), answers).metrics
    assert (
        several["difference_man"].value == several["difference_non_binary"].value == pytest.approx(expected, rel=1e-5)
    )


@pytest.mark.parametrize(
    ("read", "answer"),
    [
        ("decision", "Yes."),
        ("choice", "I choose (a)."),
        ("character", "Gender: male"),
        ("score", "80"),
        ("amount", "$80,000"),
    ],
)
def test_equal_answers_make_no_difference(read: str, answer: str) -> None:
    result = equipoise.score(make_probe(read=read), dict.fromkeys(make_table()["prompt"], answer))
    assert result.metrics["difference"].value == pytest.approx(0.0)


def test_several_arms_are_compared_with_the_first() -> None:
    table = make_table(Kim="non-binary")
    answers = {text: "No." if "Kim" in text else "Yes." for text in table["prompt"]}
    metrics = equipoise.score(make_probe(table), answers).metrics
    assert metrics["difference_man"].value == 0.0
    assert metrics["difference_non_binary"].value == 1.0


def test_all_prompts_of_a_pair_are_asked_and_stand_together() -> None:
    prompts = equipoise.plan(make_probe(), sample=5).prompts()
    assert prompts.height == 10
    items = prompts["item"].to_list()
    assert items[::2] == items[1::2]
    assert len(set(items)) == 5
    assert set(prompts["prompt"]) <= set(make_table()["prompt"])


def test_where_an_arm_was_never_read_it_has_no_rate_and_there_is_no_difference() -> None:
    answers = {text: "Perhaps." if "Ben" in text else "Yes." for text in make_table()["prompt"]}
    metrics = equipoise.score(make_probe(), answers).to_dict()["metrics"]
    assert metrics["woman_yes_rate"]["value"] == 1.0
    assert metrics["man_yes_rate"]["value"] is None
    assert metrics["difference"]["value"] is None


def test_the_probe_is_data_from_which_the_answers_can_be_measured_again() -> None:
    probe = make_probe(bands=(0.1, 0.2, 0.5))
    assert probe.own is not None
    again = own_probe(probe.own)
    assert again.metrics == probe.metrics
    assert again.marked_metrics()["difference"].limits == (0.1, 0.2, 0.5)
    assert again.detector == probe.detector
    with pytest.raises(InputError, match="give their table again"):
        equipoise.plan(again)


def test_prompts_asked_again_and_again_have_the_same_interval_without_their_table(tmp_path: Path) -> None:
    flips = itertools.cycle(["Yes.", "No.", "Yes."])
    audit = equipoise.audit(lambda _: next(flips), probes=[make_probe()], repeat=4, out=tmp_path / "own.equipoise")
    without = equipoise.Run.open(tmp_path / "own.equipoise")["going"]
    assert without.to_dict() == audit["going"].to_dict()
    estimate, wide = without.metrics["difference"], without.generalised["difference"]
    assert (wide.low, wide.high) != (estimate.low, estimate.high), "for these prompts, of which all were asked"


def test_slices_are_columns_that_divide_the_pairs_into_a_few_groups() -> None:
    table = make_table().with_columns(
        names=pl.col("prompt"),
        by=pl.col("who"),
        same=pl.lit("x"),
        gap=pl.lit(None),
        many=pl.lit([1]),
        status=pl.lit("a"),
    )
    assert make_probe(table).slices == ("place",)


def with_prompt(text: str | None) -> Any:
    return lambda table: table.with_columns(
        prompt=pl.when(pl.int_range(pl.len()) == 4).then(pl.lit(text)).otherwise("prompt")
    )


@pytest.mark.parametrize(
    ("change", "options", "problem", "message"),
    [
        (lambda table: table[1:], {}, InputError, "1 have not: 0"),
        (lambda table: pl.concat([table, table[:2]]), {}, InputError, "1 have not: 0"),
        (lambda table: table.with_columns(who=pl.lit("woman"))[::2], {}, InputError, "length >= 2 - at `.*arms"),
        (lambda table: table.with_columns(who=pl.col("who") + "=1"), {}, InputError, "cannot be described so: .*arms"),
        (lambda table: table, {"arm": "gender"}, UnknownName, "gender"),
        (lambda table: table.rename({"who": "answer"}), {"arm": "answer"}, InputError, "every run uses"),
        (lambda table: table.drop("prompt"), {}, UnknownName, "prompt"),
        (lambda table: table.drop("case"), {}, UnknownName, "case"),
        (lambda table: table[:0], {}, InputError, "1 to 1,000,000 rows. Got none"),
        (lambda table: table[[0] * 1_000_001], {}, InputError, "Got more"),
        (with_prompt(None), {}, InputError, "Row 5 of the prompts has an empty field"),
        (with_prompt("bell \a"), {}, InputError, "Row 5 of the prompts has .* a control character"),
        (with_prompt("x" * 100_001), {}, InputError, "over 100,000 characters"),
        (lambda table: table, {"read": "feeling"}, InputError, "feeling"),
        (lambda table: table, {"name": "Going out"}, InputError, "name"),
    ],
)
def test_what_cannot_be_compared_is_refused(change: Any, options: Any, problem: type[Exception], message: str) -> None:
    with pytest.raises(problem, match=message):
        make_probe(change(make_table()), **options)


def list_asked(probe: Probe) -> list[str]:
    """The prompts of a small sample."""
    prompts: list[str] = equipoise.plan(probe, sample=5).prompts()["prompt"].to_list()
    return prompts


WRITERS: dict[str, Any] = {
    "csv": pl.DataFrame.write_csv,
    "jsonl": pl.DataFrame.write_ndjson,
    "parquet": pl.DataFrame.write_parquet,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_table_in_a_file_with_columns_of_its_own(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"Going out.{kind}"
    WRITERS[kind](make_table(), path)
    probe = own_prompts(path, arm="who", pair="case")
    assert probe.name == "going_out"
    assert probe.slices == ("place",)
    assert list_asked(probe) == list_asked(make_probe())


def test_a_table_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    probe = own_prompts(pandas.DataFrame(make_table().to_dicts()), arm="who", pair="case")
    assert probe.name == "own"
    assert probe.slices == ("place",)
    assert list_asked(probe) == list_asked(make_probe())


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    for name in ("broken.csv", "broken.txt"):
        (tmp_path / name).write_bytes(b"prompt,pair,arm\n\xff\xfe,1,a\n")
    for name in ("broken.csv", "broken.txt", "none.csv"):
        with pytest.raises(InputError, match=rf"{name} cannot be read"):
            own_prompts(tmp_path / name)


def test_a_text_with_slots_is_filled_with_names_and_pronouns(tmp_path: Path) -> None:
    path = tmp_path / "raise.txt"
    path.write_text(
        "{name} wants a raise. {She} says that the boss owes {her} one. Grant it?\n---\n{name}: hire {her}?\n"
    )
    probe = own_prompts(path)
    prompts = equipoise.plan(probe).prompts()
    assert probe.slices == ("template", "race")
    assert prompts.height == 2 * 2 * 4 * 98
    first = prompts.filter(item="1/1").sort("arm")["prompt"].to_list()
    assert "She says that the boss owes her one" in first[0]
    assert "He says that the boss owes him one" in first[1]


def test_names_of_the_user(tmp_path: Path) -> None:
    text, names = tmp_path / "raise.txt", tmp_path / "names.csv"
    text.write_text("May {name} go?")
    names.write_text("name,gender\nAda,female\n,male\nEva,female\nTom,male\n")
    prompts = equipoise.plan(own_prompts(text, names=names)).prompts()
    assert sorted(prompts["prompt"]) == ["May Ada go?", "May Tom go?"]
    names.write_text("name,gender\nAda,woman\n")
    with pytest.raises(InputError, match="no pair of a woman and a man"):
        own_prompts(text, names=names)


@pytest.mark.parametrize(
    ("text", "problem", "message"),
    [
        ("May {name.__class__} go?", BadParameter, "not a plain name"),
        ("May {who} go?", BadParameter, "these slots, and no others: {name}, {she}"),
        ("May Ann go?", BadParameter, "one or more of these slots"),
        ("---", InputError, "Got none"),
    ],
)
def test_a_text_whose_slots_are_wrong_is_refused(
    tmp_path: Path, text: str, problem: type[Exception], message: str
) -> None:
    path = tmp_path / "raise.txt"
    path.write_text(text)
    with pytest.raises(problem, match=message):
        own_prompts(path)
