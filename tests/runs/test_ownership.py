"""One owner, whatever becomes of the file's names while it is in use."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.errors import StorageError
from equipoise.models.protocol import Reply
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.schema import Status
from runs.fakes import Fake, create, finish, ok, plan
from runs.pumping import make_pump, run


def replace_by_another_run(path: Path) -> None:
    other = path.with_name("other.db")
    with create(other, plan("beta", 4)) as run:
        run.store([finish(next(run.pending()))])
    other.replace(path)


def delete(path: Path) -> None:
    path.unlink()


def delete_with_its_lock(path: Path) -> None:
    path.unlink()
    path.with_name(f"{path.name}.lock").unlink()


@pytest.mark.fault("P21")
@pytest.mark.parametrize("accident", [delete, delete_with_its_lock, replace_by_another_run])
def test_a_run_that_loses_its_file_stops(tmp_path: Path, accident: Callable[[Path], None]) -> None:
    path = tmp_path / "run.db"
    contents: list[bytes | None] = []

    def lose(prompt: str, nth: int) -> Reply:
        if model.requests == 50:
            accident(path)
            contents.append(path.read_bytes() if path.exists() else None)
        return ok(prompt)

    file, model = create(path, plan(size=2000)), Fake(lose, delay=0.01)
    with pytest.raises(
        StorageError,
        match="was moved, deleted or replaced while it was in use",
    ) as caught:
        run(make_pump(file, model).run())
    assert caught.value.exit_code == 5
    assert "answers that came back could not be stored" in str(caught.value)
    assert model.requests < 2000, "it stopped"
    with pytest.raises(StorageError, match="was moved, deleted or replaced while it was in use"):
        file.close()
    [content] = contents
    assert (path.read_bytes() if path.exists() else None) == content, "what took its place is left alone"
    assert [file.name for file in tmp_path.iterdir()] == (["run.db"] if content else []), "nothing else is left"


@pytest.mark.fault("P21")
def test_a_run_that_was_moved_stops_and_what_was_stored_is_in_the_moved_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.db"
    moved = tmp_path / "moved.db"
    file = create(path)
    file.store([finish(next(file.pending()))])
    path.rename(moved)
    with pytest.raises(StorageError, match="was moved, deleted or replaced while it was in use"):
        file.store([finish(next(file.pending()))])
    with pytest.raises(StorageError, match="was moved, deleted or replaced while it was in use"):
        file.close()
    with RunFile.open(moved) as found:
        assert found.counts()[Status.OK] == 1
    assert [found.name for found in tmp_path.iterdir()] == ["moved.db"]


@pytest.mark.fault("P21")
def test_a_file_that_is_gone_when_it_is_closed_is_an_error(tmp_path: Path) -> None:
    file = create(tmp_path / "run.db")
    file.store(map(finish, file.pending()))
    (tmp_path / "run.db").unlink()
    with pytest.raises(StorageError, match="was moved, deleted or replaced while it was in use") as caught:
        file.close()
    assert caught.value.exit_code == 5
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("P21")
def test_the_first_error_is_reported_if_the_file_is_also_gone(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"^first$"):
        fail_after_deleting(tmp_path / "run.db")


def fail_after_deleting(path: Path) -> None:
    with create(path):
        path.unlink()
        raise StorageError("first")


@pytest.mark.fault("P7")
def test_this_process_cannot_own_a_run_twice_and_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with create(path) as file:
        with pytest.raises(
            StorageError,
            match=f"in use by another process \\(pid {os.getpid()}\\)",
        ):
            RunFile.open(path)
        file.store(map(finish, file.pending()))
        with RunReader.open(path) as reader:
            assert reader.counts()[Status.OK] == 10


@pytest.mark.fault("P22")
def test_a_run_works_through_a_link(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    link = tmp_path / "links" / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    create(path).close()
    with RunFile.open(link) as file:
        file.store([finish(next(file.pending()))])
        with RunReader.open(link) as reader, RunReader.open(path) as direct:
            assert reader.counts() == direct.counts()
            assert reader.counts()[Status.OK] == 1
        assert [found.name for found in link.parent.iterdir()] == ["link.db"]
        with pytest.raises(StorageError, match=f"in use by another process \\(pid {os.getpid()}\\)"):
            RunFile.open(path)
    with RunReader.open(link) as reader:
        assert reader.counts()[Status.OK] == 1


@pytest.mark.fault("P22")
def test_a_reader_that_closes_the_file_does_not_let_another_process_own_it(tmp_path: Path) -> None:
    """Closing a file ends all POSIX locks of a process on it, so ours is of another kind."""
    path = tmp_path / "run.db"
    with create(path) as file:
        RunReader.open(path).close()
        opening = "import sys; from pathlib import Path; from equipoise.runs.file.store import RunFile;"
        opening += "RunFile.open(Path(sys.argv[1]))"
        second = subprocess.run(
            [sys.executable, "-c", opening, path],
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"in use by another process (pid {os.getpid()})" in second.stderr
        file.store(map(finish, file.pending()))
    with RunReader.open(path) as reader:
        assert reader.counts()[Status.OK] == 10


def test_another_tool_may_read_a_run_in_use(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with create(path) as file:
        file.store([finish(next(file.pending()))])
        with closing(sqlite3.connect(path)) as tool:
            assert tool.execute("select count(*) from attempts").fetchall() == [(1,)]
        file.store(map(finish, file.pending()))
    with RunReader.open(path) as reader:
        assert reader.counts()[Status.OK] == 10


@pytest.mark.fault("S20")
def test_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with create(tmp_path / "run.db") as file:
            file.store(map(finish, file.pending()))
            modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in tmp_path.iterdir()}
        assert modes == dict.fromkeys(["run.db", "run.db.lock"], 0o600)
    finally:
        os.umask(before)


@pytest.mark.fault("P7")
def test_a_file_system_without_locks_is_named_and_not_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StorageError, match=r"is on a file system without locks \(Function not implemented\)") as caught:
        create(tmp_path / "run.db")
    assert "Keep run files on a local disk" in str(caught.value)
    assert caught.value.exit_code == 5
    assert list(tmp_path.iterdir()) == []
