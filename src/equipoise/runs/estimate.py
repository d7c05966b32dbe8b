"""`estimate`: what a run would take, before anything is sent: prompts, tokens, money and time; and what tokens cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import BadParameter, InputError
from equipoise.measuring.plan import Plan, resize
from equipoise.measuring.precision import Need, find_needs
from equipoise.models.protocol import CONCURRENCY
from equipoise.models.simulated import SIMULATED
from equipoise.runs.file.values import asking_of
from equipoise.runs.finished import open_audit
from equipoise.runs.reaching import is_on_this_machine, settle_spec
from equipoise.runs.run import Run
from equipoise.runs.spec import EMBEDDED, RunSpec
from equipoise.runs.suites import Probes, plan_probes
from equipoise.schema import PROMPT

LOCAL_SLOTS, LOCAL_SPEED, REMOTE_SPEED = 4, 15.0, 50.0
"""Requests at a time of a model that runs here; tokens per second of one request, here and elsewhere."""
SIMULATED_RATE = 2_000
"""Attempts per second of a simulated model, which is not asked for tokens."""
LOCAL_PROMPT_TOKENS = 4
"""So many tokens of a prompt take as long as one of an answer here; elsewhere the time for prompts is not counted."""
LETTERS_PER_TOKEN = 4
"""A rule of thumb for English."""
GENAI_PRICES_NAMES = {"gemini": "google", "xai": "x-ai"}
"""Providers that genai-prices calls by another name."""


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

    spec: RunSpec
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
            "model": self.spec.model,
            "suite": self.spec.suite,
            "probes": [asdict(probe) for probe in self.probes],
            **totals,
            "cost": self.cost,
            "seconds": self.seconds,
        }


def estimate(
    model: str | RunSpec = EMBEDDED,
    *,
    probes: Probes = None,
    precision: float | None = None,
    certain: bool = False,
    pilot: str | Path | Run | None = None,
    **given: Any,
) -> RunEstimate:
    """Estimate what a run would take; nothing is sent. A token counts for four letters, an answer for its usual length.

    Keywords are those of `start`; `price` is "0.15,0.60" in dollars for a million tokens of prompts and of answers, if
    it is not known. With a `precision`, each probe of the `pilot` run is planned with as many items as give its marked
    metrics intervals of this half-width; with `certain`, as many as make its marks certain.
    """
    if precision is not None and not 0 < precision < 1:
        raise BadParameter(f"The precision must be a half-width between 0 and 1. Got {precision} instead.")
    if pilot is None and (certain or precision is not None):
        raise InputError("How many items are needed depends on the values of a model: give a pilot run (--pilot RUN).")
    results = {} if pilot is None else open_audit(pilot)
    spec, _, chosen = settle_spec(model, probes, None, None, given)
    rows = []
    plans = plan_probes(chosen, str(spec.suite), spec.parameters, repeated=True, probabilities=spec.probabilities)
    for planned in plans:
        needs: tuple[Need, ...] = ()
        if planned.probe.name in results and (certain or precision is not None):
            needs = tuple(find_needs(results[planned.probe.name], precision=None if certain else precision))
        largest = max(needs, key=lambda need: need.items or 0, default=None)
        sized = planned
        if largest is not None and largest.items is not None:
            often = largest.repetitions or results[planned.probe.name].setup.repetitions
            sized = resize(planned, min(largest.items, planned.population), often)
        rows.append(expect_probe(sized, spec, needs))
    return expect_run(rows, spec)


def expect_probe(
    planned: Plan, spec: RunSpec, needs: tuple[Need, ...] = (), answer_tokens: int | None = None
) -> ProbeEstimate:
    """What one plan would take. A token counts for four letters, an answer for its usual length or the one given."""
    prompts, letters = 0, 0
    for batch in planned.batches():
        prompts += batch.height
        letters += int(batch[PROMPT].str.len_chars().sum())
    attempts, probe = prompts * planned.repetitions, planned.probe
    limit = asking_of(probe, spec.max_tokens).max_tokens or probe.answer_tokens
    return ProbeEstimate(
        probe=probe.name,
        prompts=prompts,
        attempts=attempts,
        prompt_tokens=letters * planned.repetitions // LETTERS_PER_TOKEN,
        completion_tokens=attempts * (answer_tokens or min(limit, probe.answer_tokens)),
        items=planned.items,
        needs=needs,
    )


def expect_run(probes: Iterable[ProbeEstimate], spec: RunSpec) -> RunEstimate:
    """What all of them would take, by usual speeds."""
    rows, price = tuple(probes), find_prices(spec)["model"]
    slots = spec.concurrency or (LOCAL_SLOTS if spec.local else CONCURRENCY)
    prompt_tokens = sum(row.prompt_tokens for row in rows)
    completion_tokens = sum(row.completion_tokens for row in rows)
    if spec.simulated:
        seconds = sum(row.attempts for row in rows) / SIMULATED_RATE
    else:
        prompt_time = prompt_tokens / LOCAL_PROMPT_TOKENS if spec.local else 0.0
        speed = LOCAL_SPEED if is_on_this_machine(spec) else REMOTE_SPEED
        seconds = (completion_tokens + prompt_time) / (speed * slots)
    cost = price(prompt_tokens, completion_tokens) if price else None
    return RunEstimate(spec=spec, probes=rows, cost=cost, seconds=seconds, concurrency=slots)


@dataclass(frozen=True)
class TokenPrice:
    """Dollars for a million tokens."""

    prompt: float = 0.0
    completion: float = 0.0

    def __call__(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What these tokens cost."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


def parse_price(given: str) -> TokenPrice:
    """Read "0.15,0.60": dollars for a million tokens of prompts and of answers."""
    try:
        prompt, completion = (float(part) for part in given.split(","))
    except ValueError:
        prompt = completion = math.nan
    if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
        raise BadParameter(
            f"--price must be two numbers, dollars for a million tokens of prompts and of answers, as in 0.15,0.60. "
            f"Got {given!r} instead."
        )
    return TokenPrice(prompt, completion)


def known_price(model: str) -> TokenPrice | None:
    """The price of a model by its name, if genai-prices is installed and knows it. What runs here costs nothing."""
    provider, _, name = model.partition("/")
    if not name or model.startswith(SIMULATED):
        return TokenPrice()
    try:
        from genai_prices import Usage, calc_price  # noqa: PLC0415 - optional
    except ImportError:
        return None
    known_as, million = GENAI_PRICES_NAMES.get(provider, provider), 1_000_000
    usages = (Usage(input_tokens=million, output_tokens=0), Usage(input_tokens=0, output_tokens=million))
    try:
        prices = [calc_price(usage, model_ref=name, provider_id=known_as).total_price for usage in usages]
    except LookupError:
        return None
    return TokenPrice(*map(float, prices))


def find_prices(spec: RunSpec) -> dict[str, TokenPrice | None]:
    """The price of the "model" and, if there is one, of the "judge": as given, or as known.

    None if neither is there; an error if the cost is limited.
    """
    asked = {"model": (spec.model, spec.price)} | ({"judge": (spec.judge, spec.judge_price)} if spec.judge else {})
    prices = {role: parse_price(given) if given else known_price(model) for role, (model, given) in asked.items()}
    for role, price in prices.items():
        if price is None and spec.max_cost is not None:
            option = "--price" if role == "model" else "--judge-price"
            raise InputError(
                f"The price of {asked[role][0]!r} is not known. Give it with {option} PROMPTS,ANSWERS in dollars for a "
                "million tokens, or install the prices: pip install 'equipoise[prices]'"
            )
    return prices
