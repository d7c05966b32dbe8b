"""Damaged and malformed run files, and files of answers, as anybody may hand them to equipoise."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

import equipoise
from benchmarks.fuzz_servers import mutate_json
from equipoise.answers.files import read_tables
from equipoise.cli.config import read_models
from equipoise.errors import EquipoiseError
from equipoise.measuring.partials import VALUES as VALUES_OF_PARTIAL
from equipoise.runs.file import digests, sql
from equipoise.runs.run import Run
from equipoise.runs.spec import to_plain

VALUES: list[Any] = [
    *(None, 0, -1, 2**31, 2**63 - 1, -(2**63), 1e308, float("inf"), "", "x", "\x1b[31m", "\ud7ff", b"\xff\xfe", b""),
    *("{}", "[]", "null", "true", "NaN", '"x"', "1e999", '{"a": 1}', "[" * 5000, '{"a":' * 300 + "1" + "}" * 300),
    *('{"String": "Int64"}', '{"id": "String"}', '{"gender": "Object"}', "9" * 400, "x" * 100_000, "'; drop table x"),
]
"""What a field of a run file may be replaced by."""
ANSWER_LINES = [
    b'{"id": "a", "answer": "He."}',
    b'{"prompt": "b", "answer": "She.", "repetition": 2, "status": "truncated"}',
    b'{"custom_id": "c#2", "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "x"}}]}}}',
]
CSV_LINES = [b"id,answer,repetition,status", b'a,"He, ""she""",1,ok', b"b,She.,2,truncated"]
PIECES = [
    *(b'"', b"{", b"}", b"[", b",", b"\n", b"\r", b"\0", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"1e999", b"null", b"#"),
    *(b"\xef\xbb\xbf", b"-1", b"9" * 20, b"\\u0000", b"=1+1", b'""', b"[" * 2000, b" ", b"\xe2\x80\xa8"),
]


def name_outcome(read: Callable[[Path], str], path: Path, before: str = "") -> str:
    """How reading a file ends, and whether it says the same as before, if that is given."""
    try:
        after = read(path)
    except EquipoiseError:
        return "refused"
    except Exception as error:
        return f"crashed: {type(error).__name__}: {str(error)[:100]}"
    if not before:
        return "read"
    return "read as before" if after == before else "read otherwise"


def read_answers(path: Path) -> str:
    """All rows of a file of answers."""
    rows = pl.concat(read_tables(path)).rows()
    assert rows, "nothing was read and nothing said"
    return str(rows)


def read_partial(path: Path) -> str:
    """The result of a partial."""
    return json.dumps(equipoise.Partial.read(path).result().to_dict(), default=str)


def write_small_run(path: Path) -> None:
    """A finished run of two probes."""
    audit = equipoise.audit
    audit(lambda prompt: "He." if len(prompt) % 3 else "She.", probes=["jobs_lum", "hiring_an"], out=path, sample=6)


