"""Probes as tasks of Inspect: `inspect eval equipoise/jobs_lum --model openai/gpt-4o-mini -T sample=100`.

A sample is a prompt, with the same id; an epoch is a repetition. Inspect asks the model and keeps the log. The score of
an answer is what it says, 1 for its label and 0 for the others, or how many words of each list it has. The metrics are
ours, on all answers together, each with the ends of its interval.

Inspect loads this module by its entry point, and tasks register themselves when they are made here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import polars as pl
from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, metric, scorer
from inspect_ai.scorer import Target as ScoreTarget
from inspect_ai.solver import TaskState, generate

from equipoise.answers.files import read_python
from equipoise.answers.formats import outcome
from equipoise.answers.score import score_tables
from equipoise.authoring import Probe
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.result import Result
from equipoise.models.bodies import make_reply
from equipoise.probes import find_probes
from equipoise.runs.suites import plan_probes
from equipoise.schema import (
    ANSWER,
    FIRST_TOKEN,
    ID,
    LABEL,
    MEASURED,
    PROMPT,
    STATUS,
    SYSTEM,
    without_nan,
)

REPETITIONS = "repeat"


def make_task(probe: Probe) -> Callable[..., Task]:
    """The function by which Inspect makes the task of a probe."""

    def make(suite: str = "standard", **parameters: Any) -> Task:
        (planned,) = plan_probes(probe, suite, parameters)
        given = dict(planned.parameters)
        return Task(
            dataset=MemoryDataset(_make_samples(planned), name=probe.name),
            solver=generate(),
            scorer=reading(probe=probe.name, parameters=given),
            metrics=[estimates(probe=probe.name, parameters=given)],
            epochs=Epochs(planned.repetitions, "mean"),
            config=GenerateConfig(max_tokens=probe.max_tokens),
            version=probe.version,
            metadata={
                "equipoise": version("equipoise"),
                "probe": probe.name,
                "parameters": given,
                "corpus": planned.corpus,
            },
        )

    make.__name__ = make.__qualname__ = probe.name
    make.__doc__ = probe.card.summary
    registered: Callable[..., Task] = task(name=probe.name)(make)
    return registered


def _make_samples(planned: Plan) -> list[Sample]:
    return [
        Sample(
            id=row[ID],
            input=[ChatMessageSystem(content=row[SYSTEM]), ChatMessageUser(content=row[PROMPT])]
            if row.get(SYSTEM)
            else row[PROMPT],
            metadata={name: value for name, value in row.items() if name not in (ID, PROMPT, SYSTEM)},
        )
        for row in planned.prompts().iter_rows(named=True)
    ]


@scorer(metrics=[])  # type: ignore[untyped-decorator]
def reading(probe: str, parameters: dict[str, Any]) -> Scorer:
    """What an answer says, as the probe's detector reads it."""
    planned = plan(probe, **parameters)
    detector, prompts = planned.probe.detector, planned.prompts()

    async def score(state: TaskState, _target: ScoreTarget) -> Score:
        answered = outcome(make_reply(text=state.output.completion, reason=state.output.stop_reason))
        (table,) = read_python([{ID: str(state.sample_id), **answered}])
        status, answer = table.select(STATUS, ANSWER).row(0)
        row = prompts.filter(pl.col(ID) == str(state.sample_id)).with_columns(
            pl.lit(str(status)).alias(STATUS),
            pl.lit(answer, pl.String).alias(ANSWER),
            pl.lit(None, pl.String).alias(FIRST_TOKEN),
        )
        evaluated = evaluate(detector, row).row(0, named=True)
        names = detector.counts or (*detector.labels, *detector.other_labels)
        values = {
            name: int(evaluated[name] or 0) if detector.counts else int(evaluated[LABEL] == name) for name in names
        }
        words = [answer[span.start : span.end] for span in detector.spans([answer])[0]] if answer else []
        return Score(
            value=values,
            answer=detector.describe(evaluated) if status in MEASURED else str(status),
            explanation=" · ".join(words) or "nothing was read",
            metadata={STATUS: str(status), ANSWER: answer},
        )

    return score


@metric(scores="unreduced")  # type: ignore[untyped-decorator]
def estimates(probe: str, parameters: dict[str, Any]) -> Metric:
    """The metrics of the probe on all answers, each with the ends of its interval: `NAME`, `NAME_low`, `NAME_high`."""

    def compute(scores: list[SampleScore]) -> dict[str, float | None]:
        result = measure_scores(probe, parameters, scores)
        return {
            f"{key}{ending}": without_nan(getattr(found, part))
            for key, found in result.estimates.items()
            if key.slice is None
            for ending, part in (("", "value"), ("_low", "low"), ("_high", "high"))
        }

    return compute


def measure_scores(probe: str, parameters: Mapping[str, Any], scores: list[SampleScore]) -> Result:
    """The result of a probe on the scores of a log, one for each sample and epoch."""
    rows = [{**(each.score.metadata or {}), ID: str(each.sample_id)} for each in scores]
    # Inspect may have been told another number of epochs than the task has.
    epochs = Counter(row[ID] for row in rows).values()
    planned = plan(probe, **{**parameters, REPETITIONS: max([int(parameters[REPETITIONS]), *epochs])})
    return score_tables(planned, read_python(rows))


TASKS = {name: make_task(probe) for name, probe in find_probes().items()}
"""The tasks by the names of their probes, those of plug-ins too."""
