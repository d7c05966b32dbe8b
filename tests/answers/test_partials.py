"""Partials: however answers are cut, and in whatever order the parts are added, the result is that of one `score`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest

import equipoise
from equipoise.answers import score
from equipoise.answers.shards import PartScorer, score_part
from equipoise.authoring import Probe
from equipoise.errors import InputError, IntegrityError, StorageError
from equipoise.measuring import partials
from equipoise.measuring import plan as plans
from equipoise.measuring.partials import NUMBER, VALUES, Partial
from equipoise.measuring.plan import Plan
from equipoise.schema import ANSWER, ID, ITEM_NUMBER, PROMPT, REPETITION, STATUS, text_column
from measuring.order_probe import ORDER_PROBE
from simulating import SMALL

STATES = ["ok", "truncated", "timeout", "filtered", "pending"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few items at a time, and no prompts are kept."""
    monkeypatch.setattr(plans, "ITEMS_PER_BATCH", 16)
    monkeypatch.setattr(score, "ITEMS_IN_MEMORY", 0)


def answer(planned: Plan, seed: int, *, answered: float = 0.9, failed: float = 0.25) -> pl.DataFrame:
    """Answers to most attempts, some of which failed, in no order; some to unknown prompts."""
    asked = planned.attempts()
    rng = np.random.default_rng(seed)
    texts = planned.probe.simulate(asked, planned.probe.stances()[0], rng)
    states = rng.choice(STATES, asked.height, p=[1 - failed, *[failed / (len(STATES) - 1)] * (len(STATES) - 1)])
    answers = asked.select(ID, REPETITION).with_columns(text_column(ANSWER, texts), pl.Series(STATUS, states))
    answers = answers.filter(pl.Series(rng.random(answers.height) < answered))
    unknown = answers[:3].with_columns(pl.lit("none of ours").alias(ID))
    return pl.concat([answers, unknown]).sample(fraction=1.0, shuffle=True, seed=seed)


def expect_same(partial: Partial, expected: equipoise.Result) -> None:
    result = partial.result()
    assert result.to_dict() == expected.to_dict()
    assert result.estimates == expected.estimates or str(result.estimates) == str(expected.estimates)
    assert list(result.coverage) == list(expected.coverage)
    assert result.to_frame().equals(expected.to_frame())


@pytest.mark.parametrize(
    "probe", ["hiring_an", "business_vocabulary", "hiring_bloomberg", ORDER_PROBE], ids=lambda probe: str(probe)[:20]
)
def test_any_cut_in_any_order_gives_the_same_result(probe: str | Probe, tmp_path: Path) -> None:
    repeat: dict[str, Any] = {"repeat": 2}
    parameters = repeat if isinstance(probe, Probe) else {**SMALL.get(probe, {"sample": 24}), **repeat}
    planned = equipoise.plan(probe, **parameters)
    # What missing answers allow takes long to find for a probe with eight labels.
    answers = answer(planned, seed=1, failed=0.0 if probe == "hiring_bloomberg" else 0.25)
    rng = np.random.default_rng(2)
    cut = rng.integers(0, 2, answers.height)
    total = None
    for number in rng.permutation(3):  # one of three is empty
        score_part(probe, answers.filter(pl.Series(cut == number)), **parameters).write(tmp_path / "some.partial")
        read = Partial.read(tmp_path / "some.partial", None if isinstance(probe, str) else probe)
        total = read if total is None else total + read
    assert total is not None
    expect_same(total, equipoise.score(probe, answers, **parameters))


# Files of shards


@pytest.mark.parametrize("hint", ["right", "wrong", "some", "text", "by text"])
def test_numbers_of_items_are_a_hint_and_never_believed(
    hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = equipoise.plan("hiring_an", sample=40)
    prompts = planned.prompts().with_row_index()
    number = prompts["index"] // 2  # two prompts an item
    hints = {"wrong": (number + 7) % 100, "some": number.set(number == 3, None), "text": number.cast(pl.String)}
    answers = prompts.select(
        pl.when((pl.col("index") % 3 == 0) | (hint != "by text")).then(ID).alias(ID),
        PROMPT,
        pl.lit("I am glad to offer you the position.").alias(ANSWER),
        hints.get(hint, number).alias(ITEM_NUMBER),
    )
    made: list[int] = []
    take = Plan.take

    def count(self: Plan, start: int, end: int) -> pl.DataFrame:
        made.extend(range(start, end))
        return take(self, start, end)

    monkeypatch.setattr(Plan, "take", count)
    monkeypatch.setattr(partials, "ITEMS_IN_DIGEST", 1)
    scored = []
    for some in (answers[:21], answers[21:]):
        some.write_parquet(tmp_path / "some.parquet")
        scored.append(PartScorer(planned).score_file(tmp_path / "some.parquet"))
        if hint == "right":
            assert {*made} == {0, *some[ITEM_NUMBER]}
            made.clear()
    expect_same(scored[1] + scored[0], equipoise.score("hiring_an", answers, sample=40))


# What is refused


def jobs(place: int = 0, answer: str = "He.", **parameters: Any) -> Partial:
    """The answer to one prompt of jobs_lum."""
    key = equipoise.plan("jobs_lum", sample=12).prompts()[ID][place]
    return score_part("jobs_lum", {key: answer}, **{"sample": 12, **parameters})


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (lambda: jobs(1, seed=1), "seed is 0 in one and 1 in the other"),
        (lambda: jobs(1, sample=13), "sample is 12 in one and 13 in the other"),
        (lambda: jobs(1, repeat=2), "repeat is 1 in one and 2 in the other"),
        (lambda: jobs(1, reading="specified"), "reading is 'careful' in one and 'specified' in the other"),
        (lambda: score_part(ORDER_PROBE, {}), "probe is 'jobs_lum' in one and 'order' in the other"),
    ],
)
def test_partials_of_different_setups_are_not_added(other: Callable[[], Partial], named: str) -> None:
    with pytest.raises(IntegrityError, match=rf"Partials of different setups cannot be added: .*{named}"):
        jobs() + other()


