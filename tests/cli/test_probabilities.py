"""`--probabilities` as a user types it: asked, killed, resumed, shown; and what is said without."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from aiohttp import web

from calling import Command, output
from equipoise.runs.run import Run
from equipoise.settings import environment
from serving.faults import Exchange, Responder, send_json
from serving.faulty import FaultyServer

CHOICE = {"message": {"content": "Yes"}, "finish_reason": "length", "logprobs": None}
PROBE = ("--probe", "discrimination_tamkin", "--set", "corpus=scenarios", "--sample", "12")


def decide(prompt: str, nth: int) -> Responder:
    """A response with probabilities that depend on the prompt."""
    no = -1.3 - 0.4 * (len(prompt) % 7) / 7
    tokens = [{"token": "Yes", "logprob": -1.0}, {"token": "No", "logprob": no}]
    logprobs = {"content": [{"token": "Yes", "top_logprobs": tokens}]}
    document = {"id": f"{nth} {prompt}", "choices": [{**CHOICE, "logprobs": logprobs}]}
    return send_json(200, document)


@pytest.fixture
def read(command: Command) -> Run:
    """A finished run that was read by probabilities, run.equipoise."""
    with FaultyServer(decide) as server:
        where = ("--base-url", server.url, "--probabilities", "--out", "run.equipoise")
        assert command("run", "custom/m", *where, *PROBE).code == 0
        assert server.total == 3 * 12
    return Run.open("run.equipoise")


def test_probabilities_are_asked_once_stored_and_shown(read: Run, command: Command) -> None:
    assert read.complete
    assert read.attempts()["first_token"].null_count() == 0
    assert "probabilities" in output(command("show", "run.equipoise")).splitlines()[1]
    shown = json.loads(output(command("show", "run.equipoise", "--json")))
    assert shown["results"]["discrimination_tamkin"]["reading"] == "probabilities"


@pytest.mark.parametrize("what", ["metrics", "attempts"])
def test_probabilities_are_exported(what: str, read: Run, command: Command) -> None:
    words = ("export", read.path, "--what", what, "--format", "csv")
    table = output(command(*words))
    assert ("p_yes" in table.splitlines()[0]) == (what == "attempts")


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
@pytest.mark.fault("P1")
def test_a_killed_run_is_resumed_and_loses_nothing(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    killed = threading.Event()

    def answer_some(prompt: str, nth: int) -> Responder:
        respond = decide(prompt, nth)

        async def wait(exchange: Exchange) -> web.StreamResponse:
            if server.total > 12:
                await asyncio.to_thread(killed.wait)
            return await respond(exchange)

        return wait

    with FaultyServer(answer_some) as server:
        where = ["--base-url", server.url, "--probabilities", "--out", str(path)]
        words = ["run", "custom/m", *where, *PROBE, "--concurrency", "2"]
        child = subprocess.Popen(
            [sys.executable, "-m", "equipoise", *words],
            env=dict(environment()),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        while not path.exists() or not Run.open(path).counts.ended:
            assert child.poll() is None, "it cannot end before it is killed"
        child.kill()
        child.wait()
        killed.set()
        kept = Run.open(path).attempts()
        assert 0 < kept.height < 3 * 12
        assert command("resume", path).code == 0
    # The server may count requests of the killed process after its end: only stored prompts can be counted.
    prompts = Run.open(path).prompts("discrimination_tamkin")
    of_kept = prompts.join(kept, on="id", how="semi")["prompt"]
    assert {server.requests[prompt] for prompt in of_kept} == {1}, "what was stored is not asked again"
    run = Run.open(path)
    assert run.complete
    assert run.attempts().height == 3 * 12
    stored = dict(run.attempts().select("id", "first_token").iter_rows())
    for key, tokens in kept.select("id", "first_token").iter_rows():
        assert stored[key] == tokens


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


@pytest.mark.fault("L1")
def test_answers_of_other_probes_are_kept_and_the_message_says_what_would_help(
    command: Command,
) -> None:
    with FaultyServer(lambda prompt, nth: send_json(200, {"choices": [CHOICE]})) as server:
        where = ["--base-url", server.url, "--probabilities", "--out", "run.equipoise"]
        plan = [*PROBE[:4], "--probe", "hiring_an", "--concurrency", "1"]
        sizes = ["--set", "discrimination_tamkin.sample=2", "--set", "hiring_an.sample=60"]
        ended = command("run", "custom/m", *where, *plan, *sizes)
    assert ended.code == 4
    assert "Start a run without --probabilities" in ended.err
    last = ended.err.splitlines()[-1]
    told = "attempts. Once that has changed: equipoise resume run.equipoise"
    assert last.endswith(told)
    assert Run.open("run.equipoise").counts.ended
