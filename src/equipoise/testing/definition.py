"""A probe on one of its corpora, what all checks share, and checks of what stands in the folder of a probe."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.files import read_python
from equipoise.answers.score import score_tables
from equipoise.assets import find_stored
from equipoise.authoring import Card, Probe
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.result import Result
from equipoise.probes.labelled import find_kind, name_outcomes, read_labelled
from equipoise.schema import ANSWER, EVALUATION_FAILED, ID, SPECIFIED, STATUS, Status, text_column, without_nan
from equipoise.settings import Settings

SAMPLE = 160
"""Items enough for every metric to have a value, whatever it averages."""
MIN_EXAMPLES = 10
GOLDEN = "golden.json"
GOLDEN_SEEDS = (0, 7)


class ProbeCheckFailed(AssertionError):
    """A probe breaks a promise. The message says which."""


@dataclass(frozen=True)
class Case:
    """A probe on one of its corpora. Its sample is planned, answered and scored once, for all checks."""

    probe: Probe
    corpus: str | None = None

    def plan(self, **parameters: Any) -> Plan:
        """Plan on this corpus."""
        corpus: dict[str, Any] = {"corpus": self.corpus} if self.corpus else {}
        return plan(self.probe, **corpus, **parameters)

    def plan_items(self, items: int, **parameters: Any) -> Plan:
        """Plan so many items."""
        return self.plan(sample=items * self.probe.prompts_per_item, **parameters)

    @cached_property
    def population(self) -> int:
        """How many items there are."""
        return self.plan(sample=None).items

    @cached_property
    def sample(self) -> Plan:
        """A plan that is large enough for every metric, or all there is if that is less."""
        return self.plan_items(min(SAMPLE, self.population))

    @cached_property
    def repeated(self) -> Plan:
        """The same, with each prompt asked twice."""
        return plan(self.probe, **{**self.sample.parameters, "repeat": 2})

    @cached_property
    def prompts(self) -> pl.DataFrame:
        """The prompts of the sample."""
        return self.sample.prompts()

    @cached_property
    def answers(self) -> list[str]:
        """Simulated answers to them."""
        return self.simulate(self.prompts)

    @cached_property
    def result(self) -> Result:
        """What these answers score."""
        return self.score(self.sample, self.prompts, self.answers)

    def simulate(self, prompts: pl.DataFrame) -> list[str]:
        """A model that answers now as one reference model, now as another: all its metrics lie somewhere between."""
        rng = np.random.default_rng(1)
        answers = [list(self.probe.simulate(prompts, stance, rng)) for stance in self.probe.stances()]
        return [answers[which][row] for row, which in enumerate(rng.integers(len(answers), size=prompts.height))]

    def score(self, planned: Plan, prompts: pl.DataFrame, answers: Sequence[str]) -> Result:
        """Score answers to prompts of a plan."""
        return score_tables(planned, read_python(prompts.select(ID).with_columns(text_column(ANSWER, answers))))


def find_cases(probe: Probe) -> list[Case]:
    """The probe on each of its corpora that is on this machine."""
    settings = Settings.load()
    here = [one.name for one in probe.corpora if one.asset is None or find_stored(one.asset, settings)]
    return [Case(probe, corpus) for corpus in here] or [Case(probe)]


def are_close(first: Sequence[float | None], second: Sequence[float | None], tolerance: float = 1e-12) -> bool:
    """Whether the numbers agree; what is not computable (None or NaN) agrees with itself."""
    return bool(np.allclose(np.array(first, float), np.array(second, float), rtol=0.0, atol=tolerance, equal_nan=True))


def require(condition: object, promise: str) -> None:
    """Raise ProbeCheckFailed with the promise unless the condition holds."""
    if not condition:
        raise ProbeCheckFailed(promise)


def check_card(case: Case) -> None:
    """The card has every field and section, and names every metric, slice and parameter."""
    probe, card = case.probe, case.probe.card
    for section in Card.SECTIONS:
        require(card.sections.get(section), f"the card lacks the section {section}")
    written = re.findall(r"`([^`\s]+)`", card.sections["Metrics"])
    families = [re.compile(re.sub(r"\\\{\w+\\\}", r"\\w+", re.escape(name))) for name in written]
    missing = "the section Metrics of the card does not name"
    for metric in probe.all_metrics():
        require(any(family.fullmatch(metric.name) for family in families), f"{missing} `{metric.name}`")
    for column in probe.slices:
        require(column in written, f"{missing} the slice `{column}`")
    for parameter in probe.all_parameters():
        named = f"`{parameter.name}`" in card.sections["Parameters"]
        require(named, f"the section Parameters of the card does not name `{parameter.name}`")


def check_metrics_and_judge(case: Case) -> None:
    """Metrics have names of their own and references; a judge knows the labels of the detector and no others."""
    probe = case.probe
    names = [metric.name for metric in probe.all_metrics()]
    require(len(set(names)) == len(names), "two metrics have the same name")
    for metric in probe.metrics:
        if metric.bands and metric.references:
            complete = {"unbiased", "random"} < set(metric.references)
            require(complete, f"the references of {metric.name} must name unbiased, random and at least one more")
    require(probe.stances(), "no metric has reference values, so the probe cannot be simulated")
    if judge := probe.judge:
        known = {*probe.detector.labels, *probe.detector.other_labels}
        complete = {*probe.detector.labels} <= {*judge.labels} <= known
        require(complete, "the judge must know every label, and no other")
        require({*judge.contradictory} <= known, "the judge is asked about labels that the detector does not know")
        require({*judge.names} <= {*case.prompts.columns}, "the names for the judge are no columns")


def check_examples(case: Case) -> None:
    """examples.csv holds answers with what the detector must say, each label and an undecided answer among them.

    If there is a labelled.csv, its labels are known ones.
    """
    careful, probe = case.probe.detector, case.probe.read_by(SPECIFIED)
    rows, detector = read_examples(probe), probe.detector
    require(len(rows) >= MIN_EXAMPLES, f"examples.csv must hold at least {MIN_EXAMPLES} answers")
    attempts = pl.DataFrame([text_column(ANSWER, (row["answer"] for row in rows))])
    for column in {*careful.uses, *detector.uses}:
        require(column in rows[0], f"examples.csv needs a column {column}, which the detector uses")
        attempts = attempts.with_columns(text_column(column, (row[column] for row in rows)))
    # The careful reading is held to labelled.csv instead.
    evaluated = evaluate(detector, attempts.with_columns(pl.lit(Status.OK.value).alias(STATUS)))
    require(not evaluated[EVALUATION_FAILED].any(), "the detector raises on an example")
    if detector.labels:
        found: list[Any] = name_outcomes(detector, evaluated)
        expected: list[Any] = [row["expected"] for row in rows]
        shown = {find_kind(detector, label) for label in expected} - {*detector.other_labels}
        require(shown == {*detector.labels, ""}, "examples.csv must show every label, and no label")
    else:
        counts = evaluated.select(detector.counts).iter_rows(named=True)
        found = [{name: count for name, count in row.items() if count} for row in counts]
        expected = [json.loads(row["expected"]) for row in rows]
    for row, is_read, should in zip(rows, found, expected, strict=True):
        require(is_read == should, f"the answer {row['answer'][:80]!r} is read as {is_read!r}, not as {should!r}")
    labels = {row["label"] for row in read_labelled(case.probe)} - {""}
    unknown = sorted(label for label in labels if not find_kind(careful, label))
    require(not unknown, f"labelled.csv has labels that the detector does not know: {unknown}")


def read_examples(probe: Probe) -> list[dict[str, str]]:
    """The rows of examples.csv in the folder of the probe."""
    text = probe.card.read_beside("examples.csv")
    require(text, "there is no examples.csv beside the card, or the card was not read with Card.beside(__package__)")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def check_golden_values(case: Case) -> None:
    """If there is a golden.json beside the card: bands, prompts and numbers are still what they were."""
    probe, golden = case.probe, read_golden(case.probe)
    if golden is None:
        return
    renew = f"If that is meant, raise the version, then: python -m equipoise.testing {probe.name} --write-golden"
    require(golden["version"] == probe.version, f"golden.json is of version {golden['version']}. {renew}")
    require(golden["bands"] == _bands(probe), f"the bands have changed. {renew}")
    for seed in GOLDEN_SEEDS:
        name, now = _golden_case(case, seed)
        require(name in golden["cases"], f"golden.json has no case {name}. {renew}")
        then = golden["cases"][name]
        require(now["ids"] == then["ids"], f"the prompts of {name} have changed. {renew}")
        require(list(now["metrics"]) == list(then["metrics"]), f"other metrics are measured. {renew}")
        for metric, numbers in then["metrics"].items():
            require(are_close(now["metrics"][metric], numbers, 2e-9), f"{metric} of {name} has changed. {renew}")


def read_golden(probe: Probe) -> dict[str, Any] | None:
    """The content of golden.json in the folder of the probe; None if there is none."""
    text = probe.card.read_beside(GOLDEN)
    content: dict[str, Any] | None = json.loads(text) if text else None
    return content


def _golden_case(case: Case, seed: int) -> tuple[str, dict[str, Any]]:
    """What is planned with default parameters, and what a fixed simulated model scores on it.

    It gives two answers of each reference model in turn, and every eleventh answer decides nothing.
    """
    planned = case.plan(seed=seed)
    prompts, rng = planned.prompts(), np.random.default_rng(2)
    models = [case.probe.simulate(prompts, stance, rng) for stance in case.probe.stances()]
    answers = ["…" if row % 11 == 5 else models[row // 2 % len(models)][row] for row in range(prompts.height)]
    others = {f"{label}_rate" for label in case.probe.detector.other_labels}
    numbers = {
        key.metric: [*(without_nan(round(number, 9)) for number in (one.value, one.low, one.high)), one.n]
        for key, one in case.score(planned, prompts, answers).estimates.items()
        if key.slice is None and key.metric not in others
    }
    return "/".join(filter(None, [case.corpus, str(seed)])), {
        "ids": hashlib.sha256("\n".join(prompts[ID]).encode()).hexdigest(),
        "metrics": numbers,
    }


def _bands(probe: Probe) -> dict[str, Any]:
    marked = probe.marked_metrics().items()
    return {name: {"limits": list(bands.limits), "centre": bands.centre} for name, bands in marked}


def write_golden(probe: Probe) -> Path:
    """Write golden.json anew: bands, prompts and the numbers of a fixed simulated model, on every corpus."""
    missing = {corpus.name for corpus in probe.corpora} - {case.corpus for case in find_cases(probe)}
    require(not missing, f"{probe.name}: the corpora {sorted(missing)} must be fetched first: equipoise data fetch")
    cases = dict(_golden_case(case, seed) for case in find_cases(probe) for seed in GOLDEN_SEEDS)
    text = json.dumps({"version": probe.version, "bands": _bands(probe), "cases": cases}, indent=1, ensure_ascii=False)
    text = re.sub(r"\[[^\[\]]+\]", lambda numbers: re.sub(r"\s+", " ", numbers[0]), text)
    if not isinstance(probe.card.folder, Path):
        raise ProbeCheckFailed(f"{probe.name}: {GOLDEN} can only be written into a folder, read by Card.beside.")
    path = probe.card.folder / GOLDEN
    path.write_text(text + "\n", encoding="utf-8")
    return path
