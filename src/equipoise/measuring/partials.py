"""Partials: what a result is made of, from some of the answers. They add up exactly, so answers are scored in shards.

A partial holds sums over the items of which all attempts are there, and the evaluated attempts of the others, until
another partial brings the rest. All that feeds a result is summed in whole numbers, so the result of partials is that
of all answers at once, to the last bit, however the answers were cut and in whatever order the partials were added.

It holds no answers, so its result has no transcripts and cannot be compared prompt by prompt, and what needs the texts
again (the other reading, words that differ between arms) is left out.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, InputError, IntegrityError, UnknownName
from equipoise.measuring.archives import Values, read_archive, write_archive
from equipoise.measuring.coverage import ALL, Coverage, add_coverage, count_planned, make_coverage
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.measure import Sums, add_sums, make_result, sum_items
from equipoise.measuring.outcomes import ATTEMPTS
from equipoise.measuring.plan import ITEMS_PER_BATCH, Plan, Setup, number_items, plan
from equipoise.measuring.result import Matching, Result
from equipoise.measuring.selection import SelectionSums
from equipoise.measuring.summarise import WEIGHT
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, FIRST_TOKEN, ID, ITEM, PROMPT, REPETITION, STATUS, Status

SUFFIX = ".partial"
ATTEMPT, OF_ITEM = "_attempt", "_attempts_of_item"
"""Columns of open attempts: the number of the attempt in the plan, and how many attempts its item has."""
ATTEMPTS_PER_ITEM = 2**32
"""The number of an attempt is that of its item times this, and its place among the attempts of the item."""
PARTIALS_ADDED_AT_ONCE = 20
ITEMS_IN_DIGEST = 100
OTHER_PROMPTS = "the prompts that the probe makes of the same items"
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
    prompts: str = field(repr=False)
    """A digest of the first prompts: the same probe must make the same prompts."""
    answers: int
    """How many answers were read."""
    unknown: int
    """How many of them belong to no planned prompt,"""
    surplus: int
    """and how many are more than were planned for their prompt."""
    seen: NDArray[np.int64] = field(repr=False)
    """The numbers of the attempts that are in it, sorted."""
    coverage: Coverage = field(repr=False)
    """Its attempts by state, in all and by group."""
    sums: Sums = field(repr=False)
    """Of the items of which all attempts are there."""
    open: pl.DataFrame = field(repr=False)
    """The evaluated attempts of the other items."""

    def __add__(self, other: Partial) -> Partial:
        """Both together. IntegrityError if their setups differ, InputError if they have an attempt in common."""
        if not isinstance(other, Partial):
            return NotImplemented
        return _add([self, other])

    @staticmethod
    def sum(partials: Iterable[Partial]) -> Partial:
        """All of them together; faster than adding one after the other."""
        remaining = iter(partials)
        total = list(itertools.islice(remaining, 1))
        if not total:
            raise InputError("There is no partial to add.")
        while some := list(itertools.islice(remaining, PARTIALS_ADDED_AT_ONCE)):
            total = [_add([*total, *some])]
        return total[0]

    def with_setup(self, setup: Setup) -> Partial:
        """The same partial of this setup, which must be its own: that of a probe that was sent here by value."""
        if different := _differences(self.setup.describe(), setup.describe()):
            raise _refuse_setup(different)
        return replace(self, setup=setup)

    def result(self) -> Result:
        """What `score` gives for the same answers, but without single answers."""
        probe, repetitions = self.setup.probe, self.setup.repetitions
        prompts, slices = _count_plan(_plan_again(self.setup))
        still_open = self.open.drop(ATTEMPT, OF_ITEM)
        with _refuse_foreign("A partial"):
            coverage = make_coverage(probe, prompts, self.coverage, repetitions)
            _require(min(counts[Status.PENDING] for counts in coverage.values()) >= 0, "more attempts than are planned")
            return make_result(
                self.setup,
                add_sums([self.sums, sum_items(probe, still_open, self.setup.parameters)]),
                slices=slices,
                coverage=coverage,
                matching=self.matching(prompts[ALL][ALL] * repetitions),
                attempts=_refuse_single_answers,
            )

    def matching(self, planned: int) -> Matching:
        """What became of the answers that were read, with so many attempts planned."""
        return Matching(
            read=self.answers,
            matched=len(self.seen),
            surplus=self.surplus,
            unknown=self.unknown,
            missing=planned - len(self.seen),
        )

    def write(self, target: Path | str | IO[bytes]) -> None:
        """Write it to a file, from which `Partial.read` makes it again."""
        values = Values(
            setup=self.setup.describe(),
            prompts=self.prompts,
            answers=self.answers,
            unknown=self.unknown,
            surplus=self.surplus,
            coverage=self.coverage,
        )
        tables = {"seen": pl.DataFrame({ATTEMPT: self.seen}), "open": self.open, **_tabulate_sums(self.sums)}
        write_archive(Path(target) if isinstance(target, str) else target, values, tables)

    @staticmethod
    def read(path: Path | str, probe: Probe | None = None) -> Partial:
        """Read a partial from a file; `probe` is for one that is not installed."""
        path = Path(path)
        values, tables = read_archive(path)
        with _refuse_foreign(path):
            planned = _plan_again(_read_setup(values.setup, probe))
            different = _differences(values.setup, planned.describe())
            if not different and values.prompts != digest_prompts(planned):
                different = OTHER_PROMPTS
            if different:
                raise IntegrityError(f"{path} was made in another way than here: {different}. Score its answers again.")
            return _restore(planned, values, tables)


def digest_prompts(planned: Plan) -> str:
    """A digest of the number of items of a plan, and of its first prompts."""
    ids = planned.take(0, ITEMS_IN_DIGEST)[ID]
    return hashlib.blake2b(f"{planned.items} {' '.join(ids)}".encode(), digest_size=10).hexdigest()


def number_attempts(prompts: pl.DataFrame, first: int, repetitions: int) -> pl.DataFrame:
    """For each prompt of whole items, from the `first` on, the number of its first attempt, and how many its item has.

    So an attempt has the same number however much of the plan is made.
    """
    place = pl.int_range(pl.len()).over(ITEM)
    return prompts.select(
        number_items(prompts, first).alias(ATTEMPT) * ATTEMPTS_PER_ITEM + place * repetitions,
        (pl.len().over(ITEM) * repetitions).alias(OF_ITEM),
    )


def split_items(attempts: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Numbered attempts of items of which all are there, without their numbers, and those of the other items."""
    whole = attempts.select(pl.len().over(ITEM) == pl.col(OF_ITEM)).to_series()
    return attempts.filter(whole).drop(ATTEMPT, OF_ITEM), attempts.filter(~whole)


