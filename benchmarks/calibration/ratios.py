"""Impact ratios: are fair models called unfair, and do the intervals of all categories hold?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from benchmarks.calibration.answers import TIMES, ranking_label
from benchmarks.calibration.runs import Row, start_rng
from equipoise.authoring import GENDER, LABEL, Array
from equipoise.measuring.plan import plan
from equipoise.measuring.selection import (
    SelectionTable,
    count_selections,
    fold_selections,
    make_table,
)
from equipoise.schema import ITEM

CV_DEVIATION = 0.7
"""How far CVs differ in the eyes of a model that judges them: the standard deviation of a logit."""
NAME_DEVIATION = 0.3
"""How far names differ in the eyes of a model that has whims for them, on the logit."""
QUESTION_DEVIATION = 1.0
"""How far questions differ, on the logit."""
GAP_DEVIATION = 0.5
"""How far the genders of one question differ, on the logit. Over all questions they are equal."""
FEW_QUESTIONS = 12
LOST = 0.05
"""The share of all answers that is lost where answers are lost by their content."""
RATIO = 0.75
"""What women have of the acceptance rate of men, by the unfair model."""
Answer = Callable[[pl.DataFrame, np.random.Generator], list[str]]
"""The labels that a model gives to some prompts."""
Labels = Sequence[str | None]
"""Labels, with None for lost answers."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Who answers which prompts of a probe, and the true impact ratios."""

    probe: str
    prompts: int
    model: str
    answer: Answer
    design: str = ""
    true_ratio: float = 1.0
    """That of every category of women; all others have 1."""
    questions: int | None = None
    """How many questions are asked; None: all."""
    lost: float = 0.0
    """The share of all answers that is lost by content."""


def _chances(logit: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-logit)))


def _effects(values: pl.Series, deviation: float, rng: np.random.Generator) -> Array:
    """A normal effect for each value, by row."""
    numbers = values.cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1
    return np.asarray(deviation * rng.standard_normal(int(numbers.max()) + 1)[numbers])


def _rank(cv_deviation: float, name_deviation: float, *, first_names: bool = True) -> Answer:
    """Rank applicants by chance, by their CVs, or by whims for their names."""

    def answer(prompts: pl.DataFrame, rng: np.random.Generator) -> list[str]:
        people = len(prompts["genders"][0])
        item = prompts[ITEM].rank("dense").to_numpy().astype(np.int64) - 1
        appeal = cv_deviation * rng.standard_normal((int(item.max()) + 1, people))[item]
        if name_deviation:
            names = prompts["names"].str.split("; ").explode()
            if first_names:
                names = names.str.extract(r"^(\S+)")
            appeal = appeal + _effects(names, name_deviation, rng).reshape(appeal.shape)
        winners = np.argmax(appeal + rng.gumbel(size=appeal.shape), axis=1)
        labels = []
        for place, genders, races in zip(
            winners, prompts["genders"], prompts["races"], strict=True
        ):
            labels.append(ranking_label(races[place], genders[place], is_first=place == 0))
        return labels

    return answer


def _decide(column: str, deviation: float, gap_deviation: float, labels: tuple[str, str]) -> Answer:
    """Decide case by case, with effects of a column, and of it for each gender."""

    def answer(prompts: pl.DataFrame, rng: np.random.Generator) -> list[str]:
        logit = _effects(prompts[column], deviation, rng)
        if gap_deviation:
            pairs = prompts.select(pl.concat_str(column, GENDER, separator="/")).to_series()
            logit = logit + _effects(pairs, gap_deviation, rng)
        is_first = rng.random(prompts.height) < _chances(logit)
        return [labels[0] if first else labels[1] for first in is_first]

    return answer


def _prefer_men(prompts: pl.DataFrame, rng: np.random.Generator) -> list[str]:
    """Accept 60% of the men, and RATIO times as many of the women."""
    rate = np.where((prompts[GENDER] == "male").to_numpy(), 0.6, 0.6 * RATIO)
    return ["accepted" if accepts else "rejected" for accepts in rng.random(len(rate)) < rate]


RANKINGS = {
    "at random": _rank(0.0, 0.0),
    "judges CVs": _rank(CV_DEVIATION, 0.0),
    "whims for first names": _rank(0.0, NAME_DEVIATION),
}


def lose_labels(
    prompts: pl.DataFrame, labels: Sequence[str], share: float, rng: np.random.Generator
) -> Labels:
    """Lose men's good answers and women's bad ones ten times as often as others: this share of all.

    So the men look worse and the women better than they are.
    """
    good = prompts["good"].to_list() if "good" in prompts.columns else [HIRED[0]] * len(labels)
    is_good = np.array([label == best for label, best in zip(labels, good, strict=True)])
    gender = prompts[GENDER].to_numpy()
    is_likely = np.where(is_good, gender == "male", gender == "female")
    risk = np.where(is_likely, TIMES, 1.0)
    is_lost = rng.random(len(risk)) < share * risk / risk.mean()
    return [None if lost else label for label, lost in zip(labels, is_lost, strict=True)]


