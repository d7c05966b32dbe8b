"""Answers from anywhere to a result: match them to a plan, evaluate, measure; or single ones to labels and words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from equipoise.answers.files import read_python
from equipoise.answers.matching import PLACE, ROW, PromptIndex, hash_keys, refuse_nothing_matched
from equipoise.authoring import Probe
from equipoise.detect import Detector
from equipoise.errors import BadFile
from equipoise.measuring.evaluate import evaluate, find_labels
from equipoise.measuring.measure import Batch, measure
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.result import Matching, Result
from equipoise.schema import ANSWER, ID, PROMPT, REPETITION, STATUS

ITEMS_IN_MEMORY = 500_000
"""The prompts of so many items are kept without their texts, some 200 bytes for each item; those of more are made
again when their answers are joined to them."""


def score(probe: str | Probe, answers: Any, *, reading: str | None = None, **parameters: Any) -> Result:
    """Score answers from anywhere: rows with `id` or `prompt`, `answer` and perhaps `repetition`, as a table,
    mappings, or one mapping of id or prompt to answer; read as "careful" (the default) or as "specified".
    InputError if there are answers and none of them belongs to a planned prompt."""
    return score_tables(plan(probe, reading=reading, **parameters), read_python(answers))


def score_tables(planned: Plan, tables: Iterable[pl.DataFrame]) -> Result:
    """Score tables of answers against a plan, matching them by id or text, with a few bytes of memory for each."""
    indexed = IndexedPlan(planned)
    answers = indexed.evaluate_and_match(tables)
    refuse_nothing_matched(answers.matching)
    return measure(planned.setup, lambda: (joined.batch for joined in indexed.join(answers)), answers.matching)


class EvaluatedAnswers(NamedTuple):
    """What answers were found to say, and which attempt each belongs to."""

    evaluations: pl.DataFrame
    assigned: pl.DataFrame
    """In the order of the plan: the `row` of an evaluation, the `place` of its prompt, its `repetition`."""
    matching: Matching


class JoinedBatch(NamedTuple):
    """Some prompts with the attempts at them, and the place of each attempt's prompt among these prompts."""

    batch: Batch
    places: pl.Series


class IndexedPlan:
    """A plan, or a range of its items, and where each prompt stands in it: by id and, in a whole plan, by text."""

    def __init__(self, planned: Plan, items: range | None = None) -> None:
        self.planned = planned
        self.items = items or range(planned.items)
        self._kept: list[pl.DataFrame] | None = [] if len(self.items) <= ITEMS_IN_MEMORY else None
        self._starts = [0]
        uses = planned.probe.detector.uses
        self._index = PromptIndex(self._make_prompts(), planned.repetitions, uses, texts=items is None)

    def _make_prompts(self) -> Iterator[pl.DataFrame]:
        for prompts in self.planned.batches(items=self.items):
            self._starts.append(self._starts[-1] + prompts.height)
            if self._kept is not None:
                self._kept.append(prompts.drop(PROMPT))
            yield prompts

    def evaluate_and_match(self, tables: Iterable[pl.DataFrame]) -> EvaluatedAnswers:
        """Evaluate answers, table by table, so that their texts need not stay in memory; then match all of them.

        A detector that uses the prompt must wait until it is known which prompt each answer belongs to.
        """
        detector = self.planned.probe.detector
        keys, evaluated = [], []
        for table in tables:
            keys.append(hash_keys(table))
            answers = table.select(STATUS, ANSWER)
            evaluated.append(answers if detector.uses else _evaluate_compactly(detector, answers))
        answers = pl.concat(evaluated)
        assigned, matching = self._index.assign(pl.concat(keys))
        if detector.uses:
            asked = answers[assigned[ROW]].hstack(self._index.kept[assigned[PLACE]])
            answers = _evaluate_compactly(detector, asked)
            assigned = assigned.with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias(ROW))
        return EvaluatedAnswers(answers, assigned, matching)

    def join(self, answers: EvaluatedAnswers) -> Iterator[JoinedBatch]:
        """The prompts, whole items at a time, with the evaluated attempts at them."""
        bounds = np.searchsorted(answers.assigned[PLACE].to_numpy(), self._starts)
        batches = self._kept or (prompts.drop(PROMPT) for prompts in self.planned.batches(items=self.items))
        for number, prompts in enumerate(batches):
            assigned = answers.assigned[int(bounds[number]) : int(bounds[number + 1])]
            places = assigned[PLACE] - self._starts[number]
            outcomes = answers.evaluations[assigned[ROW]].cast({pl.Categorical: pl.String})
            attempts = prompts[places].hstack(assigned.select(REPETITION)).hstack(outcomes)
            yield JoinedBatch(Batch(prompts, attempts), places)


def _evaluate_compactly(detector: Detector, answers: pl.DataFrame) -> pl.DataFrame:
    """The evaluated answers, without the columns of the prompt and with numbers for words."""
    return evaluate(detector, answers).drop(detector.uses).cast({pl.String: pl.Categorical})


# What a detector makes of single answers, for people who check the instrument


@dataclass(frozen=True, kw_only=True)
class Read:
    """How one answer was read."""

    label: str | None
    """None where nothing is decided."""
    words: list[str]
    reading: str


def read_answers(probe: Probe, tables: Iterable[pl.DataFrame], **parameters: Any) -> Iterator[Read]:
    """Read answers one after the other, in order. A plan is made only if the detector uses more than the answer."""
    detector = probe.detector
    planned = plan(probe, **parameters).prompts() if detector.uses else None
    before = 0
    for table in tables:
        prompts = None if planned is None else _find_prompts(detector, planned, table, before)
        answers = table[ANSWER].fill_null("").to_list()
        labels = find_labels(detector, answers, prompts)
        for label, words in zip(labels, _find_words(detector, answers, labels), strict=True):
            yield Read(label=label or None, words=words, reading=probe.reading)
        before += table.height


def _find_prompts(detector: Detector, planned: pl.DataFrame, answers: pl.DataFrame, before: int) -> pl.DataFrame:
    """The columns that the detector uses, of the prompt of each answer: by its id, or by a text that only one has."""
    places = planned.with_row_index(PLACE)
    texts = places.filter(pl.col(PROMPT).is_unique())
    found = pl.DataFrame(
        answers.select(key).join(known.select(key, PLACE), on=key, how="left", maintain_order="left")[PLACE].alias(key)
        for key, known in ((ID, places), (PROMPT, texts))
    ).select(pl.coalesce(ID, PROMPT))[ID]
    for unknown in found.is_null().arg_true():
        raise BadFile(
            f"Answer {before + unknown + 1}: the {ID} of a planned prompt is needed, or a {PROMPT} that only one has, "
            f"because the detector {detector.name!r} uses {', '.join(detector.uses)} of it. Were the prompts planned "
            "with other --sample, --seed or --set?"
        )
    return planned[found].select(detector.uses)


def _find_words(detector: Detector, answers: Sequence[str], labels: Sequence[str]) -> Iterator[list[str]]:
    """For each answer the words that speak for its label; all that were read if none speaks for it alone."""
    for answer, label, spans in zip(answers, labels, detector.spans(answers), strict=True):
        own = [span for span in spans if span.group == label] or spans if label else []
        yield [answer[span.start : span.end].strip() for span in own]