def _add(partials: Sequence[Partial]) -> Partial:
    first, setup = partials[0], partials[0].setup
    for other in partials[1:]:
        different = _differences(setup.describe(), other.setup.describe())
        if not different and setup.probe != other.setup.probe:
            different = "the probes have the same name and version, but are not the same"
        if not different and first.prompts != other.prompts:
            different = OTHER_PROMPTS
        if different:
            raise _refuse_setup(different)
    seen = np.sort(np.concatenate([partial.seen for partial in partials]))
    _refuse_common_attempts(setup, seen[1:][seen[1:] == seen[:-1]])
    with _refuse_foreign("A partial"):
        whole, still_open = split_items(pl.concat([partial.open for partial in partials]).sort(ATTEMPT))
        closed = sum_items(setup.probe, whole, setup.parameters)
        return Partial(
            setup=setup,
            prompts=first.prompts,
            answers=sum(partial.answers for partial in partials),
            unknown=sum(partial.unknown for partial in partials),
            surplus=sum(partial.surplus for partial in partials),
            seen=seen,
            coverage=add_coverage(partial.coverage for partial in partials),
            sums=add_sums([*(partial.sums for partial in partials), closed]),
            open=still_open,
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


def _refuse_setup(different: str) -> IntegrityError:
    return IntegrityError(
        f"Partials of different setups cannot be added: {different}. "
        "Score all answers with the same probe, parameters, reading and version of equipoise."
    )


def _refuse_common_attempts(setup: Setup, common: NDArray[np.int64]) -> None:
    if not len(common):
        return
    item, attempt = divmod(int(common[0]), ATTEMPTS_PER_ITEM)
    place, repetition = divmod(attempt, setup.repetitions)
    key = _plan_again(setup).take(item, item + 1)[ID][place]
    raise InputError(
        f"{len(common):,} attempts are in two partials, the first of them repetition {repetition + 1} of the prompt "
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


def _count_plan(planned: Plan) -> tuple[Coverage, pl.DataFrame]:
    """How many prompts are planned, in all and by group, and the values of the slices in them."""
    counts, slices = [], []
    for start in range(0, planned.items, ITEMS_PER_BATCH):
        prompts = planned.make(start, start + ITEMS_PER_BATCH)
        counts.append(count_planned(planned.probe, prompts))
        slices.append(prompts.select(planned.probe.slices).unique())
    return add_coverage(counts), pl.concat(slices)


# Partials from files, which anybody may have written


@contextmanager
def _refuse_foreign(source: object) -> Iterator[None]:
    """Turn what is raised by values that no partial holds into IntegrityError."""
    try:
        yield
    except NOT_OURS as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise IntegrityError(f"{source} holds what no partial holds: {reason}.") from error


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _read_setup(described: Mapping[str, Any], probe: Probe | None) -> Setup:
    if probe is not None and probe.name != described["probe"]:
        raise UnknownName("partial here", described["probe"], [probe.name])
    chosen = get_probe(probe or described["probe"]).read_by(described["reading"])
    try:
        parameters = chosen.resolve(described["parameters"])
    except InputError as error:
        raise ValueError(str(error)) from None
    return Setup(
        probe=chosen.with_parameters(parameters),
        parameters=parameters,
        corpus=described["corpus"],
        corpus_sha256=described["corpus_sha256"],
    )


def _tabulate_sums(sums: Sums) -> dict[str, pl.DataFrame]:
    tables = {"cells": sums.cells, **{f"{_CLUSTERS}{name}": table for name, table in sums.clusters.items()}}
    if sums.selections:
        tables["selections"] = sums.selections.folded
        tables |= {f"{_SETS}{name}": table for name, table in sums.selections.by_set.items()}
    return tables


def _read_sums(tables: Mapping[str, pl.DataFrame]) -> Sums:
    clusters, sets = (
        {name.removeprefix(kind): table for name, table in tables.items() if name.startswith(kind)}
        for kind in (_CLUSTERS, _SETS)
    )
    selections = SelectionSums(folded=tables["selections"], by_set=sets) if "selections" in tables else None
    return Sums(cells=tables["cells"], clusters=clusters, selections=selections)


def _make_empty_tables(planned: Plan) -> dict[str, pl.DataFrame]:
    """The tables of a partial of this plan without any answer: their columns are those that all others have."""
    unread = {REPETITION: pl.Int64, STATUS: pl.String, ANSWER: pl.String, FIRST_TOKEN: pl.String}
    answered = planned.take(0, 1)[:0].with_columns(pl.lit(None, kind).alias(name) for name, kind in unread.items())
    attempts = evaluate(planned.probe.detector, answered).drop(PROMPT)
    numbers = number_attempts(planned.make(0, 1), 0, 1)[:0]
    return {
        "seen": numbers.select(ATTEMPT),
        "open": attempts.hstack(numbers),
        **_tabulate_sums(sum_items(planned.probe, attempts, planned.parameters)),
    }


def _restore(planned: Plan, values: Values, tables: Mapping[str, pl.DataFrame]) -> Partial:
    """The partial of these values and tables. ValueError if it cannot come from answers to this plan."""
    expected = _make_empty_tables(planned)
    _require(tables.keys() == expected.keys(), "other tables than its probe has")
    for name, table in tables.items():
        _require([*table.schema.items()] == [*expected[name].schema.items()], f"the table {name} has other columns")
        finite = table.select(pl.selectors.float().is_finite().fill_null(value=True).all())
        _require(all(finite.row(0)) if finite.width else True, f"the table {name} has numbers that are none")
    seen, still_open, sums = tables["seen"][ATTEMPT].to_numpy(), tables["open"], _read_sums(tables)
    _require(bool((np.diff(seen, prepend=-1) > 0).all()), "attempts in disorder")
    _require(not len(seen) or seen[-1] < planned.items * ATTEMPTS_PER_ITEM, "attempts that are not planned")
    _require(len(seen) + values.unknown + values.surplus == values.answers, "answers that do not add up")
    _require(still_open[ATTEMPT].n_unique() == still_open.height, "attempts that stand twice")
    _require(bool(np.isin(still_open[ATTEMPT], seen).all()), "open attempts that were not seen")
    weights = sums.cells[WEIGHT].cast(pl.Int128)
    _require(not weights.null_count() and (weights > 0).all(), "weights that are not positive")
    _require(int(weights.sum()) + still_open[ITEM].n_unique() <= planned.items, "more items than are planned")
    counted = sums.cells.select((pl.col(f"{prefix}{ATTEMPTS}") * weights).sum() for prefix in planned.probe.prefixes)
    _require(sum(counted.row(0)) <= len(seen), "more attempts summed up than seen")
    states = {status.value for status in Status}
    for counts in values.coverage.values():
        _require(counts.keys() == values.coverage[ALL].keys() and states < counts.keys(), "counts of other states")
        _require(max(counts.values()) <= len(seen), "more attempts counted than seen")
    _require(sum(values.coverage[ALL][state] for state in states) == len(seen), "states that do not add up")
    return Partial(
        setup=planned.setup,
        prompts=values.prompts,
        answers=values.answers,
        unknown=values.unknown,
        surplus=values.surplus,
        seen=seen,
        coverage=values.coverage,
        sums=sums,
        open=still_open,
    )
