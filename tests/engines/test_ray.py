"""Shards scored on Ray: the numbers of one process, bit for bit, even if a worker is killed in the middle."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from calling import exit_code
from equipoise.answers.parts import ShardsDone, score_shards
from equipoise.authoring import Probe
from equipoise.engines import ray as engine
from equipoise.errors import BadFile, EndpointError, InputError, StorageError
from equipoise.measuring.plan import Plan, plan
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, ID, REPETITION, text_column
from serving.faulty import FaultyServer

ray: Any = pytest.importorskip("ray")
SAMPLE: dict[str, Any] = {"sample": 60, "repeat": 2}
HIRING = get_probe("hiring_an")
SCORE = "equipoise/score/1"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two logical workers on this machine, that talk to nobody else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("POLARS_MAX_THREADS", "1")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(
                num_cpus=2,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                object_store_memory=100 * 2**20,
                _node_ip_address="127.0.0.1",
            )
        yield
        ray.shutdown()


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Answers in seven files that cut items, in no order."""
    return write_shards(plan(HIRING, **SAMPLE), tmp_path / "answers")


def write_shards(planned: Plan, folder: Path, extra: str = "") -> list[Path]:
    folder.mkdir()
    asked = planned.attempts()
    rng = np.random.default_rng(4)
    texts = HIRING.simulate(asked, "random", rng)
    answers = asked.select(ID, REPETITION).with_columns(text_column(ANSWER, texts) + extra)
    cut = pl.Series(rng.integers(0, 7, answers.height))
    paths = [folder / f"{number}.parquet" for number in range(7)]
    for number, path in enumerate(paths):
        answers.filter(cut == number).write_parquet(path)
    return paths


def test_the_numbers_are_those_of_one_process(
    cluster: None, shards: list[Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    events: list[ShardsDone] = []
    planned = plan(HIRING, **SAMPLE)
    total = engine.score_shards(planned, shards, on_shard=events.append)
    assert [event.done for event in events] == [1, 2, 3, 4, 5, 6, 7]
    assert events[-1].answers == planned.attempts().height
    expected = equipoise.score("hiring_an", pl.concat([pl.read_parquet(path) for path in shards]), **SAMPLE)
    assert total.result().to_dict() == expected.to_dict()
    assert score_shards(planned, shards).result().to_dict() == expected.to_dict()
    words = ("score", str(shards[0].parent), "--probe", "hiring_an", "--sample", "60", "--repeat", "2", "--json")
    assert exit_code(monkeypatch, *words, "--engine", "ray") == 0
    assert json.loads(capfd.readouterr().out) == {"schema": SCORE, **json.loads(json.dumps(expected.to_dict()))}
    assert ray.is_initialized(), "a Ray that was there before is left as it is"


def deadly(marker: Path, *, once: bool) -> Probe:
    """The probe with a detector that kills its own process when it reads a certain word; not in this process."""
    here, read_plainly, path = os.getpid(), HIRING.detector.read, str(marker)

    def die(answer: str) -> str:
        import os
        from pathlib import Path

        if "poison" in answer and os.getpid() != here and not (once and Path(path).exists()):
            Path(path).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    def read(text: pl.Expr) -> pl.Expr:
        return read_plainly(text.map_elements(die, return_dtype=pl.String))

    return replace(HIRING, detector=replace(HIRING.detector, read=read))


def test_a_worker_killed_in_the_middle_costs_a_retry_and_not_a_number(cluster: None, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    planned = plan(deadly(marker, once=True), **SAMPLE)
    shards = write_shards(planned, tmp_path / "answers", " There was no poison.")
    total = engine.score_shards(planned, shards)
    assert marker.exists()
    assert total.result().to_dict() == score_shards(planned, shards).result().to_dict()
    assert total.setup == planned.setup


def test_a_task_that_always_kills_its_worker_is_given_up(
    cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "TRIES", 1)
    planned = plan(deadly(tmp_path / "killed", once=False), **SAMPLE)
    shards = write_shards(planned, tmp_path / "answers", " There was poison.")
    with pytest.raises(StorageError, match="Ray lost a task 1 times, and it was given up"):
        engine.score_shards(planned, shards[:1])


def test_a_wrong_file_is_named_as_in_one_process(cluster: None, shards: list[Path]) -> None:
    shards[3].write_text("no Parquet")
    with pytest.raises(BadFile, match=r"3\.parquet cannot be read as Parquet") as refused:
        engine.score_shards(plan(HIRING, **SAMPLE), shards)
    assert "Traceback" not in str(refused.value)


def cluster_variables() -> dict[str, str]:
    """The environment of a cluster that has a token of its own, and of those who join it."""
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 32, "POLARS_MAX_THREADS": "1"}
    return {**os.environ, **own}  # noqa: TID251


@pytest.fixture
def head() -> Iterator[str]:
    """The address of a Ray that somebody else has started on this machine, as a cluster is: a process of its own."""
    address = f"127.0.0.1:{find_free_port()}"
    host, _, port = address.partition(":")
    # Not the folder of the test: the names of Ray's sockets would be too long in it.
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        where = ["--node-ip-address", host, "--port", port, "--temp-dir", folder]
        small = ["--num-cpus", "1", "--object-store-memory", str(100 * 2**20), "--include-dashboard", "false"]
        command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--disable-usage-stats"]
        with subprocess.Popen(
            [*command, *where, *small],
            env=cluster_variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as started:
            try:
                assert started.stdout
                printed = []
                for line in started.stdout:
                    printed.append(line)
                    if "Ray runtime started" in line:
                        break
                else:
                    pytest.fail("".join(printed))
                yield address
            finally:
                started.terminate()  # and all that it has started
                started.communicate(timeout=60)


def find_free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return int(any_port.getsockname()[1])


def test_a_running_ray_is_joined_by_its_address(head: str, shards: list[Path]) -> None:
    """By a command of its own: this process may be connected to another Ray."""
    words = ("score", str(shards[0].parent), "--probe", "hiring_an", "--sample", "60", "--repeat", "2", "--json")
    scored = subprocess.run(
        [sys.executable, "-m", "equipoise", *words, "--engine", f"ray:{head}"],
        env=cluster_variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert scored.returncode == 0, scored.stderr
    expected = score_shards(plan(HIRING, **SAMPLE), shards).result().to_dict()
    assert json.loads(scored.stdout) == {"schema": SCORE, **json.loads(json.dumps(expected))}


@pytest.mark.fault("P34")
def test_an_address_where_nobody_listens_is_refused_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(EndpointError, match=f"Ray cannot be reached at {address}: "):
            engine._check_reachable(address)


@pytest.mark.fault("P34")
def test_an_address_that_is_not_ray_is_refused_at_once() -> None:
    with FaultyServer() as server, pytest.raises(EndpointError, match="is not Ray"):
        engine._check_reachable(f"127.0.0.1:{server.port}")


@pytest.mark.fault("P34")
def test_an_address_that_never_answers_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SECONDS_TO_CONNECT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(EndpointError, match="timed out"):
        engine._check_reachable(f"127.0.0.1:{silent.getsockname()[1]}")


def test_without_ray_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'equipoise\[ray\]'"):
        engine.score_shards(plan(HIRING, **SAMPLE), [])
