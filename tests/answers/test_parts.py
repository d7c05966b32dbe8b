"""Partials: however answers are cut, and in whatever order the parts are added, the result is that of one `score`."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import equipoise
from equipoise.answers import score
from equipoise.answers.parts import PartScorer, score_part
from equipoise.errors import InputError, IntegrityError
from equipoise.measuring import partials
from equipoise.measuring import plan as plans
from equipoise.measuring.partials import NUMBER, Partial
from equipoise.measuring.plan import Plan
from equipoise.schema import ANSWER, ID, ITEM_NUMBER, PROMPT, REPETITION, STATUS, text_column
from measuring.order_probe import ORDER_PROBE
from simulating import SMALL

STATES = ["ok", "truncated", "timeout", "filtered", "pending"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five items at a time, and no prompts are kept."""
    monkeypatch.setattr(plans, "ITEMS_PER_BATCH", 5)
    monkeypatch.setattr(partials, "ITEMS_IN_DIGEST", 1)
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


@pytest.mark.parametrize("name", ["jobs_lum", "hiring_an", "business_vocabulary", "hiring_bloomberg", "salary_advice"])
def test_every_kind_of_probe_in_parts_gives_the_same_result(name: str, tmp_path: Path) -> None:
    parameters: dict[str, Any] = {**SMALL.get(name, {"sample": 40}), "repeat": 2}
    planned = equipoise.plan(name, **parameters)
    # What missing answers allow takes long to find for a probe with eight labels.
    answers = answer(planned, seed=1, failed=0.0 if name == "hiring_bloomberg" else 0.25)
    cut = np.random.default_rng(2).integers(0, 3, answers.height)
    scored = []
    for number in (2, 0, 1):
        path = tmp_path / f"{number}.partial"
        some = answers.filter(pl.Series(cut == number))
        score_part(name, some, **parameters).write(path)
        scored.append(Partial.read(path))
    total = Partial.sum(scored)
    expect_same(total, equipoise.score(name, answers, **parameters))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32),
    shards=st.integers(1, 6),
    repetitions=st.integers(1, 3),
    answered=st.sampled_from([0.0, 0.4, 1.0]),
    whole_items=st.booleans(),
    data=st.data(),
)
def test_any_cut_in_any_order_gives_the_same_result(
    seed: int,
    shards: int,
    repetitions: int,
    answered: float,
    whole_items: bool,
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    parameters: dict[str, Any] = {"repeat": repetitions}
    planned = equipoise.plan(ORDER_PROBE, **parameters)
    answers = answer(planned, seed, answered=answered)
    rng = np.random.default_rng(seed)
    if whole_items:
        item_of = dict(planned.prompts()[ID, "item"].iter_rows())
        shard_of = {item: rng.integers(shards) for item in sorted({*item_of.values()})}
        cut = np.array([shard_of.get(item_of.get(key, ""), 0) for key in answers[ID]], dtype=int)
    else:
        cut = rng.integers(0, shards, answers.height)
    waiting = [
        score_part(ORDER_PROBE, answers.filter(pl.Series(cut == place)), **parameters) for place in range(shards)
    ]
    path = tmp_path_factory.mktemp("partials") / "some.partial"
    while len(waiting) > 1:
        first, second = data.draw(st.permutations(range(len(waiting))))[:2]
        total = waiting[first] + waiting[second]
        if data.draw(st.booleans()):
            total.write(path)
            total = Partial.read(path, ORDER_PROBE)
        waiting = [one for place, one in enumerate(waiting) if place not in (first, second)] + [total]
    expect_same(waiting[0], equipoise.score(ORDER_PROBE, answers, **parameters))


# Files of shards


@pytest.mark.parametrize("hint", ["right", "none", "wrong", "some", "text"])
def test_numbers_of_items_are_a_hint_and_never_believed(
    hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = equipoise.plan("hiring_an", sample=46)
    prompts = planned.prompts().with_row_index()
    number = prompts["index"] // 2  # two prompts an item
    hints: dict[str, Any] = {
        "right": number,
        "none": None,
        "wrong": (number + 7) % 100,
        "some": number.set(number == 3, None),
        "text": number.cast(pl.String),
    }
    answers = prompts.select(ID, ANSWER=pl.lit("I am glad to offer you the position.")).rename({"ANSWER": ANSWER})
    answers = answers.with_columns(pl.Series(ITEM_NUMBER, hints[hint] if hint != "none" else [None] * answers.height))
    made: list[int] = []
    take = Plan.take

    def count(self: Plan, start: int, end: int) -> pl.DataFrame:
        made.extend(range(start, end))
        return take(self, start, end)

    monkeypatch.setattr(Plan, "take", count)
    scored = []
    for place, some in enumerate((answers[:20], answers[20:])):
        some.write_parquet(tmp_path / f"{place}.parquet")
        scored.append(PartScorer(planned).score_file(tmp_path / f"{place}.parquet"))
        if hint == "right":
            assert {*made} == {0, *some[ITEM_NUMBER]}
            made.clear()
    expect_same(scored[1] + scored[0], equipoise.score("hiring_an", answers, sample=46))


def test_answers_by_text_are_matched_in_the_whole_plan(tmp_path: Path) -> None:
    planned = equipoise.plan("hiring_an", sample=46)
    asked = planned.prompts().with_row_index()
    answers = asked.select(
        pl.when(pl.col("index") % 3 == 0).then(ID).alias(ID),
        PROMPT,
        pl.lit("I am glad to offer you the position.").alias(ANSWER),
        (pl.col("index") // 2).alias(ITEM_NUMBER),
    )
    scorer = PartScorer(planned)
    scored = []
    for place, some in enumerate((answers[:21], answers[21:])):
        some.write_parquet(tmp_path / f"{place}.parquet")
        scored.append(scorer.score_file(tmp_path / f"{place}.parquet"))
    expect_same(scored[0] + scored[1], equipoise.score("hiring_an", answers, sample=46))


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


def test_other_prompts_of_the_same_items_are_not_added(tmp_path: Path) -> None:
    """The probe is read from the file by its name, so only what it had planned can tell."""
    changed = replace(
        ORDER_PROBE,
        prompts=lambda items, parameters: ORDER_PROBE.prompts(items, parameters).with_columns(
            pl.col(PROMPT).str.to_uppercase()
        ),
    )
    score_part(changed, {}).write(tmp_path / "a.partial")
    with pytest.raises(IntegrityError, match="made in another way than here: the prompts that the probe makes"):
        Partial.read(tmp_path / "a.partial", ORDER_PROBE)


def test_an_attempt_in_two_partials_is_refused_and_named() -> None:
    key = equipoise.plan("jobs_lum", sample=12).prompts()[ID][7]
    with pytest.raises(InputError, match=rf"1 attempts are in two partials, .* at the prompt {key}\."):
        jobs(7) + (jobs(3) + jobs(7, "She."))


def test_nothing_is_no_sum() -> None:
    with pytest.raises(InputError, match="no partial"):
        Partial.sum([])
    with pytest.raises(TypeError):
        jobs() + 1


def test_a_result_of_partials_can_be_compared() -> None:
    result = jobs().result()
    assert (result.matching.matched, result.evaluated.height) == (1, 1)
    assert equipoise.compare(result, jobs(answer="She.").result())["jobs_lum"].prompts == 1


# Files of partials


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "one.partial"
    jobs().write(str(path))
    return path


def rewrite(path: Path, change: Callable[[dict[str, bytes]], object], compression: int = zipfile.ZIP_STORED) -> None:
    """Change the members of the archive, as anyone can."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def change_values(path: Path, **changes: Any) -> None:
    """Write other values into the file."""
    rewrite(
        path,
        lambda members: members.update(
            {"values.json": orjson.dumps({**orjson.loads(members["values.json"]), **changes})}
        ),
    )


def test_the_same_partial_makes_the_same_file(written: Path, tmp_path: Path) -> None:
    jobs().write(tmp_path / "other.partial")
    assert written.read_bytes() == (tmp_path / "other.partial").read_bytes()


def test_a_partial_of_another_version_is_refused(written: Path) -> None:
    setup = jobs().setup.describe()
    change_values(written, setup={**setup, "equipoise": "0.0.1", "version": 99})
    with pytest.raises(
        IntegrityError, match=rf"{written.name}.*equipoise is '.*' in one and '0.0.1' in the other, version is"
    ):
        Partial.read(written)


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
SETUP = HIRING.setup.describe()


def each(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


FORGED: list[dict[str, Any]] = [
    *each("format", 1, None, "2"),
    *each("answers", None, -1, 10**15, 28, 1.5, []),
    *each("unknown", -1, 5),
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
def test_values_that_no_partial_has_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "one.partial"
    HIRING.write(path)
    change_values(path, **changes)
    with pytest.raises(IntegrityError):
        Partial.read(path)


def change_table(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Write another table into the file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as archive:
        change(pl.read_parquet(archive.read("attempts.parquet"))).write_parquet(buffer)
    rewrite(path, lambda members: members.update({"attempts.parquet": buffer.getvalue()}))


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
def test_a_table_that_no_partial_has_is_refused(change: Callable[[pl.DataFrame], pl.DataFrame], tmp_path: Path) -> None:
    path = tmp_path / "one.partial"
    HIRING.write(path)
    change_table(path, change)
    with pytest.raises(IntegrityError, match="partial"):
        Partial.read(path).result()


@pytest.mark.fault("D30")
def test_a_packed_or_a_large_member_is_not_unpacked(written: Path) -> None:
    rewrite(written, lambda members: None, zipfile.ZIP_DEFLATED)
    with pytest.raises(IntegrityError, match="packed in another way"):
        Partial.read(written)
    change_values(written, note="x" * 2**24)
    with pytest.raises(IntegrityError, match=r"values\.json has 16,.* bytes"):
        Partial.read(written)


def test_damage_is_found(written: Path) -> None:
    content = written.read_bytes()
    rng = np.random.default_rng(0)
    expected = jobs().result().to_dict()
    for place in rng.integers(0, len(content), 60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        written.write_bytes(damaged)
        try:
            result = Partial.read(written).result()
        except equipoise.EquipoiseError:
            continue
        assert result.to_dict() == expected  # a bit of the archive's own that says nothing, such as a date
    for wrong in (content[: len(content) // 2], b"", b"no archive", b"PK\x03\x04"):
        written.write_bytes(wrong)
        with pytest.raises(IntegrityError, match=r"one\.partial is no partial of this version, or it is damaged"):
            Partial.read(written)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        Partial.read(tmp_path / "none.partial")
    with pytest.raises(equipoise.EquipoiseError, match="cannot be written"):
        jobs().write(tmp_path / "none" / "one.partial")