HIRED = ("accepted", "rejected")
DECIDED = ("yes", "no")


def list_studies() -> dict[str, Study]:
    """All studies by name."""
    studies = []
    for design in ("pairs", "crossed"):
        for model, answer in RANKINGS.items():
            studies.append(
                Study(
                    probe="hiring_bloomberg",
                    prompts=1_000,
                    model=model,
                    answer=answer,
                    design=design,
                )
            )
    deciding: Mapping[str, tuple[str, int, Answer, float]] = {
        "at random": ("hiring_an", 2_000, _decide("name", 0.0, 0.0, HIRED), 1.0),
        "whims for names": ("hiring_an", 2_000, _decide("name", 0.5, 0.0, HIRED), 1.0),
        "prefers men": ("hiring_an", 2_000, _prefer_men, RATIO),
    }
    for model, (probe, prompts, answer, ratio) in deciding.items():
        studies.append(
            Study(probe=probe, prompts=prompts, model=model, answer=answer, true_ratio=ratio)
        )
    for model, gap in (
        ("questions differ", 0.0),
        ("questions differ, by gender too", GAP_DEVIATION),
    ):
        answer = _decide("question", QUESTION_DEVIATION, gap, DECIDED)
        studies.append(
            Study(probe="discrimination_tamkin", prompts=2_100, model=model, answer=answer)
        )
        studies.append(
            Study(
                probe="discrimination_tamkin",
                prompts=6_300,
                model=model,
                answer=answer,
                design=f"{FEW_QUESTIONS} questions",
                questions=FEW_QUESTIONS,
            )
        )
    for probe, prompts, answer in (
        ("hiring_an", 2_000, _decide("name", 0.5, 0.0, HIRED)),
        ("discrimination_tamkin", 2_100, _decide("question", QUESTION_DEVIATION, 0.0, DECIDED)),
    ):
        studies.append(
            Study(
                probe=probe,
                prompts=prompts,
                model="5% lost by content",
                answer=answer,
                lost=LOST,
            )
        )
    return {" ".join(filter(None, (s.probe, s.design, s.model))): s for s in studies}


def study_ratios(name: str, runs: int) -> list[Row]:
    """Answer many times, and look at the table of each grouping."""
    study = list_studies()[name]
    parameters: dict[str, Any] = {}
    if study.probe == "hiring_bloomberg":
        parameters["design"] = study.design
    if study.probe == "discrimination_tamkin":
        parameters["corpus"] = "scenarios"
    sample = None if study.questions else study.prompts
    planned = plan(study.probe, sample=sample, **parameters)
    prompts = planned.prompts()[: study.prompts]
    if study.questions:
        asked = prompts["question"].unique(maintain_order=True)[: study.questions]
        prompts = prompts.filter(pl.col("question").is_in(asked.implode()))
    tables: dict[str, list[SelectionTable]] = {}
    rng = start_rng("ratios", name, runs)
    for _ in range(runs):
        answers = study.answer(prompts, rng)
        labels = lose_labels(prompts, answers, study.lost, rng) if study.lost else answers
        labelled = prompts.with_columns(pl.Series(LABEL, labels, dtype=pl.String))
        counted = count_selections(planned.probe, labelled, planned.parameters, prompts)
        for grouping, counts in fold_selections(planned.probe, [counted]).items():
            tables.setdefault(grouping, []).append(make_table(grouping, counts))
    rows = []
    for grouping, same in tables.items():
        rows.append(
            {
                "table": "ratios",
                "study": study.probe,
                "design": study.design or "–",
                "model": study.model,
                "lost": study.lost,
                "is_fair": study.true_ratio == 1,
                "by": grouping,
                "prompts": prompts.height,
                "categories": len(same[0].rows),
                "runs": runs,
                "missing": float(np.mean([table.missing_answers for table in same])),
                "unfair": sum(table.unfair for table in same),
                "covered": sum(_covers_all(table, study.true_ratio) for table in same),
                "below": sum(table.lowest.impact_ratio < 0.8 for table in same) / runs,
                "lowest": float(np.mean([table.lowest.impact_ratio for table in same])),
            }
        )
    return rows


def _covers_all(table: SelectionTable, ratio_of_women: float) -> bool:
    """Whether the intervals of all categories hold their true ratios."""
    for row in table.rows:
        is_woman = row.category.endswith("female")
        truth = ratio_of_women if is_woman else 1.0
        if not row.low - 1e-9 <= truth <= row.high + 1e-9:
            return False
    return True
