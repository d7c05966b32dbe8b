"""What a report shows of the answers to a probe: evidence for figures and findings, and answers to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from equipoise.authoring import Evidence, Probe, TypicalWord
from equipoise.detect import Detector, visible
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
    is_measured,
)

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
    counting, rereading = WordCounting(result.setup.probe), Rereading(result)
    choice = SampleChoice(result.setup.probe)
    kept: list[pl.DataFrame] = []
    for part in run.transcripts(probe):
        counting.add(part)
        if most:
            rereading.add(part)
            choice.add(part.filter(is_measured()))
        kept.append(part.drop(_DROPPED, strict=False))
    words = counting.compare()
    evidence = Evidence(
        parameters=result.parameters,
        estimates=result.estimates,
        attempts=pl.concat(kept),
        labels=result.setup.probe.detector.labels,
        typical_words=list_spots(words) if words else (),
    )
    covariates = list_covariates(result.setup.probe.detector, evidence.attempts.columns)
    return ReadRun(
        evidence=evidence,
        words=words,
        other=rereading.measure() if most else None,
        samples=choice.choose(covariates, most, lambda ids: run.transcripts(probe, ids)),
    )


def find_example(run: ReportedRun, evidence: Evidence, probe: Probe, columns: Mapping[str, Any]) -> Sample | None:
    """An answer that shows a finding: the first by its id, which is a hash, of those with these values in columns."""
    answers = evidence.detected() if LABEL in evidence.attempts.columns else evidence.measured()
    fitting = answers.filter(pl.lit(value=True), **columns)
    first = (fitting if fitting.height else answers).sort(ATTEMPT)[:1]
    if first.is_empty():
        return None
    texts = pl.concat(list(run.transcripts(probe.name, first[ID].to_list())))
    row = first.select(ATTEMPT).join(texts, on=ATTEMPT).row(0, named=True)
    return _make_sample(probe, "example", row, list_covariates(probe.detector, first.columns), 0)


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
