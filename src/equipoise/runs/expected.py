"""The arithmetic of estimates: from plans to prompts, tokens, money and time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from equipoise.authoring import Probe
from equipoise.measuring.plan import Plan
from equipoise.measuring.precision import Need
from equipoise.models import Sampling
from equipoise.runs.ask.policy import Policy, PriceFunction
from equipoise.runs.connection import Connection
from equipoise.runs.file.settings import asking_of
from equipoise.runs.sizes import LETTERS_PER_TOKEN
from equipoise.schema import PROMPT

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


def expect_probe(planned: Plan, sampling: Sampling, needs: tuple[Need, ...] = ()) -> ProbeEstimate:
    """What one plan would take. A token counts for four letters, an answer for its usual length."""
    prompts, letters = 0, 0
    for batch in planned.batches():
        prompts += batch.height
        letters += int(batch[PROMPT].str.len_chars().sum())
    attempts = prompts * planned.repetitions
    return ProbeEstimate(
        probe=planned.probe.name,
        prompts=prompts,
        attempts=attempts,
        prompt_tokens=letters * planned.repetitions // LETTERS_PER_TOKEN,
        completion_tokens=attempts * _answer_tokens(planned.probe, sampling),
        items=planned.items,
        needs=needs,
    )


def expect_run(
    probes: Iterable[ProbeEstimate],
    connection: Connection,
    suite: str,
    *,
    price: PriceFunction | None,
    concurrency: int | None = None,
    speed: float | None = None,
) -> RunEstimate:
    """What all of them would take. `speed` is in tokens per second of one request."""
    rows = tuple(probes)
    slots = concurrency or (LOCAL_SLOTS if connection.local else Policy.concurrency)
    prompt_tokens = sum(row.prompt_tokens for row in rows)
    completion_tokens = sum(row.completion_tokens for row in rows)
    if connection.simulated:
        seconds = sum(row.attempts for row in rows) / SIMULATED_RATE
    else:
        prompt_time = prompt_tokens / LOCAL_PROMPT_TOKENS if connection.local else 0.0
        tokens_per_second = (speed or (LOCAL_SPEED if connection.on_this_machine else REMOTE_SPEED)) * slots
        seconds = (completion_tokens + prompt_time) / tokens_per_second
    return RunEstimate(
        model=connection.model,
        suite=suite,
        probes=rows,
        cost=price(prompt_tokens, completion_tokens) if price else None,
        seconds=seconds,
        concurrency=slots,
    )


def _answer_tokens(probe: Probe, sampling: Sampling) -> int:
    return min(asking_of(probe, sampling).max_tokens or probe.answer_tokens, probe.answer_tokens)
