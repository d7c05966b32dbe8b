"""The probe that a run file holds answers of, and whether what the file says fits to it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from equipoise.authoring import Probe, own_probe
from equipoise.errors import InputError, IntegrityError
from equipoise.measuring.evaluate import can_be_judged
from equipoise.measuring.plan import Plan, Setup
from equipoise.probes import find_probes
from equipoise.runs.file.values import StoredPlan
from equipoise.runs.spec import RunSpec
from equipoise.schema import ATTEMPT_COLUMNS, CAREFUL, PROBABILITIES


def known_probes(spec: RunSpec, given: Iterable[Probe] = ()) -> dict[str, Probe]:
    """Every probe that the answers of a run can be read by: installed, described in its file, or given."""
    own = {one.name: own_probe(one) for one in spec.own}
    return {**own, **find_probes(), **{probe.name: probe for probe in given}}


def find_setup(
    planned: StoredPlan, known: Probe | None, path: Path, *, reading: str | None, judge: str | None
) -> Setup:
    """The known probe with the parameters that the run asked with; IntegrityError if they do not fit together.

    `reading` is how its answers are read; None: as the probe is. Where they are probabilities, they are read as such.
    """
    known = check_probe_version(planned, known, path)
    known = known.read_by(reading or (CAREFUL if known.reading == PROBABILITIES else None))
    if planned.asking.probabilities:
        known = known.read_by(PROBABILITIES)
    name = planned.name
    try:
        parameters = known.resolve(planned.parameters)
    except InputError as error:
        raise IntegrityError(f"{path} holds parameters that no run of {name} writes: {error}") from None
    known = known.with_parameters(parameters)
    if missing := sorted({*known.needed_columns} - planned.covariates.keys()):
        raise IntegrityError(f"{path} does not hold what {name} asks for: its prompts lack {missing}.")
    if hiding := sorted(planned.covariates.keys() & {*ATTEMPT_COLUMNS, *known.detector.columns}):
        raise IntegrityError(f"{path} is damaged: the prompts of {name} have columns of attempts: {hiding}.")
    setup = Setup(
        probe=known,
        parameters=parameters,
        population=planned.population,
        corpus=planned.corpus,
        corpus_sha256=planned.corpus_sha256,
        judge=judge if can_be_judged(known) else None,
    )
    if setup.items > setup.population:
        raise IntegrityError(f"{path} is damaged: it asks {name} about more items than there are.")
    return setup


def check_probe_version(planned: StoredPlan, probe: Probe | None, path: Path) -> Probe:
    """The probe; refused if it is not there, or of another version: it would read the answers by other rules."""
    if probe is None:
        raise IntegrityError(f"{path} holds answers of the probe {planned.name!r}, which is not installed.")
    if probe.version != planned.version:
        raise IntegrityError(
            f"{path} holds answers of {planned.name} version {planned.version}; version {probe.version} is installed "
            "and would read them by other rules."
        )
    return probe


def are_prompts_of(planned: Plan, stored: Iterable[pl.DataFrame]) -> bool:
    """Whether the stored prompts are the planned ones, compared by a hash of each row."""
    schema = next(planned.batches(1)).schema
    try:
        found = [batch.select(schema.names()).cast(schema).hash_rows() for batch in stored]
    except PolarsError:
        return False
    return pl.concat(found).equals(pl.concat([batch.hash_rows() for batch in planned.batches()]))
