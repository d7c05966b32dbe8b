"""What a request costs the client: equipoise compared with a bare loop, the openai SDK and inspect_ai.

All clients post the same prompts to the same server on this machine and read the content of each answer. Each client
runs in a process of its own. They take turns, and are compared within a round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.fast_server import ANSWER, serving
from benchmarks.processes import (
    OUR_PYTHON,
    Unavailable,
    format_ratio,
    installed_versions,
    log,
    markdown_table,
    peer_python,
    run_job,
)

CONCURRENCIES = (32, 256)
PEERS = ("openai[aiohttp]", "inspect_ai")
PUMP, BARE, SDK, INSPECT = "equipoise, the whole pump", "bare aiohttp loop", "openai SDK", "inspect_ai"
MAX_OVER_BARE = 2.0
"""Target: the pump uses at most this many times the CPU of the bare loop."""
MIN_PEER_OVER_PUMP = 4.0
"""Target: a peer uses at least this many times the CPU of the pump."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """A client, the command that runs it, and how many requests it sends in a round."""

    name: str
    python: Path
    command: tuple[str, ...]
    requests: int


@dataclass(frozen=True, kw_only=True)
class Cost:
    """CPU and wall seconds per request, in one round."""

    cpu: float
    wall: float


Costs = Mapping[str, Sequence[Cost]]
"""The costs of all rounds, by the name of the client."""


def run(*, quick: bool) -> str:
    """Measure all clients; return the results as Markdown."""
    clients, about_peers = _clients(quick=quick)
    rounds = 1 if quick else 5
    rows: list[Sequence[object]] = []
    verdicts = []
    with serving() as url:
        for concurrency in CONCURRENCIES[:1] if quick else CONCURRENCIES:
            costs = _measure(clients, url, concurrency, rounds)
            rows += [_row(client, concurrency, costs) for client in clients]
            verdicts.append(_verdict(concurrency, costs))
    head = ("client", "at a time", "requests", "CPU per request", "requests per second", "CPU compared with bare loop")
    how_often = "One round." if quick else f"Medians of {rounds} rounds, in which the clients take turns."
    about = (
        f"A server on this machine answers at once with {len(ANSWER):,} characters, which every client reads from the "
        f"JSON. The pump also commits each answer durably to its run file. {how_often}"
    )
    return "\n\n".join(["## Asking", about, markdown_table(head, rows), *verdicts, about_peers])


def prepare() -> Path:
    """Install the peers; return their Python."""
    return peer_python("peers", PEERS)


def _clients(*, quick: bool) -> tuple[list[Client], str]:
    """The clients to compare, and a sentence about the peers for the page."""
    ours, sdk, inspect = "benchmarks.asking_job", "benchmarks.peers.openai_loop", "benchmarks.peers.inspect_loop"
    our_requests, sdk_requests, inspect_requests = (3000, 500, 100) if quick else (10_000, 3000, 500)
    clients = [
        Client(name=PUMP, python=OUR_PYTHON, command=(ours, "pump"), requests=our_requests),
        Client(name=BARE, python=OUR_PYTHON, command=(ours, "bare"), requests=our_requests),
    ]
    try:
        python = prepare()
    except Unavailable as reason:
        return clients, f"The peers are left out: {reason}."
    clients += [
        Client(name=SDK, python=python, command=(sdk, "httpx"), requests=sdk_requests),
        Client(name=f"{SDK} over aiohttp", python=python, command=(sdk, "aiohttp"), requests=sdk_requests),
        Client(name=INSPECT, python=python, command=(inspect,), requests=inspect_requests),
    ]
    our_versions = installed_versions(OUR_PYTHON, ["aiohttp", "orjson"])
    peer_versions = installed_versions(python, ["openai", "inspect_ai", "aiohttp"])
    return clients, (f"Each peer sends one request before the clock starts. Versions: {our_versions}; {peer_versions}.")


def _measure(clients: Sequence[Client], url: str, concurrency: int, rounds: int) -> Costs:
    costs: dict[str, list[Cost]] = {client.name: [] for client in clients}
    for number in range(1, rounds + 1):
        for client in clients:
            log(f"asking, {concurrency} at a time, round {number} of {rounds}: {client.name}")
            result = run_job(client.python, *client.command, url, client.requests, concurrency)
            cost = Cost(cpu=result["cpu"] / client.requests, wall=result["wall"] / client.requests)
            costs[client.name].append(cost)
    return costs


def _row(client: Client, concurrency: int, costs: Costs) -> tuple[object, ...]:
    rounds = costs[client.name]
    return (
        client.name,
        concurrency,
        f"{client.requests:,}",
        f"{median(cost.cpu for cost in rounds) * 1000:.3f} ms",
        f"{1 / median(cost.wall for cost in rounds):,.0f}",
        "" if client.name == BARE else _spread(_ratios(costs, client.name, BARE)),
    )


def _verdict(concurrency: int, costs: Costs) -> str:
    """Sentences that say whether the targets were met."""
    over_bare = _ratios(costs, PUMP, BARE)
    met = _rounds_met(ratio <= MAX_OVER_BARE for ratio in over_bare)
    peers = []
    for name in costs:
        if name not in (PUMP, BARE):
            over_pump = _ratios(costs, name, PUMP)
            met_by_peer = _rounds_met(ratio >= MIN_PEER_OVER_PUMP for ratio in over_pump)
            peers.append(f"{name} {_spread(over_pump)}, {met_by_peer}")
    text = (
        f"With {concurrency} requests at a time, the pump uses {_spread(over_bare)} the CPU of the bare loop "
        f"(target: at most {format_ratio(MAX_OVER_BARE)}; {met})."
    )
    if peers:
        target = format_ratio(MIN_PEER_OVER_PUMP)
        text += f" CPU of the peers compared with the pump (target: at least {target}): {'; '.join(peers)}."
    return text


def _ratios(costs: Costs, name: str, other: str) -> list[float]:
    """The CPU of one client divided by that of another, round by round."""
    return [cost.cpu / other_cost.cpu for cost, other_cost in zip(costs[name], costs[other], strict=True)]


def _spread(ratios: Sequence[float]) -> str:
    """The median; with several rounds, also the least and the most."""
    middle = format_ratio(median(ratios))
    return middle if len(ratios) == 1 else f"{middle} ({format_ratio(min(ratios))} to {format_ratio(max(ratios))})"


def _rounds_met(outcomes: Iterable[bool]) -> str:
    met = list(outcomes)
    return f"met in {sum(met)} of {len(met)} rounds"
