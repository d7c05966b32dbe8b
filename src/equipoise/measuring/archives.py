"""Several tables and some plain values in one file: a ZIP archive of Parquet and JSON that any tool can open.

Such a file may come from anyone: nothing in it is executed, and what is not as it was written is refused.
"""

from __future__ import annotations

import io
import secrets
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import orjson
import polars as pl

from equipoise.errors import BadFile, IntegrityError, StorageError

VALUES = "values.json"
MOST_BYTES_OF_VALUES = 2**24
"""The values of a plan of five million prompts have less than one megabyte."""
MOST_ROWS_PER_BYTE = 32
"""A table with more rows for each byte of its file is no table of ours: it would fill the memory."""
_SUFFIX = ".parquet"
_DATE = (1980, 1, 1, 0, 0, 0)


def write_archive(target: Path | IO[bytes], values: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
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


def _pack(file: IO[bytes], values: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
    # Parquet is compressed already. Without times, the same content makes the same file.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(VALUES, _DATE), orjson.dumps(values))
        for name, table in tables.items():
            buffer = io.BytesIO()
            table.write_parquet(buffer)
            archive.writestr(zipfile.ZipInfo(f"{name}{_SUFFIX}", _DATE), buffer.getvalue())


def read_archive(path: Path, what: str) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    """The values and tables of a file; BadFile or IntegrityError if it is not `what` it should be, or damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            values = _read_values(archive)
            tables = {
                member.filename.removesuffix(_SUFFIX): _read_table(archive, member)
                for member in archive.infolist()
                if member.filename != VALUES
            }
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, NotImplementedError, EOFError, RuntimeError) as error:
        raise IntegrityError(f"{path} is no {what}, or it is damaged: {str(error).splitlines()[0]}.") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, MemoryError, RecursionError) as error:
        raise IntegrityError(f"{path} is damaged: {(str(error) or 'too large').splitlines()[0]}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    if not isinstance(values, dict):
        raise IntegrityError(f"{path} is no {what}.")
    return values, tables


def _read_values(archive: zipfile.ZipFile) -> Any:
    member = archive.getinfo(VALUES)
    _refuse_compressed(member)
    if member.file_size > MOST_BYTES_OF_VALUES:
        raise ValueError(f"{VALUES} has {member.file_size:,} bytes, more than {MOST_BYTES_OF_VALUES:,}")
    return orjson.loads(archive.read(member))


def _read_table(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> pl.DataFrame:
    _refuse_compressed(member)
    content = archive.read(member)
    rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
    if rows > MOST_ROWS_PER_BYTE * len(content):
        raise ValueError(f"{member.filename} has {rows:,} rows in {len(content):,} bytes")
    return pl.read_parquet(content)


def _refuse_compressed(member: zipfile.ZipInfo) -> None:
    """Only what is stored as it is takes no more memory than the file has bytes."""
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise ValueError(f"{member.filename} is packed in another way than this program does")
