"""Weights of four bits as ones of eight: the same but for rounding, in a file that says so."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from equipoise.models.llama.eight_bit import BLOCK, F32, Q4_1, Q8_0, write_eight_bit

F16 = 1
METADATA = b"".join(
    [
        *(struct.pack("<Q", 4), b"name", struct.pack("<IQ", 8, 3), b"abc"),
        *(struct.pack("<Q", 4), b"list", struct.pack("<IIQ", 9, 8, 2)),
        *(struct.pack("<Q", 1), b"x", struct.pack("<Q", 2), b"yz"),
        *(struct.pack("<Q", 4), b"size", struct.pack("<II", 4, 7)),
    ]
)
Kind = tuple[bytes, int, bytes]
"""A tensor of two rows: its name, its kind and its bytes."""


def write_file(tensors: list[Kind], weights: int) -> bytes:
    """A GGUF file with three values of metadata; every tensor has so many weights in each of two rows."""
    table, data = b"", b""
    for name, kind, content in tensors:
        table += struct.pack("<Q", len(name)) + name + struct.pack("<IQQIQ", 2, weights, 2, kind, len(data))
        data += content + bytes(-len(content) % 32)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), 3) + METADATA + table
    return head + bytes(-len(head) % 32) + data


def four_bits(rng: np.random.Generator, blocks: int, size: float) -> bytes:
    made = np.empty(blocks, np.dtype([("scale", "<f2"), ("least", "<f2"), ("bits", "u1", BLOCK // 2)]))
    made["scale"], made["least"] = rng.random(blocks) * size, -rng.random(blocks) * size * 8
    made["bits"] = rng.integers(0, 256, (blocks, BLOCK // 2))
    return made.tobytes()


def read_four_bits(data: bytes) -> NDArray[np.float64]:
    """One weight after the other, as the format is described."""
    values = []
    for start in range(0, len(data), 20):
        scale, least = struct.unpack_from("<ee", data, start)
        bits = data[start + 4 : start + 20]
        values += [[scale * (bits[i % 16] >> (4 if i >= 16 else 0) & 15) + least for i in range(BLOCK)]]
    return np.array(values)


def read_eight_bits(data: bytes) -> NDArray[np.float64]:
    starts = range(0, len(data), 34)
    scales = np.array([struct.unpack_from("<e", data, start)[0] for start in starts])
    levels = np.array([struct.unpack_from("<32b", data, start + 2) for start in starts])
    values: NDArray[np.float64] = scales[:, None] * levels
    return values


@given(seed=st.integers(0, 99), blocks=st.integers(1, 9), size=st.sampled_from([0.0, 1e-3, 1.0, 50.0]))
def test_weights_change_by_rounding_only_and_nothing_else_changes(seed: int, blocks: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    four, plain, eight = four_bits(rng, 2 * blocks, size), rng.bytes(2 * blocks * 128), rng.bytes(2 * blocks * 34)
    given_file = write_file([(b"a", Q4_1, four), (b"norm", F32, plain), (b"b", Q8_0, eight)], blocks * BLOCK)
    target = io.BytesIO()
    write_eight_bit(io.BytesIO(given_file), target)
    written = target.getvalue()
    begin = len(written) - sum(n + -n % 32 for n in (len(eight), len(plain), len(eight)))
    made = written[begin : begin + len(eight)]
    assert written == write_file([(b"a", Q8_0, made), (b"norm", F32, plain), (b"b", Q8_0, eight)], blocks * BLOCK)
    before, after = read_four_bits(four), read_eight_bits(made)
    largest = np.abs(before).max(axis=1, keepdims=True)
    # Half a step of 1/127; the scale is rounded to 11 bits, or to 2**-24 if it is tiny.
    assert (np.abs(after - before) <= largest * (1 / 254 + 2**-11) + 127 * 2**-25).all()


def test_kinds_that_it_does_not_know_are_refused() -> None:
    given_file = write_file([(b"a", F16, bytes(128))], BLOCK)
    with pytest.raises(ValueError, match=r"kinds \[1\]"):
        write_eight_bit(io.BytesIO(given_file), io.BytesIO())
