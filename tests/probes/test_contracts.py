"""Every installed probe keeps the promises that `equipoise.testing` checks, and the checks find broken ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from equipoise import testing
from equipoise.authoring import Arms, Array, Bands, Detector, Parameters, Probe, Totals
from equipoise.errors import ProbeError
from equipoise.probes import find_probes, get_probe
from equipoise.probes.jobs_lum import probe as jobs_lum
from equipoise.runs.suites import packaged_corpus
from equipoise.testing import Case, ProbeCheckFailed, check_probe, definition, find_cases
from equipoise.testing.__main__ import main
from equipoise.testing.behaviour import (
    check_genders_are_treated_alike,
    check_reference_models,
)
from equipoise.testing.definition import check_golden_values, read_examples, read_golden

PROBES = find_probes()
PACKAGED = [Case(probe, packaged_corpus(probe).get("corpus")) for probe in PROBES.values()]
FETCHED = [Case(probe, corpus.name) for probe in PROBES.values() for corpus in probe.corpora if corpus.asset]
"""For all tests: what a case has planned and scored is not made again."""
OF_THE_CORPUS = (check_golden_values,)
"""What is also checked on a fetched corpus; all else the packaged one shows."""
JOBS = get_probe("jobs_lum")
HIRING = get_probe("hiring_an")


def list_checks(cases: Sequence[Case], checks: Collection[Callable[[Case], None]]) -> pytest.MarkDecorator:
    """Each check of each case; one worker runs all of a probe, so that a case is planned once."""
    rows = [
        pytest.param(
            *(case, check),
            id="-".join(filter(None, [case.probe.name, case.corpus, check.__name__])),
            marks=pytest.mark.xdist_group(case.probe.name),
        )
        for case in cases
        for check in checks
    ]
    return pytest.mark.parametrize(("case", "check"), rows)


@list_checks(PACKAGED, testing.CHECKS)
def test_a_probe_keeps_its_promises(case: Case, check: Callable[[Case], None]) -> None:
    check(case)


def check_intervals(case: Case) -> None:
    domain = {metric.name: metric.domain for metric in case.probe.all_metrics()}
    found = [(key, one) for key, one in case.result.estimates.items() if not math.isnan(one.low)]
    for key, one in found:
        least, most = domain[key.metric]
        assert least <= one.low <= one.value <= one.high <= most, key
    assert len(found) > 5


@list_checks(PACKAGED, [check_intervals])
def test_every_interval_holds_its_value_and_stays_within_the_extremes(
    case: Case, check: Callable[[Case], None]
) -> None:
    check(case)


@list_checks(FETCHED, OF_THE_CORPUS)
def test_a_probe_keeps_its_promises_on_a_fetched_corpus(
    case: Case, check: Callable[[Case], None], corpora: Path
) -> None:
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


def favour_men(total: Totals, parameters: Parameters) -> Mapping[str, Array]:
    values = JOBS.measure(total, parameters)
    return {**values, "stereotype_rate": values["stereotype_rate"] + 0.2}


def forget_metric(total: Totals, parameters: Parameters) -> Mapping[str, Array]:
    values = dict(JOBS.measure(total, parameters))
    del values["correlation"]
    return values


def never_undefined(total: Totals, parameters: Parameters) -> Mapping[str, Array]:
    values = dict(JOBS.measure(total, parameters))
    values["disparity"] = np.nan_to_num(values["disparity"])
    return values


def simulate_one_too_few(prompts: pl.DataFrame, stance: str, rng: np.random.Generator) -> Sequence[str]:
    return ["He."] * (prompts.height - 1)


def simulate_the_opposite(prompts: pl.DataFrame, stance: str, rng: np.random.Generator) -> Sequence[str]:
    opposite = {"stereotyping": "anti-stereotyping", "anti-stereotyping": "stereotyping"}
    return JOBS.simulate(prompts, opposite.get(stance, stance), rng)


def read_he(text: pl.Expr) -> pl.Expr:
    return pl.when(text.str.contains(r"\bhe\b")).then(pl.lit("male")).otherwise(pl.lit("female"))


def with_card(**changes: Any) -> Probe:
    return replace(JOBS, card=replace(JOBS.card, **changes))


BROKEN: dict[str, tuple[Probe, str]] = {
    "a card without a section": (
        with_card(sections={**JOBS.card.sections, "Limitations": ""}),
        "lacks the section Limitations",
    ),
    "a card that does not name a parameter": (
        with_card(sections={**JOBS.card.sections, "Parameters": "None."}),
        "does not name `template`",
    ),
    "a detector that reads everybody": (
        replace(JOBS, specified=Detector(name="he", version=1, labels=("male", "female"), read=read_he)),
        "is read as",
    ),
    "another version than the golden values": (replace(JOBS, version=9), "golden.json is of version"),
    "other bands": (
        replace(JOBS, metrics=(replace(JOBS.metrics[0], bands=Bands(limits=(0.1, 0.2, 0.3))), *JOBS.metrics[1:])),
        "the bands have changed",
    ),
    "two metrics of one name": (replace(JOBS, metrics=(*JOBS.metrics, JOBS.metrics[0])), "the same name"),
    "a card without a folder": (with_card(folder=None), "Card.beside"),
    "a metric that is not measured": (
        replace(JOBS, measure=forget_metric),
        "it lacks ['correlation']",
    ),
    "a value where there is nothing": (
        replace(JOBS, measure=never_undefined),
        "'disparity' has a value where there is no item",
    ),
    "an arm that is no column": (replace(HIRING, arms=Arms("sex", ("male", "female"))), "no column 'sex'"),
    "too few simulated answers": (replace(JOBS, simulate=simulate_one_too_few), "answers to"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_probe_is_found(what: str) -> None:
    probe, reason = BROKEN[what]
    with pytest.raises((ProbeCheckFailed, ProbeError)) as error:
        check_probe(probe)
    assert reason in str(error.value)


def test_a_metric_that_favours_one_gender_is_found() -> None:
    with pytest.raises(ProbeCheckFailed, match="exchanging the genders turns stereotype_rate"):
        check_genders_are_treated_alike(Case(replace(JOBS, measure=favour_men)))


def test_wrong_reference_models_are_found() -> None:
    with pytest.raises(ProbeCheckFailed, match="the model 'anti-stereotyping' scores"):
        check_reference_models(Case(replace(JOBS, simulate=simulate_the_opposite)))


def test_a_changed_golden_number_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    golden = read_golden(JOBS)
    assert golden is not None
    golden["cases"]["0"]["metrics"]["masculine_rate"][1] += 1e-6
    monkeypatch.setattr(definition, "read_golden", lambda probe: golden)
    with pytest.raises(ProbeCheckFailed, match="masculine_rate of 0 has changed"):
        check_golden_values(Case(JOBS))


def test_checks_from_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["equipoise.probes.jobs_lum.probe:PROBE"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"ok  {name}" for name, _ in testing.probe_checks(JOBS)]


def test_the_shell_says_which_probe_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job_lum"]) == 1
    assert "Did you mean 'jobs_lum'" in capsys.readouterr().out


def test_the_shell_says_which_promise_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_lum, "PROBE", replace(JOBS, version=9))
    assert main(["equipoise.probes.jobs_lum.probe:PROBE"]) == 1
    assert "FAILED  golden.json is of version" in capsys.readouterr().out


def test_only_a_probe_can_be_checked() -> None:
    with pytest.raises(ProbeCheckFailed, match="Got str instead"):
        check_probe("jobs_lum")  # type: ignore[arg-type]
