"""A mistake in a probe is found before anything is asked; what is wrong in a run file is blamed on the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError

import equipoise
from answering import JOBS_LUM, Recorder
from equipoise import Probe, Run
from equipoise.authoring import Array, Parameters, Totals
from equipoise.errors import IntegrityError, ProbeError
from simulating import renew_digests, simulated


def with_metrics(change: Callable[[dict[str, Array], Totals], Mapping[str, Any]]) -> Probe:
    def changed(total: Totals, parameters: Parameters) -> Mapping[str, Array]:
        return change(dict(JOBS_LUM.measure(total, parameters)), total)

    return replace(JOBS_LUM, measure=changed)


def misspelt(metrics: dict[str, Array], _total: Totals) -> Mapping[str, Array]:
    return {("masculin_rate" if name == "masculine_rate" else name): value for name, value in metrics.items()}


def wrong_column(parameters: Parameters) -> Mapping[str, pl.Expr]:
    return {**JOBS_LUM.statistics(parameters), "x": pl.col("masculinty")}


MISTAKES: dict[str, tuple[Probe, str, type[Exception] | None]] = {
    "a typo in the name of a metric": (
        with_metrics(misspelt),
        r"lacks \['masculine_rate'\], and \['masculin_rate'\] are unknown",
        None,
    ),
    "an exception in measure": (
        with_metrics(lambda metrics, _: metrics | {"disparity": 1 / 0}),
        "a mistake in its measure: ZeroDivisionError: division by zero.*EQUIPOISE_TRACEBACK=1",
        ZeroDivisionError,
    ),
    "a total that is not there": (
        with_metrics(lambda metrics, total: metrics | {"disparity": total.disparity}),
        "a mistake in its measure: AttributeError: There is no total called 'disparity'",
        AttributeError,
    ),
    "marks on a distance": (
        replace(
            JOBS_LUM,
            metrics=tuple(replace(one, bands=JOBS_LUM.metrics[0].bands) for one in JOBS_LUM.metrics),
        ),
        "'disparity' is a distance and has marks; mark 'masculine_rate' instead",
        None,
    ),
    "a range that could be negative": (
        replace(
            JOBS_LUM,
            metrics=tuple(
                replace(one, range_of=("masculine_rate", "stereotype_rate"), distance_of=None, domain=(-1.0, 1.0))
                if one.name == "disparity"
                else one
                for one in JOBS_LUM.metrics
            ),
        ),
        "'disparity' is a range, so that the smallest value of its domain must be 0",
        None,
    ),
    "a wrong column in statistics": (
        replace(JOBS_LUM, statistics=wrong_column),
        "a mistake in its statistics: ColumnNotFoundError.*masculinty",
        ColumnNotFoundError,
    ),
    "a wrong column in covariates": (
        replace(JOBS_LUM, covariates=("masculinty",)),
        "its prompts have no column 'masculinty'. There are: item, occupation, masculinity, prompt",
        None,
    ),
    "a wrong shape": (
        with_metrics(lambda metrics, _: metrics | {"disparity": metrics["disparity"][:1]}),
        r"'disparity' must have one value per row of totals, but its shape is \(1,\)",
        None,
    ),
    "a value on no items": (
        with_metrics(lambda metrics, _: metrics | {"disparity": np.nan_to_num(metrics["disparity"])}),
        "'disparity' has a value where there is no item; it must be NaN",
        None,
    ),
    "a count of items that is no total": (
        replace(JOBS_LUM, metrics=(*JOBS_LUM.metrics[1:], replace(JOBS_LUM.metrics[0], n="number"))),
        "'masculine_rate' counts its items by 'number', which is no total",
        None,
    ),
}


Attempt = Callable[[Probe, Recorder, Path], object]
ATTEMPTS: dict[str, Attempt] = {
    "audit": lambda probe, model, path: equipoise.audit(model, probes=[probe], out=path),
    "start": lambda probe, model, path: equipoise.start(model, probes=[probe], out=path),
    "score": lambda probe, _model, _path: equipoise.score(probe, {}),
    "estimate": lambda probe, _model, _path: equipoise.estimate(probes=[probe]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_probe_is_found_before_anything_is_asked(
    mistake: str,
    tmp_path: Path,
) -> None:
    probe, words, cause = MISTAKES[mistake]
    model = Recorder()
    for name, attempt in ATTEMPTS.items():
        with pytest.raises(ProbeError, match=f"(?s)The probe 'jobs_lum'.*{words}") as caught:
            attempt(probe, model, tmp_path / "run.equipoise")
        assert caught.value.exit_code == 1, name
        assert type(caught.value.__cause__) is (cause or type(None)), name
    assert model.asked == []
    assert list(tmp_path.glob("*")) == []


@pytest.mark.parametrize("mistake", ["an exception in measure", "a wrong column in statistics"])
def test_a_mistake_in_a_probe_is_not_blamed_on_the_run_file(mistake: str, tmp_path: Path) -> None:
    probe, words, cause = MISTAKES[mistake]
    simulated(tmp_path / "run.equipoise", {"jobs_lum": "random"})
    with pytest.raises(ProbeError, match=f"(?s){words}") as caught:
        Run.open(tmp_path / "run.equipoise", probes=[probe]).results()
    assert type(caught.value.__cause__) is cause


def test_a_mistake_that_only_many_answers_show_is_not_blamed_on_the_run_file() -> None:
    def fail_on_many(metrics: dict[str, Array], total: Totals) -> Mapping[str, Array]:
        return metrics | {"disparity": metrics["disparity"] / (1 if total.n[0] < 20 else 0.0 // 0)}

    with pytest.raises(ProbeError, match="a mistake in its measure: ZeroDivisionError"):
        equipoise.audit(Recorder(), probes=[with_metrics(fail_on_many)], sample=30)


FOREIGN = {
    "a number that became text": ("masculinity", "String", "'high'"),
    "a number that became a truth value": ("masculinity", "Boolean", "json('true')"),
    "an arm that became a number": ("gender", "Int64", "1"),
}


@pytest.mark.parametrize("damage", FOREIGN)
def test_a_run_file_with_foreign_values_is_refused(damage: str, tmp_path: Path) -> None:
    column, kind, value = FOREIGN[damage]
    path = tmp_path / "run.equipoise"
    simulated(path, {"hiring_an": "random"})
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"update probes set plan = json_set(plan, '$.covariates.{column}', '{kind}')")
        connection.execute(f"update prompts set covariates = json_set(covariates, '$.{column}', {value})")
        renew_digests(connection)
    uses: list[Callable[[], object]] = [
        lambda: Run.open(path).results(),
        lambda: equipoise.gate(path, fail_on="C"),
        lambda: equipoise.compare(path, path),
    ]
    for use in uses:
        with pytest.raises(IntegrityError, match="holds what no run of hiring_an writes") as caught:
            use()
        assert caught.value.exit_code == 6


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (
            "update probes set plan = json_set(plan, '$.covariates', json('{}'))",
            r"its prompts lack \['masculinity'\]",
        ),
        (
            "update probes set plan = json_set(plan, '$.parameters.sample', 'x')",
            "parameters that no run",
        ),
        (
            "update probes set plan = json_set(plan, '$.parameters.unknown', 1)",
            "parameters that no run",
        ),
    ],
)
def test_a_run_file_that_contradicts_its_probe_is_refused(
    statement: str,
    words: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.equipoise"
    simulated(path, {"jobs_lum": "random"})
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
        renew_digests(connection)
    with pytest.raises(IntegrityError, match=words):
        Run.open(path).results()
