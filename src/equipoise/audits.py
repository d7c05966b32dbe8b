"""From a probe's name to its result: plan, ask, evaluate, summarise, resample, measure, mark."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import polars as pl

from equipoise import assets
from equipoise.answers import Matching, deal, frames, from_python
from equipoise.detect import evaluate
from equipoise.errors import AssetUnavailable, InputError, UnknownName
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
    text,
)
from equipoise.plans import Plan
from equipoise.plans import plan as plan_probe
from equipoise.probe import Corpus, Probe
from equipoise.probes import find, get
from equipoise.results import Audit, Result
from equipoise.settings import Settings
from equipoise.stats.compare import Difference, differences
from equipoise.stats.marks import mark
from equipoise.stats.resample import estimates
from equipoise.stats.summarise import cells, item_rows, merge, statistics

Progress = Callable[[int, int], None]


class Generates(Protocol):
    """A model that answers many prompts at a time, in their order."""

    def generate(self, prompts: list[str]) -> list[str]:
        """An answer for each prompt."""
        ...


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


def score_rows(planned: Plan, rows: Iterable[Mapping[str, Any]]) -> Result:
    """Score rows of answers against a plan, matching them by id or text."""
    evaluated = [_evaluated(planned.probe, batch) for batch in frames(rows)]
    answers = pl.concat(evaluated) if evaluated else _evaluated(planned.probe, next(frames([{STATUS: None}])))[:0]
    prompts = planned.prompts()
    dealt, matching = deal(prompts, planned.repetitions, answers)
    return measured(planned, prompts, dealt, matching)


def _evaluated(probe: Probe, answers: pl.DataFrame) -> pl.DataFrame:
    """Evaluate what is measured; what failed is not an answer, whatever text came with it."""
    is_answer = pl.col(STATUS).is_in([str(status) for status in MEASURED])
    return evaluate(probe, answers.with_columns(pl.when(is_answer).then(ANSWER).alias(ANSWER)))


def measured(planned: Plan, prompts: pl.DataFrame, evaluated: pl.DataFrame, matching: Matching) -> Result:
    """From evaluated attempts, keyed by `id` and `repetition`, to metrics, marks and coverage."""
    probe, parameters = planned.probe, planned.parameters
    attempts = prompts.drop(PROMPT).join(evaluated, on=ID, how="inner", maintain_order="left_right")
    answers = attempts.filter(pl.col(STATUS).is_in([str(status) for status in MEASURED]))
    table = merge([cells(statistics(probe, item_rows(probe, answers), parameters))])
    metrics = estimates(probe, table, parameters)
    return Result(
        probe=probe.name,
        version=probe.version,
        corpus=planned.corpus,
        corpus_sha256=planned.corpus_sha256,
        parameters=parameters,
        metrics=metrics,
        marks={metric.name: mark(metric.bands, metrics[metric.name]) for metric in probe.metrics if metric.bands},
        coverage=coverage(probe, prompts, planned.repetitions, attempts),
        answers=matching,
        evaluated=answers,
    )


def coverage(
    probe: Probe, prompts: pl.DataFrame, repetitions: int, attempts: pl.DataFrame
) -> dict[str, dict[str, int]]:
    """Attempts by state and by detected/undetected: in all and for each gender. The states add up to the plan."""
    detected = pl.col(LABEL).is_not_null() if probe.labels else pl.sum_horizontal(probe.counts) > 0
    is_answer = pl.col(STATUS).is_in([str(status) for status in MEASURED])
    table: dict[str, dict[str, int]] = {}
    for group in ("all", *probe.genders):
        mine = pl.lit(value=True) if group == "all" else pl.col(GENDER) == group
        planned = prompts.filter(mine).height * repetitions
        own = attempts.filter(mine).select(STATUS, detected=detected & is_answer, failed=EVALUATION_FAILED)
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


def audit(
    model: Callable[[str], str] | Generates, *, probes: Iterable[str | Probe] | None = None, **parameters: Any
) -> Audit:
    """Ask a model every prompt of the probes (default: all) and score its answers.

    A parameter goes to every probe that has it.
    """
    chosen = [get(probe) for probe in (find() if probes is None else probes)]
    known = {probe.name: {parameter.name for parameter in probe.all_parameters()} for probe in chosen}
    for name in parameters:
        if not any(name in names for names in known.values()):
            raise UnknownName("parameter of these probes", name, set[str]().union(*known.values()))
    results = {}
    for probe in chosen:
        planned = plan(probe, **{name: value for name, value in parameters.items() if name in known[probe.name]})
        attempts = planned.attempts().select(ID, REPETITION, PROMPT)
        answers = attempts.drop(PROMPT).with_columns(text(ANSWER, _ask(model, attempts[PROMPT].to_list())))
        results[probe.name] = score_rows(planned, from_python(answers))
    return Audit(results)


def _ask(model: Callable[[str], str] | Generates, prompts: list[str]) -> list[str]:
    if callable(model):
        return [model(prompt) for prompt in prompts]
    if not hasattr(model, "generate"):
        raise InputError(f"A model must be a function or have generate(prompts). Got {model!r} instead.")
    answers = list(model.generate(prompts))
    if len(answers) != len(prompts):
        raise InputError(f"The model gave {len(answers)} answers to {len(prompts)} prompts.")
    return answers


def compare(first: Result, second: Result) -> dict[str, Difference]:
    """Paired differences, second minus first, on the prompts that both answered."""
    for name in ("probe", "version", "corpus", "corpus_sha256", "parameters"):
        a, b = getattr(first, name), getattr(second, name)
        if a != b:
            raise InputError(f"Results can only be compared when their {name} is the same: {a!r} and {b!r} are not.")
    probe = get(first.probe)
    sides = [
        item_rows(probe, mine.evaluated.join(other.evaluated.select(ID), on=ID, how="semi"))
        for mine, other in ((first, second), (second, first))
    ]
    return differences(probe, sides[0], sides[1], first.parameters)
