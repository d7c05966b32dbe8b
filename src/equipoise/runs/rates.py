"""How fast models answered on this machine before, so that the next estimate of a time rests on a measurement."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.values import Answered
from equipoise.settings import Settings, write_private

FILE_NAME = "measured-rates.json"
FEWEST_REQUESTS = 20
"""With fewer requests, connecting and starting is most of the time."""
MOST_MODELS = 200
"""So many models are remembered, the latest."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """How long a model took for each attempt of a probe, by the clock on the wall."""

    model: str
    address: str | None
    """The base URL, where it is not the provider's own."""
    concurrency: int
    """Requests at a time."""
    seconds: Mapping[str, float]
    """For each probe that was asked."""
    seconds_per_token: float
    """Over all probes, for those that were not asked."""

    def seconds_for(self, probe: str, attempts: int, completion_tokens: int) -> float:
        """How long so many attempts of a probe take."""
        known = self.seconds.get(probe)
        return completion_tokens * self.seconds_per_token if known is None else attempts * known


def measure_rate(file: RunReader, *, requests: int, elapsed: float, concurrency: int) -> Rate | None:
    """The rate of a session, if it was long enough: probes share its time as the latencies of their answers say."""
    answered = file.answered_by_probe()
    attempts, latency = _total(answered, "attempts"), _total(answered, "latency")
    tokens = _total(answered, "completion_tokens")
    if requests < FEWEST_REQUESTS or elapsed <= 0 or not attempts or not latency or not tokens:
        return None
    per_latency = elapsed / requests * attempts / latency
    return Rate(
        model=file.settings.model,
        address=file.settings.base_url,
        concurrency=concurrency,
        seconds={
            probe: per_latency * counts.latency / counts.attempts
            for probe, counts in answered.items()
            if counts.attempts
        },
        seconds_per_token=per_latency * latency / tokens,
    )


def remember_rate(rate: Rate, settings: Settings) -> None:
    """Keep a rate on this machine, in place of the earlier one of the same model. That it fails is no harm."""
    known = [entry for entry in _read(settings) if (entry.model, entry.address) != (rate.model, rate.address)]
    with suppress(OSError):
        entries = [asdict(entry) for entry in [*known, rate][-MOST_MODELS:]]
        write_private(settings.cache / FILE_NAME, json.dumps(entries, indent=1))


def find_rate(model: str, address: str | None, settings: Settings) -> Rate | None:
    """The rate that was measured last for a model at this address."""
    return next((rate for rate in _read(settings) if (rate.model, rate.address) == (model, address)), None)


def _read(settings: Settings) -> list[Rate]:
    """The rates that are known. A file that cannot be read holds none."""
    try:
        entries = json.loads((settings.cache / FILE_NAME).read_text(encoding="utf-8"))
        rates = [Rate(**entry) for entry in entries]
        return [rate for rate in rates if _is_usable(rate)]
    except (OSError, ValueError, TypeError, AttributeError):
        return []


def _is_usable(rate: Rate) -> bool:
    numbers: list[Any] = [rate.concurrency, rate.seconds_per_token, *rate.seconds.values()]
    return all(type(number) in (int, float) and 0 < number < math.inf for number in numbers)


def _total(answered: Mapping[str, Answered], name: str) -> float:
    return float(sum(getattr(counts, name) for counts in answered.values()))
