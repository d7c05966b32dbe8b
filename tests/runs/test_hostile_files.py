"""Run files of other programs, damaged ones and forged ones are refused and left untouched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.errors import IntegrityError
from equipoise.runs.file import sql
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from runs.fakes import attempts_of, create, execute, forge, prompts_of

Damage = Callable[[Path], object]


def replace_with_foreign_file(path: Path) -> None:
    path.unlink()
    execute("create table users (name)")(path)


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite_pages(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[4096 * 3 : 4096 * 8] = b"\xa5" * (4096 * 5)
    path.write_bytes(whole)


def add_many_tables(path: Path) -> None:
    execute(*(f"create table t{number} (a)" for number in range(500)))(path)


def _set(name: str, value: str) -> str:
    return f"update probes set plan = json_set(plan, '$.{name}', json('{value}'))"


def _set_covariate(name: str, value: str) -> str:
    return f"update prompts set covariates = json_set(covariates, '$.{name}', json('{value}')) where position = 3"


TRIGGER = "create trigger t after insert on attempts begin select 1; end"


def _hide_trigger(name: str) -> str:
    """Give the trigger a name that SQLite keeps for itself."""
    return f"""
        update sqlite_schema set name = '{name}', sql = replace(sql, 'TRIGGER t', 'TRIGGER {name}') where name = 't'
    """


INSERT = """
    insert into attempts (place, digest, probe, prompt, repetition, status, tries, finished_at, answer)
    select position + 10 * value - 9, x'', probe, id, value, 'ok', 1, '', {}
    from prompts, (select 1 as value union select 2) where value <= {}
