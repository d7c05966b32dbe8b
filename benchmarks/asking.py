"""What a request costs the client: equipoise compared with a bare loop, the openai SDK and inspect_ai.

Each client runs in a process of its own (`benchmarks/clients.py`). They take turns, and are compared within a round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

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


class Client(NamedTuple):
    """A client by its name in `benchmarks/clients.py`, what the page calls it, and its requests in a round."""

    name: str
    title: str
    requests: int
    few: int
    is_peer: bool = False


CLIENTS = (
    Client("pump", "equipoise, the whole pump", 10_000, 3_000),
    Client("bare", "bare aiohttp loop", 10_000, 3_000),
    Client("openai", "openai SDK", 3_000, 500, is_peer=True),
    Client("openai-aiohttp", "openai SDK over aiohttp", 3_000, 500, is_peer=True),
    Client("inspect", "inspect_ai", 500, 100, is_peer=True),
)
Costs = Mapping[str, Sequence[Mapping[str, float]]]
"""The CPU and wall seconds per request of all rounds, by the name of the client."""


def run(*, quick: bool) -> str:
    """Measure all clients; return the results as Markdown."""
    try:
        python = prepare()
        about_peers = f"Each peer sends one request before the clock starts. Versions: {_versions(python)}."
        peers: Path | None = python
    except Unavailable as reason:
        peers, about_peers = None, f"The peers are left out: {reason}."
    clients = [client for client in CLIENTS if peers or not client.is_peer]
    rounds = 1 if quick else 5
    rows: list[Sequence[object]] = []
    with serving() as url:
        for concurrency in CONCURRENCIES[:1] if quick else CONCURRENCIES:
            costs: dict[str, list[Mapping[str, float]]] = {client.name: [] for client in clients}
            for number in range(1, rounds + 1):
                for client in clients:
                    log(f"asking, {concurrency} at a time, round {number} of {rounds}: {client.title}")
                    python, requests = peers if peers and client.is_peer else OUR_PYTHON, _requests(client, quick)
                    spent = run_job(python, "benchmarks.clients", client.name, url, requests, concurrency)
                    costs[client.name].append({kind: spent[kind] / requests for kind in ("cpu", "wall")})
            rows += [_row(client, concurrency, costs, quick=quick) for client in clients]
    head = ("client", "at a time", "requests", "CPU per request", "requests per second", "CPU compared with bare loop")
    how_often = "One round." if quick else f"Medians of {rounds} rounds, in which the clients take turns."
    about = (
        f"A server on this machine answers at once with {len(ANSWER):,} characters, which every client reads from the "
        f"JSON. The pump also commits each answer durably to its run file. {how_often}"
    )
    return "\n\n".join(["## Asking", about, markdown_table(head, rows), about_peers])


def prepare() -> Path:
    """Install the peers; return their Python."""
    return peer_python("peers", PEERS)


def _requests(client: Client, quick: bool) -> int:
    return client.few if quick else client.requests


def _versions(python: Path) -> str:
    ours, theirs = ["aiohttp", "orjson"], ["openai", "inspect_ai", "aiohttp"]
    return f"{installed_versions(OUR_PYTHON, ours)}; {installed_versions(python, theirs)}"


def _row(client: Client, concurrency: int, costs: Costs, *, quick: bool) -> tuple[object, ...]:
    rounds = costs[client.name]
    ratios = [cost["cpu"] / bare["cpu"] for cost, bare in zip(rounds, costs["bare"], strict=True)]
    compared = format_ratio(median(ratios))
    if len(ratios) > 1:
        compared += f" ({format_ratio(min(ratios))} to {format_ratio(max(ratios))})"
    return (
        client.title,
        concurrency,
        f"{_requests(client, quick):,}",
        f"{median(cost['cpu'] for cost in rounds) * 1000:.3f} ms",
        f"{1 / median(cost['wall'] for cost in rounds):,.0f}",
        "" if client.name == "bare" else compared,
    )
