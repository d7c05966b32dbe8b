"""Partials: what a result is made of, from some of the answers. They add up exactly, so answers are scored in shards.

A partial holds sums over the items of which all attempts are there, and the evaluated attempts of the others, until
another partial brings the rest. All that feeds a result is summed in whole numbers, so the result of partials is that
of all answers at once, to the last bit, however the answers were cut and in whatever order the partials were added.

It holds no answers, so its result has no transcripts and cannot be compared prompt by prompt, and what needs the texts
again (the other reading, words that differ between arms) is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import polars as pl

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, InputError, IntegrityError, UnknownName
from equipoise.measuring.archives import read_archive, write_archive
from equipoise.measuring.blocks import PlannedBlock, Ranges, count_blocks, find_attempt, take_block
from equipoise.measuring.coverage import ALL, Coverage, add_coverage, make_coverage
from equipoise.measuring.measure import Sums, add_sums, make_result, sum_items
from equipoise.measuring.partial_checks import (
    Forged,
    check_blocks,
    check_coverage,
    check_seen,
    check_sums,
    check_table,
    make_no_attempts,
    require,
)
from equipoise.measuring.plan import Plan, Setup, plan
from equipoise.measuring.result import Matching, Result
from equipoise.measuring.selection import SelectionSums
from equipoise.probes import get_probe
from equipoise.schema import ITEM

FORMAT = 1
"""Rises when a partial of an earlier version can no longer be read."""
SUFFIX = ".partial"
ATTEMPT, OF_ITEM = "_attempt", "_attempts_of_item"
"""Columns of open attempts: the number of the attempt in the plan, and how many attempts its item has."""
_CLUSTERS, _SETS = "clusters/", "sets/"
NOT_OURS = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, AssertionError),
    *(BadParameter, pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
"""What is raised where values that came from elsewhere are not what a partial holds."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Partial:
    """The sums of some of the answers to a plan: `score_part` makes it, `+` adds another, `result()` measures it."""

    setup: Setup = field(repr=False)
    items: int
    """How many items are planned, here and elsewhere."""
    answers: int
    """How many answers were read."""
    unknown: int
    """How many of them belong to no planned prompt,"""
    surplus: int
    """and how many are more than were planned for their prompt."""
    seen: Ranges = field(repr=False)
    """The numbers of the attempts that are in it."""
    blocks: Mapping[int, PlannedBlock] = field(repr=False)
    """What is planned, by the number of the block, as far as it is known here."""
    slices: pl.DataFrame = field(repr=False)
    """The values of the slices in these blocks."""
    coverage: Coverage = field(repr=False)
    """Its attempts by state, in all and by group."""
    sums: Sums = field(repr=False)
    """Of the items of which all attempts are there."""
    open: pl.DataFrame = field(repr=False)
    """The evaluated attempts of the other items."""
    foreign: bool = field(default=False, repr=False)
    """Whether it was read from a file, which anybody may have written."""

    def __add__(self, other: Partial) -> Partial:
        """Both together. IntegrityError if their setups differ, InputError if they have an attempt in common."""
        if not isinstance(other, Partial):
            return NotImplemented
        _refuse_other_setup(self, other)
        _refuse_common_attempts(self, other)
        try:
            closed, still_open = _close_items(self.setup, pl.concat([self.open, other.open]))
            return Partial(
                setup=self.setup,
                items=self.items,
                answers=self.answers + other.answers,
                unknown=self.unknown + other.unknown,
                surplus=self.surplus + other.surplus,
                seen=self.seen.unite(other.seen),
                blocks={**self.blocks, **other.blocks},
                slices=pl.concat([self.slices, other.slices]).unique(),
                coverage=add_coverage([self.coverage, other.coverage]),
                sums=add_sums([self.sums, other.sums, *closed]),
                open=still_open,
                foreign=self.foreign or other.foreign,
            )
        except pl.exceptions.PolarsError as error:
            name, reason = self.setup.probe.name, str(error).splitlines()[0]
            raise IntegrityError(f"Two partials of {name} do not fit together: {reason}.") from None

    @staticmethod
    def sum(partials: Iterable[Partial]) -> Partial:
        """All of them together; faster than adding one after the other."""
        waiting: list[Partial] = []
        for one in partials:
            waiting.append(one)
            # Like with like: every cell is sorted a few times, and not once for each partial.
            while len(waiting) > 1 and 2 * waiting[-1].sums.cells.height >= waiting[-2].sums.cells.height:
                waiting[-2:] = [waiting[-2] + waiting[-1]]
        while len(waiting) > 1:
            waiting[-2:] = [waiting[-2] + waiting[-1]]
        if not waiting:
            raise InputError("There is no partial to add.")
        return waiting[0]

    def with_setup(self, setup: Setup) -> Partial:
        """The same partial of this setup, which must be its own: that of a probe that was sent here by value."""
        if different := _differences(self.setup.describe(), setup.describe()):
            raise _refuse_setup(different)
        return replace(self, setup=setup)

    def result(self) -> Result:
        """What `score` gives for the same answers, but without single answers.

        What no partial has seen of the plan is planned now, to say how much is missing.
        """
        try:
            return self._measure()
        except NOT_OURS as error:
            if not self.foreign:
                raise
            raise IntegrityError(f"A partial holds what no partial holds: {_describe(error)}.") from None

    def _measure(self) -> Result:
        probe, parameters, repetitions = self.setup.probe, self.setup.parameters, self.setup.repetitions
        blocks, slices = self._complete_plan()
        planned = add_coverage(block.prompts for block in blocks.values())
        return make_result(
            self.setup,
            add_sums([self.sums, sum_items(probe, self.open.drop(ATTEMPT, OF_ITEM), parameters)]),
            slices=slices,
            coverage=make_coverage(probe, planned, self.coverage, repetitions),
            matching=self.matching(planned[ALL][ALL] * repetitions),
            attempts=_refuse_single_answers,
        )

    def matching(self, planned: int) -> Matching:
        """What became of the answers that were read, with so many attempts planned."""
        return Matching(
            read=self.answers,
            matched=self.seen.size,
            surplus=self.surplus,
            unknown=self.unknown,
            missing=planned - self.seen.size,
        )

    def write(self, target: Path | str | IO[bytes]) -> None:
        """Write it to a file, from which `Partial.read` makes it again."""
        values = {
            "format": FORMAT,
            "setup": self.setup.describe(),
            **{name: getattr(self, name) for name in ("items", "answers", "unknown", "surplus", "coverage")},
            "blocks": [{"number": number, **asdict(block)} for number, block in self.blocks.items()],
        }
        selections = self.sums.selections
        tables = {
            "seen": pl.DataFrame({"start": self.seen.starts, "end": self.seen.ends}),
            "slices": self.slices,
            "open": self.open,
            "cells": self.sums.cells,
            **{f"{_CLUSTERS}{name}": table for name, table in self.sums.clusters.items()},
            **({"selections": selections.folded} if selections else {}),
            **({f"{_SETS}{name}": table for name, table in selections.by_set.items()} if selections else {}),
        }
        write_archive(Path(target) if isinstance(target, str) else target, values, tables)

    @staticmethod
    def read(path: Path | str, probe: Probe | None = None) -> Partial:
        """Read a partial from a file; `probe` is for one that is not installed."""
        path = Path(path)
        values, tables = read_archive(path, "partial")
        if values.get("format") != FORMAT:
            raise IntegrityError(
                f"{path} has format {values.get('format')!r}, and this version reads {FORMAT}. Score its answers again."
            )
        try:
            partial = _restore(values, tables, probe)
            _check_partial(partial)
        except NOT_OURS as error:
            raise IntegrityError(f"{path} holds what no partial holds: {_describe(error)}.") from None
        if different := _differences(values["setup"], partial.setup.describe()):
            raise IntegrityError(f"{path} was made in another way than here: {different}. Score its answers again.")
        return partial

    def _complete_plan(self) -> tuple[Mapping[int, PlannedBlock], pl.DataFrame]:
        """All blocks of the plan, and the values of the slices in them."""
        blocks, slices = dict(self.blocks), [self.slices]
        if missing := sorted({*range(count_blocks(self.items))} - {*blocks}):
            planned = _plan_again(self.setup)
            for number in missing:
                prompts = take_block(planned, number)
                blocks[number] = PlannedBlock.of(self.setup.probe, prompts)
                slices.append(prompts.select(self.setup.probe.slices).unique())
        return blocks, pl.concat(slices)


