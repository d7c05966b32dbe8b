"""Many large answers at once need bounded memory (docs/faults.md, E15)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.runs.file.reader import RunReader
from equipoise.schema import Status
from runs.fakes import create, plan
from runs.killable import TESTS
from serving.raw import RawServer, completion, with_length

ANSWER_BYTES = 10 * 2**20
AT_ONCE = 24
MOST_MEGABYTES = 200
"""Beyond what the process needs before it asks: less than all answers together."""


@pytest.mark.fault("E15")
@pytest.mark.skipif(os.name != "posix", reason="needs the peak memory of a process")
def test_large_answers_at_once_need_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    create(path, plan(size=AT_ONCE)).close()
    response = with_length(completion("ab cd " * (ANSWER_BYTES // 6)))
    with RawServer(lambda prompt: [response]) as server:
        command = [sys.executable, "-m", "runs.large_child", str(path), server.url, str(AT_ONCE)]
        output = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=True).stdout
    before, after = map(int, output.split())
    with RunReader.open(path) as run:
        assert run.counts()[Status.OK] == AT_ONCE
    assert after - before < MOST_MEGABYTES
