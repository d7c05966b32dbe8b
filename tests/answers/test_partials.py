"""Partials: however answers are cut, and in whatever order the parts are added, the result is that of one `score`."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import equipoise
from equipoise.answers import score
from equipoise.answers.prompts import split_plan, write_prompts
from equipoise.answers.shards import PartScorer, score_part
from equipoise.authoring import Probe
from equipoise.errors import InputError, IntegrityError
from equipoise.measuring import partials
from equipoise.measuring import plan as plans
from equipoise.measuring.partials import Partial
from equipoise.measuring.plan import Plan
from equipoise.schema import ANSWER, ID, ITEM, ITEM_NUMBER, PROMPT, REPETITION, STATUS, text_column
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


@pytest.mark.parametrize("name", SMALL)
def test_every_probe_in_parts_gives_the_same_result(name: str, tmp_path: Path) -> None:
    parameters: dict[str, Any] = {**SMALL[name], "repeat": 2}
    planned = equipoise.plan(name, **parameters)
    # What missing answers allow takes long to find for a probe with eight labels.
    failed = 0.0 if name == "hiring_bloomberg" else 0.25
    answers = answer(planned, seed=1, failed=failed)
    cut = np.random.default_rng(2).integers(0, 3, answers.height)
    scored = []
    for number in (2, 0, 1):
        path = tmp_path / f"{number}.partial"
        some = answers.filter(pl.Series(cut == number))
        score_part(name, some, **parameters).write(path)
        scored.append(Partial.read(path))
    expect_same(Partial.sum(scored), equipoise.score(name, answers, **parameters))


def cut_answers(planned: Plan, answers: pl.DataFrame, shards: int, seed: int, whole_items: bool) -> list[pl.DataFrame]:
    """The answers in shards, cut anywhere or only between items."""
    rng = np.random.default_rng(seed)
    if whole_items:
        item_of = dict(planned.prompts()[ID, ITEM].iter_rows())
        shard_of = {item: rng.integers(shards) for item in sorted({*item_of.values()})}
        cut = np.array([shard_of.get(item_of.get(key, ""), 0) for key in answers[ID]], dtype=int)
    else:
        cut = rng.integers(0, shards, answers.height)
    return [answers.filter(pl.Series(cut == number)) for number in range(shards)]


@settings(max_examples=20)
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
    planned = equipoise.plan(ORDER_PROBE, repeat=repetitions)
    answers = answer(planned, seed, answered=answered)
    path = tmp_path_factory.getbasetemp() / "any-cut.partial"
    waiting = [
        score_part(ORDER_PROBE, some, repeat=repetitions)
        for some in cut_answers(planned, answers, shards, seed, whole_items)
    ]
    while len(waiting) > 1:
        first = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
        second = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
        total = first + second
        if data.draw(st.booleans()):
            total.write(path)
            total = Partial.read(path, ORDER_PROBE)
        waiting.append(total)
    expect_same(waiting[0], equipoise.score(ORDER_PROBE, answers, repeat=repetitions))


def test_an_empty_part_changes_nothing() -> None:
    answers = answer(equipoise.plan("hiring_an", sample=80), seed=3)
    total = score_part("hiring_an", {}, sample=80) + score_part("hiring_an", answers, sample=80)
    expect_same(total, equipoise.score("hiring_an", answers, sample=80))


# Files of shards


def record_items_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of all items of which prompts are made from now on."""
    made: list[int] = []
    take = Plan.take

    def count(self: Plan, start: int, end: int) -> pl.DataFrame:
        made.extend(range(start, end))
        return take(self, start, end)

    monkeypatch.setattr(Plan, "take", count)
    monkeypatch.setattr(partials, "ITEMS_IN_DIGEST", 1)
    return made


