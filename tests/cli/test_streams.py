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
from serving.asking import KEY, always
from serving.faults import Fault
from serving.faulty import FaultyServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs /dev/full and a shell")
PROMPTS = 12
GATE = "gate run.equipoise --max masculine_rate=0.0001 --junit gate.xml"
EXPORT = "export run.equipoise --what attempts"
DISORDER = (b"Traceback", b"Exception ignored", b"panicked", b"Broken pipe", b"Aborted")
"""What Python or a library says when they end in disorder."""


def shell(
    folder: Path,
    line: str,
    stdout: Any = subprocess.PIPE,
    **environ: Any,
) -> subprocess.CompletedProcess[bytes]:
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


READ_IN_PART = [
    pytest.param(GATE, "head -1", 7, id="gate"),
    pytest.param(EXPORT, "true", 0, id="export"),
    pytest.param("prompts jobs_lum", "head -1", 0, id="prompts"),
]


@pytest.mark.fault("P15")
@pytest.mark.parametrize(("words", "reader", "code"), READ_IN_PART)
def test_a_reader_that_goes_away_changes_no_exit_code(
    words: str,
    reader: str,
    code: int,
    small: Path,
) -> None:
    line = f"equipoise {words} | {reader} >/dev/null; exit ${{PIPESTATUS[0]}}"
    assert shell(small.parent, line).returncode == code


