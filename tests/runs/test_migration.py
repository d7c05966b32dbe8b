"""Files of schema 1 can be read as they are, and are migrated by their owner.

`data/schema-1.equipoise` was written by the last version with schema 1: 196 planned attempts, of which 80 have ended.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from equipoise.models import Sampling
from equipoise.runs.file import migrations
from equipoise.runs.file.columns import decode_text
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.schema import ANSWER, ID, ITEM, PROMPT, REPETITION, STATUS, SYSTEM, Status, replace_surrogates
from runs.fakes import finish

SCHEMA_1 = Path(__file__).parent / "data" / "schema-1.equipoise"
PROBES = ["business_vocabulary", "discrimination_tamkin", "gest_creative", "hiring_an", "jobs_lum"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(shutil.copy(SCHEMA_1, tmp_path / "run.equipoise"))


def select(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(statement).fetchall()


def read_all(run: RunReader) -> dict[str, list[pl.DataFrame]]:
    """Everything that can be read of each probe."""
    everything = {}
    for probe in PROBES:
        answers = [pl.concat(part) for part in zip(*run.answers(probe, 7), strict=True)]
        everything[probe] = [run.prompts(probe), pl.concat(run.attempts(probe)), *answers]
    return everything


def test_the_file_has_schema_1() -> None:
    assert select(SCHEMA_1, "pragma user_version") == [(1,)]


def test_reading_leaves_the_file_unchanged_and_gives_every_prompt_and_attempt(path: Path) -> None:
    with RunReader.open(path) as run:
        assert [probe.name for probe in run.probes()] == PROBES
        everything, pending, counts = read_all(run), list(run.pending()), run.counts()
        settings = run.settings
    assert path.read_bytes() == SCHEMA_1.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == [path.name]

    for probe, (prompts, attempts, prompts_again, answers) in everything.items():
        assert SYSTEM not in prompts.columns
        rows = select(path, f"select id, item, prompt from prompts where probe = '{probe}' order by position")
        assert prompts.select(ID, ITEM, PROMPT).rows() == rows
        stored = select(path, f"select prompt, repetition, status, answer from attempts where probe = '{probe}'")
        texts = [(*key, replace_surrogates(decode_text(answer) or "") or None) for *key, answer in stored]
        assert sorted(attempts.select(ID, REPETITION, STATUS, ANSWER).rows()) == sorted(texts)
        assert_frame_equal(prompts_again, prompts)
        assert_frame_equal(answers, attempts.select(answers.columns))

    assert {status: n for status, n in counts.items() if n} == {
        Status.PENDING: 116,
        Status.OK: 70,
        Status.TRUNCATED: 5,
        Status.FILTERED: 4,
        Status.EMPTY: 1,
    }
    assert len(pending) == 116
    assert {each.system for each in pending} == {None}
    assert settings.model == "custom/test-model"
    assert settings.sampling == Sampling(temperature=0.7, max_tokens=96, system="Answer briefly.")
    assert not settings.imported


def test_the_sample_of_pairs_is_counted_in_pairs(path: Path) -> None:
    assert select(path, "select parameters ->> 'sample' from probes where name = 'hiring_an'") == [(12,)]
    with RunReader.open(path) as run:
        read = {probe.name: probe.parameters["sample"] for probe in run.probes()}
    assert read == {
        "business_vocabulary": 12,
        "discrimination_tamkin": 6,
        "gest_creative": 32,
        "hiring_an": 6,
        "jobs_lum": 24,
    }
    with RunFile.open(path) as run:
        assert {probe.name: probe.parameters["sample"] for probe in run.probes()} == read


def test_the_owner_migrates_the_file_and_goes_on(path: Path) -> None:
    with RunReader.open(path) as run:
        before, pending, settings = read_all(run), list(run.pending()), run.settings
    with RunFile.open(path) as run:
        assert run.settings == settings
        assert list(run.pending()) == pending
        for probe, frames in read_all(run).items():
            for old, new in zip(before[probe], frames, strict=True):
                assert_frame_equal(new, old)
        assert run.record(map(finish, pending)) == 116
        assert list(run.pending()) == []
    assert select(path, "pragma user_version") == [(migrations.SCHEMA,)]
    assert select(path, "select count(*) from sqlite_schema where name = 'results'") == [(0,)]
    assert select(path, "select distinct system from prompts") == [(None,)]
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with RunReader.open(path) as run:
        assert run.counts()[Status.OK] == 70 + 116
        assert sum(run.counts().values()) == 196


SCHEMA_2 = Path(__file__).parent / "data" / "schema-2.equipoise"
"""Written by the last version with schema 2: 88 planned attempts, of which 70 have ended, one with a NUL in it."""


def test_a_file_of_schema_2_is_read_as_it_is_and_migrated_by_its_owner(tmp_path: Path) -> None:
    path = Path(shutil.copy(SCHEMA_2, tmp_path / "run.equipoise"))
    assert select(path, "pragma user_version") == [(2,)]
    with RunReader.open(path) as run:
        attempts = {probe.name: pl.concat(run.attempts(probe.name)) for probe in run.probes()}
        pending, counts, usage, settings = list(run.pending()), run.counts(), run.usage(), run.settings
    assert (len(pending), sum(counts.values()), usage) == (18, 88, (3976, 305))
    assert path.read_bytes() == SCHEMA_2.read_bytes()
    with RunFile.open(path) as run:
        assert (list(run.pending()), run.counts(), run.usage(), run.settings) == (pending, counts, usage, settings)
        for name, frame in attempts.items():
            assert_frame_equal(pl.concat(run.attempts(name)), frame)
        assert run.record(map(finish, pending)) == 18
    assert select(path, "pragma user_version") == [(migrations.SCHEMA,)]
    assert select(path, "select min(place), max(place), count(distinct place) from attempts") == [(1, 88, 88)]
    assert select(path, "select generation, attempts from head") == [(1, 88)]
    with RunReader.open(path) as run:
        assert run.counts()[Status.PENDING] == 0
