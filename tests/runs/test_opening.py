"""What is not a whole run of ours is refused, untouched and with clear words; what cannot be written, before asking."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.errors import BadFile, EquipoiseError, IntegrityError, StorageError
from equipoise.frames import Status
from equipoise.runs import RunFile, sql
from runs.fakes import create, ended, plan
from runs.killable import TESTS

Spoil = Callable[[Path], object]


def execute(*statements: str) -> Spoil:
    def spoil(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return spoil


def foreign(path: Path) -> None:
    path.unlink()
    execute("create table users (name)")(path)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scribble(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[4096 * 3 : 4096 * 8] = b"\xa5" * (4096 * 5)
    path.write_bytes(whole)


def many_tables(path: Path) -> None:
    execute(*(f"create table t{i} (a)" for i in range(2000)))(path)


SPOILT: list[tuple[str, Spoil, str]] = [
    ("a text file", lambda path: path.write_text("answers\n" * 100), "no SQLite file"),
    ("an empty file", lambda path: path.write_bytes(b""), "no SQLite file"),
    ("another program's file", foreign, "another program"),
    ("a file cut in half", cut, "damaged"),
    ("scribbled pages", scribble, "damaged"),
    ("an old schema number", execute("pragma user_version = 0"), "older|unknown schema"),
    ("a surplus table", execute("create table extra (a)"), "not laid out.*extra"),
    ("thousands of tables", many_tables, "not laid out.*…"),
    ("a trigger", execute("create trigger t after insert on attempts begin select 1; end"), "not laid out.*t"),
    ("a missing table", execute("drop table results"), "not laid out.*results"),
    ("a surplus column", execute("alter table results add column more text"), "not laid out.*results"),
    ("a changed view", execute("drop view states", "create view states as select 1"), "not laid out.*states"),
    ("no settings", execute("delete from settings"), "settings are missing"),
    ("wrong JSON", execute("update settings set value = '{' where key = 'model'"), "damaged"),
    ("wrong covariates", execute('update probes set covariates = \'{"score": "Object"}\''), "covariates"),
    ("wrong values of covariates", execute("update prompts set covariates = '[1'"), "covariates"),
    (
        "more than was planned",
        execute(
            "insert into attempts (probe, prompt, repetition, status, tries, finished_at)"
            " select probe, id, value, 'ok', 1, '' from prompts, (select 1 as value union select 2)"
        ),
        "more attempts of alpha than were planned",
    ),
    (
        "bytes that are no text",
        execute(
            "insert into attempts (probe, prompt, repetition, status, tries, finished_at, answer)"
            " select probe, id, 1, 'ok', 1, '', x'ff' from prompts"
        ),
        "damaged",
    ),
    (
        "text that is no UTF-8",
        execute(
            "insert into attempts (probe, prompt, repetition, status, tries, finished_at, answer)"
            " select probe, id, 1, 'ok', 1, '', cast(x'ff' as text) from prompts"
        ),
        "damaged",
    ),
]


def read_all(path: Path) -> None:
    with RunFile.read(path) as run:
        assert run.settings
        assert run.prompts("alpha").height
        assert list(run.attempts("alpha"))


@pytest.mark.parametrize(("spoil", "words"), [pytest.param(*rest, id=f"S7 {name}") for name, *rest in SPOILT])
def test_s7_a_hostile_file_is_refused_and_left_untouched(tmp_path: Path, spoil: Spoil, words: str) -> None:
    path = tmp_path / "run.db"
    create(path).close()
    os.utime(path, (0, 0))  # long enough ago that what was found sound is remembered
    read_all(path)
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(IntegrityError, match=words) as caught:
        read_all(path)
    assert caught.value.exit_code == 6
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


@pytest.mark.parametrize("opened", [RunFile.open, RunFile.read])
def test_u7_a_newer_version_is_refused_and_left_untouched(tmp_path: Path, opened: Callable[[Path], RunFile]) -> None:
    path = tmp_path / "run.db"
    create(path).close()
    execute(f"pragma user_version = {sql.SCHEMA + 1}", "create table newer (a)")(path)
    before = path.read_bytes()
    with pytest.raises(IntegrityError, match=r"newer equipoise: its schema is 2.*up to 1.*untouched") as caught:
        opened(path)
    assert caught.value.exit_code == 6
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


@pytest.mark.parametrize("opened", [RunFile.open, RunFile.read])
def test_what_is_not_there_is_the_users_mistake(tmp_path: Path, opened: Callable[[Path], RunFile]) -> None:
    for path in (tmp_path / "none.db", tmp_path):
        with pytest.raises(BadFile) as caught:
            opened(path)
        assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_an_older_file_is_brought_up_to_date_by_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.db"
    with create(path) as run:
        run.record([ended(next(run.pending()))])
    step = ("alter table attempts add column mood text", "update attempts set mood = 'calm'")
    monkeypatch.setattr(sql, "MIGRATIONS", (*sql.MIGRATIONS, step))
    monkeypatch.setattr(sql, "SCHEMA", 2)
    with pytest.raises(IntegrityError, match=r"older equipoise: its schema is 1.*equipoise resume"):
        RunFile.read(path)
    with RunFile.open(path) as run:
        assert run.counts()[Status.OK] == 1
    with RunFile.read(path) as run:
        assert run.counts()[Status.OK] == 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select mood from attempts").fetchall() == [("calm",)]
        assert connection.execute("pragma user_version").fetchall() == [(2,)]


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.db"
    create(path).close()
    before = path.read_bytes()
    monkeypatch.setattr(
        sql, "MIGRATIONS", (*sql.MIGRATIONS, ("create table more (a)", "insert into nowhere values (1)"))
    )
    monkeypatch.setattr(sql, "SCHEMA", 2)
    with pytest.raises(IntegrityError):
        RunFile.open(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    with RunFile.open(path) as run:
        assert run.counts()[Status.PENDING] == 10


def test_p13_a_copy_of_the_main_file_alone_is_detected(tmp_path: Path) -> None:
    path, copy = tmp_path / "run.db", tmp_path / "copies" / "run.db"
    copy.parent.mkdir()
    with create(path) as run:
        run.record([ended(next(run.pending()))])
        shutil.copy(path, copy)
        before = copy.read_bytes()
        for opened in (RunFile.open, RunFile.read):
            with pytest.raises(IntegrityError, match=r"copied while it was in use.*run\.db and run\.db-wal") as caught:
                opened(copy)
            assert caught.value.exit_code == 6
        assert copy.read_bytes() == before
        assert [file.name for file in copy.parent.iterdir()] == ["run.db"]

        shutil.copy(tmp_path / "run.db-wal", copy.parent)
        with RunFile.read(copy) as both:
            assert both.counts()[Status.OK] == 1
        copy.unlink()
    shutil.copy(path, copy)
    with RunFile.open(copy) as whole:
        assert whole.counts()[Status.OK] == 1


def killed(path: Path) -> None:
    """Leave a run file as an owner does that is killed after a commit."""
    script = """
