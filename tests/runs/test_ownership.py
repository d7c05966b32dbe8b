"""One owner, whatever becomes of the file's names while it is in use."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
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


@pytest.mark.fault("P21")
@pytest.mark.parametrize("accident", [Path.unlink, replace_by_another_run])
def test_a_run_that_loses_its_file_stops(tmp_path: Path, accident: Callable[[Path], None]) -> None:
    path = tmp_path / "run.db"
    contents: list[bytes | None] = []

    def lose(prompt: str, nth: int) -> Reply:
        if model.requests == 50:
            accident(path)
            contents.append(path.read_bytes() if path.exists() else None)
        return ok(prompt)

    file, model = create(path, plan(size=2000)), Fake(lose, delay=0.01)
    with pytest.raises(StorageError, match="was moved, deleted or replaced while it was in use") as caught:
        run(make_pump(file, model).run())
    assert caught.value.exit_code == 5
    assert "answers that came back could not be stored" in str(caught.value)
    assert model.requests < 2000, "it stopped"
    with pytest.raises(StorageError, match="was moved, deleted or replaced while it was in use"):
        file.close()
    [content] = contents
    assert (path.read_bytes() if path.exists() else None) == content, "what took its place is left alone"
    assert [file.name for file in tmp_path.iterdir()] == (["run.db"] if content else []), "nothing else is left"


@pytest.mark.fault("P7", "P22")
def test_a_run_has_one_owner_and_readers_also_through_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "run.db", tmp_path / "links" / "link.db"
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
