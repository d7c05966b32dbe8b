"""One owner, whatever becomes of the file's names while it is in use."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.errors import StorageError
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.schema import Status
from runs.fakes import create, finish, plan
from runs.killable import Server, start

POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows does not let go of files in use")


def replace_by_another_run(path: Path) -> None:
    other = path.with_name("other.db")
    with create(other, plan("beta", 4)) as run:
        run.record([finish(next(run.pending()))])
    other.replace(path)


def delete(path: Path) -> None:
    path.unlink()


def delete_with_companions(path: Path) -> None:
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm"), Path(f"{path}.lock")):
        file.unlink()


@POSIX
@pytest.mark.fault("P21")
@pytest.mark.parametrize("accident", [delete, delete_with_companions, replace_by_another_run])
def test_a_run_that_loses_its_file_stops(tmp_path: Path, accident: Callable[[Path], None]) -> None:
    path = tmp_path / "run.db"
    create(path, plan(size=2000)).close()
    with Server(delay=0.01) as server:
        child = start(path, server)
        while sum(server.requests.values()) < 50:
            time.sleep(0.01)
        accident(path)
        content = path.read_bytes() if path.exists() else None
        _, err = child.communicate(timeout=60)
        asked = sum(server.requests.values())
    assert child.returncode == 5, err
    assert f"{path} was moved, deleted or replaced while it was in use." in err
    assert asked < 2000, "it stopped"
    assert (path.read_bytes() if path.exists() else None) == content, "what took its place is left alone"
    assert [file.name for file in tmp_path.iterdir()] == (["run.db"] if content else []), "nothing else is left"


@POSIX
@pytest.mark.fault("P21")
def test_a_file_that_is_gone_when_it_is_closed_is_noticed_too(tmp_path: Path) -> None:
    run = create(tmp_path / "run.db")
    (tmp_path / "run.db").unlink()
    with pytest.raises(StorageError, match="was moved, deleted or replaced"):
        run.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault("P7")
def test_this_process_cannot_own_a_run_twice(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with create(path) as run:
        with pytest.raises(StorageError, match=f"in use by another process \\(pid {os.getpid()}\\)"):
            RunFile.open(path)
        run.record(map(finish, run.pending()))
        with RunReader.open(path) as reader:
            assert reader.counts()[Status.OK] == 10


@POSIX
@pytest.mark.fault("P22")
def test_a_reader_in_the_owners_process_does_not_end_the_owners_locks(tmp_path: Path) -> None:
    """Closing a file ends all POSIX locks of a process on it; then another tool would take away the -wal."""
    path = tmp_path / "run.db"
    with create(path) as run:
        RunReader.open(path).close()
        tool = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('select 1 from settings').connection.close()"
        subprocess.run(["python3", "-c", tool, str(path)], check=True)
        assert (tmp_path / "run.db-wal").exists()
        run.record(map(finish, run.pending()))
    with RunReader.open(path) as run:
        assert run.counts()[Status.OK] == 10


@POSIX
@pytest.mark.fault("P22")
def test_a_run_works_through_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "run.db", tmp_path / "links" / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    create(path).close()
    with RunFile.open(link) as run:
        run.record([finish(next(run.pending()))])
        with RunReader.open(link) as reader, RunReader.open(path) as direct:
            assert reader.counts() == direct.counts()
            assert reader.counts()[Status.OK] == 1
        assert [file.name for file in link.parent.iterdir()] == ["link.db"]
        with pytest.raises(StorageError, match="in use by another process"):
            RunFile.open(path)
    with RunReader.open(link) as reader:
        assert reader.counts()[Status.OK] == 1


@POSIX
@pytest.mark.fault("S20")
def test_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with create(tmp_path / "run.db") as run:
            run.record(map(finish, run.pending()))
            files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        assert files == dict.fromkeys(["run.db", "run.db-shm", "run.db-wal", "run.db.lock"], 0o600)
        shutil.copy(tmp_path / "run.db", tmp_path / "copy.db")
    finally:
        os.umask(before)


@pytest.mark.fault("P14")
def test_a_new_run_is_not_written_beside_the_wal_of_an_old_one(tmp_path: Path) -> None:
    (tmp_path / "run.db-wal").write_bytes(b"old")
    with pytest.raises(StorageError, match=r"run\.db-wal is left of another run file"):
        create(tmp_path / "run.db")
    assert [file.name for file in tmp_path.iterdir()] == ["run.db-wal"]
