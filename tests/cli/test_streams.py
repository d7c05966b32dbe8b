"""Who reads the output, and where it goes, changes neither the work nor the exit code. Real pipes, real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calling import Command
from equipoise.runs.run import Run
from equipoise.schema import Status
from equipoise.settings import environment
from serving.asking import KEY
from serving.faulty import FaultyServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs /dev/full and a shell")
PROMPTS = 12
GATE = "gate run.equipoise --max masculine_rate=0.0001 --junit gate.xml"
DISORDER = (b"Traceback", b"Exception ignored", b"panicked", b"Broken pipe", b"Aborted")
"""What Python or a library says when they end in disorder."""


def shell(folder: Path, line: str, stdout: Any = subprocess.PIPE, **environ: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash, in which `equipoise` is the command of this source."""
    done = subprocess.run(
        ["bash", "-c", f'equipoise() {{ "{sys.executable}" -m equipoise "$@"; }}\n{line}'],
        cwd=folder,
        env={**environment(), "OPENAI_API_KEY": KEY, **environ},
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    assert not [word for word in DISORDER if word in done.stderr], done.stderr.decode()
    return done


@pytest.mark.fault("P15")
def test_a_reader_that_is_gone_changes_no_exit_code(small: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = shell(small.parent, f"equipoise {GATE} 2>&1", stdout=write)
    os.close(write)
    assert done.returncode == 7, done.stderr.decode()
    assert small.with_name("gate.xml").exists()


@pytest.mark.fault("P15", "P16")
def test_a_run_asks_everything_although_nobody_reads(tmp_path: Path) -> None:
    with FaultyServer() as server:
        words = f"run openai/test --base-url {server.url} --probe jobs_lum --sample {PROMPTS} --out new.equipoise"
        assert shell(tmp_path, f"equipoise {words} --report new.html <&- >&- 2>&-").returncode == 0
    assert Run.open(tmp_path / "new.equipoise").counts[Status.OK] == PROMPTS
    assert (tmp_path / "new.html").exists()


@pytest.mark.fault("P16")
def test_a_full_device_is_told_and_ends_with_exit_5(small: Path) -> None:
    done = shell(small.parent, "equipoise export run.equipoise --what attempts --format parquet > /dev/full")
    assert done.returncode == 5
    assert done.stderr.count(b"error: The output cannot be written: No space left on device.") == 1


@pytest.mark.fault("P17", "P18")
def test_small_limits_are_enough_and_what_an_encoding_lacks_is_written_in_another_way(small: Path) -> None:
    line = "ulimit -n 12; ulimit -v 3000000; equipoise show run.equipoise --all"
    done = shell(small.parent, line, PYTHONIOENCODING="ascii:strict")
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode("ascii")
    assert "jobs_lum v2 \\xb7 Characters by occupation" in text


@pytest.mark.fault("U5")
def test_a_device_is_no_run_file_and_not_replaced_by_a_table(small: Path, command: Command) -> None:
    outcome = command("import", "a.csv", "--out", "/dev/null")
    assert (outcome.code, "no regular file" in outcome.err) == (2, True)
    outcome = command("export", small, "-o", "/dev/stdout")
    assert (outcome.code, outcome.out[:18]) == (0, "model,probe,metric")
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.fault("U11")
def test_words_that_are_not_text_are_refused(command: Command) -> None:
    outcome = command("run", "openai/x", "--system", os.fsdecode(b"caf\xe9"))
    assert (outcome.code, "is not text in the encoding of this system" in outcome.err) == (2, True)
