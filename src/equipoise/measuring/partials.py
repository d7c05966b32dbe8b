"""Partials: what some of the answers to a plan say. They add up exactly, so answers are scored in shards.

A partial holds a few bytes for each answer: the number of its prompt in the plan, its state, and what it was read as.
All of them together are measured like answers from one place, so the result is the same, to the last bit, however the
answers were cut and in whatever order the partials were added. Texts are not kept: there are no transcripts, and what
needs the texts again (the other reading, words that differ between arms) is left out.

The file of a partial is a Parquet table with some values, as JSON, in its metadata. It may come from anyone: nothing in
it is executed, and what answers to its plan could not give is refused.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

import msgspec
import numpy as np
import polars as pl

from equipoise.authoring import Probe
from equipoise.errors import BadFile, EquipoiseError, InputError, IntegrityError, StorageError
from equipoise.measuring import plan as plans
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.measure import Batch, find_answers, measure
from equipoise.measuring.plan import Plan, Setup, list_differences, number_items, plan
from equipoise.measuring.result import NOTHING_MATCHED, Matching, Result
from equipoise.schema import (
    ANSWER,
    EVALUATION_FAILED,
    FIRST_TOKEN,
    ID,
    ITEM,
    LABEL,
    PROMPT,
    REPETITION,
    STATUS,
    Status,
)

SUFFIX = ".partial"
NUMBER = "_prompt_number"
PROMPTS_PER_ITEM = 2**32
"""The number of a prompt is that of its item times this, and its place among the prompts of the item."""
ITEMS_IN_DIGEST = 100
VALUES = "equipoise"
"""The key of the values in the metadata of the file."""
MOST_ROWS_PER_BYTE = 32
"""A table with more rows for each byte of its file is no table of ours: it would fill the memory."""


class Values(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a partial holds beside its table."""

    setup: dict[str, Any]
    """The description of its setup."""
    prompts: str
    """A digest of the first prompts: the same probe must make the same prompts."""
    matching: Matching
    """What became of the answers that were read."""
    format: Literal[1] = 1
    """Rises when a partial of an earlier version can no longer be read."""

    def list_differences(self, other: Values) -> str:
        """What differs between this setup and another one, in words."""
        different = list_differences(self.setup, other.setup)
        if not different and self.prompts != other.prompts:
            different = ["the prompts that the probe makes of the same items"]
        return ", ".join(different)


@dataclass(frozen=True, kw_only=True, eq=False)
class Partial:
    """Some of the answers to a plan, read: `score_part` makes it, `+` adds another, `result()` measures it."""

    setup: Setup = field(repr=False)
    values: Values
    attempts: pl.DataFrame = field(repr=False)
    """What was matched, in the order of the plan: number of the prompt, repetition, state, and what was read."""

    def __add__(self, other: object) -> Partial:
        """Both together: see `sum`."""
        return Partial.sum([self, other]) if isinstance(other, Partial) else NotImplemented

    @staticmethod
    def sum(partials: Iterable[Partial]) -> Partial:
        """All of them together. IntegrityError if their setups differ, InputError if they have an attempt in common."""
        added = list(partials)
        if not added:
            raise InputError("There is no partial to add.")
        for other in added[1:]:
            if different := added[0].values.list_differences(other.values):
                raise IntegrityError(
                    f"Partials of different setups cannot be added: {different}. "
                    "Score all answers with the same probe, parameters, reading and version of equipoise."
                )
        attempts = pl.concat([partial.attempts for partial in added]).sort(NUMBER, REPETITION)
        _refuse_repeated(added[0].setup, attempts)
        counts = [asdict(partial.values.matching) for partial in added]
        matching = Matching(**{name: sum(count[name] for count in counts) for name in counts[0]})
        return replace(added[0], values=msgspec.structs.replace(added[0].values, matching=matching), attempts=attempts)

    def result(self) -> Result:
        """What `score` gives for the same answers."""
        planned = plan(self.setup.probe, **self.setup.parameters)
        if different := self.values.list_differences(_describe(planned)):
            raise IntegrityError(f"The plan of {self.setup.probe.name} is not what it was: {different}.")
        with _refuse_foreign("A partial"):
            batches = partial(_join, planned, planned.make, self.attempts)
            result = measure(self.setup, batches, self.values.matching)
        # Only who looks at the attempts needs the ids of their prompts, which take longer than all else.
        return replace(result, attempts=partial(find_answers, partial(_join, planned, planned.take, self.attempts)))

    def write(self, target: Path | str | IO[bytes]) -> None:
        """Write it to a file, from which `Partial.read` makes it again."""
        content = io.BytesIO()
        self.attempts.write_parquet(content, metadata={VALUES: msgspec.json.encode(self.values).decode()})
        if not isinstance(target, (str, Path)):
            target.write(content.getvalue())
            return
        try:
            Path(target).write_bytes(content.getvalue())
        except OSError as error:
            raise StorageError(f"{target} cannot be written: {error.strerror or error}.") from None

    @staticmethod
    def read(path: Path | str, probe: Probe | None = None) -> Partial:
        """Read a partial from a file; `probe` is for one that is not installed."""
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            raise BadFile(f"There is no file {path}.") from None
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
        with _refuse_foreign(path):
            values, table = _unpack(content)
            setup = values.setup
            planned = plan(probe or setup["probe"], reading=setup["reading"], **setup["parameters"])
            nothing = make_partial(planned, NOTHING_MATCHED, [])
            if different := nothing.values.list_differences(values):
                raise IntegrityError(f"{path} was made in another way than here: {different}. Score its answers again.")
            restored = replace(nothing, values=values, attempts=table)
            _check_attempts(restored, nothing.attempts.schema, planned.items)
            return restored


