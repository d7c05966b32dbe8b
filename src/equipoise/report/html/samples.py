"""Answers to look at: the typical ones of each kind, and the extreme ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from equipoise.authoring import Probe
from equipoise.detect import Detector, visible
from equipoise.schema import ANSWER, ATTEMPT, EVALUATION_FAILED, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS, Status

EXCERPT = 160
"""How many characters of a prompt stand for it."""
LENGTH, EXTREMITY, DISTANCE, TURN = "__length", "__extremity", "__distance", "__turn"
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


class SampleChoice:
    """Chooses answers to show: they are looked at part by part, and only the texts of the chosen ones are kept."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._lengths: list[pl.DataFrame] = []
        self._extremes: dict[str, pl.DataFrame] = {}

    def add(self, answers: pl.DataFrame) -> None:
        """Look at evaluated answers with their prompts."""
        answers = answers.drop_nulls(ANSWER).with_columns(pl.col(ANSWER).str.len_chars().alias(LENGTH))
        if answers.is_empty():
            return
        kinds = [name for name in (LABEL, *self._probe.coverage_columns) if name in answers.columns]
        self._lengths.append(answers.select(*ATTEMPT, *kinds, LENGTH))
        for reason, row in _find_extremes(answers, self._probe.detector):
            candidates = pl.concat([self._extremes[reason], row]) if reason in self._extremes else row
            self._extremes[reason] = _first_row(candidates, pl.col(EXTREMITY))

    def choose(
        self, covariates: Sequence[str], most: int, read: Callable[[list[str]], Iterable[pl.DataFrame]]
    ) -> list[Sample]:
        """Up to `most` answers: first the extremes, then the most typical of each label and arm in turn.

        `read` gives evaluated answers to the prompts with these ids.
        """
        if not self._lengths:
            return []
        typical = _find_typical(pl.concat(self._lengths), most)
        texts = pl.concat(list(read(typical[ID].unique().to_list())))
        rows = typical.select(ATTEMPT).join(texts, on=ATTEMPT, maintain_order="left").iter_rows(named=True)
        extremes = [
            (reason, self._extremes[reason].row(0, named=True))
            for reason in _list_extremes(self._probe.detector)
            if reason in self._extremes
        ]
        chosen: dict[tuple[Any, ...], tuple[str, Row]] = {}
        for reason, row in [*extremes[: most // 2], *(("typical", row) for row in rows)]:
            key = tuple(row[name] for name in ATTEMPT)
            if len(chosen) < most and key not in chosen:
                chosen[key] = (reason, row)
        ordered = sorted(chosen.values(), key=lambda pair: pair[0] != "typical")
        start = _shared_length([row[PROMPT] for _, row in ordered])
        return [_make_sample(self._probe, reason, row, covariates, start) for reason, row in ordered]


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


def _find_typical(answers: pl.DataFrame, most: int) -> pl.DataFrame:
    """Answers of middling length, from each kind in turn."""
    kinds = [name for name in answers.columns if name not in (*ATTEMPT, LENGTH)]
    median, turn = pl.col(LENGTH).median(), pl.int_range(pl.len())
    if kinds:
        median, turn = median.over(kinds), turn.over(kinds)
    ranked = answers.with_columns((pl.col(LENGTH) - median).abs().alias(DISTANCE)).sort(DISTANCE, *ATTEMPT)
    in_turn = ranked.with_columns(turn.alias(TURN)).sort(TURN, *kinds, maintain_order=True)
    return in_turn.head(most)


def _list_extremes(detector: Detector) -> list[str]:
    """Why an answer may be shown that is not typical: the most words for either side, the longest, the shortest."""
    words = [f"most {group} words" for group in list(detector.patterns)[:2]] if len(detector.patterns) > 1 else []
    return [*words, "longest", "shortest"]


def _find_extremes(answers: pl.DataFrame, detector: Detector) -> Iterator[tuple[str, pl.DataFrame]]:
    """The most extreme answer of each kind, with how extreme it is. One word more for a side is nothing to show."""
    length = answers[LENGTH].cast(pl.Int64)
    extremities = [length, -length]
    if len(detector.patterns) > 1:
        lean = _measure_lean(answers, detector)
        extremities = [lean, -lean, *extremities]
    for reason, extremity in zip(_list_extremes(detector), extremities, strict=True):
        row = _first_row(answers, extremity)
        if "words" not in reason or row[EXTREMITY].item() > 1:
            yield reason, row


def _measure_lean(answers: pl.DataFrame, detector: Detector) -> pl.Series:
    """How many more words an answer has for the first side than for the second.

    In two steps, so that the visible text is made once for both.
    """
    shown = answers.lazy().select(visible(pl.col(ANSWER)).alias(ANSWER)).collect()
    first, second, *_ = detector.count_evidence(pl.col(ANSWER)).values()
    lean = shown.lazy().select(lean=first.cast(pl.Int64) - second.cast(pl.Int64)).collect()
    return lean["lean"]


def _first_row(answers: pl.DataFrame, extremity: pl.Expr | pl.Series) -> pl.DataFrame:
    """The most extreme answer, with how extreme it is; of several the first by its key."""
    ranked = answers.select(*ATTEMPT, extremity.alias(EXTREMITY)).with_row_index("row")
    best = ranked.sort(EXTREMITY, *ATTEMPT, descending=[True, False, False])[:1]
    return answers[best["row"]].drop(EXTREMITY, strict=False).hstack(best.select(EXTREMITY))


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
