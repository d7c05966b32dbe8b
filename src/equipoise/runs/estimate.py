"""`estimate`: what a run of a model would take, or a run that is precise enough; nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from equipoise.errors import BadParameter, InputError
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.precision import Need, find_needs
from equipoise.models import Sampling, parse_model_name
from equipoise.models.llama import EMBEDDED
from equipoise.runs.connection import Connection
from equipoise.runs.expected import RunEstimate, expect_probe, expect_run
from equipoise.runs.finished import open_audit
from equipoise.runs.prices import price_for
from equipoise.runs.run import Run
from equipoise.runs.sizes import simulate_pilot
from equipoise.runs.suites import Probes, choose_probes_for, plan_probes


def estimate(
    model: str = EMBEDDED,
    *,
    base_url: str | None = None,
    probes: Probes = None,
    suite: str | None = None,
    max_tokens: int | None = None,
    concurrency: int | None = None,
    speed: float | None = None,
    price: str | None = None,
    precision: float | None = None,
    certain: bool = False,
    pilot: str | Path | Run | None = None,
    parameters: Mapping[str, Any] | None = None,
    probabilities: bool = False,
) -> RunEstimate:
    """Estimate what a run would take; nothing is sent. A token counts for four letters, an answer for its usual length.

    `speed` is in tokens per second of one request; without it, 15 on this machine and 50 elsewhere. `base_url` is
    another address for the provider. `price` is "0.15,0.60" in dollars for a million tokens of prompts and of answers,
    if it is not known.

    With a `precision`, each probe is planned with as many items as give its marked metrics intervals of this
    half-width; with `certain`, as many as make its marks certain. The widths are those of the `pilot` run, or of a
    simulated model that answers at random.
    """
    if precision is not None and not 0 < precision < 1:
        raise BadParameter(f"The precision must be a half-width between 0 and 1. Got {precision} instead.")
    if certain and pilot is None:
        raise InputError("How many items make a mark certain depends on its value: give a pilot run (--pilot RUN).")
    results = None if pilot is None else open_audit(pilot)
    connection = Connection(model=model, base_url=base_url)
    if not connection.local:
        parse_model_name(model)
    suite = suite or connection.default_suite
    sampling = Sampling(max_tokens=max_tokens)
    rows = []
    chosen = choose_probes_for(model, probes, suite)
    for default in plan_probes(chosen, suite, parameters or {}, asked=True, probabilities=probabilities):
        needs: tuple[Need, ...] = ()
        if precision is not None or certain:
            name = default.probe.name
            before = results[name] if results and name in results else simulate_pilot(default)
            needs = tuple(find_needs(before, precision=None if certain else precision))
        planned = _with_items(default, needs)
        rows.append(expect_probe(planned, sampling, needs))
    return expect_run(
        rows,
        connection,
        suite,
        price=price_for(model, price, needed=False),
        concurrency=concurrency,
        speed=speed,
    )


def _with_items(planned: Plan, needs: tuple[Need, ...]) -> Plan:
    """The plan with as many items as the neediest metric needs, or all there are."""
    wanted = [need.items for need in needs if need.items is not None]
    if not wanted:
        return planned
    size = min(max(wanted), planned.population.size)
    return plan(planned.probe, **{**planned.parameters, "sample": size})
