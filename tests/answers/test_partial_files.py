"""Files of partials, which anyone can change: what answers to the plan could not give is refused."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest

import equipoise
from equipoise.answers.shards import score_part
from equipoise.errors import InputError, IntegrityError, StorageError
from equipoise.measuring.partials import NUMBER, VALUES, Partial
from equipoise.schema import ANSWER, ID, REPETITION, STATUS


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
MATCHING = asdict(HIRING.values.matching)
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
    {"setup": {**SETUP, "parameters": {**SETUP["parameters"], "sample": 18, "repeat": 3}}},
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
        pytest.param(lambda table: table.drop(table.columns[-1]), id="without a column"),
        pytest.param(lambda table: table.rename({table.columns[0]: "y"}), id="another name"),
        pytest.param(lambda table: table.with_columns(pl.lit("x").alias(table.columns[0])), id="another type"),
        pytest.param(lambda table: table.cast({STATUS: pl.String}), id="states as text"),
        pytest.param(
            lambda table: table.with_columns(pl.lit(None, table.schema[STATUS]).alias(STATUS)),
            id="no states",
        ),
        pytest.param(lambda table: pl.concat([table] * 40), id="many times"),
        pytest.param(lambda table: table.reverse(), id="in disorder"),
        pytest.param(lambda table: table.with_columns(pl.col(pl.Int64) * -1), id="negative"),
        pytest.param(lambda table: table.with_columns(pl.col(REPETITION) + 1), id="repetitions"),
        pytest.param(lambda table: table.with_columns(pl.col(NUMBER) + 2**40), id="items"),
        pytest.param(lambda table: table.with_columns(pl.col(NUMBER) + 5), id="prompts"),
        pytest.param(lambda table: table[1:], id="one too few"),
        pytest.param(
            lambda table: pl.select(pl.lit(0).repeat_by(10**6).explode().alias(table.columns[0])),
            id="a million zeros",
        ),
    ],
)
def test_a_table_that_no_partial_has_is_refused(change: Callable[[Table], Table], written: Path) -> None:
    forge(written, change)
    with pytest.raises(IntegrityError, match="partial"):
        Partial.read(written).result()


def test_a_partial_of_another_version_is_refused_and_says_what_differs(written: Path) -> None:
    forge(written, setup={**SETUP, "equipoise": "0.0.1", "version": 99})
    with pytest.raises(IntegrityError, match="was made in another way than here") as refused:
        Partial.read(written)
    message = str(refused.value)
    assert str(written) in message
    assert "equipoise is " in message
    assert "'0.0.1'" in message
    assert "version is " in message
    assert "99" in message


def test_the_same_partial_makes_the_same_file(written: Path) -> None:
    content = written.read_bytes()
    hiring().write(written)
    assert written.read_bytes() == content
    assert [path.name for path in written.parent.iterdir()] == ["one.partial"]


def test_a_partial_can_be_written_into_an_open_file(written: Path) -> None:
    buffer = io.BytesIO()
    HIRING.write(buffer)
    assert buffer.getvalue() == written.read_bytes()


def test_a_flipped_bit_is_found_or_says_nothing(written: Path) -> None:
    content = written.read_bytes()
    rng = np.random.default_rng(0)
    expected = HIRING.result().to_dict()
    found = 0
    for place in rng.integers(0, len(content), 60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        written.write_bytes(damaged)
        try:
            result = Partial.read(written).result().to_dict()
        except equipoise.EquipoiseError:
            found += 1
        else:
            assert result == expected
    assert found > 0


@pytest.mark.parametrize("content", [None, b"", b"no table", b"PAR1"], ids=str)
def test_what_is_no_partial_or_only_half_of_one_is_refused(content: bytes | None, written: Path) -> None:
    if content is None:
        whole = written.read_bytes()
        content = whole[: len(whole) // 2]
    written.write_bytes(content)
    words = r"one\.partial is no partial of this version, or it is damaged"
    with pytest.raises(IntegrityError, match=words):
        Partial.read(written)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no file .*none\.partial"):
        Partial.read(tmp_path / "none.partial")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"one\.partial cannot be written"):
        HIRING.write(tmp_path / "none" / "one.partial")
