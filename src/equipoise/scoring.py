"""From a probe and answers to its result: plan, evaluate, summarise, resample, measure, mark."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from equipoise import assets
from equipoise.answers import Row, frames, from_python
from equipoise.detect import evaluate
from equipoise.errors import AssetUnavailable, InputError
from equipoise.frames import (
    ANSWER,
    EVALUATION_FAILED,
    GENDER,
    ID,
    LABEL,
    MEASURED,
    PROMPT,
    REPETITION,
    STATUS,
    Status,
    is_measured,
)
from equipoise.matching import OF, PLACE, ROW, Matching, Places
from equipoise.plans import BATCH, Plan, Setup
from equipoise.plans import plan as plan_probe
from equipoise.probe import Corpus, Probe
from equipoise.probes import get
from equipoise.results import Result
from equipoise.settings import Settings
from equipoise.stats.compare import Difference, differences
from equipoise.stats.marks import mark
from equipoise.stats.resample import estimates
from equipoise.stats.summarise import cells, item_rows, merge, statistics

Progress = Callable[[int, int], None]
KEPT = 250_000
"""So many attempts are kept with a result; of more they are read again when they are looked at."""


class Part(NamedTuple):
    """Some of the prompts of a plan, whole items, and the evaluated attempts at them."""

    prompts: pl.DataFrame
    attempts: pl.DataFrame


def plan(
    probe: str | Probe,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Plan:
    """Plan a probe with these parameters; a corpus that is not here is fetched."""
    probe = get(probe)
    name = probe.resolve(parameters).get("corpus")
    if name is None:
        return plan_probe(probe, parameters)
    corpus = next(corpus for corpus in probe.corpora if corpus.name == name)
    raw = _corpus_bytes(probe, corpus, settings or Settings.load(), progress)
    digest = hashlib.sha256(raw).hexdigest()
    return plan_probe(probe, parameters, corpus.read(raw), corpus=name, corpus_sha256=digest)


def _corpus_bytes(probe: Probe, corpus: Corpus, settings: Settings, progress: Progress | None) -> bytes:
    if corpus.file is not None:
        return corpus.file.read_bytes()
    assert corpus.asset is not None
    try:
        return assets.locate(corpus.asset, settings, progress).read_bytes()
    except AssetUnavailable as error:
        packaged = [other.name for other in probe.corpora if other.file is not None]
        ways = "".join(f" Or use the packaged corpus: --set corpus={name}" for name in packaged)
        raise AssetUnavailable(f"{error}{ways}") from None


def score(probe: str | Probe, answers: Any, **parameters: Any) -> Result:
    """Score answers from anywhere: rows with `id` or `prompt`, `answer` and perhaps `repetition`, as a table,
    mappings, or one mapping of id or prompt to answer."""
    return score_rows(plan(probe, **parameters), from_python(answers))


def score_rows(planned: Plan, rows: Iterable[Row]) -> Result:
    """Score rows of answers against a plan, matching them by id or text, with a few bytes for each."""
    batches = planned.batches
    if planned.items <= BATCH:
        once = list(planned.batches())
        batches = partial(iter, once)
    said, dealt, matching = _dealt(planned, Places(batches()), frames(rows))
    return measured(planned, partial(_parts, batches, said, dealt), matching)


def _dealt(
    planned: Plan, places: Places, answers: Iterable[pl.DataFrame]
) -> tuple[pl.DataFrame, pl.DataFrame, Matching]:
    """What the answers say, and which attempt each belongs to."""
    read, found = 0, []
    for batch in answers:
        read += batch.height
        found.append(_small(planned.probe, places.find(batch)))
    said = pl.concat(found)
    dealt = places.deal(said, planned.repetitions)
    matching = places.matching(planned.repetitions, read=read, found=said.height, dealt=dealt.height)
    return said.drop(PLACE, OF, REPETITION), dealt, matching


def _small(probe: Probe, answers: pl.DataFrame) -> pl.DataFrame:
    """The evaluated answers, with numbers for words."""
    return evaluated_batch(probe, answers).cast({pl.String: pl.Categorical})


def _parts(batches: Callable[[], Iterable[pl.DataFrame]], said: pl.DataFrame, dealt: pl.DataFrame) -> Iterator[Part]:
    """The batches of a plan, each with the evaluated attempts at its prompts."""
    places, start = dealt[PLACE].to_numpy(), 0
    for batch in batches():
        prompts = batch.drop(PROMPT)
        first, end = np.searchsorted(places, (start, start + prompts.height))
        own = dealt[first:end]
        words = said[own[ROW]].cast({pl.Categorical: pl.String})
        yield Part(prompts, prompts[own[PLACE] - start].hstack(own.select(REPETITION)).hstack(words))
        start += prompts.height


def evaluated_batch(probe: Probe, answers: pl.DataFrame) -> pl.DataFrame:
    """Evaluate what is measured; what failed is not an answer, whatever text came with it."""
    return evaluate(probe, answers.with_columns(pl.when(is_measured()).then(ANSWER).alias(ANSWER)))


def measured(setup: Setup, parts: Callable[[], Iterable[Part]], matching: Matching | None = None) -> Result:
    """From evaluated attempts to metrics, marks and coverage, part by part, so that the whole need not be in memory."""
    probe, parameters = setup.probe, setup.parameters
    tables: list[pl.DataFrame] = []
    slices: list[pl.DataFrame] = []
    counted: list[dict[str, dict[str, int]]] = []
    kept: list[pl.DataFrame] | None = []
    for prompts, attempts in parts():
        answers = attempts.filter(is_measured())
        tables = [merge([*tables, cells(statistics(probe, item_rows(probe, answers), parameters))])]
        slices.append(prompts.select(probe.slices).unique())
        counted.append(coverage(probe, prompts, setup.repetitions, attempts))
        if kept is not None:
            kept = [*kept, answers] if answers.height + sum(map(len, kept)) <= KEPT else None
    metrics = estimates(probe, tables[0], parameters, planned=pl.concat(slices))
    covered = _sum(counted)
    return Result(
        probe=probe.name,
        version=probe.version,
        corpus=setup.corpus,
        corpus_sha256=setup.corpus_sha256,
        parameters=parameters,
        metrics=metrics,
        marks={metric.name: mark(metric.bands, metrics[metric.name]) for metric in probe.metrics if metric.bands},
        coverage=covered,
        answers=matching or Matching.whole(covered["all"]["planned"], covered["all"][Status.PENDING]),
        attempts=partial(_evaluated, parts) if kept is None else pl.concat(kept),
    )


def _evaluated(parts: Callable[[], Iterable[Part]]) -> pl.DataFrame:
    return pl.concat([attempts.filter(is_measured()) for _, attempts in parts()])


def coverage(
    probe: Probe, prompts: pl.DataFrame, repetitions: int, attempts: pl.DataFrame
) -> dict[str, dict[str, int]]:
    """Attempts by state and by detected/undetected: in all and for each gender. The states add up to the plan."""
    detected = pl.col(LABEL).is_not_null() if probe.labels else pl.sum_horizontal(probe.counts) > 0
    table: dict[str, dict[str, int]] = {}
    for group in ("all", *probe.genders):
        mine = pl.lit(value=True) if group == "all" else pl.col(GENDER) == group
        planned = prompts.filter(mine).height * repetitions
        own = attempts.filter(mine).select(STATUS, detected=detected & is_measured(), failed=EVALUATION_FAILED)
        counts = dict(own.group_by(STATUS).len().iter_rows())
        counts[Status.PENDING] = planned - own.height + counts.get(Status.PENDING, 0)
        states = {str(status): int(counts.get(status, 0)) for status in Status}
        seen = int(own["detected"].sum())
        table[group] = {
            "planned": planned,
            **states,
            "detected": seen,
            "undetected": sum(states[status] for status in MEASURED) - seen,
            "evaluation_failed": int(own["failed"].sum()),
        }
    return table


def _sum(parts: Sequence[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    """The coverage of all parts together."""
    return {
        group: {name: sum(part[group][name] for part in parts) for name in counts} for group, counts in parts[0].items()
    }


def compare(first: Result, second: Result) -> dict[str, Difference]:
    """Paired differences, second minus first, on the prompts that both answered."""
    for name in ("probe", "version", "corpus", "corpus_sha256", "parameters"):
        a, b = getattr(first, name), getattr(second, name)
        if a != b:
            raise InputError(f"Results can only be compared when their {name} is the same: {a!r} and {b!r} are not.")
    probe = get(first.probe)
    mine, theirs = (item_rows(probe, attempts) for attempts in answered_by_both(first, second))
    return differences(probe, mine, theirs, first.parameters)


def answered_by_both(first: Result, second: Result) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The measured attempts of each at the prompts that both answered."""
    one, other = first.evaluated, second.evaluated
    return one.join(other.select(ID), on=ID, how="semi"), other.join(one.select(ID), on=ID, how="semi")
