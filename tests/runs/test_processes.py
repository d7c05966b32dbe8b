"""Kills, signals, a second owner and a full disk, with real processes, sockets and file systems."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.runs.file import store
from equipoise.runs.file.reader import RunReader
from equipoise.schema import Status
from runs.fakes import create, plan, seal
from runs.killable import HeldAnswers, acknowledged, start, stored, texts, wait_until
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
    path, dice, printed, kills = (
        tmp_path / "run.db",
        random.Random(1),
        set[tuple[str, str, int]](),
        3,
    )
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
@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="SIGINT", marks=pytest.mark.fault("P2")),
        pytest.param(signal.SIGTERM, 143, id="SIGTERM", marks=pytest.mark.fault("P4")),
    ],
)
def test_after_one_signal_requests_under_way_are_stored(
    tmp_path: Path,
    number: signal.Signals,
    code: int,
) -> None:
    path = tmp_path / "run.db"
    create(path, plan(size=200)).close()
    answers = HeldAnswers()
    with FaultyServer(answers) as server:
        child = start(path, server, f"--concurrency={CONCURRENCY}")
        wait_until(lambda: server.total >= 30)
        answers.may_answer.clear()
        wait_until(lambda: answers.held > 0)
        child.send_signal(number)
        answers.may_answer.set()
        out, err = child.communicate(timeout=60)
        assert child.returncode == code
        assert f"Stopped.\n{path} holds" in err
        assert f"To go on: equipoise resume {path}" in err
        with RunReader.open(path) as run:
            assert stored(run).keys() == acknowledged(out)
            assert run.counts()[Status.OK] == server.total < 200, "requests under way came back"
        assert [file.name for file in tmp_path.iterdir()] == ["run.db"]
        finish(path, server)
        assert set(server.requests.values()) == {1}, "nothing was asked twice"


@POSIX
@pytest.mark.fault("P3")
def test_two_signals_end_the_process_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    create(path, plan(size=200)).close()
    answers = HeldAnswers()
    with FaultyServer(answers) as server:
        child = start(path, server, f"--concurrency={CONCURRENCY}", "--drain=3600")
        wait_until(lambda: server.total >= 30)
        answers.may_answer.clear()
        wait_until(lambda: answers.held >= CONCURRENCY)
        child.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):  # it waits for requests under way
            child.wait(timeout=0.5)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
        assert child.returncode == 130
        answers.may_answer.set()
        with RunReader.open(path) as run:
            assert stored(run).keys() == acknowledged(out)
        finish(path, server)


@POSIX
@pytest.mark.fault("P7")
def test_a_second_process_on_the_same_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    create(path, plan(size=50)).close()
    answers = HeldAnswers()
    answers.may_answer.clear()
    with FaultyServer(answers) as server:
        first = start(path, server)
        wait_until(lambda: server.total > 0)
        second = start(path, server)
        _, err = second.communicate(timeout=60)
        assert second.returncode == 5
        assert f"in use by another process (pid {first.pid})" in err
        with RunReader.open(path) as reader:
            assert reader.counts()[Status.PENDING] == 50, "reading is allowed"
        answers.may_answer.set()
        _, err = first.communicate(timeout=60)
        assert first.returncode == 0, err
        assert server.total == 50
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


def finish(path: Path, server: FaultyServer) -> None:
    """Resume the run to its end, and check every answer."""
    child = start(path, server)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    with RunReader.open(path) as run:
        assert run.counts()[Status.OK] == sum(run.counts().values())
        prompts = texts(run)
        for (probe, prompt, _), found in stored(run).items():
            assert found.startswith(seal(prompts[probe, prompt]))


def answer_at_length(prompt: str, nth: int) -> str:
    return seal(prompt) + " and so on" * 300


def answer_at_great_length(prompt: str, nth: int) -> str:
    return seal(prompt) + " and so on" * 3000


@POSIX
@pytest.mark.fault("P5")
@pytest.mark.parametrize("reserve", [-(2**40), 1_000_000], ids=["a commit fails", "the reserve is reached"])
def test_a_limit_on_the_size_of_files_stops_the_run_and_keeps_the_file(
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
        finish(path, server)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of six megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("This user cannot mount a small disk.")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@POSIX
@pytest.mark.fault("P5")
@pytest.mark.parametrize(
    "reserve",
    [-(2**40), 3_000_000],
    ids=["a commit fails", "the reserve is reached"],
)
def test_a_full_disk_stops_the_run_and_keeps_the_file(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch, reserve: int
) -> None:
    path = small_disk / "run.db"
    moved = tmp_path / "moved"
    monkeypatch.setattr(store, "RESERVE", 0)
    create(path, plan(size=300)).close()
    with FaultyServer(answer_at_great_length, delay=0.02) as server:
        child = start(path, server, f"--reserve={reserve}")
        out, err = child.communicate(timeout=120)
        assert child.returncode == 5, err
        assert f"To go on: equipoise resume {path}" in err
        asked = server.total
        assert asked < 300, "it stopped before paying for more"
        shutil.copytree(small_disk, moved)
        for place in (moved / "run.db", path):
            with RunReader.open(place) as run:
                assert sum(run.counts().values()) == 300
                assert stored(run).keys() == acknowledged(out)
                if reserve > 0:
                    assert run.counts()[Status.OK] == asked, "no answer that was paid for is lost"
        finish(moved / "run.db", server)
