"""Item rows with other outcomes: what an unknown item could have said, and what missing answers could have said."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from equipoise.authoring import Probe

ATTEMPTS, MISSING = "attempts", "missing"
MOST_OUTCOMES = 32
"""Many arms with many labels can go more ways than this; then so many are drawn."""
SIDES = ("down", "up")
"""The ways of a number."""
_MEAN, _LEVEL = "mean number", "level"
_FARTHEST = {SIDES[0]: "lowest", SIDES[1]: "highest"}

Way = Mapping[str, str]
"""Where each arm goes, by its prefix: to a label; for numbers up or down."""


def possible_outcomes(probe: Probe, rows: pl.DataFrame) -> tuple[Sequence[Way], list[pl.DataFrame]]:
    """The rows as if all attempts of an item had gone one way: one table for each combination of ways of the arms,
    or for some of them. The ways come first; counts have none.

    For labels, an arm goes to one of the labels; for counts, all words go to one side of their opposites; for numbers,
    each arm lies half a spread above or below what was read of it.
    """
    if probe.detector.counts:
        sides = (0, 1) if probe.detector.opposites else ()
        return [], [rows.with_columns(**_one_sided(probe, side)) for side in sides]
    rows, ways = _with_levels(probe, rows), _draw_ways(probe)
    return ways, [rows.with_columns(**_assign(probe, way, filled=False)) for way in ways]


def filled_outcomes(probe: Probe, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows as if all missing answers had gone one way: first all arms the first way, then arm by arm.

    The ways are the opposite labels, if there are any, or all labels. Numbers lie as far below or above
    those of the other arms as the detector declares, or as the arms of any item are apart, if that is
    more. An answer that is counted in words has all its words on one side, and as many as the detector
    declares, or as any answer that was read has.
    """
    first, *others = ways_of_missing(probe)
    same = dict.fromkeys(probe.prefixes, first)
    ways = [same]
    for prefix in probe.prefixes:
        ways += [{**same, prefix: other} for other in others]
    if probe.detector.counts:
        lengths = _most_words(probe, rows)
        for way in ways:
            yield rows.with_columns(**_add_words(way, lengths))
        return
    rows = _with_levels(probe, rows)
    for way in ways:
        yield rows.with_columns(**_assign(probe, way, filled=True))


def ways_of_missing(probe: Probe) -> tuple[str, ...]:
    """The ways in which a missing answer could have gone; none where nothing says what words would mean."""
    if probe.detector.counts:
        return SIDES if probe.detector.opposites else ()
    if probe.detector.opposites:
        return probe.detector.opposites[0]
    return _ways_of_arm(probe)


def _ways_of_arm(probe: Probe) -> tuple[str, ...]:
    return SIDES if probe.detector.number else probe.detector.labels


def _all_ways(probe: Probe, of_arm: Sequence[str]) -> list[Way]:
    choices = itertools.product(of_arm, repeat=len(probe.prefixes))
    return [dict(zip(probe.prefixes, ways, strict=True)) for ways in choices]


def _draw_ways(probe: Probe) -> list[Way]:
    """All ways in which the arms can go or, if there are too many, some that are spread over each arm."""
    of_arm = _ways_of_arm(probe)
    if len(of_arm) ** len(probe.prefixes) <= MOST_OUTCOMES:
        return _all_ways(probe, of_arm)
    rng = np.random.RandomState(0)  # the same everywhere: these are not random results, only a choice
    # One end of a scale as often as all that is not that end, so that unknown items pull a share towards one half.
    ends = probe.detector.opposites[0][:1] if probe.detector.opposites else ()
    rest = [way for way in of_arm if way not in ends]
    half = MOST_OUTCOMES // 2 if ends else 0
    spread = [*ends * half, *(rest[place % len(rest)] for place in range(MOST_OUTCOMES - half))]
    columns = [[spread[place] for place in rng.permutation(MOST_OUTCOMES)] for _ in probe.prefixes]
    return [dict(zip(probe.prefixes, way, strict=True)) for way in zip(*columns, strict=True)]