def _describe(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")


def split_items(attempts: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Numbered attempts of items of which all are there, without their numbers, and those of the other items."""
    whole = attempts.select(pl.len().over(ITEM) == pl.col(OF_ITEM)).to_series()
    return attempts.filter(whole).drop(ATTEMPT, OF_ITEM), attempts.filter(~whole)


def _close_items(setup: Setup, attempts: pl.DataFrame) -> tuple[list[Sums], pl.DataFrame]:
    """The sums of the items that are whole now, if there are any, and the attempts of the others."""
    whole, still_open = split_items(attempts.sort(ATTEMPT))
    return [sum_items(setup.probe, whole, setup.parameters)] if whole.height else [], still_open


def _refuse_other_setup(one: Partial, other: Partial) -> None:
    different = _differences(one.setup.describe(), other.setup.describe())
    if not different and one.setup.probe != other.setup.probe:
        different = "the probes have the same name and version, but are not the same"
    if not different and one.items != other.items:
        different = f"items {one.items:,} and {other.items:,}"
    if not different:
        shared = sorted({*one.blocks} & {*other.blocks})
        changed = [number for number in shared if one.blocks[number] != other.blocks[number]]
        different = "the prompts that the probe makes of the same items" if changed else ""
    if different:
        raise _refuse_setup(different)


def _refuse_setup(different: str) -> IntegrityError:
    return IntegrityError(
        f"Partials of different setups cannot be added: {different}. "
        "Score all answers with the same probe, parameters, reading and version of equipoise."
    )


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """What differs between two descriptions of setups, in words."""
    flat = [
        {**{name: value for name, value in setup.items() if name != "parameters"}, **setup["parameters"]}
        for setup in (one, other)
    ]
    names = dict.fromkeys(name for setup in flat for name in setup)
    return ", ".join(
        f"{name} {flat[0].get(name)!r} and {flat[1].get(name)!r}"
        for name in names
        if flat[0].get(name) != flat[1].get(name)
    )


def _refuse_common_attempts(one: Partial, other: Partial) -> None:
    common = one.seen.common(other.seen)
    if common.size:
        key, repetition = find_attempt(_plan_again(one.setup), int(common.starts[0]))
        raise InputError(
            f"{common.size:,} attempts are in two partials, the first of them repetition {repetition} of the prompt "
            f"{key}. An answer must be in one shard only; where prompts are asked several times, answers in different "
            "shards must say their repetition. To let answers take the place of failures in other files, import all: "
            "equipoise import"
        )


def _refuse_single_answers() -> NoReturn:
    raise InputError(
        "A result of partials holds no single answers: they were summed up where they were read. For transcripts and "
        "comparisons, import the answers to a run file: equipoise import."
    )


def _plan_again(setup: Setup) -> Plan:
    """The plan of a setup; IntegrityError if its corpus is another one by now."""
    planned = plan(setup.probe, **setup.parameters)
    if different := _differences(setup.describe(), planned.describe()):
        raise IntegrityError(f"The plan of {setup.probe.name} is not what it was: {different}.")
    return planned


def _read_count(value: Any) -> int:
    require(type(value) is int and value >= 0, f"{str(value)[:60]!r} where a count is needed")
    return int(value)


def _restore(values: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], probe: Probe | None) -> Partial:
    described = values["setup"]
    if probe is not None and probe.name != described["probe"]:
        raise UnknownName("partial here", described["probe"], [probe.name])
    chosen = get_probe(probe or described["probe"]).read_by(described["reading"])
    try:
        parameters = chosen.resolve(described["parameters"])
    except InputError as error:
        raise Forged(str(error)) from None
    setup = Setup(
        probe=chosen.with_parameters(parameters),
        parameters=parameters,
        corpus=described["corpus"],
        corpus_sha256=described["corpus_sha256"],
    )
    seen = tables["seen"].cast(pl.Int64)
    by_set = {name.removeprefix(_SETS): table for name, table in tables.items() if name.startswith(_SETS)}
    selections = SelectionSums(folded=tables["selections"], by_set=by_set) if "selections" in tables else None
    return Partial(
        setup=setup,
        **{name: _read_count(values[name]) for name in ("items", "answers", "unknown", "surplus")},
        seen=Ranges(np.array(seen["start"]), np.array(seen["end"])),
        blocks={
            _read_count(block["number"]): PlannedBlock(prompts=block["prompts"], digest=block["digest"])
            for block in values["blocks"]
        },
        slices=tables["slices"],
        coverage=values["coverage"],
        sums=Sums(
            cells=tables["cells"],
            clusters={name: tables[f"{_CLUSTERS}{name}"] for name in chosen.clusters},
            selections=selections,
        ),
        open=tables["open"],
        foreign=True,
    )


def _check_partial(partial: Partial) -> None:
    """Refuse a partial that cannot come from answers to its plan."""
    planned = _plan_again(partial.setup)
    require(partial.items == planned.items, f"{partial.items:,} items, and {planned.items:,} are planned")
    attempts = partial.seen.size
    require(partial.answers == attempts + partial.unknown + partial.surplus, "answers that do not add up")
    check_blocks(planned, partial.blocks)
    check_seen(partial.seen, partial.blocks, planned.repetitions)
    check_coverage(partial.coverage, attempts)
    numbers = {ATTEMPT: pl.lit(None, pl.Int64), OF_ITEM: pl.lit(None, pl.UInt32)}
    check_table("open", partial.open, make_no_attempts(planned).with_columns(**numbers))
    numbered = partial.open[ATTEMPT]
    require(numbered.n_unique() == numbered.len() and not numbered.null_count(), "attempts that stand twice")
    require(
        Ranges.of(numbered.to_numpy()).common(partial.seen).size == numbered.len(), "open attempts that were not seen"
    )
    check_table("slices", partial.slices, planned.take(0, 1).select(planned.probe.slices))
    check_sums(planned, partial.sums, partial.open[ITEM].n_unique(), attempts)
