"""Checks of what a probe says of itself: card, metrics, examples, labelled answers, sizes."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from equipoise.authoring import Card, Probe
from equipoise.measuring.accuracy import find_kind, name_outcomes, read_labelled
from equipoise.measuring.evaluate import evaluate
from equipoise.runs.sizes import FILE as SIZES
from equipoise.runs.sizes import GOALS, SIZED, compute_size, read_sizes
from equipoise.schema import (
    ANSWER,
    EVALUATION_FAILED,
    SPECIFIED,
    STATUS,
    Status,
    text_column,
)
from equipoise.testing.cases import ProbeCheckFailed, _is_here, find_cases, require

MIN_EXAMPLES = 10


def check_card(probe: Probe) -> None:
    """The card has every field and section, and names every metric, slice and parameter."""
    for field in fields(Card):
        require(field.name == "folder" or getattr(probe.card, field.name), f"the card lacks {field.name}")
    for section in Card.SECTIONS:
        require(probe.card.sections.get(section), f"the card lacks the section {section}")
    written = re.findall(r"`([^`\s]+)`", probe.card.sections["Metrics"])
    families = [re.compile(re.sub(r"\\\{\w+\\\}", r"\\w+", re.escape(name))) for name in written]
    for metric in probe.all_metrics():
        named = any(family.fullmatch(metric.name) for family in families)
        require(named, f"the section Metrics of the card does not name `{metric.name}`")
        require(
            metric.bands is None or metric.name in written,
            f"the section Metrics of the card does not name the marked `{metric.name}` by itself",
        )
    for column in probe.slices:
        require(
            f"`{column}`" in probe.card.sections["Metrics"], f"the section Metrics does not name the slice `{column}`"
        )
    for parameter in probe.all_parameters():
        named = f"`{parameter.name}`" in probe.card.sections["Parameters"]
        require(named, f"the section Parameters of the card does not name `{parameter.name}`")


def check_metrics_are_declared_once(probe: Probe) -> None:
    """No two metrics have one name, and each marked metric can be recognised as unbiased and as random."""
    names = [metric.name for metric in probe.all_metrics()]
    require(len(set(names)) == len(names), "two metrics have the same name")
    for metric in probe.metrics:
        if metric.bands and metric.references:
            require(
                {"unbiased", "random"} < set(metric.references),
                f"the references of {metric.name} must name unbiased, random and at least one more",
            )
    require(probe.stances(), "no metric has reference values, so the probe cannot be simulated")


def check_coverage_groups(probe: Probe) -> None:
    """The columns by which attempts are counted share no value, so that a group has one meaning."""
    for case in find_cases(probe):
        values = [str(value) for column in probe.coverage_columns for value in case.prompts[column].unique()]
        require(len(set(values)) == len(values), "two coverage columns share a value")
        require("all" not in values, "a coverage column has the value 'all', which stands for everything")


def check_examples(probe: Probe) -> None:
    """examples.csv holds answers with what the detector must say, each label and an undecided answer among them."""
    rows = read_examples(probe)
    require(len(rows) >= MIN_EXAMPLES, f"examples.csv must hold at least {MIN_EXAMPLES} answers")
    attempts = pl.DataFrame([text_column(ANSWER, (row["answer"] for row in rows))])
    for column in {*probe.detector.uses, *probe.read_by(SPECIFIED).detector.uses}:
        require(column in rows[0], f"examples.csv needs a column {column}, which the detector uses")
        attempts = attempts.with_columns(text_column(column, (row[column] for row in rows)))
    probe = probe.read_by(SPECIFIED)  # the careful reading is held to labelled.csv instead
    evaluated = evaluate(probe.detector, attempts.with_columns(pl.lit(Status.OK.value).alias(STATUS)))
    require(not evaluated[EVALUATION_FAILED].any(), "the detector raises on an example")
    if probe.detector.labels:
        found: list[Any] = name_outcomes(probe.detector, evaluated)
        expected: list[Any] = [row["expected"] for row in rows]
        shown = {find_kind(probe.detector, label) for label in expected} - {*probe.detector.other_labels}
        require(shown == {*probe.detector.labels, ""}, "examples.csv must show every label, and no label")
    else:
        counts = evaluated.select(probe.detector.counts).iter_rows(named=True)
        found = [{name: count for name, count in row.items() if count} for row in counts]
        expected = [json.loads(row["expected"]) for row in rows]
    for row, is_read, should in zip(rows, found, expected, strict=True):
        require(is_read == should, f"the answer {row['answer'][:80]!r} is read as {is_read!r}, not as {should!r}")


def check_labelled_answers(probe: Probe) -> None:
    """If there is a labelled.csv beside the card: its labels are known ones."""
    rows = read_labelled(probe)
    unknown = {row["label"] for row in rows if row["label"] and not find_kind(probe.detector, row["label"])}
    require(not unknown, f"labelled.csv has labels that the detector does not know: {sorted(unknown)}")


def check_judge(probe: Probe) -> None:
    """If a judge can be asked: it knows the labels of the detector and no others, and which names it must not see."""
    if probe.judge is None:
        return
    known, columns = {*probe.detector.labels, *probe.detector.other_labels}, {*probe.judge.names}
    require({*probe.detector.labels} <= {*probe.judge.labels} <= known, "the judge must know every label, and no other")
    require({*probe.judge.contradictory} <= known, "the judge is asked about labels that the detector does not know")
    require(
        columns <= {*find_cases(probe)[0].plan_items(1).prompts().columns}, "the names for the judge are no columns"
    )


def read_examples(probe: Probe) -> list[dict[str, str]]:
    """The rows of examples.csv in the folder of the probe."""
    require(probe.card.folder, "the card must be read with Card.beside(__package__), so that the folder is known")
    assert probe.card.folder is not None
    source = probe.card.folder / "examples.csv"
    require(source.is_file(), "there is no examples.csv beside the card")
    return list(csv.DictReader(io.StringIO(source.read_text(encoding="utf-8"), newline="")))


def check_sizes(probe: Probe) -> None:
    """If there is a sizes.json beside the card: it holds the sizes of the suites quick, ci and full."""
    for suite, known in read_sizes(probe).items():
        if suite in GOALS and not GOALS[suite].packaged and probe.corpora and not _is_here(probe.corpora[0].asset):
            continue
        computed = compute_size(probe, suite)
        near = all(abs(computed[name] - size) <= max(1, 0.02 * size) for name, size in known.items())
        require(near, f"{suite} needs {computed}, not {dict(known)}: python -m equipoise.testing NAME --write-sizes")


def write_sizes(probe: Probe) -> Path:
    """Write sizes.json anew."""
    if not isinstance(probe.card.folder, Path):
        raise ProbeCheckFailed(f"{probe.name}: sizes.json can only be written into a folder, read by Card.beside.")
    path = probe.card.folder / SIZES
    path.write_text(json.dumps({suite: compute_size(probe, suite) for suite in SIZED}) + "\n", encoding="utf-8")
    return path