def _assign(probe: Probe, way: Way, *, filled: bool) -> dict[str, pl.Expr]:
    """The columns of items that go this way: with all their attempts, or what was read and (`filled`) the missing."""
    columns: dict[str, pl.Expr] = {}
    nothing, detector = pl.lit(0, dtype=pl.UInt32), probe.detector
    for prefix, side in way.items():
        chosen = detector.labels[0] if detector.number else side
        missing = pl.col(f"{prefix}{MISSING}")
        decided = pl.sum_horizontal(f"{prefix}{label}" for label in detector.labels)
        # A possible outcome weighs as much as what the item decided, so that undetected answers change nothing.
        size = missing if filled else pl.max_horizontal(decided, (missing > 0).cast(pl.UInt32))
        gained = {label: size if label == chosen else nothing for label in detector.labels}
        gained |= {name: size * of_label[chosen] for name, of_label in detector.shares.items()}
        if detector.number:
            sign = 1 if side == SIDES[1] else -1
            near = pl.col(f"{prefix}{_MEAN}").fill_null(pl.col(_LEVEL)) + sign * detector.number.spread / 2
            gained[detector.sum_column] = size * (pl.col(_FARTHEST[side]) if filled else near)
        for name, gain in gained.items():
            columns[f"{prefix}{name}"] = (pl.col(f"{prefix}{name}") if filled else nothing) + gain
        columns[f"{prefix}{ATTEMPTS}"] = (decided if filled else nothing) + size
        columns |= {f"{prefix}{label}": nothing for label in detector.counted_labels}
    return columns


def _with_levels(probe: Probe, rows: pl.DataFrame) -> pl.DataFrame:
    """For numbers: rows with the mean of each arm, the level of the item, and the lowest and highest missing number.

    The level is the mean of the arms; if nothing was read of the item, that of all items. No two arms of
    an item are taken to be farther apart than the detector declares, or than those of any item that was
    read. So a missing number lies within that distance of every arm that is known, and deleting an
    answer does not narrow what is possible, unless it is the farthest of all.
    """
    if not probe.detector.number:
        return rows
    (label,) = probe.detector.labels
    for prefix in probe.prefixes:
        read = pl.col(f"{prefix}{label}")
        mean = pl.when(read > 0).then(pl.col(f"{prefix}{probe.detector.sum_column}") / read)
        rows = rows.with_columns(mean.alias(f"{prefix}{_MEAN}"))
    means = [pl.col(f"{prefix}{_MEAN}") for prefix in probe.prefixes]
    level = pl.mean_horizontal(means)
    highest = pl.max_horizontal(means)
    lowest = pl.min_horizontal(means)
    apart = pl.max_horizontal((highest - lowest).max(), pl.lit(probe.detector.number.farthest))
    everywhere = level.mean().fill_null(0.0)
    return rows.with_columns(
        level.fill_null(everywhere).alias(_LEVEL),
        (highest - apart).fill_null(everywhere - apart / 2).alias(_FARTHEST[SIDES[0]]),
        (lowest + apart).fill_null(everywhere + apart / 2).alias(_FARTHEST[SIDES[1]]),
    )


def _most_words(probe: Probe, rows: pl.DataFrame) -> dict[tuple[str, str], float]:
    """For each pair of opposites the most words of both kinds that a missing answer is taken to hold."""
    lengths = {}
    for pair in probe.detector.opposites:
        per_answer = []
        for prefix in probe.prefixes:
            answers = pl.col(f"{prefix}{ATTEMPTS}")
            words = pl.sum_horizontal(f"{prefix}{name}" for name in pair)
            per_answer.append((words / answers).filter(answers > 0).max())
        most_read = float(rows.select(pl.max_horizontal(per_answer)).item() or 0.0)
        lengths[pair] = max(most_read, float(probe.detector.most_words.get(pair, 0)))
    return lengths


def _add_words(way: Way, lengths: Mapping[tuple[str, str], float]) -> dict[str, pl.Expr]:
    """The columns of items whose missing answers hold only words of one side."""
    columns: dict[str, pl.Expr] = {}
    for prefix, side in way.items():
        missing = pl.col(f"{prefix}{MISSING}")
        for pair, length in lengths.items():
            gaining = f"{prefix}{pair[SIDES.index(side)]}"
            columns[gaining] = pl.col(gaining) + length * missing
        answers = pl.col(f"{prefix}{ATTEMPTS}")
        columns[f"{prefix}{ATTEMPTS}"] = pl.max_horizontal(answers, missing)
    return columns


def _one_sided(probe: Probe, side: int) -> dict[str, pl.Expr]:
    """The columns of items whose words are all of one side of their opposites."""
    columns: dict[str, pl.Expr] = {}
    for prefix, pair in itertools.product(probe.prefixes, probe.detector.opposites):
        names = [f"{prefix}{name}" for name in pair]
        columns[names[side]] = pl.sum_horizontal(names)
        columns[names[1 - side]] = pl.lit(0, dtype=pl.UInt32)
    return columns
