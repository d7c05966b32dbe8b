"""Answers to look at: the typical of each kind, and the extreme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from equipoise.detect import visible
from equipoise.detect.words import count_words
from equipoise.figure import Evidence, Read
from equipoise.frames import ANSWER, ATTEMPT, GENDER, ID, LABEL, PROMPT, STATUS, Status
from equipoise.probe import Probe

ABOUT = 160
"""Characters of a prompt that stand for it."""
LENGTH, LEAN, AWAY = "__length", "__lean", "__away"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An attempt and why it is shown."""

    reason: str
    about: str
    """The prompt from where it differs from those of the other samples."""
    prompt: str
    answer: str
    said: str
    facts: tuple[tuple[str, str], ...]


def samples(probe: Probe, evidence: Evidence, read: Read | None, covariates: Sequence[str], most: int) -> list[Sample]:
    """Choose up to `most` answers: the extremes first, then the most typical of each label and gender in turn."""
    answers = evidence.measured().with_columns(pl.col(ANSWER).str.len_chars().alias(LENGTH))
    if answers.is_empty():
        return []
    chosen: dict[tuple[Any, ...], tuple[str, dict[str, Any]]] = {}
    kinds = [name for name in (LABEL, GENDER) if name in answers.columns]
    extreme = list(_extreme(answers, read))[: most // 2]
    for reason, row in [*extreme, *_typical(answers, kinds, most)]:
        key = tuple(row[name] for name in ATTEMPT)
        if len(chosen) < most and key not in chosen:
            chosen[key] = (reason, row)
    ordered = sorted(chosen.values(), key=lambda pair: pair[0] != "typical")
    shared = _shared([row[PROMPT] for _, row in ordered])
    return [_sample(probe, reason, row, covariates, shared) for reason, row in ordered]


def _shared(prompts: list[str]) -> int:
    """How many characters all prompts begin with, up to a whole word; 0 when it is little or all."""
    same = 0
    while same < min(map(len, prompts)) and len({prompt[same] for prompt in prompts}) == 1:
        same += 1
    length = prompts[0].rfind(" ", 0, same) + 1
    return length if 20 < length < min(map(len, prompts)) - 20 else 0


def _typical(answers: pl.DataFrame, kinds: list[str], most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Answers of middling length, from each kind in turn."""
    middle = pl.col(LENGTH).median().over(kinds) if kinds else pl.col(LENGTH).median()
    ranked = answers.with_columns((pl.col(LENGTH) - middle).abs().alias(AWAY)).sort(AWAY, *ATTEMPT)
    turn = pl.int_range(pl.len()).over(kinds) if kinds else pl.int_range(pl.len())
    in_turn = ranked.with_columns(turn.alias(AWAY)).sort(AWAY, *kinds, maintain_order=True).head(most)
    yield from (("typical", row) for row in in_turn.iter_rows(named=True))


def _extreme(answers: pl.DataFrame, read: Read | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The answers that lean most to either side in the words that are read, the longest and the shortest."""
    if read is not None and len(read.words) > 1:
        (one, first), (other, second), *_ = read.words.items()
        shown = visible(pl.col(ANSWER))
        lean = count_words(shown, first).cast(pl.Int64) - count_words(shown, second).cast(pl.Int64)
        leaning = answers.with_columns(lean.alias(LEAN))
        for side, descending in ((one, True), (other, False)):
            row = leaning.sort(LEAN, *ATTEMPT, descending=[descending, False, False]).row(0, named=True)
            if abs(row[LEAN]) > 1:
                yield f"most {side} words", row
    for reason, descending in (("longest", True), ("shortest", False)):
        yield reason, answers.sort(LENGTH, *ATTEMPT, descending=[descending, False, False]).row(0, named=True)


def _sample(probe: Probe, reason: str, row: dict[str, Any], covariates: Sequence[str], shared: int) -> Sample:
    if probe.labels:
        said = row[LABEL] or "undetected"
    else:
        said = f"{sum(row[name] or 0 for name in probe.counts):,} words counted"
    facts = [(ID, row[ID][:12]), *((name, str(row[name])) for name in covariates)]
    if row[STATUS] != Status.OK:
        facts.append((STATUS, row[STATUS]))
    about = ("… " if shared else "") + row[PROMPT][shared : shared + ABOUT]
    return Sample(
        reason=reason, about=about, prompt=row[PROMPT], answer=row[ANSWER] or "", said=said, facts=tuple(facts)
    )
