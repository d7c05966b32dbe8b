"""`equipoise resume --retry` asks failures again, and keeps them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from calling import Command
from equipoise.runs.run import Run
from equipoise.schema import Status
from serving.faults import Fault
from serving.faulty import FaultyServer, sealed
from simulating import simulated

pytestmark = pytest.mark.fault("D15")


def test_failures_are_asked_again_only_if_they_are_named(command: Command) -> None:
    with FaultyServer(lambda prompt, nth: Fault.CONTEXT_LENGTH if "babysitter" in prompt else sealed(prompt)) as server:
        where = ("--base-url", server.url, "--probe", "jobs_lum", "--sample", "12", "--out", "run.equipoise")
        assert command("run", "vllm/test", *where).code == 3
        asked = server.total
        assert command("resume", "run.equipoise").code == 3
        assert command("resume", "run.equipoise", "--retry", "timeout,http_error").code == 3
        assert server.total == asked
        server.behaviour = sealed
        assert command("resume", "run.equipoise", "--retry", "context_length").code == 0
        assert server.total == asked + 1
    run = Run.open("run.equipoise")
    assert run.counts[Status.OK] == run.size == 12
    with closing(sqlite3.connect("run.equipoise")) as connection:
        assert connection.execute("select status from earlier_failures").fetchall() == [("context_length",)]


def test_only_failures_can_be_asked_again(command: Command, tmp_path: Path) -> None:
    simulated(tmp_path / "run.equipoise", {"jobs_lum": "unbiased"})
    for states in ("ok", "truncated", "pending", "http_error,oops"):
        outcome = command("resume", "run.equipoise", f"--retry={states}")
        assert (outcome.code, "No failure that can be asked again is called" in outcome.err) == (2, True), states
    assert command("resume", "run.equipoise", "--retry=").code == 0