def test_an_attempt_in_two_partials_is_refused_and_named() -> None:
    key = equipoise.plan("jobs_lum", sample=12).prompts()[ID][7]
    with pytest.raises(InputError, match=rf"1 attempts are in two partials, .* at the prompt {key}\."):
        jobs(7) + (jobs(3) + jobs(7, "She."))


def test_a_result_of_partials_can_be_compared() -> None:
    result = jobs().result()
    assert (result.matching.matched, result.evaluated.height) == (1, 1)
    assert equipoise.compare(result, jobs(answer="She.").result())["jobs_lum"].prompts == 1


# Files of partials, as anyone can change them


def hiring() -> Partial:
    """A partial with whole items, and with a part of one."""
    asked: dict[str, Any] = {"sample": 16, "repeat": 2}
    texts = ["We are pleased to offer you the position.", "We regret to inform you."]
    rows = [
        {ID: key, REPETITION: number + 1, ANSWER: text}
        for key in equipoise.plan("hiring_an", **asked).prompts()[ID]
        for number, text in enumerate(texts)
    ]
    return score_part("hiring_an", rows[:-3], **asked)


HIRING = hiring()
SETUP, MATCHING = HIRING.setup.describe(), asdict(HIRING.values.matching)
Table = pl.DataFrame


@pytest.fixture
def written(tmp_path: Path) -> Path:
    HIRING.write(tmp_path / "one.partial")
    return tmp_path / "one.partial"


def forge(path: Path, change: Callable[[Table], Table] = lambda table: table, **values: Any) -> None:
    """Change the table or the values of a file."""
    before = orjson.loads(pl.read_parquet_metadata(path)[VALUES])
    changed = change(pl.read_parquet(path.read_bytes()))
    changed.write_parquet(path, metadata={VALUES: orjson.dumps({**before, **values}).decode()})


def each(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


FORGED: list[dict[str, Any]] = [
    *each("format", 2, None, "1"),
    *each("matching", None, {}, []),
    *({"matching": {**MATCHING, **change}} for change in each("read", None, -1, 10**15, 28, 1.5, [])),
    *({"matching": {**MATCHING, **change}} for change in each("unknown", -1, 5)),
    *each("note", 1),
    *each("prompts", None, "0"),
    *each("setup", 3, {"probe": "hiring_an"}, {**SETUP, "parameters": {"sample": -5}}),
    *(
        {"setup": {**SETUP, "parameters": {**SETUP["parameters"], name: value}}}
        for name, value in (("sample", -5), ("sample", 18), ("repeat", 10**9), ("nonsense", [1]))
    ),
    *({"setup": {**SETUP, name: "0"}} for name in ("corpus_sha256", "version", "equipoise")),
]


@pytest.mark.fault("D30")
@pytest.mark.parametrize("changes", FORGED, ids=lambda changes: str(changes)[:60])
def test_values_that_no_partial_has_are_refused(changes: dict[str, Any], written: Path) -> None:
    forge(written, **changes)
    with pytest.raises(IntegrityError, match=written.name):
        Partial.read(written)


@pytest.mark.fault("D30")
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.drop(table.columns[-1]),
        lambda table: table.with_columns(pl.lit("x").alias(table.columns[0])).rename({table.columns[0]: "y"}),
        lambda table: table.cast({STATUS: pl.String}),
        lambda table: table.with_columns(pl.lit(None, table.schema[STATUS]).alias(STATUS)),
        lambda table: pl.concat([table] * 40),
        lambda table: table.reverse(),
        lambda table: table.with_columns(pl.col(pl.Int64) * -1),
        lambda table: table.with_columns(pl.col(REPETITION) + 1),
        lambda table: table.with_columns(pl.col(NUMBER) + 2**40),
        lambda table: table.with_columns(pl.col(NUMBER) + 5),
        lambda table: table[1:],
        lambda table: pl.select(pl.lit(0).repeat_by(10**6).explode().alias(table.columns[0])),
    ],
)
def test_a_table_that_no_partial_has_is_refused(change: Callable[[Table], Table], written: Path) -> None:
    forge(written, change)
    with pytest.raises(IntegrityError, match="partial"):
        Partial.read(written).result()


def test_damage_is_found(written: Path) -> None:
    content = written.read_bytes()
    HIRING.write(written)
    assert written.read_bytes() == content  # the same partial makes the same file
    rng = np.random.default_rng(0)
    expected = HIRING.result().to_dict()
    for place in rng.integers(0, len(content), 40):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        written.write_bytes(damaged)
        with suppress(equipoise.EquipoiseError):
            assert Partial.read(written).result().to_dict() == expected
    for wrong in (content[: len(content) // 2], b"", b"no table", b"PAR1"):
        written.write_bytes(wrong)
        with pytest.raises(IntegrityError, match=r"one\.partial is no partial of this version, or it is damaged"):
            Partial.read(written)
    with pytest.raises(InputError, match="There is no file"):
        Partial.read(written.with_name("none.partial"))
    with pytest.raises(StorageError, match="cannot be written"):
        HIRING.write(written / "one.partial")
