"""Damaged and malformed run files, and files of answers, as anybody may hand them to equipoise."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

import equipoise
from benchmarks.fuzz_servers import mutate_json
from equipoise.answers.files import read_tables
from equipoise.cli.config import read_models
from equipoise.errors import EquipoiseError
from equipoise.measuring.partials import VALUES as VALUES_OF_PARTIAL
from equipoise.runs.run import Run
from equipoise.runs.spec import to_plain
from simulating import renew_digests

VALUES: list[Any] = [
    *(None, 0, -1, 2**31, 2**63 - 1, -(2**63), 1e308, float("inf"), "", "x", "\x1b[31m", "\ud7ff", b"\xff\xfe", b""),
    *("{}", "[]", "null", "true", "NaN", '"x"', "1e999", '{"a": 1}', "[" * 5000, '{"a":' * 300 + "1" + "}" * 300),
    *('{"String": "Int64"}', '{"id": "String"}', '{"gender": "Object"}', "9" * 400, "x" * 100_000, "'; drop table x"),
]
"""What a field of a run file may be replaced by."""
COLUMNS = """
select tables.name, columns.name,
  coalesce((select group_concat(keys.name) from pragma_table_info(tables.name) as keys where keys.pk), 'rowid')
from sqlite_master as tables, pragma_table_info(tables.name) as columns where tables.type = 'table'
"""
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


def observe(path: Path) -> str:
    """All that is read of a run, as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = Run.open(path)
        results = {name: run.result(name).to_dict() for name in run.planned}
        prompts = {name: run.prompts(name).rows() for name in run.planned}
        answers = {name: run.transcripts(name).rows() for name in run.planned}
        seen = (to_plain(run.record), run.states, run.provenance.usage, results, prompts, answers)
        return json.dumps(seen, sort_keys=True, default=str)


def damage_runs(
    damage: Callable[[Path, random.Random, int], str | None], dice: random.Random, count: int, folder: Path
) -> Iterator[str]:
    """A finished run of two probes, damaged. What the damage names must not be read otherwise."""
    original, path = folder / "whole.equipoise", folder / "damaged.equipoise"
    audit = equipoise.audit
    audit(lambda prompt: "He." if len(prompt) % 3 else "She.", probes=["jobs_lum", "hiring_an"], out=original, sample=6)
    before = observe(original)
    for number in range(count):
        path.write_bytes(original.read_bytes())
        damaged = damage(path, dice, number)
        outcome = name_outcome(observe, path, before)
        yield f"crashed: {damaged} changed silently" if damaged and outcome == "read otherwise" else outcome


def flip_bit(path: Path, dice: random.Random, _number: int) -> str:
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    place = dice.randrange(len(content))
    content[place] ^= 1 << dice.randrange(8)
    path.write_bytes(content)
    return f"byte {place}"


def replace_field(path: Path, dice: random.Random, number: int) -> str | None:
    """Replace one field of a run; in every second one, the digests are made to fit, as a forger can."""
    is_forged = number % 2 == 1
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma ignore_check_constraints = on")
        columns = connection.execute(COLUMNS).fetchall()
        while True:
            table, name, keys = dice.choice(columns)
            (rows,) = connection.execute(f"select count(*) from {table}").fetchone()
            row = f"({keys}) = (select {keys} from {table} limit 1 offset {dice.randrange(rows or 1)})"
            try:
                replaced = connection.execute(f"update {table} set {name} = ? where {row}", [dice.choice(VALUES)])
                if is_forged:
                    renew_digests(connection)
                connection.commit()
            except (sqlite3.Error, OverflowError, TypeError, ValueError):  # the column takes no such value
                connection.rollback()
                continue
            if replaced.rowcount:
                return None if is_forged else f"{table}.{name}"


flip_bits = partial(damage_runs, flip_bit)
replace_fields = partial(damage_runs, replace_field)


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