def observe(path: Path) -> str:
    """All that is read of a run, as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = Run.open(path)
        results = {name: run.result(name).to_dict() for name in run.planned}
        prompts = {name: run.prompts(name).rows() for name in run.planned}
        answers = {name: run.transcripts(name).rows() for name in run.planned}
        seen = (to_plain(run.settings), run.states, run.provenance.usage, results, prompts, answers)
        return json.dumps(seen, sort_keys=True, default=str)


def flip_bits(dice: random.Random, count: int, folder: Path) -> Iterator[str]:
    """A run file with one bit flipped. Nothing may be read otherwise."""
    original = folder / "whole.equipoise"
    write_small_run(original)
    content, before = original.read_bytes(), observe(original)
    for _ in range(count):
        changed = bytearray(content)
        changed[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        path = folder / "flipped.equipoise"
        path.write_bytes(changed)
        outcome = name_outcome(observe, path, before)
        yield f"crashed: silently changed {outcome}" if outcome == "read otherwise" else outcome


def replace_fields(dice: random.Random, count: int, folder: Path) -> Iterator[str]:
    """A run file in which one field is replaced; for every second one, the digests are made to fit, as a forger can."""
    original = folder / "fields.equipoise"
    write_small_run(original)
    before = observe(original)
    with closing(sqlite3.connect(original)) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        columns = [
            (table, column) for table in tables for _, column, *_ in connection.execute(f"pragma table_info({table})")
        ]
    for number in range(count):
        path = folder / "replaced.equipoise"
        path.write_bytes(original.read_bytes())
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma ignore_check_constraints = on")
            while not (table_column := _replace_one(connection, dice, dice.choice(columns), forge=number % 2 == 1)):
                pass
        outcome = name_outcome(observe, path, before)
        honest = number % 2 == 0 and outcome == "read otherwise"
        yield f"crashed: {table_column} changed silently" if honest else outcome


def _replace_one(
    connection: sqlite3.Connection, dice: random.Random, column: tuple[str, str], *, forge: bool
) -> str | None:
    """Replace one field of a column; give its name, or None if the column takes no such value."""
    table, name = column
    keys = [key for _, key, _, _, _, place in connection.execute(f"pragma table_info({table})") if place] or ["rowid"]
    rows = connection.execute(f"select {', '.join(keys)} from {table}").fetchall()
    if not rows:
        return None
    where = " and ".join(f"{key} = ?" for key in keys)
    try:
        connection.execute(f"update {table} set {name} = ? where {where}", (dice.choice(VALUES), *dice.choice(rows)))
        if forge:
            for written in sql.DIGESTED:
                digests.write_digest(connection, written)
            for probe, number in connection.execute("select distinct probe, position / 1000 from prompts").fetchall():
                digests.write_digest(connection, digests.name_block(probe, number))
        connection.commit()
    except (sqlite3.Error, OverflowError, TypeError, ValueError):
        connection.rollback()
        return None
    return f"{table}.{name}"


def mutate_answers(dice: random.Random, count: int, folder: Path) -> Iterator[str]:
    """A file of answers, JSONL or CSV, with pieces put in, taken out and exchanged."""
    for _ in range(count):
        is_csv = dice.random() < 0.4
        content = b"\n".join(CSV_LINES if is_csv else dice.sample(ANSWER_LINES, 3))
        path = folder / ("answers.csv" if is_csv else "answers.jsonl")
        path.write_bytes(_mutate(dice, content, PIECES))
        yield name_outcome(read_answers, path)


def forge_partials(dice: random.Random, count: int, folder: Path) -> Iterator[str]:
    """A partial in which one of its values is replaced, as anybody can."""
    path = folder / "forged.partial"
    prompts = equipoise.plan("hiring_an", sample=6).prompts()["id"]
    equipoise.score_part("hiring_an", dict.fromkeys(prompts[:-1], "We regret to inform you."), sample=6).write(path)
    values, table = json.loads(pl.read_parquet_metadata(path)[VALUES_OF_PARTIAL]), pl.read_parquet(path.read_bytes())
    before = read_partial(path)
    for _ in range(count):
        table.write_parquet(path, metadata={VALUES_OF_PARTIAL: json.dumps(mutate_json(dice, values))})
        yield name_outcome(read_partial, path, before)


CONFIGURATION = b"""
probes = ["jobs_lum", "hiring_an"]
suite = "quick"
temperature = 0.7
extra = {reasoning = {effort = "low"}}
parameters = {sample = 20}
gate = {fail_on = "C"}
models = [{model = "custom/a", base_url = "http://127.0.0.1:9/v1", out = "a.equipoise"}, {model = "custom/b"}]
"""
TOML_VALUES = b'1 -1 1e308 nan [] {} true 1979-05-27 "" "x" x [[1]] {a={}}'.split()


def mutate_configurations(dice: random.Random, count: int, folder: Path) -> Iterator[str]:
    """An `equipoise.toml` in which a name or a value is another one, or with pieces put in and taken out."""
    path = folder / "equipoise.toml"
    words = re.split(rb'("[^"]*"|[\d.]+|[a-z_]+)', CONFIGURATION)
    for _ in range(count):
        place = dice.randrange(1, len(words), 2)
        changed = b"".join([*words[:place], dice.choice(TOML_VALUES), *words[place + 1 :]])
        path.write_bytes(changed if dice.random() < 0.6 else _mutate(dice, changed, PIECES))
        yield name_outcome(lambda written: str(read_models(written, None)), path)


def _mutate(dice: random.Random, content: bytes, pieces: Sequence[bytes]) -> bytes:
    """The content with one to four pieces put in, taken out or exchanged."""
    changed = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        start = dice.randrange(len(changed) + 1)
        changed[start : start + dice.choice((0, 0, 1, 3, 12))] = dice.choice((b"", *pieces))
    return bytes(changed)
