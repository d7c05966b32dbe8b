"""Foreign, damaged and newer files are refused untouched; a place that cannot be written to, before asking."""

from __future__ import annotations

import dataclasses
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from equipoise.errors import BadFile, BadParameter, IntegrityError, ProbeError, StorageError
from equipoise.runs.file import store
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.schema import Status
from runs.fakes import attempts_of, create, execute, finish, forge, plan, prompts_of

Damage = Callable[[Path], object]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def replace_with_foreign_file(path: Path) -> None:
    path.unlink()
    execute("create table users (name)")(path)


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite_pages(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[4096 * 3 : 4096 * 8] = b"\xa5" * (4096 * 5)
    path.write_bytes(whole)


def _set(name: str, value: str) -> str:
    return f"update probes set plan = json_set(plan, '$.{name}', json('{value}'))"


def _set_covariate(name: str, value: str) -> str:
    return f"update prompts set covariates = json_set(covariates, '$.{name}', json('{value}')) where position = 3"


TRIGGER = "create trigger t after insert on attempts begin select 1; end"
HIDDEN_TRIGGER = """
    update sqlite_schema set name = 'sqlite_stat1', sql = replace(sql, 'TRIGGER t', 'TRIGGER sqlite_stat1')
    where name = 't'
"""
INSERT = """
    insert into attempts (place, digest, probe, prompt, repetition, status, tries, finished_at, answer)
    select position + 10 * value - 9, x'', probe, id, value, 'ok', 1, '', {}
    from prompts, (select 1 as value union select 2) where value <= {}
"""
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
    ("a newer file", execute("pragma user_version = 2", "create table newer (a)"), "its schema is 2, .* 1.*Update"),
    ("an additional table", execute("create table extra (a)"), "does not have the layout.*extra"),
    ("a trigger", execute(TRIGGER), "does not have the layout.*t"),
    ("a hidden trigger", execute(TRIGGER, "pragma writable_schema = on", HIDDEN_TRIGGER), "layout.*sqlite_stat1"),
    ("a missing table", execute("drop table attempts"), "does not have the layout.*attempts"),
    ("an additional column", execute("alter table probes add column more text"), "does not have the layout.*probes"),
    ("no settings", execute("delete from settings"), "damaged: .*spec"),
    ("a wrong setting", forge("update settings set value = '[1]' where key = 'spec'"), "spec"),
    ("nested JSON", forge(f"update settings set value = '{'[' * 900}{']' * 900}' where key = 'spec'"), "damaged"),
    ("invalid JSON", forge("update settings set value = '{' where key = 'spec'"), "damaged"),
    ("parameters that are no mapping", forge(_set("parameters", "[]")), r"Expected .object.*parameters"),
    ("covariates of no type", forge(_set("covariates", '{"score": "Object"}')), "Invalid enum value .*covariates"),
    ("no repetitions", forge("update probes set repetitions = 0"), "alpha plans no attempts, or more"),
    ("tokens of no run", forge(INSERT.format("''", 1), "update attempts set prompt_tokens = -1"), "so many tokens"),
    (
        "attempts before the first",
        execute(INSERT.format("''", 1), "update attempts set place = -place"),
        "attempt number 1",
    ),
    ("values of covariates", forge("update prompts set covariates = '[1'"), "damaged.*JSON"),
    ("a covariate that is null", forge(_set_covariate("gender", "null")), "prompts of alpha lack gender"),
    ("a covariate of another type", forge(_set_covariate("template", '"x"')), "damaged.*numeric"),
    ("a missing covariate", forge("update prompts set covariates = json_remove(covariates, '$.odd')"), "lack odd"),
    (
        "endless repetitions",
        forge("update probes set repetitions = 4000000000000000000"),
        "alpha plans no attempts, or more than",
    ),
    ("prompts at one place", forge("update prompts set position = 5"), "not numbered one by one"),
    ("prompts at no place", forge("update prompts set position = position - 1"), "not numbered one by one"),
    ("no digests", execute("delete from digests"), "changed after it was written: digests"),
    ("more than was planned", forge(INSERT.format("''", 2)), "alpha has attempts that nobody planned"),
    ("text that is no UTF-8", execute(INSERT.format("cast(x'ff' as text)", 1)), "damaged"),
]


def read_all(path: Path) -> None:
    with RunReader.open(path) as run:
        assert run.record.model == "fake"
        assert prompts_of(run).height
        assert attempts_of(run) is not None
        assert run.usage()


