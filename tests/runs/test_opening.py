"""Files after a kill, a copy or a restored backup, and places that cannot be written to."""

from __future__ import annotations

import dataclasses
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from equipoise.errors import BadFile, BadParameter, IntegrityError, ProbeError, StorageError
from equipoise.runs.file import connection, store
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.schema import Status
from runs.fakes import create, execute, finish, plan, prompts_of
from runs.killable import TESTS


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("open_run", [RunFile.open, RunReader.open])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("none.db", "There is no run file", id="nothing there"),
        pytest.param("none/run.db", "There is no run file", id="nothing there, nor its folder"),
        pytest.param(".", "is no file", id="a folder"),
    ],
)
def test_a_missing_file_is_an_error_in_the_input(
    tmp_path: Path, open_run: Callable[[Path], RunReader], name: str, words: str
) -> None:
    with pytest.raises(BadFile, match=words) as caught:
        open_run(tmp_path / name)
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


def create_and_kill(path: Path) -> None:
    """Leave a run file behind, as an owner that is killed after it has stored an answer."""
    script = """
import os, signal, sys
from pathlib import Path
from runs.fakes import create, finish
run = create(Path(sys.argv[1]))
run.store([finish(next(run.pending()))])
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", script, str(path)], cwd=TESTS, check=False)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.fault("P1")
def test_a_run_file_left_by_a_kill_can_be_read_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    create_and_kill(path)
    assert names_in(tmp_path) == ["run.db", "run.db.lock"]
    execute("select 1 from settings")(path)  # another tool may read it
    with RunReader.open(path) as run:
        assert run.counts()[Status.OK] == 1
    for _ in range(2):
        with RunFile.open(path) as run:
            assert run.counts()[Status.OK] == 1
    assert names_in(tmp_path) == ["run.db"]


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


@pytest.mark.fault("P14")
def test_a_journal_of_another_time_changes_nothing_silently(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    create(path, plan(size=3000)).close()
    interrupt_change(path, tmp_path / "interrupted.db")
    with RunFile.open(path) as run:
        run.store(finish(each) for each in list(run.pending())[:200])
    (tmp_path / "interrupted.db-journal").rename(f"{path}-journal")
    for open_run in (RunFile.open, RunReader.open):
        with pytest.raises(IntegrityError) as caught:
            open_run(path)
        assert caught.value.exit_code == 6


@pytest.mark.fault("P14")
def test_a_new_run_is_not_written_beside_the_journal_of_an_old_one(tmp_path: Path) -> None:
    (tmp_path / "run.db-journal").write_bytes(b"old")
    with pytest.raises(StorageError, match=r"run\.db-journal is left of another run file"):
        create(tmp_path / "run.db")
    assert names_in(tmp_path) == ["run.db-journal"]


@pytest.mark.fault("P6")
@pytest.mark.fault("U5")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("none/run.db", id="a folder that is not there"),
        pytest.param("file/run.db", id="a file instead of a folder"),
        pytest.param("x" * 300, id="too long a name"),
        pytest.param("/proc/run", id="a file system that takes no files"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_before_asking(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written to") as caught:
        create(tmp_path / name)
    assert caught.value.exit_code == 5
    assert names_in(tmp_path) == ["file"]


class read_only:  # noqa: N801 - used as a statement
    """A folder that cannot be written to: by its mode or, for root, by a mount."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mounted = False

    def __enter__(self) -> None:
        self._folder.chmod(0o555)
        try:
            (self._folder / "attempt").touch()
        except OSError:
            return
        (self._folder / "attempt").unlink()
        for options in (["--bind", str(self._folder)], ["-o", "remount,ro,bind"]):
            mount = ["mount", *options, str(self._folder)]
            if not shutil.which("mount") or subprocess.run(mount).returncode:
                self.__exit__()
                pytest.skip("This user writes everywhere and cannot mount.")
            self._mounted = True

    def __exit__(self, *exc_info: object) -> None:
        if self._mounted:
            subprocess.run(["umount", str(self._folder)], check=True)
        self._folder.chmod(0o755)


@pytest.mark.fault("P6")
@pytest.mark.fault("U5")
def test_a_run_in_a_read_only_folder_is_read_and_not_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "run.db"
    create(path).close()
    with read_only(folder):
        for open_run, file in ((create, folder / "new.db"), (RunFile.open, path)):
            with pytest.raises(StorageError, match="cannot be written to") as caught:
                open_run(file)
            assert caught.value.exit_code == 5
        with RunReader.open(path) as run:
            assert run.counts()[Status.PENDING] == 10
    assert names_in(folder) == ["run.db"]


def test_too_little_free_space_is_refused_before_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "RESERVE", 2**62)
    with pytest.raises(StorageError, match="Make room first") as caught:
        create(tmp_path / "run.db")
    assert caught.value.exit_code == 5


def test_a_run_for_which_there_is_too_little_space_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(tmp_path / "run.db").close()
    with monkeypatch.context() as little:
        little.setattr(store, "RESERVE", 2**62)
        with pytest.raises(StorageError, match="Make room first") as caught:
            RunFile.open(tmp_path / "run.db")
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


def test_a_run_file_that_cannot_be_changed_now_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program has the file open, and has begun to change it."""
    monkeypatch.setattr(connection, "_BUSY_SECONDS", 0.05)
    path = tmp_path / "run.db"
    create(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        with pytest.raises(StorageError, match="database is locked") as caught:
            RunFile.open(path)
        assert caught.value.exit_code == 5
        other.rollback()
    RunFile.open(path).close()
