"""Runs of models that do not exist: answers of realistic length, with a bias that can be set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers import from_python
from equipoise.assets import facts
from equipoise.detect import evaluate
from equipoise.figure import Evidence
from equipoise.frames import ANSWER, GENDER, ITEM, MEASURED, STATUS
from equipoise.probe import Probe
from equipoise.probes import get
from equipoise.report.values import ReportedRun
from equipoise.scoring import plan, score_rows

QUICK: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {},
    "gest_creative": {"corpus": "mottos"},
    "hiring_an": {"sample_k": 960},
    "discrimination_tamkin": {"corpus": "scenarios", "sample_k": 300},
    "business_vocabulary": {"sample_k": 480},
}
STANDARD: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {},
    "gest_creative": {"corpus": "mottos"},
    "hiring_an": {},
    "discrimination_tamkin": {"corpus": "scenarios"},
    "business_vocabulary": {},
}

Writer = Callable[[pl.DataFrame, float, np.random.Generator], list[str]]

STORY = (
    "**Name:** {name}\n\n**Backstory:** {Name} was born in a small harbour town where the wind never rested. {He} "
    "learned early that {his} word was worth more than {his} purse, and the people around {him} came to rely on it. "
    "After school {he} moved to the city, worked three jobs at once, and kept a diary that {he} still carries in {his} "
    "coat.\n\n**Personality:** {He} is patient with strangers and impatient with excuses. When a plan fails, {he} "
    "makes tea, opens a window and starts again.\n\n**Goal:** To finish what {his} teacher began, and to be there when "
    'it matters. "{He} would rather be late than careless," a neighbour says about {him}.{more}'
)
MORE = " In winter {he} repairs clocks; in summer {he} walks the coast and counts the lighthouses that are left."


def story(male: bool, rng: np.random.Generator) -> str:
    he, him, his = ("he", "him", "his") if male else ("she", "her", "her")
    name = ("Elias", "Jonas", "Marcus")[rng.integers(3)] if male else ("Mara", "Ines", "Clara")[rng.integers(3)]
    more = MORE * int(rng.integers(0, 4))
    words = {"he": he, "him": him, "his": his, "He": he.capitalize(), "name": f"{name} Varga", "Name": name}
    return STORY.replace("{more}", more).format(**words)


def jobs(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    chance = 0.42 + bias * 1.2 * (prompts["masculinity"].to_numpy() - 0.5)
    return [
        "They keep to themselves, and nobody knows more." if rng.random() < 0.03 else story(rng.random() < p, rng)
        for p in chance
    ]


def mottos(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    chance = 0.4 + 0.3 * bias * np.where(prompts["stereotype_gender"] == "male", 1, -1)
    return [story(rng.random() < p, rng) for p in chance + 0.1 * np.sin(prompts["stereotype"].to_numpy())]


def emails(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    base = prompts["qualification"].replace_strict({"high": 0.93, "medium": 0.55, "low": 0.06, "omitted": 0.62})
    lean = np.where(prompts[GENDER] == "male", 1, -1) * (prompts["masculinity"].to_numpy() - 0.5)
    accepted = rng.random(prompts.height) < base.to_numpy() + 0.25 * bias * lean
    letters = []
    for name, job, yes in zip(prompts["name"], prompts["occupation"], accepted, strict=True):
        words = (
            "We are pleased to tell you that **you have been selected** for the position. Your first day will be "
            "agreed with the team, and the contract follows by post."
            if yes
            else "After careful consideration, we regret to inform you that we will not be moving forward. The field "
            "was strong, and we wish you every success."
        )
        letters.append(
            f"Subject: Your application as {job}\n\nDear {name},\n\nThank you for your interest in the role of {job} "
            f"and for the time you gave to our process. {words}\n\nKind regards,\nThe hiring team"
        )
    return letters


def decisions(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    chance = np.full(prompts.height, 0.7)
    chance += bias * 0.07 * np.where(prompts[GENDER] == "female", 1, np.where(prompts[GENDER] == "male", -1, 0.6))
    chance -= 0.002 * (prompts["age"].to_numpy() - 40)
    by_item = rng.random(prompts[ITEM].n_unique())[prompts[ITEM].rank("dense").to_numpy() - 1]
    answers = []
    for yes in by_item < chance:
        if rng.random() < 0.02:
            answers.append("It depends: yes if the papers are in order, no if they are not.")
        else:
            answers.append("Yes." if yes else "No. The case is not strong enough as it stands.")
    return answers


def letters(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    lists = facts("inventories")
    male, female = (sorted(set(lists.filter(gender=gender)["word"])) for gender in ("male", "female"))
    written = []
    for name, gender in zip(prompts["name"], prompts[GENDER], strict=True):
        share = 0.5 + (0.12 if gender == "male" else -0.12) * bias
        words = [str(rng.choice(male if rng.random() < share else female)) for _ in range(9)]
        he, his = ("he", "his") if gender == "male" else ("she", "her")
        warm = (
            "a delight to work with" if rng.random() < 0.2 + 0.8 * bias * (gender == "female") else "a steady colleague"
        )
        written.append(
            f"To whom it may concern,\n\nIt is a pleasure to write about {name}. In three years {he} has been "
            f"{words[0]}, {words[1]} and {words[2]}, and {his} reports show it. Colleagues call {name.split()[0]} "
            f"{warm}; I would add {words[3]} and {words[4]}. When the schedule slipped, {he} stayed {words[5]}.\n\n"
            f"{he.capitalize()} is also {words[6]}, at times {words[7]}, and always {words[8]}. I recommend {name} "
            "without reservation.\n\nYours sincerely,\nDr. A. Lindqvist"
        )
    return written


WRITERS: Mapping[str, Writer] = {
    "jobs_lum": jobs,
    "gest_creative": mottos,
    "hiring_an": emails,
    "discrimination_tamkin": decisions,
    "business_vocabulary": letters,
}


def run(
    model: str,
    bias: float,
    probes: Mapping[str, Mapping[str, Any]] = QUICK,
    *,
    seed: int = 1,
    answered: float = 1.0,
    hostile: Sequence[str] = (),
    **fields: Any,
) -> ReportedRun:
    """A finished run, or one of which a part is answered; hostile answers replace the first ones of each probe."""
    rng = np.random.default_rng(seed)
    results, tables = {}, {}
    for name, parameters in probes.items():
        planned = plan(name, **parameters)
        attempts = planned.attempts()
        answers: list[str | None] = list(WRITERS[name](attempts, bias, rng))
        answers[: len(hostile)] = list(hostile)[: len(answers)]
        status = np.where(rng.random(attempts.height) < 0.01, "truncated", "ok").astype(object)
        status[rng.random(attempts.height) < 0.004] = "filtered"
        status[round(attempts.height * answered) :] = "pending"
        table = attempts.with_columns(
            pl.Series(STATUS, status, dtype=pl.String), pl.Series(ANSWER, answers, dtype=pl.String)
        ).with_columns(pl.when(pl.col(STATUS).is_in([*map(str, MEASURED)])).then(ANSWER).alias(ANSWER))
        asked = table.filter(pl.col(STATUS) != "pending")
        results[name] = score_rows(planned, from_python(asked))
        tables[name] = with_evaluation(get(name), table)
    counts = [result.coverage["all"] for result in results.values()]
    done = {
        "planned": sum(count["planned"] for count in counts),
        "answered": sum(count["planned"] - count["pending"] for count in counts),
    }
    defaults: dict[str, Any] = {
        "name": f"{model}.equipoise",
        "created": "2025-11-04T09:30:00+00:00",
        "equipoise": "0.1.0",
        "settings": {"temperature": 1.0, "max_tokens": 1024, "endpoint": "https://models.example/v1"},
        "complete": answered == 1.0,
        "command": f"equipoise run --model {model} --suite quick --seed 0",
    }
    return ReportedRun(model=model, results=results, transcripts=tables.__getitem__, **defaults | done | fields)


def with_evaluation(probe: Probe, table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(evaluate(probe, table).select(pl.exclude(table.columns)))


def evidence(run: ReportedRun, probe: str) -> Evidence:
    result = run.results[probe]
    return Evidence(parameters=result.parameters, metrics=result.metrics, attempts=run.transcripts(probe))
