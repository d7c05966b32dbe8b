"""Kills, signals, a second owner and a full disk, with real processes, sockets and file systems."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from equipoise.runs.file import store
from equipoise.runs.file.reader import RunReader
from equipoise.schema import Status
from runs.fakes import create, plan, seal
from runs.killable import acknowledged, start, stored, texts
from serving.faulty import FaultyServer

CONCURRENCY = 8
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs signals and limits of POSIX")


def answer(prompt: str, nth: int) -> str:
    return seal(prompt)


def assert_whole(path: Path, server: FaultyServer, printed: set[tuple[str, str, int]], kills: int) -> None:
    """Every planned attempt is there once, with the answer to its own prompt; none was asked again without need."""
    with RunReader.open(path) as run:
        answers, prompts, counts = stored(run), texts(run), run.counts()
    assert counts[Status.OK] == sum(counts.values()) == len(answers)
    assert printed <= answers.keys()
    assert all(answer == seal(prompts[probe, prompt]) for (probe, prompt, _), answer in answers.items())
    planned = Counter(prompts[probe, prompt] for probe, prompt, _ in answers)
    assert server.requests >= planned
    again = server.requests - planned
    assert again.total() <= kills * (CONCURRENCY + 128), "only what was under way or not yet stored when killed"
    assert max(again.values(), default=0) <= kills


@POSIX
@pytest.mark.fault("P1")
def test_kills_lose_and_duplicate_no_answer(tmp_path: Path) -> None:
    path, dice, printed, kills = tmp_path / "run.db", random.Random(1), set[tuple[str, str, int]](), 3
    create(path, plan("alpha", 300), plan("beta", 60, repetitions=2)).close()
    with FaultyServer(answer, delay=0.02) as server:
        for _ in range(kills):
            child = start(path, server, f"--concurrency={CONCURRENCY}")
            printed |= kill_at_random(child, dice)
        child = start(path, server, f"--concurrency={CONCURRENCY}")
        out, err = child.communicate()
        assert child.returncode == 0, err
        assert_whole(path, server, printed | acknowledged(out), kills)
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


def kill_at_random(child: subprocess.Popen[str], dice: random.Random) -> set[tuple[str, str, int]]:
    """Kill a child while it starts or while it asks; return what it acknowledged."""
    assert child.stdout
    asking = dice.random() < 0.8
    first = child.stdout.readline() if asking else ""
    time.sleep(dice.uniform(0.0, 0.1 if asking else 1.0))
    child.kill()
    rest, _ = child.communicate()
    return acknowledged(first + rest)


@POSIX
@pytest.mark.fault("P2", "P4")
def test_after_one_signal_requests_under_way_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    create(path, plan(size=500)).close()
    with FaultyServer(answer, delay=0.05) as server:
        child = start(path, server, f"--concurrency={CONCURRENCY}")
        while server.total < 30:
            time.sleep(0.01)
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=60)
        assert child.returncode == 143
        assert f"Stopped.\n{path} holds" in err
        assert f"To go on: equipoise resume {path}" in err
        with RunReader.open(path) as run:
            assert stored(run).keys() == acknowledged(out)
            assert run.counts()[Status.OK] == server.total < 500, "requests under way came back"
        assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


def answer_at_length(prompt: str, nth: int) -> str:
    return seal(prompt) + " and so on" * 300


@POSIX
@pytest.mark.fault("P5")
@pytest.mark.parametrize("reserve", [-(2**40), 1_000_000], ids=["a commit fails", "the reserve is reached"])
def test_a_full_place_stops_the_run_and_keeps_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reserve: int
) -> None:
    path = tmp_path / "run.db"
    monkeypatch.setattr(store, "RESERVE", 0)
    create(path, plan(size=600)).close()
    with FaultyServer(answer_at_length, delay=0.02) as server:
        child = start(path, server, f"--reserve={reserve}", f"--largest-file={1_500_000}")
        out, err = child.communicate(timeout=120)
        assert child.returncode == 5, err
        assert f"To go on: equipoise resume {path}" in err
        with RunReader.open(path) as run:
            counts = run.counts()
            assert sum(counts.values()) == 600
            assert stored(run).keys() == acknowledged(out)
            assert 0 < counts[Status.OK] <= server.total < 600, "it stopped before paying for more"
            if reserve > 0:
                assert counts[Status.OK] == server.total, "no answer that was paid for is lost"
        child = start(path, server)
        child.communicate(timeout=120)
        assert child.returncode == 0
        with RunReader.open(path) as run:
            prompts = texts(run)
            assert run.counts()[Status.OK] == 600
            assert all(answer.startswith(seal(prompts[key[:2]])) for key, answer in stored(run).items())
