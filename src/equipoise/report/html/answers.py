"""What a report shows of the answers to a probe: evidence for figures and findings, and answers to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import Any

import polars as pl

from equipoise.authoring import Evidence, Probe, TypicalWord
from equipoise.detect import Detector
from equipoise.measuring.readings import OtherReading, Rereading
from equipoise.measuring.words import FALSE_DISCOVERIES, WordComparison, WordCounting
from equipoise.report.charts.figures import WORDS_PER_SIDE, WordFigure
from equipoise.report.html.runs import ReportedRun
from equipoise.report.text import join_list
from equipoise.runs.file.tables import ATTEMPTS
from equipoise.schema import (
    ANSWER,
    ATTEMPT,
    EVALUATION_FAILED,
    ID,
    ITEM,
    LABEL,
    PROMPT,
    REPETITION,
    STATUS,
    Status,
)

EXCERPT = 160
"""How many characters of a prompt stand for it."""
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An attempt that is shown."""

    excerpt: str
    """The prompt from where it differs from those of the other samples."""
    prompt: str
    answer: str
    outcome: str
    """What the answer says."""
    facts: tuple[tuple[str, str], ...]


def choose_samples(run: ReportedRun, evidence: Evidence, probe: Probe, most: int) -> list[Sample]:
    """Answers to look at: of each label and arm in turn, by their ids. These are hashes, so nothing else decides."""
    answers = evidence.measured().sort(ATTEMPT)
    kinds = [name for name in (LABEL, *probe.coverage_columns) if name in answers.columns]
    turn = pl.int_range(pl.len())
    in_turn = answers.sort(turn.over(kinds) if kinds else turn, *kinds, maintain_order=True).head(most)
    if in_turn.is_empty():
        return []
    rows = _read_texts(run, probe, in_turn)
    start = _shared_length([row[PROMPT] for row in rows])
    covariates = list_covariates(probe.detector, answers.columns)
    return [_make_sample(probe, row, covariates, start) for row in rows]


def _read_texts(run: ReportedRun, probe: Probe, attempts: pl.DataFrame) -> list[Row]:
    """These attempts with their prompts and answers; without those whose answer a damaged file lacks."""
    texts = pl.concat(list(run.transcripts(probe.name, attempts[ID].unique().to_list())))
    found = attempts.select(ATTEMPT).join(texts, on=ATTEMPT, maintain_order="left").drop_nulls(ANSWER)
    return list(found.iter_rows(named=True))


def list_covariates(detector: Detector, columns: Sequence[str]) -> list[str]:
    """The columns of evaluated attempts that tell their prompts apart."""
    others = {ID, ITEM, REPETITION, STATUS, EVALUATION_FAILED, *detector.columns}
    return [name for name in columns if name not in others]


def _shared_length(prompts: list[str]) -> int:
    """How many characters all prompts begin with, up to a whole word; 0 when these are few or nearly all."""
    length = commonprefix(prompts).rfind(" ") + 1  # noqa: RUF071 - characters are meant
    return length if 20 < length < min(map(len, prompts), default=0) - 20 else 0


def _make_sample(probe: Probe, row: Row, covariates: Sequence[str], start: int) -> Sample:
    facts = [(ID, row[ID][:12]), *((name, probe.display.name_value(name, row[name])) for name in covariates)]
    if row[STATUS] != Status.OK:
        facts.append((STATUS, row[STATUS]))
    excerpt = row[PROMPT][start : start + EXCERPT]
    outcome = probe.detector.describe(row)
    return Sample(
        excerpt=f"… {excerpt}" if start else excerpt,
        prompt=row[PROMPT],
        answer=outcome if probe.detector.by_probability else row[ANSWER],  # one drawn token may say the opposite
        outcome=outcome,
        facts=tuple(facts),
    )


_DROPPED = [PROMPT, *(name for name in ATTEMPTS if name not in (ID, REPETITION, STATUS))]
"""What figures and findings do not get of an attempt: the texts would need far more memory than all else."""


@dataclass(frozen=True, kw_only=True)
class ReadRun:
    """What the answers of a run to a probe show beside its metrics."""

    evidence: Evidence
    words: WordComparison | None
    other: OtherReading | None
    samples: list[Sample]


def read_run(run: ReportedRun, probe: str, most: int) -> ReadRun:
    """Go through the answers of a run to a probe once. The texts are dropped, except those of up to `most` answers.

    If no answers are wanted, they are not read in the other way, either.
    """
    result = run.results[probe]
    definition = result.setup.probe
    counting, rereading = WordCounting(definition), Rereading(result)
    kept: list[pl.DataFrame] = []
    for part in run.transcripts(probe):
        counting.add(part)
        if most:
            rereading.add(part)
        kept.append(part.drop(_DROPPED, strict=False))
    words = counting.compare()
    evidence = Evidence(
        parameters=result.parameters,
        estimates=result.estimates,
        attempts=pl.concat(kept),
        labels=definition.detector.labels,
        typical_words=list_spots(words) if words else (),
    )
    return ReadRun(
        evidence=evidence,
        words=words,
        other=rereading.measure() if most else None,
        samples=choose_samples(run, evidence, definition, most),
    )


def find_example(run: ReportedRun, evidence: Evidence, probe: Probe, columns: Mapping[str, Any]) -> Sample | None:
    """An answer that shows a finding: the first by its id, which is a hash, of those with these values in columns."""
    answers = evidence.detected() if LABEL in evidence.attempts.columns else evidence.measured()
    fitting = answers.filter(pl.lit(value=True), **columns)
    first = (fitting if fitting.height else answers).sort(ATTEMPT)[:1]
    rows = _read_texts(run, probe, first) if first.height else []
    return _make_sample(probe, rows[0], list_covariates(probe.detector, first.columns), 0) if rows else None


def list_spots(comparison: WordComparison) -> list[TypicalWord]:
    """The words that differ clearly, the clearest first. The first side is drawn on the right."""
    return [
        TypicalWord(
            word=row["word"],
            value=row["log_odds"],
            low=row["low"],
            high=row["high"],
            shares=(row["second_share"], row["first_share"]),
        )
        for row in comparison.found.iter_rows(named=True)
    ]


def make_word_figure(comparison: WordComparison) -> WordFigure:
    """The figure of a comparison of words."""
    right, left = comparison.sides
    within = (
        f", compared among answers with the same {join_list(list(comparison.matched))}" if comparison.matched else ""
    )
    return WordFigure(
        name="discovered_words",
        title=f"Words that part answers for {left} from those for {right}",
        caption=f"Words that stand in clearly more of the answers for one side{within}. At most "
        f"{FALSE_DISCOVERIES:.0%} of those shown are expected to differ by chance. Lines are 95% intervals; the larger "
        "a dot, the more answers hold the word. Names, pronouns, and words that only the prompts of one side contain, "
        "are left out.",
        sides=(left, right),
        spots=list_spots(comparison),
        summary=summarise_comparison(comparison),
    )


def summarise_comparison(comparison: WordComparison) -> str:
    """How many words were compared and differ, for readers of the report."""
    number, tested = comparison.found.height, comparison.table.height
    if not tested:
        return f"The {comparison.answers:,} answers are too few to compare their words."
    compared = f"{tested:,} words of {comparison.answers:,} answers were compared"
    if not number:
        return f"{compared}; none differs by more than chance."
    cut = max(len(comparison.more_for(side)) for side in (0, 1)) > WORDS_PER_SIDE
    shown = f" The {WORDS_PER_SIDE} clearest of each side are shown." if cut else ""
    return f"{compared}; {number:,} {'differs' if number == 1 else 'differ'} clearly.{shown}"
