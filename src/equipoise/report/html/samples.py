"""Answers to look at: the typical ones of each kind, and the extreme ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from equipoise.authoring import Probe
from equipoise.detect import Detector, visible
from equipoise.schema import ANSWER, ATTEMPT, EVALUATION_FAILED, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS, Status

EXCERPT = 160
"""How many characters of a prompt stand for it."""
LENGTH, LEAN, DISTANCE, TURN = "__length", "__lean", "__distance", "__turn"
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An attempt and why it is shown."""

    reason: str
    excerpt: str
    """The prompt from where it differs from those of the other samples."""
    prompt: str
    answer: str
    outcome: str
    """What the answer says."""
    facts: tuple[tuple[str, str], ...]


def choose_samples(probe: Probe, answers: pl.DataFrame, covariates: Sequence[str], most: int) -> list[Sample]:
    """Choose up to `most` answers: first the extremes, then the most typical of each label and arm in turn."""
    answers = answers.drop_nulls(ANSWER).with_columns(pl.col(ANSWER).str.len_chars().alias(LENGTH))
    if answers.is_empty():
        return []
    kinds = [name for name in (LABEL, *probe.coverage_columns) if name in answers.columns]
    extremes = list(_find_extremes(answers, probe.detector))[: most // 2]
    chosen: dict[tuple[Any, ...], tuple[str, Row]] = {}
    for reason, row in [*extremes, *(("typical", row) for row in _find_typical(answers, kinds, most))]:
        key = tuple(row[name] for name in ATTEMPT)
        if len(chosen) < most and key not in chosen:
            chosen[key] = (reason, row)
    ordered = sorted(chosen.values(), key=lambda pair: pair[0] != "typical")
    start = _shared_length([row[PROMPT] for _, row in ordered])
    return [_make_sample(probe, reason, row, covariates, start) for reason, row in ordered]


def list_covariates(detector: Detector, columns: Sequence[str]) -> list[str]:
    """The columns of evaluated attempts that tell their prompts apart."""
    others = {ID, ITEM, REPETITION, STATUS, EVALUATION_FAILED, *detector.columns}
    return [name for name in columns if name not in others]


def _shared_length(prompts: list[str]) -> int:
    """How many characters all prompts begin with, up to a whole word; 0 when these are few or nearly all."""
    shortest = min(map(len, prompts))
    same = 0
    while same < shortest and len({prompt[same] for prompt in prompts}) == 1:
        same += 1
    length = prompts[0].rfind(" ", 0, same) + 1
    return length if 20 < length < shortest - 20 else 0


def _find_typical(answers: pl.DataFrame, kinds: list[str], most: int) -> Iterator[Row]:
    """Answers of middling length, from each kind in turn."""
    median, turn = pl.col(LENGTH).median(), pl.int_range(pl.len())
    if kinds:
        median, turn = median.over(kinds), turn.over(kinds)
    ranked = answers.with_columns((pl.col(LENGTH) - median).abs().alias(DISTANCE)).sort(DISTANCE, *ATTEMPT)
    in_turn = ranked.with_columns(turn.alias(TURN)).sort(TURN, *kinds, maintain_order=True)
    return in_turn.head(most).iter_rows(named=True)


def _find_extremes(answers: pl.DataFrame, detector: Detector) -> Iterator[tuple[str, Row]]:
    """The answers with the most words for either side, the longest and the shortest."""
    counts = detector.count_evidence(visible(pl.col(ANSWER)))
    if len(counts) > 1:
        (one, first), (other, second), *_ = counts.items()
        lean = first.cast(pl.Int64) - second.cast(pl.Int64)
        for group, signed in ((one, lean), (other, -lean)):
            row = _first_row(answers.with_columns(signed.alias(LEAN)), LEAN, descending=True)
            if row[LEAN] > 1:
                yield f"most {group} words", row
    yield "longest", _first_row(answers, LENGTH, descending=True)
    yield "shortest", _first_row(answers, LENGTH, descending=False)


def _first_row(answers: pl.DataFrame, column: str, *, descending: bool) -> Row:
    return answers.sort(column, *ATTEMPT, descending=[descending, False, False]).row(0, named=True)


def _make_sample(probe: Probe, reason: str, row: Row, covariates: Sequence[str], start: int) -> Sample:
    facts = [(ID, row[ID][:12]), *((name, probe.display.name_value(name, row[name])) for name in covariates)]
    if row[STATUS] != Status.OK:
        facts.append((STATUS, row[STATUS]))
    excerpt = row[PROMPT][start : start + EXCERPT]
    return Sample(
        reason=reason,
        excerpt=f"… {excerpt}" if start else excerpt,
        prompt=row[PROMPT],
        answer=row[ANSWER],
        outcome=probe.detector.describe(row),
        facts=tuple(facts),
    )
