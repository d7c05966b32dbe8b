"""Shards scored on Ray: the numbers of one process, bit for bit, even if a worker is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from calling import exit_code
from equipoise.answers.shards import score_shards
from equipoise.authoring import Probe
from equipoise.engines import ray as engine
from equipoise.errors import BadFile, EndpointError, InputError, StorageError
from equipoise.measuring.partials import Partial
from equipoise.measuring.plan import Plan, plan
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, ID, REPETITION, text_column
from serving.faulty import FaultyServer

ray: Any = pytest.importorskip("ray")
pytestmark = pytest.mark.xdist_group("ray")
SAMPLE: dict[str, Any] = {"sample": 60, "repeat": 2}
HIRING = get_probe("hiring_an")
SCORE = "equipoise/score/1"


@pytest.fixture
def cluster(head: str) -> Iterator[None]:
    """A connection to Ray that is there before; it ends with the test, whatever test is next."""
    with engine._connect(ray, head):
        yield


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
    head: str, shards: list[Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("score", str(shards[0].parent), "--probe", "hiring_an", "--sample", "60", "--repeat", "2", "--json")
    assert exit_code(monkeypatch, *words, "--engine", f"ray:{head}") == 0
    assert not ray.is_initialized()
    expected = equipoise.score("hiring_an", pl.concat([pl.read_parquet(path) for path in shards]), **SAMPLE)
    assert json.loads(capfd.readouterr().out) == {"schema": SCORE, **json.loads(json.dumps(expected.to_dict()))}
    assert Partial.sum(score_shards(plan(HIRING, **SAMPLE), shards)).result().to_dict() == expected.to_dict()


def test_each_file_gives_a_partial_and_all_of_them_the_whole_result(cluster: None, shards: list[Path]) -> None:
    planned = plan(HIRING, **SAMPLE)
    scored = list(engine.score_shards(planned, shards))
    assert len(scored) == len(shards)
    read = [partial.values.matching.read for partial in scored]
    assert sorted(read) == sorted(pl.read_parquet(path).height for path in shards)
    answers = pl.concat([pl.read_parquet(path) for path in shards])
    expected = equipoise.score("hiring_an", answers, **SAMPLE)
    assert Partial.sum(scored).result().to_dict() == expected.to_dict()


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
    total = Partial.sum(engine.score_shards(planned, shards))
    assert marker.exists()
    assert total.values.matching.read == planned.attempts().height
    assert ray.is_initialized(), "a Ray that was there before is left as it is"
    assert total.result().to_dict() == Partial.sum(score_shards(planned, shards)).result().to_dict()
    assert total.setup == planned.setup


def test_a_task_that_always_kills_its_worker_is_given_up(
    cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "TRIES", 1)
    planned = plan(deadly(tmp_path / "killed", once=False), **SAMPLE)
    shards = write_shards(planned, tmp_path / "answers", " There was poison.")
    with pytest.raises(StorageError, match="Ray lost a task 1 times, and it was given up"):
        next(engine.score_shards(planned, shards[:1]))


def test_a_wrong_file_is_named_as_in_one_process(cluster: None, shards: list[Path]) -> None:
    shards[3].write_text("no Parquet")
    with pytest.raises(BadFile, match=r"3\.parquet cannot be read as Parquet") as refused:
        list(engine.score_shards(plan(HIRING, **SAMPLE), shards))
    assert "Traceback" not in str(refused.value)


@pytest.mark.fault("P34")
def test_an_address_where_nobody_listens_is_refused_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(EndpointError, match=f"Ray cannot be reached at {address}: "):
            engine._check_reachable(address)


@pytest.mark.fault("P34")
def test_an_address_that_is_not_ray_is_refused_at_once() -> None:
    with FaultyServer() as other, pytest.raises(EndpointError, match="is not Ray"):
        engine._check_reachable(f"127.0.0.1:{other.port}")


@pytest.mark.fault("P34")
def test_an_address_that_never_answers_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SECONDS_TO_CONNECT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(EndpointError, match="timed out"):
            engine._check_reachable(f"127.0.0.1:{port}")


def test_without_ray_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'equipoise\[ray\]'"):
        next(engine.score_shards(plan(HIRING, **SAMPLE), []))