import os, signal, sys
from pathlib import Path
from runs.fakes import create, ended
run = create(Path(sys.argv[1]))
run.record([ended(next(run.pending()))])
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script, str(path)], cwd=TESTS)


def test_p1_what_a_kill_leaves_can_be_read_and_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    killed(path)
    assert {"run.db", "run.db-wal", "run.db.lock"} <= {file.name for file in tmp_path.iterdir()}
    with RunFile.read(path) as run:
        assert run.counts()[Status.OK] == 1
    with RunFile.open(path) as run:
        assert run.counts()[Status.OK] == 1
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


def test_p1_a_change_cut_off_by_a_kill_is_undone_by_the_owner(tmp_path: Path) -> None:
    path, cut_off = tmp_path / "run.db", tmp_path / "cut" / "run.db"
    cut_off.parent.mkdir()
    create(path, plan(size=3000)).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in ("pragma cache_size = 2", "begin immediate", "update prompts set item = 'a much longer one'"):
            connection.execute(statement)
        for name in ("run.db", "run.db-journal"):
            shutil.copy(tmp_path / name, cut_off.parent)
    with pytest.raises(StorageError, match="cut off, which `equipoise resume` mends"):
        RunFile.read(cut_off)
    with RunFile.open(cut_off) as run:
        assert run.prompts("alpha")["item"][0] == "0"
    assert [file.name for file in cut_off.parent.iterdir()] == ["run.db"]


def test_p13_another_tool_may_tidy_up_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    killed(path)
    execute("select 1 from settings")(path)  # the last connection that closes takes the -wal in
    assert not (tmp_path / "run.db-wal").exists()
    with RunFile.read(path) as run:
        assert run.counts()[Status.OK] == 1
    with RunFile.open(path) as run:
        assert run.counts()[Status.OK] == 1


@pytest.mark.parametrize("row", ["P6", "U5"])
def test_a_place_that_takes_no_file_is_refused_before_asking(tmp_path: Path, row: str) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none" / "run.db", tmp_path / "file" / "run.db", tmp_path / ("x" * 300)):
        with pytest.raises(StorageError, match="cannot be written to") as caught:
            create(path)
        assert caught.value.exit_code == 5
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("row", ["P6", "U5"])
def test_a_read_only_directory_is_refused_before_asking(tmp_path: Path, row: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "run.db"
    create(path).close()
    with read_only(folder):
        for opened in (create, RunFile.open):
            with pytest.raises(StorageError, match="cannot be written") as caught:
                opened(path if opened == RunFile.open else folder / "new.db")
            assert caught.value.exit_code == 5
        with RunFile.read(path) as run:
            assert run.counts()[Status.PENDING] == 10
    assert [file.name for file in folder.iterdir()] == ["run.db"]


class read_only:  # noqa: N801 - used as a statement
    """A directory that takes no file: by its mode, or, because root may write anyway, by a mount."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mounted = False

    def __enter__(self) -> None:
        self._folder.chmod(0o555)
        try:
            (self._folder / "probe").touch()
        except OSError:
            return
        (self._folder / "probe").unlink()
        for options in (["--bind", str(self._folder)], ["-o", "remount,ro,bind"]):
            if not shutil.which("mount") or subprocess.run(["mount", *options, str(self._folder)]).returncode:
                self.__exit__()
                pytest.skip("This user writes everywhere and cannot mount.")
            self._mounted = True

    def __exit__(self, *exc_info: object) -> None:
        if self._mounted:
            subprocess.run(["umount", str(self._folder)], check=True)
        self._folder.chmod(0o755)


def test_a_reserve_that_is_not_free_is_asked_for_before_asking(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="Make room first") as caught:
        create(tmp_path / "run.db", reserve=2**62)
    assert caught.value.exit_code == 5
    with pytest.raises(StorageError, match="Make room first"):
        RunFile.open(tmp_path / "run.db", reserve=2**62)
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]
    with RunFile.open(tmp_path / "run.db") as run:
        assert run.counts()[Status.PENDING] == 10


def test_every_refusal_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError), create(tmp_path / "run.db", plan("alpha")):
        RunFile.open(tmp_path / "run.db")