"""
WRONG_COVARIATES = [
    ("gender", "null", "prompts of alpha lack gender"),
    ("gender", "[]", "damaged"),
    ("gender", "{}", "damaged"),
    ("score", "null", "prompts of alpha lack score"),
    ("score", '"x"', "damaged"),
    ("template", "null", "prompts of alpha lack template"),
    ("template", '"1"', "damaged"),
    ("template", '"x"', "damaged.*numeric"),
    ("odd", "0", "damaged"),
]
DAMAGED: list[tuple[str, Damage, str]] = [
    (
        "a text file",
        lambda path: path.write_text("answers\n" * 100),
        "file is not a database",
    ),
    ("an empty file", lambda path: path.write_bytes(b""), "it is empty, or of another program"),
    ("another program's file", replace_with_foreign_file, "another program"),
    ("a file cut in half", cut_in_half, "damaged"),
    ("overwritten pages", overwrite_pages, "damaged"),
    (
        "an unknown schema number",
        execute("pragma user_version = 0"),
        "its schema is 0, this one knows",
    ),
    ("an additional table", execute("create table extra (a)"), "does not have the layout.*extra"),
    ("hundreds of tables", add_many_tables, "does not have the layout.*…"),
    ("a trigger", execute(TRIGGER), "does not have the layout.*t"),
    (
        "a trigger called sqlite_stat1",
        execute(TRIGGER, "pragma writable_schema = on", _hide_trigger("sqlite_stat1")),
        "does not have the layout.*sqlite_stat1",
    ),
    (
        "a trigger called sqlite_autoindex_attempts_2",
        execute(
            TRIGGER,
            "pragma writable_schema = on",
            _hide_trigger("sqlite_autoindex_attempts_2"),
        ),
        "does not have the layout.*sqlite_autoindex_attempts_2",
    ),
    ("statistics", execute("analyze"), "does not have the layout.*sqlite_stat1"),
    (
        "a changed view",
        execute("drop view states", "create view states as select 1"),
        "does not have the layout.*states",
    ),
    ("a missing table", execute("drop table attempts"), "does not have the layout.*attempts"),
    (
        "an additional column",
        execute("alter table probes add column more text"),
        "does not have the layout.*probes",
    ),
    ("no settings", execute("delete from settings"), "damaged: .*spec"),
    (
        "a missing setting",
        forge("delete from settings where key = 'created'"),
        "missing required field `created`",
    ),
    ("a wrong setting", forge("update settings set value = '[1]' where key = 'spec'"), "spec"),
    (
        "nested JSON",
        forge(f"update settings set value = '{'[' * 900}{']' * 900}' where key = 'spec'"),
        "damaged",
    ),
    ("invalid JSON", forge("update settings set value = '{' where key = 'spec'"), "damaged"),
    (
        "parameters that are no mapping",
        forge(_set("parameters", "[]")),
        r"Expected .object.*parameters",
    ),
    (
        "covariates of no type",
        forge(_set("covariates", '{"score": "Object"}')),
        "Invalid enum value .*covariates",
    ),
    (
        "covariates that are no mapping",
        forge(_set("covariates", "[]")),
        r"Expected .object.*covariates",
    ),
    ("covariates of a list", forge(_set("covariates", '{"score": []}')), "covariates"),
    (
        "no repetitions",
        forge("update probes set repetitions = 0"),
        "alpha plans no attempts, or more",
    ),
    *(
        (
            f"{tokens} tokens",
            forge(INSERT.format("''", 1), f"update attempts set prompt_tokens = {tokens}"),
            "no run has so many tokens",
        )
        for tokens in (2**63 - 1, -1, -(2**63))
    ),
    (
        "attempts before the first",
        execute(INSERT.format("''", 1), "update attempts set place = -place"),
        "attempt number 1",
    ),
    ("values of covariates", forge("update prompts set covariates = '[1'"), "damaged.*JSON"),
    *(
        (f"the covariate {name} is {value}", forge(_set_covariate(name, value)), words)
        for name, value, words in WRONG_COVARIATES
    ),
    (
        "a missing covariate",
        forge("update prompts set covariates = json_remove(covariates, '$.odd')"),
        "lack odd",
    ),
    (
        "endless repetitions",
        forge("update probes set repetitions = 4000000000000000000"),
        "alpha plans no attempts, or more than",
    ),
    ("prompts at one place", forge("update prompts set position = 5"), "not numbered one by one"),
    (
        "prompts at no place",
        forge("update prompts set position = position - 1"),
        "not numbered one by one",
    ),
    ("no digests", execute("delete from digests"), "changed after it was written: digests"),
    (
        "more than was planned",
        forge(INSERT.format("''", 2)),
        "alpha has attempts that nobody planned",
    ),
    ("text that is no UTF-8", execute(INSERT.format("cast(x'ff' as text)", 1)), "damaged"),
]


def read_all(path: Path) -> None:
    with RunReader.open(path) as run:
        assert run.record.model == "fake"
        assert prompts_of(run).height
        assert attempts_of(run) is not None
        assert run.usage()


@pytest.mark.fault("S7", "D32", "U7")
@pytest.mark.parametrize(
    ("damage", "words"),
    [pytest.param(*rest, id=name) for name, *rest in DAMAGED],
)
def test_a_hostile_file_is_refused_and_left_untouched(
    tmp_path: Path,
    damage: Damage,
    words: str,
) -> None:
    path = tmp_path / "run.db"
    create(path).close()
    damage(path)
    before = path.read_bytes()
    with pytest.raises(IntegrityError, match=words) as caught:
        read_all(path)
    assert caught.value.exit_code == 6
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


@pytest.mark.fault("U7")
@pytest.mark.parametrize("open_run", [RunFile.open, RunReader.open])
def test_a_newer_schema_is_refused_and_left_untouched(
    tmp_path: Path,
    open_run: Callable[[Path], RunReader],
) -> None:
    path = tmp_path / "run.db"
    create(path).close()
    execute(f"pragma user_version = {sql.SCHEMA + 1}", "create table newer (a)")(path)
    before = path.read_bytes()
    words = rf"another equipoise: its schema is {sql.SCHEMA + 1}, this one knows {sql.SCHEMA}\..*untouched.*Update"
    with pytest.raises(IntegrityError, match=words) as caught:
        open_run(path)
    assert caught.value.exit_code == 6
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]
