"""What a request costs the client: the whole pump beside the bare loop, the openai SDK and inspect_ai.

All of them post the same prompts to the same server on this machine and take the content out of each answer. They take
turns, each in a process of its own, and are compared within a round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.fast_server import ANSWER, serving
from benchmarks.harness import OURS, Unavailable, environment, job, say, table, times, versions

CONCURRENCIES = (32, 256)
PEERS = ("openai[aiohttp]", "inspect_ai")
PUMP, BARE, SDK, INSPECT = "equipoise, the whole pump", "bare aiohttp loop", "openai SDK", "inspect_ai"
MOST, LEAST = 2.0, 4.0
"""The targets: at most so many times the bare loop's CPU, at least so many times less than a peer's."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """Who asks, and how often in a round."""

    name: str
    python: Path
    command: tuple[str, ...]
    requests: int


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds a request, in one round."""

    cpu: float
    wall: float


Costs = Mapping[str, Sequence[Cost]]
"""What each client's rounds cost, by its name."""


def run(*, quick: bool) -> str:
    """Measure, and say it in Markdown."""
    clients, about_peers = _clients(quick=quick)
    rounds = 1 if quick else 5
    rows: list[Sequence[object]] = []
    verdicts = []
    with serving() as url:
        for concurrency in CONCURRENCIES[:1] if quick else CONCURRENCIES:
            costs = _measured(clients, url, concurrency, rounds)
            rows += [_row(client, concurrency, costs) for client in clients]
            verdicts.append(_verdict(concurrency, costs))
    head = ("client", "at a time", "requests", "CPU a request", "requests a second", "CPU beside the bare loop")
    counted = "One round." if quick else f"Medians of {rounds} rounds, in which the clients take turns."
    about = (
        f"A server on this machine answers at once, with {len(ANSWER):,} characters, which every client takes out of "
        f"the JSON. The pump also commits them to its run file, durably. {counted}"
    )
    return "\n\n".join(["## Asking", about, table(head, rows), *verdicts, about_peers])


def prepare() -> Path:
    """The Python of the peers."""
    return environment("peers", PEERS)


def _clients(*, quick: bool) -> tuple[list[Client], str]:
    """Who is compared, and a sentence about the peers."""
    ours, sdk, inspect = "benchmarks.asking_job", "benchmarks.peers.openai_loop", "benchmarks.peers.inspect_loop"
    many, fewer, few = (3000, 500, 100) if quick else (10_000, 3000, 500)
    clients = [
        Client(name=PUMP, python=OURS, command=(ours, "pump"), requests=many),
        Client(name=BARE, python=OURS, command=(ours, "bare"), requests=many),
    ]
    try:
        python = prepare()
    except Unavailable as reason:
        return clients, f"The peers are left out: {reason}."
    clients += [
        Client(name=SDK, python=python, command=(sdk, "httpx"), requests=fewer),
        Client(name=f"{SDK} over aiohttp", python=python, command=(sdk, "aiohttp"), requests=fewer),
        Client(name=INSPECT, python=python, command=(inspect,), requests=few),
    ]
    shown = f"{versions(OURS, ['aiohttp', 'orjson'])}; {versions(python, ['openai', 'inspect_ai', 'aiohttp'])}"
    return clients, f"The peers have one request before the clock starts. Versions: {shown}."


def _measured(clients: Sequence[Client], url: str, concurrency: int, rounds: int) -> Costs:
    costs: dict[str, list[Cost]] = {client.name: [] for client in clients}
    for number in range(1, rounds + 1):
        for client in clients:
            say(f"asking, {concurrency} at a time, round {number} of {rounds}: {client.name}")
            found = job(client.python, *client.command, url, client.requests, concurrency)
            cost = Cost(cpu=found["cpu"] / client.requests, wall=found["wall"] / client.requests)
            costs[client.name].append(cost)
    return costs


def _row(client: Client, concurrency: int, costs: Costs) -> tuple[object, ...]:
    own = costs[client.name]
    return (
        client.name,
        concurrency,
        f"{client.requests:,}",
        f"{median(cost.cpu for cost in own) * 1000:.3f} ms",
        f"{1 / median(cost.wall for cost in own):,.0f}",
        "" if client.name == BARE else _spread(_ratios(costs, client.name, BARE)),
    )


def _verdict(concurrency: int, costs: Costs) -> str:
    """What became of the targets."""
    above = _ratios(costs, PUMP, BARE)
    words = [f"{_spread(above)} the bare loop's (at most {times(MOST)} is {_met(ratio <= MOST for ratio in above)})"]
    for name in costs:
        if name not in (PUMP, BARE):
            below = _ratios(costs, name, PUMP)
            met = _met(ratio >= LEAST for ratio in below)
            words.append(f"{_spread(below)} less than that of {name} (at least {times(LEAST)} is {met})")
    return f"At {concurrency} at a time the pump's CPU a request is " + ", ".join(words) + "."


def _ratios(costs: Costs, name: str, other: str) -> list[float]:
    """How many times the CPU of the other, round by round."""
    return [cost.cpu / beside.cpu for cost, beside in zip(costs[name], costs[other], strict=True)]


def _spread(ratios: Sequence[float]) -> str:
    """The median, and of several rounds the least and the most."""
    middle = times(median(ratios))
    return middle if len(ratios) == 1 else f"{middle} ({times(min(ratios))} to {times(max(ratios))})"


def _met(rounds: Iterable[bool]) -> str:
    held = list(rounds)
    return f"met in {sum(held)} of {len(held)} rounds"
