"""Every installed probe keeps the promises that `equipoise.testing` checks, and the checks find broken ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from equipoise import testing
from equipoise.authoring import Arms, Array, Card, Detector, Parameters, Probe, Totals
from equipoise.errors import ProbeError
from equipoise.probes import find_probes, get_probe
from equipoise.testing import Case, ProbeCheckFailed, check_probe, find_cases, read_examples, read_golden
from equipoise.testing import golden as golden_values
from equipoise.testing.__main__ import main

PROBES = find_probes()
CASES = {
    f"{name}-{corpus.name}" if corpus else name: (probe, corpus)
    for name, probe in PROBES.items()
    for corpus in probe.corpora or [None]
}
JOBS = get_probe("jobs_lum")
HIRING = get_probe("hiring_an")


@pytest.fixture
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A probe with one of its corpora; a fetched one is skipped where it is not on this machine."""
    probe, corpus = CASES[request.param]
    if corpus and corpus.asset:
        monkeypatch.setenv("EQUIPOISE_MIRROR", str(request.getfixturevalue("corpora")))
    return Case(probe, corpus.name if corpus else None)


@pytest.mark.parametrize("check", testing.DEFINITION_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", PROBES)
def test_definitions(name: str, check: Callable[[Probe], None], corpora: Path) -> None:
    check(PROBES[name])


@pytest.mark.parametrize("check", testing.CASE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, indirect=True)
def test_plans_and_metrics(case: Case, check: Callable[[Case], None]) -> None:
    check(case)


@pytest.mark.parametrize("name", PROBES)
def test_packaged_probes_have_many_examples_and_golden_values_of_every_corpus(name: str, corpora: Path) -> None:
    probe = PROBES[name]
    assert len(read_examples(probe)) >= 40
    golden = read_golden(probe)
    assert golden is not None
    cases = ["/".join(filter(None, [case.corpus, str(seed)])) for case in find_cases(probe) for seed in (0, 7)]
    assert list(golden["cases"]) == cases


def test_a_corpus_that_is_not_here_is_left_out() -> None:
    assert [case.corpus for case in find_cases(get_probe("gest_creative"))] == ["mottos"]


# The checks find what is broken: each row is a probe that breaks one promise, and what check_probe says about it.


def measure_wrongly(
    change: Callable[[dict[str, Array]], object],
) -> Callable[[Totals, Parameters], Mapping[str, Array]]:
    def measure(total: Totals, parameters: Parameters) -> Mapping[str, Array]:
        values = dict(JOBS.measure(total, parameters))
        change(values)
        return values

    return measure


def forget_metric(values: dict[str, Array]) -> None:
    del values["correlation"]


def never_undefined(values: dict[str, Array]) -> None:
    values["disparity"] = np.nan_to_num(values["disparity"])


def favour_men(values: dict[str, Array]) -> None:
    values["stereotype_rate"] = values["stereotype_rate"] + 0.2


def simulate_one_too_few(prompts: pl.DataFrame, stance: str, rng: np.random.Generator) -> Sequence[str]:
    return ["He."] * (prompts.height - 1)


def simulate_the_opposite(prompts: pl.DataFrame, stance: str, rng: np.random.Generator) -> Sequence[str]:
    opposite = {"stereotyping": "anti-stereotyping", "anti-stereotyping": "stereotyping"}
    return JOBS.simulate(prompts, opposite.get(stance, stance), rng)


def read_he(text: pl.Expr) -> pl.Expr:
    return pl.when(text.str.contains(r"\bhe\b")).then(pl.lit("male")).otherwise(pl.lit("female"))


def broken_card(**changes: Any) -> Card:
    return replace(JOBS.card, **changes)


def without_section(name: str) -> dict[str, str]:
    return {title: body for title, body in JOBS.card.sections.items() if title != name}


BROKEN: dict[str, tuple[Probe, str]] = {
    "a card without a section": (
        replace(JOBS, card=broken_card(sections=without_section("Limitations"))),
        "lacks the section Limitations",
    ),
    "a card that does not name a parameter": (
        replace(JOBS, card=broken_card(sections={**JOBS.card.sections, "Parameters": "None."})),
        "does not name `template`",
    ),
    "a card of nowhere": (replace(JOBS, card=broken_card(folder=None)), "Card.beside"),
    "a detector that reads everybody": (
        replace(JOBS, specified=Detector(name="he", version=1, labels=("male", "female"), read=read_he)),
        "is read as",
    ),
    "another version than the golden values": (replace(JOBS, version=9), "golden.json is of version"),
    "other bands": (
        replace(
            JOBS,
            metrics=tuple(
                replace(metric, bands=replace(metric.bands, limits=(0.1, 0.2, 0.3))) if metric.bands else metric
                for metric in JOBS.metrics
            ),
        ),
        "the bands have changed",
    ),
    "two metrics of one name": (replace(JOBS, metrics=(*JOBS.metrics, JOBS.metrics[0])), "the same name"),
    "a metric that is not measured": (
        replace(JOBS, measure=measure_wrongly(forget_metric)),
        "it lacks ['correlation']",
    ),
    "a value where there is nothing": (
        replace(JOBS, measure=measure_wrongly(never_undefined)),
        "'disparity' has a value where there is no item",
    ),
    "too few simulated answers": (replace(JOBS, simulate=simulate_one_too_few), "answers to"),
    "an arm that is no column": (replace(HIRING, arms=Arms("sex", ("male", "female"))), "no column 'sex'"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_probe_is_found(what: str) -> None:
    probe, reason = BROKEN[what]
    with pytest.raises((ProbeCheckFailed, ProbeError)) as error:
        check_probe(probe)
    assert reason in str(error.value)


def test_a_metric_that_favours_one_gender_is_found() -> None:
    case = Case(replace(JOBS, measure=measure_wrongly(favour_men)))
    with pytest.raises(ProbeCheckFailed, match="exchanging the genders turns stereotype_rate"):
        testing.check_genders_are_treated_alike(case)


def test_wrong_reference_models_are_found() -> None:
    case = Case(replace(JOBS, simulate=simulate_the_opposite))
    with pytest.raises(ProbeCheckFailed, match="the model 'anti-stereotyping' scores"):
        testing.check_reference_models(case)


def test_a_changed_golden_number_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    golden = read_golden(JOBS)
    assert golden is not None
    golden["cases"]["0"]["metrics"]["masculine_rate"][1] += 1e-6
    monkeypatch.setattr(golden_values, "read_golden", lambda probe: golden)
    with pytest.raises(ProbeCheckFailed, match="masculine_rate of 0 has changed"):
        testing.check_golden_values(JOBS)


def test_checks_from_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["equipoise.probes.jobs_lum.probe:PROBE"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"ok  {name}" for name, _ in testing.probe_checks(JOBS)]
    assert main(["job_lum"]) == 1
    assert "Did you mean 'jobs_lum'" in capsys.readouterr().out