@pytest.mark.fault("P15")
def test_a_reader_that_is_gone_changes_no_exit_code(small: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = shell(small.parent, f"equipoise {GATE} 2>&1", stdout=write)
    os.close(write)
    assert done.returncode == 7, done.stderr.decode()
    assert small.with_name("gate.xml").exists()


def run_words(server: FaultyServer, *options: str) -> str:
    """A small run against this server."""
    where = f"--base-url {server.url} --probe jobs_lum --sample {PROMPTS} --out new.equipoise"
    return " ".join(["equipoise run openai/test", where, *options])


@pytest.mark.fault("P15")
def test_a_run_asks_everything_although_nobody_reads(tmp_path: Path) -> None:
    with FaultyServer() as server:
        line = run_words(server, "--report new.html")
        done = shell(tmp_path, f"{line} 2>&1 | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 0
    assert Run.open(tmp_path / "new.equipoise").counts[Status.OK] == PROMPTS
    assert (tmp_path / "new.html").exists()


@pytest.mark.fault("P15")
def test_resuming_keeps_its_exit_code_and_writes_its_report_although_nobody_reads(
    tmp_path: Path,
) -> None:
    with FaultyServer(always(Fault.EMPTY_CONTENT)) as server:
        shell(tmp_path, run_words(server, "--max-requests 3"))
        words = f"resume new.equipoise --base-url {server.url} --report new.html"
        done = shell(tmp_path, f"equipoise {words} | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 3, done.stderr.decode()
    counts = Run.open(tmp_path / "new.equipoise").counts
    assert counts.ended == counts.planned == PROMPTS
    assert counts[Status.EMPTY] == PROMPTS
    assert (tmp_path / "new.html").exists()


@pytest.mark.fault("P16")
def test_a_run_with_closed_streams_is_whole(tmp_path: Path) -> None:
    with FaultyServer() as server:
        line = run_words(server, "--report new.html")
        assert shell(tmp_path, f"{line} <&- >&- 2>&-").returncode == 0
    assert Run.open(tmp_path / "new.equipoise").counts[Status.OK] == PROMPTS
    assert (tmp_path / "new.html").exists()


FULL = [(GATE, 7), (EXPORT, 5), (f"{EXPORT} --format parquet", 5), ("probes", 5)]


@pytest.mark.fault("P16")
@pytest.mark.parametrize(("words", "code"), FULL, ids=["gate", "csv", "parquet", "text"])
def test_a_full_device_is_told_and_ends_with_exit_5_unless_the_verdict_has_a_code(
    words: str,
    code: int,
    small: Path,
) -> None:
    done = shell(small.parent, f"equipoise {words} > /dev/full")
    assert done.returncode == code
    told = b"error: The output cannot be written: No space left on device."
    assert done.stderr.count(told) == 1
    assert small.with_name("gate.xml").exists() == (words == GATE)


CLOSED = [
    (GATE, "<&- >&- 2>&-", 7),
    (GATE, "2>/dev/full", 7),
    (EXPORT, "2>&-", 0),
    ("show run.equipoise", ">&-", 0),
]


@pytest.mark.fault("P16")
@pytest.mark.parametrize(("words", "closed", "code"), CLOSED)
def test_closed_streams_change_nothing_else(
    words: str,
    closed: str,
    code: int,
    small: Path,
) -> None:
    before = small.read_bytes()
    assert shell(small.parent, f"equipoise {words} {closed}").returncode == code
    assert small.read_bytes() == before


ENCODINGS: list[tuple[dict[str, str], bytes]] = [
    ({"PYTHONIOENCODING": "cp1252"}, b"\xb7"),
    ({"PYTHONIOENCODING": "ascii:strict"}, b"\\xb7"),
    ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, b"\\xb7"),
]
"""Encodings, each with what it makes of a middle dot."""


@pytest.mark.fault("P17")
@pytest.mark.parametrize(("environ", "dot"), ENCODINGS, ids=["cp1252", "ascii", "C"])
def test_what_an_encoding_lacks_is_written_in_another_way(
    environ: dict[str, str],
    dot: bytes,
    small: Path,
) -> None:
    done = shell(small.parent, "equipoise show run.equipoise --all", **environ)
    assert done.returncode == 0, done.stderr.decode()
    assert b"jobs_lum v2 " + dot + b" Characters by occupation" in done.stdout


@pytest.mark.fault("P17")
def test_a_run_ends_well_where_the_terminal_is_not_utf_8(tmp_path: Path) -> None:
    with FaultyServer() as server:
        line = f"{run_words(server)} > out.txt"
        done = shell(tmp_path, line, PYTHONIOENCODING="cp1252")
    assert done.returncode == 0, done.stderr.decode("latin-1")
    assert "masculine_rate" in (tmp_path / "out.txt").read_text("cp1252")


@pytest.mark.fault("P17")
@pytest.mark.parametrize(
    "environ",
    [environ for environ, _ in ENCODINGS],
    ids=["cp1252", "ascii", "C"],
)
def test_a_verdict_keeps_its_exit_code_whatever_the_encoding_lacks(
    environ: dict[str, str],
    small: Path,
) -> None:
    done = shell(small.parent, f"equipoise {GATE}", **environ)
    assert done.returncode == 7, done.stderr.decode("latin-1")
    assert done.stdout.startswith(b"FAILED: ")


LIMITED = [
    (GATE, 7),
    (f"{EXPORT} --format parquet -o out.parquet", 0),
    ("report run.equipoise -o report.html", 0),
]


@pytest.mark.fault("P18")
@pytest.mark.parametrize(("words", "code"), LIMITED, ids=["gate", "export", "report"])
def test_twelve_file_descriptors_and_three_gigabytes_are_enough(
    words: str,
    code: int,
    small: Path,
) -> None:
    done = shell(small.parent, f"ulimit -n 12; ulimit -v 3000000; equipoise {words}")
    assert done.returncode == code, done.stderr.decode()


DEVICES = [
    ["run", "openai/x", "--probe", "jobs_lum", "--out", "/dev/stdout"],
    ["import", "a.csv", "--out", "/dev/null"],
]


@pytest.mark.fault("U5")
@pytest.mark.parametrize("words", DEVICES, ids=["run", "import"])
def test_a_device_is_no_run_file(words: list[str], keyed: Command) -> None:
    outcome = keyed(*words)
    assert outcome.code == 2
    assert "no regular file" in outcome.err
    assert Path("/dev/null").is_char_device()


@pytest.mark.fault("U5")
def test_a_table_for_stdout_does_not_replace_the_device(small: Path, command: Command) -> None:
    outcome = command("export", small, "-o", "/dev/stdout")
    assert (outcome.code, outcome.out[:18]) == (0, "model,probe,metric")
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.fault("U5")
def test_a_table_for_stdout_reaches_the_file_that_the_shell_opened(small: Path) -> None:
    done = shell(small.parent, "equipoise export run.equipoise -o /dev/stdout > out.csv")
    assert done.returncode == 0, done.stderr.decode()
    table = small.with_name("out.csv").read_text()
    assert table.startswith("model,probe,metric")


NOT_TEXT = os.fsdecode(b"caf\xe9")


@pytest.mark.fault("U11")
@pytest.mark.parametrize(
    "words",
    [["show", NOT_TEXT], ["run", "openai/x", "--system", NOT_TEXT]],
    ids=["file", "text"],
)
def test_words_that_are_not_text_are_refused(words: list[str], command: Command) -> None:
    outcome = command(*words)
    assert outcome.code == 2
    assert "is not text in the encoding of this system" in outcome.err
