"""`--probabilities` as a user types it: what is said when they cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from calling import Command
from serving.faults import send_json
from serving.faulty import FaultyServer

CHOICE = {"message": {"content": "Yes"}, "finish_reason": "length", "logprobs": None}
PROBE = ("--probe", "discrimination_tamkin", "--set", "corpus=scenarios", "--sample", "12")


@pytest.mark.fault("L1")
def test_an_endpoint_without_probabilities_costs_one_request(command: Command) -> None:
    with FaultyServer(lambda prompt, nth: send_json(200, {"choices": [CHOICE]})) as server:
        where = ("--base-url", server.url, "--probabilities", "--out", "run.equipoise")
        ended = command("run", "custom/m", *where, *PROBE)
        assert server.total == 1
    assert ended.code == 4
    assert "gives no probabilities of tokens" in ended.err
    assert "without --probabilities" in ended.err
    assert ended.err.endswith("\nNo run file was kept.\n"), "to resume it would ask for the same again"
    assert not Path("run.equipoise").exists()
