"""Who reads the output, and where it goes, changes neither the work nor the exit code. Real pipes, real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import equipoise
from answering import answer
from calling import Command
from equipoise.runs.run import Run
from equipoise.schema import Status
from equipoise.settings import environment
from serving.asking import KEY
from serving.faulty import FaultyServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs /dev/full and a shell")
PROMPTS = 12
GATE = "gate run.equipoise --max masculine_rate=0.0001 --junit gate.xml"
EXPORT = "export run.equipoise --what attempts"
DISORDER = (b"Traceback", b"Exception ignored", b"panicked", b"Broken pipe", b"Aborted")
"""What Python or a library says when they end in disorder."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A finished run file."""
    path = tmp_path_factory.mktemp("streams") / "run.equipoise"
    equipoise.audit(answer, probes=["jobs_lum"], out=path, sample=60)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path: Path, finished: bytes) -> Path:
    """A folder with a finished run file."""
    (tmp_path / "run.equipoise").write_bytes(finished)
    return tmp_path


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


def ask_server(folder: Path, options: str, **environ: str) -> int:
    """The exit code of a small run."""
    with FaultyServer() as server:
        words = f"run openai/test --base-url {server.url} --probe jobs_lum --sample {PROMPTS} --out new.equipoise"
        code = shell(folder, f"equipoise {words} {options}", **environ).returncode
    assert Run.open(folder / "new.equipoise").counts[Status.OK] == PROMPTS
    return code


@pytest.mark.fault("P15")
@pytest.mark.parametrize(("words", "code"), [(f"{GATE} 2>&1", 7), (EXPORT, 0)])
def test_a_reader_that_is_gone_changes_no_exit_code(words: str, code: int, folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = shell(folder, f"equipoise {words}", stdout=write)
    os.close(write)
    assert done.returncode == code, done.stderr.decode()
    assert (folder / "gate.xml").exists() == (code == 7)


@pytest.mark.fault("P15", "P16")
@pytest.mark.parametrize("where", ["2>&1 | true; exit ${PIPESTATUS[0]}", "<&- >&- 2>&-"])
def test_a_run_asks_everything_although_nobody_reads(where: str, tmp_path: Path) -> None:
    assert ask_server(tmp_path, f"--report new.html {where}") == 0
    assert (tmp_path / "new.html").exists()


@pytest.mark.fault("P16")
@pytest.mark.parametrize(("words", "code"), [(GATE, 7), (f"{EXPORT} --format parquet", 5)])
def test_a_full_device_is_told_and_ends_with_exit_5(words: str, code: int, folder: Path) -> None:
    done = shell(folder, f"equipoise {words} > /dev/full")
    assert done.returncode == code
    assert done.stderr.count(b"error: The output cannot be written: No space left on device.") == 1
    assert (folder / "gate.xml").exists() == (code == 7)


@pytest.mark.fault("P16")
@pytest.mark.parametrize(("words", "code"), [(f"{GATE} 2>/dev/full", 7), ("show run.equipoise >&-", 0)])
def test_closed_streams_change_nothing_else(words: str, code: int, folder: Path) -> None:
    before = (folder / "run.equipoise").read_bytes()
    assert shell(folder, f"equipoise {words}").returncode == code
    assert (folder / "run.equipoise").read_bytes() == before


@pytest.mark.fault("P17")
@pytest.mark.parametrize(
    "environ",
    [{"PYTHONIOENCODING": "ascii:strict"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["ascii", "C"],
)
def test_what_an_encoding_lacks_is_written_in_another_way(environ: dict[str, str], folder: Path) -> None:
    done = shell(folder, "equipoise show run.equipoise --slices", **environ)
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode("ascii")
    assert "-o-" in text or "--o" in text or "o--" in text
    assert "\\u" not in text


@pytest.mark.fault("P17")
def test_a_run_ends_well_where_the_terminal_is_not_utf_8(tmp_path: Path) -> None:
    assert ask_server(tmp_path, "> out.txt", PYTHONIOENCODING="cp1252") == 0
    assert "masculine_rate" in (tmp_path / "out.txt").read_text("cp1252")


@pytest.mark.fault("P18")
@pytest.mark.parametrize(
    ("limit", "words", "code"), [("-n 12", GATE, 7), ("-v 3000000", "report run.equipoise -o report.html", 0)]
)
def test_small_limits_of_the_system_are_enough(limit: str, words: str, code: int, folder: Path) -> None:
    done = shell(folder, f"ulimit {limit}; equipoise {words}")
    assert done.returncode == code, done.stderr.decode()


@pytest.mark.fault("U5")
@pytest.mark.parametrize("words", ["run openai/x --probe jobs_lum --out /dev/stdout", "import a.csv --out /dev/null"])
def test_a_device_is_no_run_file(words: str, command: Command) -> None:
    outcome = command(*words.split())
    assert (outcome.code, "no regular file" in outcome.err) == (2, True)


@pytest.mark.fault("U5")
def test_a_table_to_stdout_does_not_replace_the_device(folder: Path, command: Command) -> None:
    outcome = command("export", folder / "run.equipoise", "-o", "/dev/stdout")
    assert (outcome.code, outcome.out[:18]) == (0, "model,probe,metric")
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.fault("U11")
@pytest.mark.parametrize("words", [["show"], ["run", "openai/x", "--system"]])
def test_words_that_are_not_text_are_refused(words: list[str], command: Command) -> None:
    outcome = command(*words, os.fsdecode(b"caf\xe9"))
    assert (outcome.code, "is not text in the encoding of this system" in outcome.err) == (2, True)
