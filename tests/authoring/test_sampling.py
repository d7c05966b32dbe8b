"""The seeded order of drawing: a permutation, the same everywhere, with balanced prefixes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from equipoise.authoring.sampling import shuffle, table_items

seeds = st.integers(0, 2**70)


@given(st.integers(1, 600) | st.sampled_from([65_536, 65_537]), seeds)
def test_every_number_has_exactly_one_place(size: int, seed: int) -> None:
    assert np.array_equal(np.sort(shuffle(np.arange(size), size, seed)), np.arange(size))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 255, 256, 257, 65_536, 65_537, 169_500])
def test_sizes_near_powers_of_two(size: int) -> None:
    assert len(np.unique(shuffle(np.arange(size), size, 1))) == size


@given(seeds, st.integers(0, 5_424_000 - 50))
def test_any_part_can_be_made_without_the_rest(seed: int, start: int) -> None:
    size = 5_424_000
    part = shuffle(np.arange(start, start + 50), size, seed)
    assert len(set(part.tolist())) == 50
    assert 0 <= part.min() <= part.max() < size
    assert part[7] == shuffle(np.array([start + 7]), size, seed)[0]


def test_every_stream_and_every_seed_has_another_order() -> None:
    places = np.arange(1_000)
    orders = {tuple(shuffle(places, 1_000, seed, stream)) for seed in range(5) for stream in range(5)}
    assert len(orders) == 25
    both = shuffle(np.array([3, 3, 4, 4]), 1_000, 9, np.array([0, 1, 0, 1]))
    assert both.tolist() == [shuffle(np.array([place]), 1_000, 9, stream)[0] for place in (3, 4) for stream in (0, 1)]


@pytest.mark.parametrize("place", [0, 6])
def test_every_number_is_equally_likely_at_a_place(place: int) -> None:
    drawn = Counter(int(shuffle(np.array([place]), 13, seed)[0]) for seed in range(1_300))
    assert chisquare([drawn[number] for number in range(13)]).pvalue > 0.001


def test_neighbours_do_not_stay_neighbours() -> None:
    order = shuffle(np.arange(5_000), 5_000, 2)
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.05
    assert abs(np.corrcoef(order, np.arange(5_000))[0, 1]) < 0.05


@pytest.mark.parametrize(
    ("size", "seed", "stream", "first"),
    [
        (339, 0, 0, [14, 219, 21, 144, 123, 246]),
        (339, 7, 0, [175, 150, 152, 71, 292, 166]),
        (5_424_000, 0, 0, [4242767, 4066302, 3064985, 1213875, 1433919, 2837581]),
        (169_500, 0, 15, [124753, 135816, 43457, 101886, 22214, 147769]),
        (169_500, 2**64 - 1, 3, [6950, 119582, 63846, 83329, 120370, 9194]),
    ],
)
def test_the_order_never_changes(size: int, seed: int, stream: int, first: list[int]) -> None:
    assert shuffle(np.arange(6), size, seed, stream).tolist() == first


sizes = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(sizes, st.integers(0, 99), st.data())
def test_samples_of_a_table_are_prefixes_of_larger_ones(counts: list[int], seed: int, data: st.DataObject) -> None:
    frame = pl.DataFrame({"kind": np.repeat(np.arange(len(counts)), counts)}).with_row_index("row")
    for strata in ([], ["kind"]):
        items = table_items(frame, strata)
        assert items.size == frame.height
        whole = items.take(np.arange(frame.height), seed)
        assert sorted(whole["row"]) == list(range(frame.height))
        k = data.draw(st.integers(1, frame.height))
        assert items.take(np.arange(k), seed).equals(whole[:k])


@given(sizes, st.integers(0, 99))
def test_every_prefix_has_its_fair_share_of_each_stratum(counts: list[int], seed: int) -> None:
    frame = pl.DataFrame({"kind": np.repeat(np.arange(len(counts)), counts)})
    order = table_items(frame, ["kind"]).take(np.arange(frame.height), seed)["kind"].to_numpy()
    for kind, count in enumerate(counts):
        fair = np.arange(1, len(order) + 1) * count / len(order)
        # It may be off by half an item of its own and, in proportion, by half an item of each other stratum.
        room = 1 + len(counts) * count / len(order)
        assert np.abs(np.cumsum(order == kind) - fair).max() <= room


def test_equal_strata_take_turns() -> None:
    frame = pl.DataFrame({"kind": list(range(5)) * 20})
    order = table_items(frame, ["kind"]).take(np.arange(100), 3)["kind"].to_list()
    assert all(sorted(order[start : start + 5]) == [0, 1, 2, 3, 4] for start in range(0, 100, 5))