@pytest.mark.parametrize("hint", ["right", "none", "wrong", "some", "text"])
def test_numbers_of_items_are_a_hint_and_never_believed(
    hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = equipoise.plan("hiring_an", sample=40)
    prompts = planned.prompts().with_row_index()
    number = prompts["index"] // 2  # two prompts an item
    hints = {
        "right": number,
        "none": pl.Series([None] * prompts.height, dtype=pl.Int64),
        "wrong": (number + 7) % 100,
        "some": number.set(number == 3, None),
        "text": number.cast(pl.String),
    }
    answers = prompts.select(
        ID,
        pl.lit("I am glad to offer you the position.").alias(ANSWER),
        hints[hint].alias(ITEM_NUMBER),
    )
    made = record_items_made(monkeypatch)
    scored = []
    for some in (answers[:21], answers[21:]):
        some.write_parquet(tmp_path / "some.parquet")
        scored.append(PartScorer(planned).score_file(tmp_path / "some.parquet"))
        if hint == "right":
            assert {*made} == {0, *some[ITEM_NUMBER]}
            made.clear()
    expect_same(scored[1] + scored[0], equipoise.score("hiring_an", answers, sample=40))


def test_answers_by_text_are_matched_in_the_whole_plan(tmp_path: Path) -> None:
    planned = equipoise.plan("hiring_an", sample=40)
    prompts = planned.prompts().with_row_index()
    has_id = pl.col("index") % 3 == 0
    answers = prompts.select(
        pl.when(has_id).then(ID).alias(ID),
        PROMPT,
        pl.lit("I am glad to offer you the position.").alias(ANSWER),
        (pl.col("index") // 2).alias(ITEM_NUMBER),
    )
    scorer = PartScorer(planned)
    scored = []
    for some in (answers[:21], answers[21:]):
        some.write_parquet(tmp_path / "some.parquet")
        scored.append(scorer.score_file(tmp_path / "some.parquet"))
    expect_same(scored[0] + scored[1], equipoise.score("hiring_an", answers, sample=40))


def test_one_file_of_prompts_numbers_the_items_as_its_shards_do() -> None:
    planned = equipoise.plan("hiring_an", sample=40)

    def write(items: range | None) -> pl.DataFrame:
        file = io.BytesIO()
        write_prompts(planned, file, "parquet", items=items)
        return pl.read_parquet(file.getvalue())

    whole = write(None)
    assert whole[ITEM_NUMBER].unique().to_list() == list(range(planned.items))
    assert_frame_equal(whole, pl.concat(map(write, split_plan(planned, 3))))


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
    words = rf"Partials of different setups cannot be added: .*{named}.*Score all answers"
    with pytest.raises(IntegrityError, match=words):
        jobs() + other()


def test_all_that_differs_is_named() -> None:
    with pytest.raises(IntegrityError) as refused:
        jobs() + jobs(1, sample=13, repeat=2, reading="specified")
    message = str(refused.value)
    assert "repeat is 1 in one and 2 in the other" in message
    assert "sample is 12 in one and 13 in the other" in message
    assert "reading is 'careful' in one and 'specified' in the other" in message
    assert "detector is " in message


def shouting_probe() -> Probe:
    """The same probe, by all that its description says, with other texts."""

    def prompts(items: pl.DataFrame, parameters: Any) -> pl.DataFrame:
        planned = ORDER_PROBE.prompts(items, parameters)
        return planned.with_columns(pl.col(PROMPT).str.to_uppercase())

    return replace(ORDER_PROBE, prompts=prompts)


def test_other_prompts_of_the_same_items_are_not_added() -> None:
    with pytest.raises(IntegrityError, match="the prompts that the probe makes of the same items"):
        score_part(shouting_probe(), {}) + score_part(ORDER_PROBE, {})


def test_a_file_of_other_prompts_of_the_same_items_is_not_read(tmp_path: Path) -> None:
    score_part(shouting_probe(), {}).write(tmp_path / "a.partial")
    with pytest.raises(IntegrityError, match="the prompts that the probe makes of the same items"):
        Partial.read(tmp_path / "a.partial", ORDER_PROBE)


def test_an_attempt_in_two_partials_is_refused_and_named() -> None:
    key = equipoise.plan("jobs_lum", sample=12).prompts()[ID][7]
    with pytest.raises(InputError, match=rf"1 attempts are in two partials, .* at the prompt {key}\."):
        jobs(7) + (jobs(3) + jobs(7, "She."))


def test_a_result_of_partials_can_be_compared() -> None:
    result = jobs().result()
    assert (result.matching.matched, result.evaluated.height) == (1, 1)
    assert equipoise.compare(result, jobs(answer="She.").result())["jobs_lum"].prompts == 1


def test_nothing_is_no_sum() -> None:
    with pytest.raises(InputError, match="no partial"):
        Partial.sum([])


def test_a_partial_and_a_number_are_no_sum() -> None:
    with pytest.raises(TypeError):
        jobs() + 1