def make_partial(planned: Plan, matching: Matching, attempts: Iterable[pl.DataFrame]) -> Partial:
    """The partial of evaluated attempts, which have the `NUMBER` of their prompt."""
    detector = planned.probe.detector
    unread = {REPETITION: pl.Int64, STATUS: pl.String, ANSWER: pl.String, FIRST_TOKEN: pl.String, NUMBER: pl.Int64}
    nothing = planned.make(0, 1)[:0].with_columns(pl.lit(None, kind).alias(name) for name, kind in unread.items())
    kinds = {STATUS: [status.value for status in Status]}
    if detector.labels:
        kinds[LABEL] = [*detector.labels, *detector.other_labels]
    enums = [pl.col(name).cast(pl.Enum(values), strict=False) for name, values in kinds.items()]
    columns = (NUMBER, REPETITION, STATUS, *detector.columns, EVALUATION_FAILED)
    packed = [table.select(columns).with_columns(enums) for table in (evaluate(detector, nothing), *attempts)]
    return Partial(
        setup=planned.setup,
        values=_describe(planned, matching),
        attempts=pl.concat(packed).sort(NUMBER, REPETITION),
    )


def _describe(planned: Plan, matching: Matching = NOTHING_MATCHED) -> Values:
    """The values of a partial of this plan: a digest of the number of its items and of its first prompts."""
    ids = " ".join(planned.take(0, ITEMS_IN_DIGEST)[ID])
    return Values(
        setup=planned.describe(),
        prompts=hashlib.blake2b(f"{planned.items} {ids}".encode(), digest_size=10).hexdigest(),
        matching=matching,
    )


def number_prompts(prompts: pl.DataFrame, first: int) -> pl.Series:
    """The number of each prompt, the same however much of the plan is made: whole items from the `first` on."""
    place = prompts.select(pl.int_range(pl.len(), dtype=pl.Int64).over(ITEM)).to_series()
    return (number_items(prompts, first) * PROMPTS_PER_ITEM + place).alias(NUMBER)


def _join(planned: Plan, make: Callable[[int, int], pl.DataFrame], attempts: pl.DataFrame) -> Iterator[Batch]:
    """The prompts of the plan, made so, whole items at a time, with the attempts at them."""
    numbers, size = attempts[NUMBER].to_numpy(), max(1, plans.ITEMS_PER_BATCH // planned.repetitions)
    for first in range(0, planned.items, size):
        prompts = make(first, first + size).drop(PROMPT)
        prompts = prompts.with_columns(number_prompts(prompts, first))
        start, end = np.searchsorted(numbers, [first * PROMPTS_PER_ITEM, (first + size) * PROMPTS_PER_ITEM])
        some = attempts[start:end].with_columns(pl.selectors.enum().cast(pl.String))
        joined = prompts.join(some, on=NUMBER, maintain_order="left_right").drop(NUMBER)
        _require(joined.height == some.height, "attempts that are not planned")
        yield Batch(prompts.drop(NUMBER), joined)


def _refuse_repeated(setup: Setup, attempts: pl.DataFrame) -> None:
    same = [pl.col(name) == pl.col(name).shift() for name in (NUMBER, REPETITION)]
    repeated = attempts.filter(same)
    if repeated.is_empty():
        return
    item, place = divmod(int(repeated[NUMBER][0]), PROMPTS_PER_ITEM)
    key = plan(setup.probe, **setup.parameters).take(item, item + 1)[ID][place]
    raise InputError(
        f"{repeated.height:,} attempts are in two partials, one of them at the prompt {key}. An answer must be in one "
        "shard only; where prompts are asked several times, answers in different shards must say their repetition. To "
        "let answers take the place of failures in other files, import all: equipoise import"
    )


# Partials from files, which anybody may have written


@contextmanager
def _refuse_foreign(source: object) -> Iterator[None]:
    """Turn what is raised by values that no partial holds into IntegrityError."""
    try:
        yield
    except (Exception, pl.exceptions.PanicException) as error:
        if isinstance(error, EquipoiseError) and not isinstance(error, InputError):
            raise
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise IntegrityError(f"{source} is no partial of this version, or it is damaged: {reason}.") from error


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _unpack(content: bytes) -> tuple[Values, pl.DataFrame]:
    """The values and the table of a file. What is packed could take far more memory than the file has bytes."""
    values = msgspec.json.decode(pl.read_parquet_metadata(io.BytesIO(content)).get(VALUES, ""), type=Values)
    rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
    _require(rows <= MOST_ROWS_PER_BYTE * len(content), f"it has {rows:,} rows in {len(content):,} bytes")
    return values, pl.read_parquet(content)


def _check_attempts(given: Partial, schema: pl.Schema, items: int) -> None:
    """Refuse attempts that cannot be at a plan of so many items. States and labels are checked by their types."""
    table, numbers, repetition = given.attempts, given.attempts[NUMBER], given.attempts[REPETITION]
    _require([*table.schema.items()] == [*schema.items()], "other columns than its probe has")
    known = table.select(NUMBER, REPETITION, STATUS, EVALUATION_FAILED).null_count().sum_horizontal().item() == 0
    finite = table.select(pl.selectors.float().is_finite().all()).rows()
    _require(known and all(map(all, finite)), "values that are none")
    _require(numbers.is_between(0, items * PROMPTS_PER_ITEM - 1).all(), "items that are not planned")
    _require(repetition.is_between(1, given.setup.repetitions).all(), "repetitions that are not planned")
    keys = table.select(NUMBER, REPETITION)
    _require(keys.equals(keys.unique().sort(pl.all())), "attempts in disorder")
    found = given.values.matching
    adds_up = table.height == found.matched == found.read - found.unknown - found.surplus
    _require(adds_up, "answers that do not add up")
