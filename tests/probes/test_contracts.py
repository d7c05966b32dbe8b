"""What every probe promises, whoever brings it: one suite over all that are found."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise import Card, Plan, Probe, Result
from equipoise.detect import evaluate
from equipoise.frames import ANSWER, EVALUATION_FAILED, GENDER, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS, text
from equipoise.probes import find
from equipoise.scoring import Part, measured
from equipoise.stats.resample import Estimate, estimates
from equipoise.stats.summarise import cells, item_rows, merge, slug, statistics

PROBES = find()
SMALL = 320
"""Items enough for every metric to have a value, whatever it averages."""


class Case:
    """A probe on one of its corpora."""

    def __init__(self, name: str, corpus: str | None) -> None:
        self.probe: Probe = PROBES[name]
        self.own: dict[str, Any] = {} if corpus is None else {"corpus": corpus}

    def plan(self, **parameters: Any) -> Plan:
        return equipoise.plan(self.probe, **self.own, **parameters)

    def score(self, prompts: pl.DataFrame, answers: Sequence[str], **parameters: Any) -> Result:
        rows = prompts.select(ID).with_columns(text(ANSWER, answers))
        return equipoise.score(self.probe, rows, **self.own, **parameters)


CASES = {
    f"{name}-{corpus.name}" if corpus else name: (name, corpus)
    for name, probe in PROBES.items()
    for corpus in probe.corpora or [None]
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Case:
    """Every probe with each of its corpora; a fetched one is skipped where it is not here."""
    name, corpus = CASES[request.param]
    if corpus and corpus.asset:
        monkeypatch.setenv("EQUIPOISE_MIRROR", str(request.getfixturevalue("corpora")))
    return Case(name, corpus.name if corpus else None)


@pytest.fixture(params=PROBES)
def probe(request: pytest.FixtureRequest) -> Probe:
    return PROBES[request.param]


def stances(probe: Probe) -> list[str]:
    return sorted({stance for metric in probe.metrics for stance in metric.references})


def mixed(probe: Probe, prompts: pl.DataFrame, seed: int = 1) -> list[str]:
    """A model that answers now as one reference model, now as another: all its metrics lie somewhere between."""
    rng = np.random.default_rng(seed)
    answers = [list(probe.simulate(prompts, stance, rng)) for stance in stances(probe)]
    return [answers[which][row] for row, which in enumerate(rng.integers(len(answers), size=prompts.height))]


def plain(metrics: Mapping[str, Estimate]) -> dict[str, tuple[object, ...]]:
    """Estimates that can be compared: what is not computable is None."""
    return {
        name: tuple(None if math.isnan(number) else number for number in (one.value, one.low, one.high, one.n))
        for name, one in metrics.items()
    }


def values(metrics: Mapping[str, Estimate]) -> dict[str, float]:
    return {name: one.value for name, one in metrics.items()}


# The card and the examples


def test_the_card_is_complete(probe: Probe) -> None:
    for field in fields(Card):
        assert getattr(probe.card, field.name), field.name
    assert set(probe.card.sections) >= set(Card.SECTIONS)
    assert all(probe.card.sections.values())


def test_the_card_names_every_metric_slice_and_parameter(probe: Probe) -> None:
    written = re.findall(r"`([^`\s]+)`", probe.card.sections["Metrics"])
    families = [re.compile(re.sub(r"\\\{\w+\\\}", r"\\w+", re.escape(name))) for name in written]
    for metric in probe.all_metrics():
        assert any(family.fullmatch(metric.name) for family in families), metric.name
        assert metric.bands is None or metric.name in written, metric.name
    for column in probe.slices:
        assert any(name.startswith(f"{column}_{{") for name in written), column
    for parameter in probe.all_parameters():
        assert f"`{parameter.name}`" in probe.card.sections["Parameters"], parameter.name


@cache
def examples(name: str) -> list[dict[str, str]]:
    source = files("equipoise.probes") / name / "examples.csv"
    return list(csv.DictReader(io.StringIO(source.read_text(encoding="utf-8"), newline="")))


def test_the_examples_are_read_as_they_say(probe: Probe) -> None:
    rows = examples(probe.name)
    assert len(rows) >= 40
    read = evaluate(probe, pl.DataFrame([text(ANSWER, (row["answer"] for row in rows))]))
    if probe.labels:
        said = read[LABEL].fill_null("").to_list()
        assert set(said) == {*probe.labels, ""}
    else:
        counts = read.select(probe.counts).iter_rows(named=True)
        said = [{name: count for name, count in row.items() if count} for row in counts]
    for row, found in zip(rows, said, strict=True):
        assert found == (row["expected"] if probe.labels else json.loads(row["expected"])), row["answer"]
    assert not read[EVALUATION_FAILED].any()


# The plan


def test_the_same_plan_twice_has_the_same_distinct_ids(case: Case) -> None:
    first, second = case.plan().prompts(), case.plan().prompts()
    assert first.equals(second)
    assert first[ID].n_unique() == first.height
    assert first.select(ITEM, PROMPT).null_count().sum_horizontal().item() == 0


def test_ids_do_not_depend_on_how_much_is_asked(case: Case) -> None:
    small = case.plan(sample_k=SMALL).prompts()
    assert small.equals(case.plan(sample_k=SMALL, num_repetitions=3).prompts())
    assert small.equals(pl.concat(list(case.plan(sample_k=SMALL).batches(size=7))))


def test_a_larger_sample_contains_the_smaller_one(case: Case) -> None:
    drawn = [set(case.plan(sample_k=k, random_seed=5).prompts()[ID]) for k in (10, 11, 60, SMALL)]
    assert all(small < large for small, large in itertools.pairwise(drawn))


def test_another_seed_draws_other_items_of_the_same(case: Case) -> None:
    drawn = [set(case.plan(sample_k=60, random_seed=seed).prompts()[ITEM]) for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    if case.probe.sample_k is None:
        everything = [set(case.plan(random_seed=seed).prompts()[ID]) for seed in (0, 1)]
        assert everything[0] == everything[1]


# The metrics


def test_what_is_declared_is_measured(case: Case) -> None:
    prompts = case.plan(sample_k=SMALL).prompts()
    names = [metric.name for metric in case.probe.all_metrics()]
    assert len(set(names)) == len(names)
    groups = [f"{column}_{slug(value)}_" for column in case.probe.slices for value in prompts[column].unique().sort()]
    result = case.score(prompts, mixed(case.probe, prompts), sample_k=SMALL)
    assert list(result.metrics) == [group + name for group in ("", *groups) for name in names]
    assert list(result.marks) == [metric.name for metric in case.probe.metrics if metric.bands]
    for name, one in values(result.metrics).items():
        assert not math.isnan(one) or any(name.startswith(group) for group in groups), name
    few = case.score(prompts[:1], [""], sample_k=SMALL)
    assert list(few.metrics) == list(result.metrics)


def test_every_probe_has_reference_models(probe: Probe) -> None:
    for metric in probe.metrics:
        if metric.bands and metric.references:
            assert {"unbiased", "random"} < set(metric.references), metric.name
    assert any(metric.references for metric in probe.metrics)


def test_reference_models_score_their_reference_values(case: Case) -> None:
    prompts = case.plan().prompts()
    for number, stance in enumerate(stances(case.probe)):
        answers = case.probe.simulate(prompts, stance, np.random.default_rng([number, 20]))
        result = case.score(prompts, answers)
        for metric in case.probe.metrics:
            if stance in metric.references:
                one = result.metrics[metric.name]
                off = abs(one.value - metric.references[stance])
                assert off <= one.high - one.low + 1e-9, (metric.name, stance, one)


def test_undetected_answers_change_nothing_but_their_rates(case: Case) -> None:
    prompts = case.plan(sample_k=SMALL).prompts()
    answers = mixed(case.probe, prompts)
    alone = plain(case.score(prompts, answers, sample_k=SMALL, num_repetitions=2).metrics)
    for some in (prompts.height, prompts.height // 3):
        more = pl.concat([prompts, prompts[:some]])
        both = plain(case.score(more, [*answers, *["…"] * some], sample_k=SMALL, num_repetitions=2).metrics)
        for name, (value, *interval, n) in alone.items():
            if "undetected_rate" not in name:
                assert (both[name][0], both[name][-1]) == pytest.approx((value, n), abs=1e-12), name
                # With one for each prompt the cells are the same, and so are the replicates.
                assert some < prompts.height or both[name][1:3] == pytest.approx(interval, abs=1e-12), name
        if case.probe.labels:
            rate = both["undetected_rate_attempts"][0]
            assert rate == pytest.approx(some / more.height)


def test_swapping_the_genders_negates_signed_metrics(case: Case) -> None:
    plan = case.plan(sample_k=SMALL)
    prompts = plan.prompts()
    answers = mixed(case.probe, prompts)
    result = case.score(prompts, answers, sample_k=SMALL)
    before = values(result.metrics)
    if case.probe.genders:
        exchanged = prompts.with_columns(pl.col(GENDER).replace({"male": "female", "female": "male"}))
        said = [LABEL] if case.probe.labels else list(case.probe.counts)
        evaluated = result.evaluated.select(ID, REPETITION, STATUS, EVALUATION_FAILED, *said)
        part = Part(exchanged, exchanged.drop(PROMPT).join(evaluated, on=ID))
        after = values(measured(plan, lambda: [part]).metrics)
    else:
        after = values(case.score(prompts, [other_pronouns(answer) for answer in answers], sample_k=SMALL).metrics)
    signed = 0
    for metric in case.probe.metrics:
        old, new = before[other_gender(metric.name)], after[metric.name]
        if metric.references and min(metric.references.values()) < 0:
            assert new == pytest.approx(-old, abs=1e-12), metric.name
            signed += abs(old) > 1e-4
        elif metric.bands and metric.bands.centre == 0.5:
            assert new == pytest.approx(1 - old, abs=1e-12), metric.name
            signed += abs(old - 0.5) > 1e-4
        else:
            assert any(new == pytest.approx(way, abs=1e-12) for way in (old, -old, 1 - old)), metric.name
    assert signed or not any(min(metric.references.values(), default=0) < 0 for metric in case.probe.metrics)


def other_gender(name: str) -> str:
    return "_".join({"male": "female", "female": "male"}.get(word, word) for word in name.split("_"))


def other_pronouns(answer: str) -> str:
    pairs = {"he": "she", "his": "her", "him": "her", "she": "he", "her": "his"}
    pairs |= {word.capitalize(): other.capitalize() for word, other in pairs.items()}
    return re.sub(r"\w+", lambda word: pairs.get(word[0], word[0]), answer)


@pytest.mark.parametrize("given", ["nothing", "failures", "undetected"])
def test_without_data_nothing_is_computable(case: Case, given: str) -> None:
    prompts = case.plan(sample_k=SMALL).prompts()
    rows = {
        "nothing": [],
        "failures": [{ID: one, ANSWER: "Yes. He.", STATUS: "http_error"} for one in prompts[ID]],
        "undetected": [{ID: one, ANSWER: "…"} for one in prompts[ID]],
    }
    result = equipoise.score(case.probe, rows[given], sample_k=SMALL, **case.own)
    for name, one in result.metrics.items():
        if given == "undetected" and "undetected_rate" in name:
            assert one.value == 1.0
        else:
            assert math.isnan(one.value), name
            assert math.isnan(one.low), name
            assert math.isnan(one.high), name
    assert set(result.marks.values()) == {None}
    numbers = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert all(mark == {"mark": None, "best": None, "worst": None} for mark in numbers["marks"].values())


def test_a_gender_without_answers_is_not_taken_for_zero(case: Case) -> None:
    if not case.probe.genders:
        pytest.skip("The prompts of this probe have no gender.")
    prompts = case.plan(sample_k=SMALL).prompts().filter(pl.col(GENDER) != "female")
    result = case.score(prompts, mixed(case.probe, prompts), sample_k=SMALL)
    others = {f"{slug(gender)}_n" for gender in case.probe.genders if gender != "female"}
    for metric in case.probe.metrics:
        assert math.isnan(result.metrics[metric.name].value) == (metric.n not in others), metric.name
    assert result.coverage["female"]["pending"] == result.coverage["female"]["planned"]


def test_the_order_of_answers_and_items_changes_nothing(case: Case) -> None:
    prompts = case.plan(sample_k=SMALL).prompts()
    answers = mixed(case.probe, prompts)
    result = case.score(prompts, answers, sample_k=SMALL)
    order = np.random.default_rng(3).permutation(prompts.height)
    turned = case.score(prompts[order], [answers[place] for place in order], sample_k=SMALL)
    assert plain(turned.metrics) == plain(result.metrics)
    rows = item_rows(case.probe, result.evaluated)
    for again in (rows.reverse(), rows.sample(fraction=1.0, shuffle=True, seed=4)):
        table = merge([cells(statistics(case.probe, again, result.parameters))])
        assert plain(estimates(case.probe, table, result.parameters)) == plain(result.metrics)


def test_the_corpus_is_part_of_the_result(case: Case) -> None:
    result = equipoise.score(case.probe, [], sample_k=10, **case.own)
    assert result.corpus == case.own.get("corpus")
    assert (result.corpus_sha256 is None) == (result.corpus is None)
