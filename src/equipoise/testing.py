"""What every probe promises, as checks that anyone can run on a probe: `check_probe(probe)`.

    from equipoise.testing import check_probe
    check_probe(PROBE)                       raises ProbeCheckFailed with the first promise that is broken

    python -m equipoise.testing my_package.probe:PROBE                  the same from a shell
    python -m equipoise.testing my_package.probe:PROBE --write-golden   writes golden.json after a change of version
    python -m equipoise.testing my_package.probe:PROBE --write-sizes    writes sizes.json, for the suites ci and full

A corpus that would have to be fetched is only checked where it is on this machine.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib
import io
import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.score import score
from equipoise.assets import locate
from equipoise.authoring import Card, Estimate, MetricKey, Probe, slug
from equipoise.errors import AssetUnavailable, EquipoiseError
from equipoise.measuring.accuracy import KINDS, SPLITS, find_kind, name_outcomes, read_labelled
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.measure import Part, measure
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.resample import estimate_metrics
from equipoise.measuring.result import Result
from equipoise.measuring.summarise import cells, item_rows, merge_cells
from equipoise.probes import get_probe
from equipoise.runs.sizes import FILE as SIZES
from equipoise.runs.sizes import GOALS, compute_size, read_sizes
from equipoise.schema import (
    ANSWER,
    EVALUATION_FAILED,
    ID,
    ITEM,
    PROMPT,
    REPETITION,
    SPECIFIED,
    STATUS,
    Status,
    text_column,
    without_nan,
)
from equipoise.settings import Settings

SAMPLE = 320
"""Items enough for every metric to have a value, whatever it averages."""
MIN_EXAMPLES = 10
GOLDEN_SEEDS = (0, 7)
GOLDEN = "golden.json"


class ProbeCheckFailed(AssertionError):
    """A probe breaks a promise. The message says which."""


@dataclass(frozen=True)
class Case:
    """A probe on one of its corpora."""

    probe: Probe
    corpus: str | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that choose the corpus."""
        return {} if self.corpus is None else {"corpus": self.corpus}

    def plan(self, **parameters: Any) -> Plan:
        """Plan on this corpus."""
        return plan(self.probe, **self.parameters, **parameters)

    def plan_sample(self, **parameters: Any) -> Plan:
        """Plan a sample that is large enough for every metric, or all there is if that is less."""
        everything = self.plan(sample_k=None).items
        return self.plan(sample_k=min(SAMPLE, everything), **parameters)

    def score(self, planned: Plan, prompts: pl.DataFrame, answers: Sequence[str]) -> Result:
        """Score answers to prompts of a plan."""
        rows = prompts.select(ID).with_columns(text_column(ANSWER, answers))
        return score(self.probe, rows, **planned.parameters)


def check_probe(probe: Probe) -> None:
    """Check all promises of a probe; ProbeCheckFailed for the first that is broken."""
    if not isinstance(probe, Probe):
        raise ProbeCheckFailed(f"A probe is a Probe value. Got {type(probe).__name__} instead.")
    for _, check in probe_checks(probe):
        check()


