"""The file of a partial: a ZIP archive of Parquet tables and some values in JSON, which any tool can open.

Such a file may come from anyone: nothing in it is executed, and what is not as it was written is refused.
"""

from __future__ import annotations

import io
import secrets
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import msgspec
import polars as pl

from equipoise.errors import BadFile, IntegrityError, StorageError

VALUES = "values.json"
MOST_BYTES_OF_VALUES = 2**24
MOST_ROWS_PER_BYTE = 32
"""A table with more rows for each byte of its file is no table of ours: it would fill the memory."""
_SUFFIX = ".parquet"
_DATE = (1980, 1, 1, 0, 0, 0)
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, KeyError, ValueError, NotImplementedError, EOFError, RuntimeError),
    *(MemoryError, msgspec.MsgspecError, pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


class Values(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a partial holds beside its tables."""

    setup: dict[str, Any]
    prompts: str
    answers: Count
    unknown: Count
    surplus: Count
    coverage: dict[str, dict[str, Count]]
    format: Literal[1] = 1
    """Rises when a partial of an earlier version can no longer be read."""


def write_archive(target: Path | IO[bytes], values: Values, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write values and tables. A file of this name is replaced when all is written."""
    if not isinstance(target, Path):
        _pack(target, values, tables)
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            _pack(file, values, tables)
        temporary.replace(target)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror or error}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def _pack(file: IO[bytes], values: Values, tables: Mapping[str, pl.DataFrame]) -> None:
    # Parquet is compressed already. Without times, the same content makes the same file.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(VALUES, _DATE), msgspec.json.encode(values))
        for name, table in tables.items():
            buffer = io.BytesIO()
            table.write_parquet(buffer)
            archive.writestr(zipfile.ZipInfo(f"{name}{_SUFFIX}", _DATE), buffer.getvalue())


def read_archive(path: Path) -> tuple[Values, dict[str, pl.DataFrame]]:
    """The values and tables of a file; BadFile or IntegrityError if it is no partial, or damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            values = msgspec.json.decode(_read_member(archive, members.pop(VALUES)), type=Values)
            return values, {
                name.removesuffix(_SUFFIX): _read_table(name, _read_member(archive, member))
                for name, member in members.items()
            }
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
    except _DAMAGE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise IntegrityError(f"{path} is no partial of this version, or it is damaged: {reason}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """What is stored as it is: so it takes no more memory than the file has bytes."""
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise ValueError(f"{member.filename} is packed in another way than this program does")
    if member.filename == VALUES and member.file_size > MOST_BYTES_OF_VALUES:
        raise ValueError(f"{VALUES} has {member.file_size:,} bytes, more than {MOST_BYTES_OF_VALUES:,}")
    return archive.read(member)


def _read_table(name: str, content: bytes) -> pl.DataFrame:
    rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
    if rows > MOST_ROWS_PER_BYTE * len(content):
        raise ValueError(f"{name} has {rows:,} rows in {len(content):,} bytes")
    return pl.read_parquet(content)
