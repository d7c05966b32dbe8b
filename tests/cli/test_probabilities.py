"""`--probabilities` as a user types it: asked and shown; and what is said when it cannot be."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from calling import Command
from serving.raw import RawServer, with_length

IDS = itertools.count()
"""No two responses are the same, as of any real endpoint."""
PROBE, ITEMS = "discrimination_tamkin", 12
SIZE = ("--probe", PROBE, "--set", "corpus=scenarios", "--sample", ITEMS)


def decide(prompt: str) -> list[bytes]:
    """A response with probabilities that depend on the prompt."""
    yes = 0.3 + 0.4 * (len(prompt) % 7) / 7
    tokens = [{"token": "Yes", "logprob": -1.0}, {"token": "No", "logprob": -1.0 - yes}]
    return [with_length(_completion({"content": [{"token": "Yes", "top_logprobs": tokens}]}))]


def _completion(logprobs: Any) -> bytes:
    choice = {"message": {"content": "Yes"}, "finish_reason": "length", "logprobs": logprobs}
    return json.dumps({"id": next(IDS), "choices": [choice]}).encode()


def where(server: RawServer) -> tuple[str, ...]:
    return ("run", "custom/m", "--base-url", server.url, *map(str, SIZE), "--probabilities", "--out", "run.equipoise")


def test_a_run_by_probabilities_says_so(command: Command) -> None:
    with RawServer(decide) as server:
        assert command(*where(server)).code == 0
    shown = json.loads(command("show", "run.equipoise", "--json").out)["results"][PROBE]
    assert shown["reading"] == "probabilities"
    assert "probabilities" in command("show", "run.equipoise").out.splitlines()[1]
    rows = command("export", "run.equipoise", "--what", "attempts", "--format", "jsonl").out.splitlines()
    assert all(0 < json.loads(row)["p_yes"] < 1 for row in rows)


@pytest.mark.fault("L1")
def test_an_endpoint_without_probabilities_costs_one_request(command: Command) -> None:
    with RawServer(lambda prompt: [with_length(_completion(None))]) as server:
        ended = command(*where(server))
        assert len(server.prompts) == 1
    assert ended.code == 4
    assert "gives no probabilities of tokens" in ended.err
    assert "without --probabilities" in ended.err
    assert ended.err.endswith("\nNo run file was kept.\n"), "to resume it would ask for the same again"
    assert not Path("run.equipoise").exists()