@pytest.mark.fault("S7", "D32", "U7")
@pytest.mark.parametrize(("damage", "words"), [pytest.param(*rest, id=name) for name, *rest in DAMAGED])
def test_a_hostile_file_is_refused_and_left_untouched(tmp_path: Path, damage: Damage, words: str) -> None:
    path = tmp_path / "run.db"
    create(path).close()
    damage(path)
    before = path.read_bytes()
    with pytest.raises(IntegrityError, match=words) as caught:
        read_all(path)
    assert caught.value.exit_code == 6
    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["run.db"]


def test_a_missing_file_is_an_error_in_the_input(tmp_path: Path) -> None:
    for path in (tmp_path / "none.db", tmp_path):
        for open_run in (RunFile.open, RunReader.open):
            with pytest.raises(BadFile) as caught:
                open_run(path)
            assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("P13")
def test_a_copy_of_a_run_in_use_holds_what_was_stored_until_then(tmp_path: Path) -> None:
    path, copy = tmp_path / "run.db", tmp_path / "copy.db"
    with create(path) as run:
        run.store([finish(next(run.pending()))])
        shutil.copy(path, copy)
        run.store(map(finish, run.pending()))
    for open_run in (RunReader.open, RunFile.open):
        with open_run(copy) as copied:
            assert copied.counts()[Status.OK] == 1


def interrupt_change(path: Path, interrupted: Path) -> None:
    """Copy a run as it is in the middle of a change, with the journal that undoes it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in ("pragma cache_size = 2", "begin immediate", "update prompts set item = 'a much longer one'"):
            connection.execute(statement)
        shutil.copy(path, interrupted)
        shutil.copy(f"{path}-journal", f"{interrupted}-journal")


@pytest.mark.fault("P1")
def test_a_change_interrupted_by_a_kill_is_undone_by_the_owner(tmp_path: Path) -> None:
    path, interrupted = tmp_path / "run.db", tmp_path / "interrupted.db"
    create(path, plan(size=3000)).close()
    interrupt_change(path, interrupted)
    with pytest.raises(StorageError, match="was interrupted; `equipoise resume` repairs"):
        RunReader.open(interrupted)
    with RunFile.open(interrupted) as run:
        assert prompts_of(run)["item"][0] == "0"
    assert names_in(tmp_path) == ["interrupted.db", "run.db"]


@pytest.mark.fault("P14")
def test_a_journal_that_does_not_belong_to_the_file_changes_nothing_silently(tmp_path: Path) -> None:
    path, other = tmp_path / "run.db", tmp_path / "other.db"
    for each, name in ((path, "alpha"), (other, "beta")):
        create(each, plan(name, size=3000)).close()
    interrupt_change(path, tmp_path / "interrupted.db")
    (tmp_path / "interrupted.db-journal").rename(f"{other}-journal")
    with RunFile.open(other) as run, pytest.raises(IntegrityError):
        next(run.pending())
    other.unlink()
    shutil.copy(f"{path}", f"{other}-journal")
    with pytest.raises(StorageError, match=r"other\.db-journal is left of another run file"):
        create(other)


@pytest.mark.fault("P6")
@pytest.mark.fault("U5")
def test_a_path_that_cannot_be_written_is_refused_before_asking(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none" / "run.db", tmp_path / "file" / "run.db", tmp_path / ("x" * 300), Path("/proc/run")):
        with pytest.raises(StorageError, match="cannot be written to") as caught:
            create(path)
        assert caught.value.exit_code == 5
    assert names_in(tmp_path) == ["file"]


def test_too_little_free_space_is_refused_before_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as little:
        little.setattr(store, "RESERVE", 2**62)
        for open_run in (create, RunFile.open):
            with pytest.raises(StorageError, match="Make room first") as caught:
                open_run(tmp_path / "run.db")
            assert caught.value.exit_code == 5
    assert names_in(tmp_path) == ["run.db"]
    with RunFile.open(tmp_path / "run.db") as run:
        assert run.counts()[Status.PENDING] == 10


def test_more_attempts_than_a_run_can_have_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match=r"at most 1,000,000,000 .* 1,000,000 repetitions of 2,000 prompts"):
        create(tmp_path / "run.db", plan(size=2000, repetitions=1_000_000))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("D32")
def test_prompts_that_lack_a_covariate_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    whole = plan()
    probe = dataclasses.replace(whole.probe, prompts=lambda items, _: items.with_columns(pl.lit(None).alias("score")))
    with pytest.raises(ProbeError, match="Some lack: score"):
        create(tmp_path / "run.db", dataclasses.replace(whole, probe=probe))
    assert list(tmp_path.iterdir()) == []
