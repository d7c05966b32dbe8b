"""What a run would take, before anything is sent: prompts, tokens, money, time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.answers.rows import read_python
from equipoise.answers.score import score_rows
from equipoise.authoring import Probe
from equipoise.errors import BadParameter, InputError
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.precision import Need, find_needs
from equipoise.measuring.result import Result
from equipoise.models import Sampling, parse_model_name
from equipoise.models.llama import EMBEDDED
from equipoise.models.simulated import choose_probes_for
from equipoise.runs.ask.policy import Policy
from equipoise.runs.connection import Connection
from equipoise.runs.file.settings import asking_of
from equipoise.runs.finished import open_audit
from equipoise.runs.prices import price_for
from equipoise.runs.run import Run
from equipoise.runs.suites import Probes, plan_probes
from equipoise.schema import ANSWER, ID, PROMPT

LETTERS_PER_TOKEN = 4
"""A rule of thumb for English."""
LOCAL_SLOTS, LOCAL_SPEED, REMOTE_SPEED = 4, 15.0, 50.0
"""Requests at a time of a model that runs here; tokens per second of one request, here and elsewhere."""
SIMULATED_RATE = 2_000
"""Attempts per second of a simulated model, which is not asked for tokens."""
LOCAL_PROMPT_TOKENS = 4
"""So many tokens of a prompt take as long as one of an answer here; elsewhere the time for prompts is not counted."""


@dataclass(frozen=True, kw_only=True)
class ProbeEstimate:
    """What one probe would take."""

    probe: str
    prompts: int
    attempts: int
    prompt_tokens: int
    completion_tokens: int
    items: int
    needs: tuple[Need, ...] = ()
    """What the marked metrics need, if a precision or certain marks were asked for."""


@dataclass(frozen=True, kw_only=True)
class RunEstimate:
    """What a run would take: each probe and all of them."""

    model: str
    suite: str
    probes: tuple[ProbeEstimate, ...]
    cost: float | None
    """Dollars; None if the price is not known."""
    seconds: float
    concurrency: int

    def total(self, name: str) -> int:
        """The sum over the probes of `prompts`, `attempts`, `prompt_tokens` or `completion_tokens`."""
        return sum(getattr(probe, name) for probe in self.probes)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        totals = {name: self.total(name) for name in ("prompts", "attempts", "prompt_tokens", "completion_tokens")}
        return {
            "model": self.model,
            "suite": self.suite,
            "probes": [asdict(probe) for probe in self.probes],
            **totals,
            "cost": self.cost,
            "seconds": self.seconds,
        }


def estimate(
    model: str = EMBEDDED,
    *,
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

    `speed` is in tokens per second of one request; `price` is "0.15,0.60" in dollars for a million tokens of prompts
    and of answers, if it is not known.

    With a `precision`, each probe is planned with as many items as give its marked metrics intervals of this
    half-width; with `certain`, as many as make its marks certain. The widths are those of the `pilot` run, or of a
    simulated model that answers at random.
    """
    if precision is not None and not 0 < precision < 1:
        raise BadParameter(f"The precision must be a half-width between 0 and 1. Got {precision} instead.")
    if certain and pilot is None:
        raise InputError("How many items make a mark certain depends on its value: give a pilot run (--pilot RUN).")
    results = None if pilot is None else open_audit(pilot)
    connection = Connection(model=model)
    if not connection.local:
        parse_model_name(model)
    suite = suite or connection.default_suite
    sampling = Sampling(max_tokens=max_tokens)
    rows = []
    chosen = choose_probes_for(model, probes)
    for default in plan_probes(chosen, suite, parameters or {}, asked=True, probabilities=probabilities):
        needs: tuple[Need, ...] = ()
        if precision is not None or certain:
            name = default.probe.name
            before = results[name] if results and name in results else simulate_pilot(default)
            needs = tuple(find_needs(before, precision=None if certain else precision))
        planned = _with_items(default, needs)
        prompts, letters = 0, 0
        for batch in planned.batches():
            prompts += batch.height
            letters += int(batch[PROMPT].str.len_chars().sum())
        attempts = prompts * planned.repetitions
        rows.append(
            ProbeEstimate(
                probe=planned.probe.name,
                prompts=prompts,
                attempts=attempts,
                prompt_tokens=letters * planned.repetitions // LETTERS_PER_TOKEN,
                completion_tokens=attempts * _answer_tokens(planned.probe, sampling),
                items=planned.items,
                needs=needs,
            )
        )
    slots = concurrency or (LOCAL_SLOTS if connection.local else Policy.concurrency)
    tokens_per_second = (speed or (LOCAL_SPEED if connection.local else REMOTE_SPEED)) * slots
    prompt_tokens = sum(row.prompt_tokens for row in rows)
    completion_tokens = sum(row.completion_tokens for row in rows)
    prompt_time = prompt_tokens / LOCAL_PROMPT_TOKENS if connection.local else 0.0
    seconds = (completion_tokens + prompt_time) / tokens_per_second
    if connection.simulated:
        seconds = sum(row.attempts for row in rows) / SIMULATED_RATE
    cost = price_for(model, price, needed=False)
    return RunEstimate(
        model=model,
        suite=suite,
        probes=tuple(rows),
        cost=cost(prompt_tokens, completion_tokens) if cost else None,
        seconds=seconds,
        concurrency=slots,
    )


def _answer_tokens(probe: Probe, sampling: Sampling) -> int:
    return min(asking_of(probe, sampling).max_tokens or probe.answer_tokens, probe.answer_tokens)


PILOT_ITEMS = 400


def simulate_pilot(planned: Plan) -> Result:
    """The result of a simulated model that answers at random, on some items of the plan's population."""
    size = min(PILOT_ITEMS, planned.population.size)
    pilot = plan(planned.probe, **{**planned.parameters, "sample_k": size, "num_repetitions": 1})
    prompts = pilot.prompts()
    answers = planned.probe.simulate(prompts, "random", np.random.default_rng(0))
    rows = ({ID: key, ANSWER: answer} for key, answer in zip(prompts[ID], answers, strict=True))
    return score_rows(pilot, read_python(rows))


def _with_items(planned: Plan, needs: tuple[Need, ...]) -> Plan:
    """The plan with as many items as the neediest metric needs, or all there are."""
    wanted = [need.items for need in needs if need.items is not None]
    if not wanted:
        return planned
    size = min(max(wanted), planned.population.size)
    return plan(planned.probe, **{**planned.parameters, "sample_k": size})