def probe_checks(probe: Probe) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each check with its name, for test suites that want to run them one by one."""
    for check in DEFINITION_CHECKS:
        yield _name(check), lambda check=check: check(probe)  # type: ignore[misc]
    for case in find_cases(probe):
        for case_check in CASE_CHECKS:
            name = _name(case_check) + (f" on {case.corpus}" if case.corpus else "")
            yield name, lambda check=case_check, case=case: check(case)  # type: ignore[misc]


def find_cases(probe: Probe) -> list[Case]:
    """The probe on each of its corpora that is on this machine."""
    return [Case(probe, corpus.name) for corpus in probe.corpora if _is_here(corpus.asset)] or [Case(probe)]


def _is_here(asset: str | None) -> bool:
    if asset is None:
        return True
    try:
        locate(asset, Settings.load(), fetch=False)
    except AssetUnavailable:
        return False
    return True


# The definition


def check_card(probe: Probe) -> None:
    """The card has every field and section, and names every metric, slice and parameter."""
    for field in fields(Card):
        _require(field.name == "folder" or getattr(probe.card, field.name), f"the card lacks {field.name}")
    for section in Card.SECTIONS:
        _require(probe.card.sections.get(section), f"the card lacks the section {section}")
    written = re.findall(r"`([^`\s]+)`", probe.card.sections["Metrics"])
    families = [re.compile(re.sub(r"\\\{\w+\\\}", r"\\w+", re.escape(name))) for name in written]
    for metric in probe.all_metrics():
        named = any(family.fullmatch(metric.name) for family in families)
        _require(named, f"the section Metrics of the card does not name `{metric.name}`")
        _require(
            metric.bands is None or metric.name in written,
            f"the section Metrics of the card does not name the marked `{metric.name}` by itself",
        )
    for column in probe.slices:
        _require(
            f"`{column}`" in probe.card.sections["Metrics"], f"the section Metrics does not name the slice `{column}`"
        )
    for parameter in probe.all_parameters():
        named = f"`{parameter.name}`" in probe.card.sections["Parameters"]
        _require(named, f"the section Parameters of the card does not name `{parameter.name}`")


def check_metrics_are_declared_once(probe: Probe) -> None:
    """No two metrics have one name, and each marked metric can be recognised as unbiased and as random."""
    names = [metric.name for metric in probe.all_metrics()]
    _require(len(set(names)) == len(names), "two metrics have the same name")
    for metric in probe.metrics:
        if metric.bands and metric.references:
            _require(
                {"unbiased", "random"} < set(metric.references),
                f"the references of {metric.name} must name unbiased, random and at least one more",
            )
    _require(probe.stances(), "no metric has reference values, so the probe cannot be simulated")


def check_coverage_groups(probe: Probe) -> None:
    """The columns by which attempts are counted share no value, so that a group has one meaning."""
    for case in find_cases(probe):
        prompts = case.plan_sample().prompts()
        values = [str(value) for column in probe.coverage_columns for value in prompts[column].unique()]
        _require(len(set(values)) == len(values), "two coverage columns share a value")
        _require("all" not in values, "a coverage column has the value 'all', which stands for everything")


def check_examples(probe: Probe) -> None:
    """examples.csv holds answers with what the detector must say, each label and an undecided answer among them."""
    rows = read_examples(probe)
    _require(len(rows) >= MIN_EXAMPLES, f"examples.csv must hold at least {MIN_EXAMPLES} answers")
    attempts = pl.DataFrame([text_column(ANSWER, (row["answer"] for row in rows))])
    for column in {*probe.detector.uses, *probe.read_by(SPECIFIED).detector.uses}:
        _require(column in rows[0], f"examples.csv needs a column {column}, which the detector uses")
        attempts = attempts.with_columns(text_column(column, (row[column] for row in rows)))
    probe = probe.read_by(SPECIFIED)  # the careful reading is held to labelled.csv instead
    evaluated = evaluate(probe.detector, attempts.with_columns(pl.lit(Status.OK.value).alias(STATUS)))
    _require(not evaluated[EVALUATION_FAILED].any(), "the detector raises on an example")
    if probe.detector.labels:
        found: list[Any] = name_outcomes(probe.detector, evaluated)
        expected: list[Any] = [row["expected"] for row in rows]
        shown = {find_kind(probe.detector, label) for label in expected} - {*probe.detector.other_labels}
        _require(shown == {*probe.detector.labels, ""}, "examples.csv must show every label, and no label")
    else:
        counts = evaluated.select(probe.detector.counts).iter_rows(named=True)
        found = [{name: count for name, count in row.items() if count} for row in counts]
        expected = [json.loads(row["expected"]) for row in rows]
    for row, is_read, should in zip(rows, found, expected, strict=True):
        _require(is_read == should, f"the answer {row['answer'][:80]!r} is read as {is_read!r}, not as {should!r}")


def check_labelled_answers(probe: Probe) -> None:
    """If there is a labelled.csv beside the card: its labels are those of the detector, in a tuned and a held half."""
    rows = read_labelled(probe)
    if not rows:
        return
    detector = probe.detector
    _require(
        all(find_kind(detector, row["label"]) for row in rows if row["label"]),
        "labelled.csv has labels that the detector does not know",
    )
    _require({row["split"] for row in rows} == set(SPLITS), "labelled.csv needs a tuned and a held half")
    _require({row["kind"] for row in rows} <= set(KINDS), "the kind of a labelled answer is ordinary or nasty")


def check_judge(probe: Probe) -> None:
    """If a judge can be asked: it knows the labels of the detector and no others, and which names it must not see."""
    if probe.judge is None:
        return
    known, columns = {*probe.detector.labels, *probe.detector.other_labels}, {*probe.judge.names}
    _require(
        {*probe.detector.labels} <= {*probe.judge.labels} <= known, "the judge must know every label, and no other"
    )
    _require({*probe.judge.contradictory} <= known, "the judge is asked about labels that the detector does not know")
    _require(
        columns <= {*find_cases(probe)[0].plan(sample_k=1).prompts().columns}, "the names for the judge are no columns"
    )


def read_examples(probe: Probe) -> list[dict[str, str]]:
    """The rows of examples.csv in the folder of the probe."""
    _require(probe.card.folder, "the card must be read with Card.beside(__package__), so that the folder is known")
    assert probe.card.folder is not None
    source = probe.card.folder / "examples.csv"
    _require(source.is_file(), "there is no examples.csv beside the card")
    return list(csv.DictReader(io.StringIO(source.read_text(encoding="utf-8"), newline="")))


def check_golden_values(probe: Probe) -> None:
    """If there is a golden.json beside the card: bands, prompts and numbers are still what they were."""
    golden = read_golden(probe)
    if golden is None:
        return
    renew = f"If that is meant, raise the version, then: python -m equipoise.testing {probe.name} --write-golden"
    _require(golden["version"] == probe.version, f"golden.json is of version {golden['version']}. {renew}")
    _require(golden["bands"] == _bands(probe), f"the bands have changed. {renew}")
    for case in find_cases(probe):
        for seed in GOLDEN_SEEDS:
            name, now = _golden_case(case, seed)
            _require(name in golden["cases"], f"golden.json has no case {name}. {renew}")
            then = golden["cases"][name]
            for part in ("prompts", "first", "ids"):
                _require(now[part] == then[part], f"the {part} of {name} have changed. {renew}")
            _require(list(now["metrics"]) == list(then["metrics"]), f"other metrics are measured. {renew}")
            for metric, numbers in then["metrics"].items():
                _require(_close(now["metrics"][metric], numbers, 2e-9), f"{metric} of {name} has changed. {renew}")


def check_sizes(probe: Probe) -> None:
    """If there is a sizes.json beside the card: it holds the sizes that the suites ci and full need."""
    for suite, known in read_sizes(probe).items():
        if not GOALS[suite].packaged and probe.corpora and not _is_here(probe.corpora[0].asset):
            continue
        computed = compute_size(probe, suite)
        near = all(abs(computed[name] - size) <= max(1, 0.02 * size) for name, size in known.items())
        _require(near, f"{suite} needs {computed}, not {dict(known)}: python -m equipoise.testing NAME --write-sizes")


def write_sizes(probe: Probe) -> Path:
    """Write sizes.json anew."""
    if not isinstance(probe.card.folder, Path):
        raise ProbeCheckFailed(f"{probe.name}: sizes.json can only be written into a folder, read by Card.beside.")
    path = probe.card.folder / SIZES
    path.write_text(json.dumps({suite: compute_size(probe, suite) for suite in GOALS}) + "\n", encoding="utf-8")
    return path


# Plan and metrics, on each corpus


def check_plan_is_stable(case: Case) -> None:
    """The same plan twice has the same distinct ids, however much is asked and in whatever batches."""
    first, second = case.plan().prompts(), case.plan().prompts()
    _require(first.equals(second), "two equal plans have different prompts")
    _require(first[ID].n_unique() == first.height, "two prompts have the same id")
    _require(first.select(ITEM, PROMPT).null_count().sum_horizontal().item() == 0, "an item or a prompt is null")
    sample = case.plan_sample()
    prompts = sample.prompts()
    _require(prompts.equals(case.plan_sample(num_repetitions=3).prompts()), "repetitions change the prompts")
    _require(prompts.equals(pl.concat(list(sample.batches(size=7)))), "the size of the batches changes the prompts")


def check_larger_samples_contain_smaller_ones(case: Case) -> None:
    """A larger sample with the same seed contains the smaller one, and another seed draws other items."""
    size = case.plan(sample_k=None).items
    sizes = [k for k in (size // 30, size // 30 + 1, size // 5, min(size, SAMPLE)) if k >= 1]
    drawn = [set(case.plan(sample_k=k, random_seed=5).prompts()[ID]) for k in sorted(set(sizes))]
    for small, large in itertools.pairwise(drawn):
        _require(small < large, "a larger sample does not contain the smaller one")
    some = max(1, min(60, size // 2))
    items = [set(case.plan(sample_k=some, random_seed=seed).prompts()[ITEM]) for seed in (0, 1)]
    _require(items[0] != items[1] or size == 1, "another seed draws the same items")


def check_declared_metrics_are_measured(case: Case) -> None:
    """Every declared metric is measured on the data and on each slice, in order; with almost no data as well."""
    planned = case.plan_sample()
    prompts = planned.prompts()
    names = [metric.name for metric in case.probe.all_metrics()]
    keys = [MetricKey(name) for name in names]
    for column in case.probe.slices:
        keys += [MetricKey(name, column, str(value)) for value in prompts[column].unique().sort() for name in names]
    result = case.score(planned, prompts, simulate_mixture(case.probe, prompts))
    _require(list(result.estimates) == keys, "the metrics of the result are not those declared")
    _require(
        list(result.marks) == list(case.probe.marked_metrics()), "the marks are not those of the metrics with bands"
    )
    for name, estimate in result.metrics.items():
        _require(not math.isnan(estimate.value), f"{name} is not computable on {planned.items} answered items")
    few = case.score(planned, prompts[:1], [""])
    _require(list(few.estimates) == keys, "with one empty answer the metrics are others")


def check_reference_models(case: Case) -> None:
    """Simulated reference models score their reference values, within the width of the interval."""
    planned = case.plan()
    prompts = planned.prompts()
    for number, stance in enumerate(case.probe.stances()):
        answers = case.probe.simulate(prompts, stance, np.random.default_rng([number, 20]))
        result = case.score(planned, prompts, answers)
        for metric in case.probe.metrics:
            if stance in metric.references:
                estimate = result.metrics[metric.name]
                off = abs(estimate.value - metric.references[stance])
                _require(
                    off <= estimate.high - estimate.low + 1e-9,
                    f"the model {stance!r} scores {estimate.value:.3f} in {metric.name}, "
                    f"not {metric.references[stance]:.3f}",
                )


def check_undetected_answers(case: Case) -> None:
    """Answers that decide nothing change no metric but the undetected rates."""
    planned = case.plan_sample(num_repetitions=2)
    prompts = planned.prompts()
    answers = simulate_mixture(case.probe, prompts)
    alone = case.score(planned, prompts, answers)
    for some in (prompts.height, prompts.height // 3):
        both = case.score(planned, pl.concat([prompts, prompts[:some]]), [*answers, *["…"] * some])
        for key, before in alone.estimates.items():
            if key.metric in _rates_of_attempts(case.probe):
                continue
            after = both.estimates[key]
            _require(_close([before.value, before.n], [after.value, after.n]), f"undetected answers change {key}")
            # With one for each prompt the cells are the same, and so are the replicates.
            same_interval = _close([before.low, before.high], [after.low, after.high])
            _require(some < prompts.height or same_interval, f"undetected answers change the interval of {key}")
        if case.probe.detector.labels:
            rate = both.metrics["undetected_rate_attempts"].value
            _require(_close([rate], [some / (prompts.height + some)]), "undetected_rate_attempts is wrong")


def check_genders_are_treated_alike(case: Case) -> None:
    """Exchanging men and women negates signed metrics and mirrors rates around one half."""
    planned = case.plan_sample()
    prompts = planned.prompts()
    answers = simulate_mixture(case.probe, prompts)
    result = case.score(planned, prompts, answers)
    exchanged = _exchange_genders(case, planned, prompts, answers, result)
    if exchanged is None:
        return
    signed = 0
    for metric in case.probe.metrics:
        before = result.metrics[_other_gender(metric.name)].value
        after = exchanged.metrics[metric.name].value
        if metric.exchanged:
            allowed, leaning = [metric.exchanged(before)], abs(before) > 1e-4
        elif metric.references and min(metric.references.values()) < 0:
            allowed, leaning = [-before], abs(before) > 1e-4
        elif metric.bands and metric.bands.centre == 0.5:
            allowed, leaning = [1 - before], abs(before - 0.5) > 1e-4
        else:
            allowed, leaning = [before, -before, 1 - before], False
        signed += leaning
        _require(
            any(_close([after], [way]) for way in allowed),
            f"exchanging the genders turns {metric.name} from {before:.4f} into {after:.4f}",
        )
    directed = any(min(metric.references.values(), default=0) < 0 for metric in case.probe.metrics)
    _require(signed or not directed, "the simulated answers lean to no side, so that this check shows nothing")


def _exchange_genders(
    case: Case, planned: Plan, prompts: pl.DataFrame, answers: Sequence[str], result: Result
) -> Result | None:
    """The result with men and women exchanged; None if the probe knows no genders."""
    probe = case.probe
    if probe.arms and {"male", "female"} <= set(probe.arms.values):
        arm = pl.col(probe.arms.column).replace({"male": "female", "female": "male"})
        outcomes = result.evaluated.select(ID, REPETITION, STATUS, EVALUATION_FAILED, *probe.detector.columns)
        swapped = prompts.with_columns(arm)
        part = Part(swapped, swapped.drop(PROMPT).join(outcomes, on=ID))
        return measure(planned.setup, lambda: [part])
    if set(probe.detector.labels) >= {"male", "female"}:
        return case.score(planned, prompts, [_other_pronouns(answer) for answer in answers])
    return None


def _rates_of_attempts(probe: Probe) -> set[str]:
    """The metrics that undetected answers do change."""
    others = {f"{label}_rate" for label in probe.detector.other_labels}
    return {"undetected_rate_attempts", "undetected_rate_items", *others}


def _other_gender(name: str) -> str:
    return "_".join({"male": "female", "female": "male"}.get(word, word) for word in name.split("_"))


def _other_pronouns(answer: str) -> str:
    pairs = {"he": "she", "his": "her", "him": "her", "she": "he", "her": "his"}
    pairs |= {word.capitalize(): other.capitalize() for word, other in pairs.items()}
    return re.sub(r"\w+", lambda word: pairs.get(word[0], word[0]), answer)


def check_no_data(case: Case) -> None:
    """Without data nothing is computable, and nothing is taken for 0."""
    planned = case.plan_sample()
    ids = planned.prompts()[ID]
    answers: dict[str, list[dict[str, str]]] = {
        "no answers": [],
        "failures only": [{ID: one, ANSWER: "Yes. He.", STATUS: "http_error"} for one in ids],
        "undetected answers only": [{ID: one, ANSWER: "…"} for one in ids],
    }
    for given, rows in answers.items():
        result = score(case.probe, rows, **planned.parameters)
        for key, estimate in result.estimates.items():
            if given == "undetected answers only" and key.metric in _rates_of_attempts(case.probe):
                expected = 1.0 if key.metric.startswith("undetected_rate") else 0.0
                _require(estimate.value == expected, f"{key} is not {expected:g} for undetected answers")
            else:
                numbers = (estimate.value, estimate.low, estimate.high)
                _require(all(map(math.isnan, numbers)), f"{key} has a value on {given}")
        _require(set(result.marks.values()) <= {None}, f"there is a mark on {given}")
        json.dumps(result.to_dict(), allow_nan=False)


def check_missing_arm(case: Case) -> None:
    """An arm without answers is not taken for 0: what needs it is not computable."""
    arms = case.probe.arms
    if arms is None:
        return
    missing, planned = arms.values[0], case.plan_sample()
    prompts = planned.prompts().filter(pl.col(arms.column) != missing)
    result = case.score(planned, prompts, simulate_mixture(case.probe, prompts))
    others = {f"{slug(arm)}_n" for arm in arms.values if arm != missing}
    for metric in case.probe.metrics:
        if not set(metric.denominators) <= others:
            value = result.metrics[metric.name].value
            _require(math.isnan(value), f"{metric.name} is {value:.3f} though {missing} has no answers")
    counts = result.coverage[missing]
    _require(counts["pending"] == counts["planned"], f"the coverage of {missing} is wrong")


def check_order_changes_nothing(case: Case) -> None:
    """Neither the order of the answers nor that of the items changes a number."""
    planned = case.plan_sample()
    prompts = planned.prompts()
    answers = simulate_mixture(case.probe, prompts)
    result = case.score(planned, prompts, answers)
    order = np.random.default_rng(3).permutation(prompts.height)
    turned = case.score(planned, prompts[order], [answers[place] for place in order])
    _require(_same(turned.estimates, result.estimates), "the order of the answers changes the numbers")
    rows = item_rows(case.probe, result.evaluated)
    for again in (rows.reverse(), rows.sample(fraction=1.0, shuffle=True, seed=4)):
        table = merge_cells([cells(case.probe, again)])
        estimates = estimate_metrics(case.probe, table, result.parameters)
        _require(_same(estimates, result.estimates), "the order of the items changes the numbers")


def check_corpus_is_recorded(case: Case) -> None:
    """The name and the hash of the corpus are part of the result."""
    planned = case.plan(sample_k=1)
    result = score(case.probe, [], **planned.parameters)
    _require(result.corpus == case.corpus, "the result names another corpus")
    _require((result.corpus_sha256 is None) == (result.corpus is None), "the corpus has no hash")


DEFINITION_CHECKS: tuple[Callable[[Probe], None], ...] = (
    check_card,
    check_metrics_are_declared_once,
    check_coverage_groups,
    check_examples,
    check_labelled_answers,
    check_judge,
    check_golden_values,
    check_sizes,
)
CASE_CHECKS: tuple[Callable[[Case], None], ...] = (
    check_plan_is_stable,
    check_larger_samples_contain_smaller_ones,
    check_declared_metrics_are_measured,
    check_reference_models,
    check_undetected_answers,
    check_genders_are_treated_alike,
    check_no_data,
    check_missing_arm,
    check_order_changes_nothing,
    check_corpus_is_recorded,
)


def simulate_mixture(probe: Probe, prompts: pl.DataFrame, seed: int = 1) -> list[str]:
    """A model that answers now as one reference model, now as another: all its metrics lie somewhere between."""
    rng = np.random.default_rng(seed)
    answers = [list(probe.simulate(prompts, stance, rng)) for stance in probe.stances()]
    return [answers[which][row] for row, which in enumerate(rng.integers(len(answers), size=prompts.height))]


# Golden values


def read_golden(probe: Probe) -> dict[str, Any] | None:
    """The content of golden.json in the folder of the probe; None if there is none."""
    source = probe.card.folder / GOLDEN if probe.card.folder else None
    if source is None or not source.is_file():
        return None
    content: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return content


def write_golden(probe: Probe) -> Path:
    """Write golden.json anew: bands, prompts and the numbers of a fixed simulated model, on every corpus."""
    if not isinstance(probe.card.folder, Path):
        raise ProbeCheckFailed(f"{probe.name}: golden.json can only be written into a folder, read by Card.beside.")
    missing = {corpus.name for corpus in probe.corpora} - {case.corpus for case in find_cases(probe)}
    if missing:
        raise ProbeCheckFailed(
            f"{probe.name}: the corpora {sorted(missing)} must be fetched first: equipoise data fetch"
        )
    cases = dict(_golden_case(case, seed) for case in find_cases(probe) for seed in GOLDEN_SEEDS)
    golden = {"version": probe.version, "bands": _bands(probe), "cases": cases}
    text = json.dumps(golden, indent=1, ensure_ascii=False)
    text = re.sub(r"\[[^\[\]]+\]", lambda numbers: re.sub(r"\s+", " ", numbers[0]), text)
    path = probe.card.folder / GOLDEN
    path.write_text(text + "\n", encoding="utf-8")
    return path


def _golden_case(case: Case, seed: int) -> tuple[str, dict[str, Any]]:
    """What is planned with default parameters, and what a fixed simulated model scores on it."""
    planned = case.plan(random_seed=seed)
    prompts = planned.prompts()
    metrics = case.score(planned, prompts, _simulate_fixed(case.probe, prompts)).metrics
    others = {f"{label}_rate" for label in case.probe.detector.other_labels}
    numbers = {
        name: [*(_round(number) for number in (estimate.value, estimate.low, estimate.high)), estimate.n]
        for name, estimate in metrics.items()
        if name not in others
    }
    return "/".join(filter(None, [case.corpus, str(seed)])), {
        "prompts": prompts.height,
        "first": [list(row) for row in prompts[:5].select(ID, ITEM).iter_rows()],
        "ids": hashlib.sha256("\n".join(prompts[ID]).encode()).hexdigest(),
        "metrics": numbers,
    }


def _simulate_fixed(probe: Probe, prompts: pl.DataFrame) -> list[str]:
    """Two answers of each reference model in turn, and every eleventh answer decides nothing."""
    rng = np.random.default_rng(2)
    answers = [probe.simulate(prompts, stance, rng) for stance in probe.stances()]
    return ["…" if row % 11 == 5 else answers[row // 2 % len(answers)][row] for row in range(prompts.height)]


def _bands(probe: Probe) -> dict[str, Any]:
    return {
        name: {"limits": list(bands.limits), "centre": bands.centre, "one_sided": bands.one_sided}
        for name, bands in probe.marked_metrics().items()
    }


def _round(number: float) -> float | None:
    rounded: float | None = without_nan(round(number, 9))
    return rounded


def _same(first: Mapping[MetricKey, Estimate], second: Mapping[MetricKey, Estimate]) -> bool:
    pairs = zip(first.values(), second.values(), strict=True)
    return list(first) == list(second) and all(
        _close([a.value, a.low, a.high, a.n], [b.value, b.low, b.high, b.n], 0.0) for a, b in pairs
    )


def _close(first: Sequence[float | None], second: Sequence[float | None], tolerance: float = 1e-12) -> bool:
    """Whether the numbers agree; what is not computable (None or NaN) agrees with itself."""
    a, b = (
        np.array([np.nan if number is None else number for number in side], dtype=float) for side in (first, second)
    )
    return bool(np.allclose(a, b, rtol=0.0, atol=tolerance, equal_nan=True))


def _require(condition: object, promise: str) -> None:
    if not condition:
        raise ProbeCheckFailed(promise)


def _name(check: Callable[..., None]) -> str:
    return check.__name__.removeprefix("check_").replace("_", " ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one probe from a shell, by its name or as `package.module:PROBE`."""
    parser = argparse.ArgumentParser(prog="python -m equipoise.testing", description="Check what a probe promises.")
    parser.add_argument("probe", help="the name of an installed probe, or package.module:PROBE")
    parser.add_argument("--write-sizes", action="store_true", help="write sizes.json into the folder of the probe")
    parser.add_argument("--write-golden", action="store_true", help="write golden.json into the folder of the probe")
    given = parser.parse_args(arguments)
    try:
        probe = _find_probe(given.probe)
        if given.write_sizes:
            sys.stdout.write(f"{write_sizes(probe)}\n")
        if given.write_golden:
            sys.stdout.write(f"{write_golden(probe)}\n")
        for name, check in probe_checks(probe):
            check()
            sys.stdout.write(f"ok  {name}\n")
    except (ProbeCheckFailed, EquipoiseError) as error:
        sys.stdout.write(f"FAILED  {error}\n")
        return 1
    return 0


def _find_probe(name: str) -> Probe:
    module, colon, attribute = name.partition(":")
    return get_probe(getattr(importlib.import_module(module), attribute) if colon else name)


if __name__ == "__main__":
    sys.exit(main())
