"""Runs of invented models: answers of realistic length, with a bias that can be set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.rows import read_python
from equipoise.answers.score import score_rows
from equipoise.assets import facts
from equipoise.authoring import Evidence, Probe
from equipoise.detect import Detector
from equipoise.measuring.audit import Audit
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.plan import plan
from equipoise.measuring.result import Result
from equipoise.probes import find_probes
from equipoise.report.html.runs import ReportedRun, Transcripts
from equipoise.schema import ANSWER, GENDER, ID, ITEM, STATUS, Status, is_measured

SIZES: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {},
    "gest_creative": {},
    "hiring_an": {"sample": 960},
    "discrimination_tamkin": {"sample": 300},
    "business_vocabulary": {"sample": 480},
    "word_association": {"sample": 96},
    "inventories": {"sample": 24},
    "hiring_bloomberg": {"sample": 8},
    "pronoun_fidelity": {"sample": 20},
    "resume_score": {"sample": 24},
    "salary_advice": {"sample": 12},
}
"""Samples that show something."""

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


def write_story(male: bool, rng: np.random.Generator) -> str:
    he, him, his = ("he", "him", "his") if male else ("she", "her", "her")
    name = ("Elias", "Jonas", "Marcus")[rng.integers(3)] if male else ("Mara", "Ines", "Clara")[rng.integers(3)]
    more = MORE * int(rng.integers(0, 4))
    words = {"he": he, "him": him, "his": his, "He": he.capitalize(), "name": f"{name} Varga", "Name": name}
    return STORY.replace("{more}", more).format(**words)


def write_characters(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    chance = 0.42 + bias * 1.2 * (prompts["masculinity"].to_numpy() - 0.5)
    return [
        "They keep to themselves, and nobody knows more." if rng.random() < 0.03 else write_story(rng.random() < p, rng)
        for p in chance
    ]


def write_motto_characters(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    chance = 0.4 + 0.3 * bias * np.where(prompts["stereotype_gender"] == "male", 1, -1)
    return [write_story(rng.random() < p, rng) for p in chance + 0.1 * np.sin(prompts["stereotype"].to_numpy())]


def write_emails(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    base = prompts["qualification"].replace_strict({"high": 0.93, "medium": 0.55, "low": 0.06, "omitted": 0.62})
    lean = np.where(prompts[GENDER] == "male", 1, -1) * (prompts["masculinity"].to_numpy() - 0.5)
    accepted = rng.random(prompts.height) < base.to_numpy() + 0.25 * bias * lean
    emails = []
    for name, job, yes in zip(prompts["name"], prompts["occupation"], accepted, strict=True):
        words = (
            "We are pleased to tell you that **you have been selected** for the position. Your first day will be "
            "agreed with the team, and the contract follows by post."
            if yes
            else "After careful consideration, we regret to inform you that we will not be moving forward. The field "
            "was strong, and we wish you every success."
        )
        emails.append(
            f"Subject: Your application as {job}\n\nDear {name},\n\nThank you for your interest in the role of {job} "
            f"and for the time you gave to our process. {words}\n\nKind regards,\nThe hiring team"
        )
    return emails


def write_decisions(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
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


def write_letters(prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    lists = facts("inventories")
    male, female = (sorted(set(lists.filter(gender=gender)["word"])) for gender in ("male", "female"))
    letters = []
    for name, gender in zip(prompts["name"], prompts[GENDER], strict=True):
        share = 0.5 + (0.12 if gender == "male" else -0.12) * bias
        words = [str(rng.choice(male if rng.random() < share else female)) for _ in range(9)]
        he, his = ("he", "his") if gender == "male" else ("she", "her")
        warm = (
            "a delight to work with" if rng.random() < 0.2 + 0.8 * bias * (gender == "female") else "a steady colleague"
        )
        letters.append(
            f"To whom it may concern,\n\nIt is a pleasure to write about {name}. In three years {he} has been "
            f"{words[0]}, {words[1]} and {words[2]}, and {his} reports show it. Colleagues call {name.split()[0]} "
            f"{warm}; I would add {words[3]} and {words[4]}. When the schedule slipped, {he} stayed {words[5]}.\n\n"
            f"{he.capitalize()} is also {words[6]}, at times {words[7]}, and always {words[8]}. I recommend {name} "
            "without reservation.\n\nYours sincerely,\nDr. A. Lindqvist"
        )
    return letters


WRITERS: Mapping[str, Writer] = {
    "jobs_lum": write_characters,
    "gest_creative": write_motto_characters,
    "hiring_an": write_emails,
    "discrimination_tamkin": write_decisions,
    "business_vocabulary": write_letters,
}
"""Other probes are answered by their own reference models."""


def packaged_parameters() -> dict[str, dict[str, Any]]:
    """For every installed probe the parameters of its standard suite, on texts that need not be fetched."""
    packaged = {
        name: [corpus.name for corpus in probe.corpora if corpus.file is not None]
        for name, probe in find_probes().items()
    }
    return {name: {"corpus": corpora[0]} if corpora else {} for name, corpora in packaged.items()}


def small_parameters() -> dict[str, dict[str, Any]]:
    """The same with smaller samples."""
    return {name: {**parameters, **SIZES.get(name, {})} for name, parameters in packaged_parameters().items()}


def write_answers(probe: Probe, prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    if probe.name in WRITERS:
        return WRITERS[probe.name](prompts, bias, rng)
    stances = probe.stances()
    return list(probe.simulate(prompts, "stereotyping" if "stereotyping" in stances else stances[0], rng))


def make_run(
    model: str,
    bias: float,
    probes: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    seed: int = 1,
    answered: float = 1.0,
    **fields: Any,
) -> ReportedRun:
    """A finished run of these probes (by default all), or one of which only a share is answered."""
    rng = np.random.default_rng(seed)
    results, tables = {}, {}
    for name, parameters in (probes or small_parameters()).items():
        planned = plan(name, **parameters)
        attempts = planned.attempts()
        answers = write_answers(planned.probe, attempts, bias, rng)
        status = np.where(rng.random(attempts.height) < 0.01, Status.TRUNCATED, Status.OK).astype(object)
        status[rng.random(attempts.height) < 0.004] = Status.FILTERED
        status[round(attempts.height * answered) :] = Status.PENDING
        table = attempts.with_columns(
            pl.Series(STATUS, status, dtype=pl.String), pl.Series(ANSWER, answers, dtype=pl.String)
        ).with_columns(pl.when(is_measured()).then(ANSWER).alias(ANSWER))
        asked = table.filter(pl.col(STATUS) != Status.PENDING)
        results[name] = score_rows(planned, read_python(asked))
        tables[name] = add_evaluation(planned.probe.detector, table)
    defaults: dict[str, Any] = {
        "name": f"{model}.equipoise",
        "created": "2025-11-04T09:30:00+00:00",
        "equipoise": "0.1.0",
        "settings": {"temperature": 1.0, "max_tokens": 1024, "endpoint": "https://models.example/v1"},
        "command": f"equipoise run --model {model} --suite quick --seed 0",
    }
    return ReportedRun(results=Audit(results, model=model), transcripts=hand_out(tables), **defaults | fields)


def hand_out(tables: Mapping[str, pl.DataFrame]) -> Transcripts:
    """Transcripts from tables, of each probe in two parts of whole items."""

    def read(probe: str, among: Sequence[str] | None = None, /) -> list[pl.DataFrame]:
        table = tables[probe]
        if among is not None:
            return [table.filter(pl.col(ID).is_in(list(among)))]
        first = pl.col(ITEM).is_in(table[ITEM].unique(maintain_order=True).head(10).implode())
        return [table.filter(first), table.filter(~first)]

    return read


def whole_table(run: ReportedRun, probe: str) -> pl.DataFrame:
    return pl.concat(run.transcripts(probe))


def add_evaluation(detector: Detector, table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(evaluate(detector, table).select(pl.exclude(table.columns)))


def collect_evidence(run: ReportedRun, probe: str) -> Evidence:
    result = run.results[probe]
    labels = result.setup.probe.detector.labels
    table = whole_table(run, probe)
    return Evidence(parameters=result.parameters, estimates=result.estimates, attempts=table, labels=labels)


def rename_model(run: ReportedRun, model: str) -> ReportedRun:
    """The same run of another model."""
    return replace(run, results=Audit(run.results, model=model))


def with_results(run: ReportedRun, **results: Result) -> ReportedRun:
    """The run with these results alone."""
    return replace(run, results=Audit(results, model=run.results.model))


def with_parameters(result: Result, **parameters: Any) -> Result:
    """The result as if it had been asked with other parameters."""
    return replace(result, setup=replace(result.setup, parameters={**result.parameters, **parameters}))
