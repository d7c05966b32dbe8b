"""Weights of four bits (Q4_1 of GGUF) as ones of eight (Q8_0), for which llama.cpp computes several tokens at a time.

Its fast products know Q8_0 and not Q4_1, so that a token of a prompt costs half, and one of eight answers two thirds.
A weight changes by little more than 1/254 of the largest of its block of 32 at most. Only `server.py` uses this.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

F32, Q4_1, Q8_0 = 0, 3, 8
BLOCK = 32
"""So many weights share a scale."""
BLOCK_BYTES = {F32: 4 * BLOCK, Q4_1: 4 + BLOCK // 2, Q8_0: 2 + BLOCK}
ALIGNMENT = 32
STRING, ARRAY = 8, 9
VALUE_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""The size of a value of metadata, by its type."""
COUNTS = struct.Struct("<4sIQQ")
"""The beginning of a file: GGUF, the version, and how many tensors and values there are."""


def write_eight_bit(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy weights; raises `ValueError` for a file that holds anything but Q4_1, Q8_0 and F32."""
    head, tensors = _read_head(source)
    target.write(head)
    offset = 0
    for name, shape, kind, _ in tensors:
        as_kind = Q8_0 if kind == Q4_1 else kind
        target.write(_pack_string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, as_kind, offset))
        offset += _pad(_count_bytes(shape, as_kind))
    _fill(target)
    begin = _pad(source.tell())
    for _, shape, kind, place in tensors:
        source.seek(begin + place)
        data = source.read(_count_bytes(shape, kind))
        target.write(_widen(data) if kind == Q4_1 else data)
        _fill(target)


def _widen(data: bytes) -> bytes:
    """Blocks of Q4_1 (scale, least value, 32 times four bits) as blocks of Q8_0 (scale, 32 times eight bits)."""
    blocks = np.frombuffer(data, np.dtype([("scale", "<f2"), ("least", "<f2"), ("bits", "u1", BLOCK // 2)]))
    levels = np.concatenate([blocks["bits"] & 15, blocks["bits"] >> 4], axis=1)
    values = levels * blocks["scale"].astype(np.float32)[:, None] + blocks["least"].astype(np.float32)[:, None]
    scale = np.abs(values).max(axis=1) / np.float32(127)
    wide = np.empty(len(blocks), np.dtype([("scale", "<f2"), ("values", "i1", BLOCK)]))
    wide["scale"] = scale
    wide["values"] = np.rint(values / np.where(scale > 0, scale, 1)[:, None])
    return wide.tobytes()


def _read_head(source: IO[bytes]) -> tuple[bytes, list[tuple[bytes, tuple[int, ...], int, int]]]:
    """Everything before the table of tensors, as it is, and that table: name, shape, kind, place."""
    _, _, tensors, values = COUNTS.unpack(source.read(COUNTS.size))
    for _ in range(values):
        _read_string(source)
        _skip_value(source, *_read(source, "<I"))
    end = source.tell()
    table = list(_read_tensors(source, tensors))
    if unknown := {kind for _, _, kind, _ in table} - BLOCK_BYTES.keys():
        raise ValueError(f"tensors of the kinds {sorted(unknown)}")
    after = source.tell()
    source.seek(0)
    head = source.read(end)
    source.seek(after)
    return head, table


def _read_tensors(source: IO[bytes], count: int) -> Iterator[tuple[bytes, tuple[int, ...], int, int]]:
    for _ in range(count):
        name = _read_string(source)
        (dimensions,) = _read(source, "<I")
        *shape, kind, place = _read(source, f"<{dimensions}QIQ")
        yield name, tuple(shape), kind, place


def _skip_value(source: IO[bytes], kind: int) -> None:
    if kind == STRING:
        _read_string(source)
    elif kind == ARRAY:
        inner, count = _read(source, "<IQ")
        for _ in range(count):
            _skip_value(source, inner)
    else:
        source.read(VALUE_BYTES[kind])


def _read(source: IO[bytes], form: str) -> tuple[Any, ...]:
    return struct.unpack(form, source.read(struct.calcsize(form)))


def _read_string(source: IO[bytes]) -> bytes:
    (length,) = _read(source, "<Q")
    return source.read(length)


def _pack_string(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def _count_bytes(shape: tuple[int, ...], kind: int) -> int:
    return int(np.prod(shape)) * BLOCK_BYTES[kind] // BLOCK


def _pad(place: int) -> int:
    return -(-place // ALIGNMENT) * ALIGNMENT


def _fill(target: IO[bytes]) -> None:
    """Zeros up to the next place where a tensor may begin."""
    place = target.tell()
    target.write(bytes(_pad(place) - place))
