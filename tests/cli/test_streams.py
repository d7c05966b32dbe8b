"""Who reads the output, and where it goes, changes neither the work nor the exit code. Real pipes, real processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import equipoise
from answering import answer
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
EXIT = {GATE: 7}
"""The exit codes that are not 0."""


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


def shell(folder: Path, line: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash, in which `equipoise` is the command of this source."""
    return subprocess.run(
        ["bash", "-c", f'equipoise() {{ "{sys.executable}" -m equipoise "$@"; }}\n{line}'],
        cwd=folder,
        env={**environment(), "OPENAI_API_KEY": KEY, **environ},
        capture_output=True,
        timeout=120,
        check=False,
    )


def assert_in_order(done: subprocess.CompletedProcess[bytes]) -> None:
    """No traceback, and nothing that Python or a library says when they end in disorder."""
    for word in (b"Traceback", b"Exception ignored", b"panicked", b"Broken pipe", b"Aborted"):
        assert word not in done.stderr, done.stderr.decode()


@pytest.mark.fault("P15")
@pytest.mark.parametrize(("words", "reader"), [(GATE, "head -1"), (EXPORT, "true"), ("prompts jobs_lum", "head -1")])
def test_a_reader_that_goes_away_changes_no_exit_code(words: str, reader: str, folder: Path) -> None:
    done = shell(folder, f"equipoise {words} | {reader} >/dev/null; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == EXIT.get(words, 0), done.stderr.decode()
    assert_in_order(done)
    if words == GATE:
        assert (folder / "gate.xml").exists()


@pytest.mark.fault("P15")
def test_a_reader_that_is_gone_before_anything_is_written(folder: Path) -> None:
    # `head -1` may read all of a short output before it goes. Here the first write fails for certain.
    done = shell(folder, f"(sleep 3; equipoise {GATE}) 2>&1 | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 7
    assert (folder / "gate.xml").exists()


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer() as server:
        yield server


def run_words(server: FaultyServer, *options: str) -> str:
    """A small run against this server."""
    sample = f"--probe jobs_lum --sample {PROMPTS} --out new.equipoise"
    return " ".join(["run openai/test --base-url", server.url, sample, *options])


@pytest.mark.fault("P15")
def test_a_run_asks_everything_although_nobody_reads(server: FaultyServer, tmp_path: Path) -> None:
    line = run_words(server, "--report new.html")
    done = shell(tmp_path, f"equipoise {line} 2>&1 | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 0
    assert Run.open(tmp_path / "new.equipoise").counts[Status.OK] == PROMPTS
    assert (tmp_path / "new.html").exists()


@pytest.mark.fault("P15")
def test_resuming_keeps_its_exit_code_and_writes_its_report(tmp_path: Path) -> None:
    with FaultyServer(always(Fault.EMPTY_CONTENT)) as server:
        shell(tmp_path, f"equipoise {run_words(server, '--max-requests 3')}")
        url = f"--base-url {server.url}"
        done = shell(
            tmp_path, f"equipoise resume new.equipoise {url} --report new.html | true; exit ${{PIPESTATUS[0]}}"
        )
    assert done.returncode == 3, done.stderr.decode()
    run = Run.open(tmp_path / "new.equipoise")
    assert run.ended == run.size
    assert not run.complete  # no attempt has an answer
    assert (tmp_path / "new.html").exists()
    assert_in_order(done)


@pytest.mark.fault("P16")
@pytest.mark.parametrize("words", [GATE, EXPORT, f"{EXPORT} --format parquet", "probes"])
def test_a_full_device_is_told_and_ends_with_exit_5(words: str, folder: Path) -> None:
    done = shell(folder, f"equipoise {words} > /dev/full")
    assert done.returncode == EXIT.get(words, 5)
    assert done.stderr.count(b"error: The output cannot be written: No space left on device.") == 1
    assert_in_order(done)
    if words == GATE:
        assert (folder / "gate.xml").exists()


@pytest.mark.fault("P16")
@pytest.mark.parametrize(
    ("words", "closed"),
    [(GATE, "<&- >&- 2>&-"), (GATE, "2>/dev/full"), (EXPORT, "2>&-"), ("show run.equipoise", ">&-")],
)
def test_closed_streams_change_nothing_else(words: str, closed: str, folder: Path) -> None:
    before = (folder / "run.equipoise").read_bytes()
    done = shell(folder, f"equipoise {words} {closed}")
    assert done.returncode == EXIT.get(words, 0)
    assert_in_order(done)
    assert (folder / "run.equipoise").read_bytes() == before


@pytest.mark.fault("P16")
def test_a_run_with_closed_streams_is_whole(server: FaultyServer, tmp_path: Path) -> None:
    done = shell(tmp_path, f"equipoise {run_words(server)} <&- >&- 2>&-")
    assert done.returncode == 0
    assert Run.open(tmp_path / "new.equipoise").counts[Status.OK] == PROMPTS


ENCODINGS: list[dict[str, str]] = [
    {"PYTHONIOENCODING": "cp1252"},
    {"PYTHONIOENCODING": "ascii:strict"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.fault("P17")
@pytest.mark.parametrize("environ", ENCODINGS, ids=lambda environ: next(iter(environ.values())))
@pytest.mark.parametrize("words", [GATE, "show run.equipoise --slices"])
def test_what_an_encoding_lacks_is_written_in_another_way(words: str, environ: dict[str, str], folder: Path) -> None:
    done = shell(folder, f"equipoise {words}", **environ)
    assert done.returncode == EXIT.get(words, 0), done.stderr.decode()
    assert_in_order(done)
    if words.startswith("show"):
        text = done.stdout.decode("latin-1")
        assert "-o-" in text or "--o" in text or "o--" in text
        assert "\\u" not in text


@pytest.mark.fault("P17")
def test_a_run_ends_well_where_the_terminal_is_not_utf_8(server: FaultyServer, tmp_path: Path) -> None:
    done = shell(tmp_path, f"equipoise {run_words(server)} > out.txt", PYTHONIOENCODING="cp1252")
    assert done.returncode == 0, done.stderr.decode("latin-1")
    assert "masculine_rate" in (tmp_path / "out.txt").read_text("cp1252")


@pytest.mark.fault("P18")
@pytest.mark.parametrize("words", [GATE, f"{EXPORT} --format parquet -o out.parquet"])
def test_twelve_file_descriptors_are_enough(words: str, folder: Path) -> None:
    done = shell(folder, f"ulimit -n 12; equipoise {words}")
    assert done.returncode == EXIT.get(words, 0), done.stderr.decode()
    assert_in_order(done)


@pytest.mark.fault("P18")
@pytest.mark.parametrize("words", [GATE, "report run.equipoise -o report.html"])
def test_three_gigabytes_of_address_space_are_enough(words: str, folder: Path) -> None:
    done = shell(folder, f"ulimit -v 3000000; equipoise {words}")
    assert done.returncode == EXIT.get(words, 0), done.stderr.decode()
    assert_in_order(done)


@pytest.mark.fault("U5")
@pytest.mark.parametrize("words", ["run openai/x --probe jobs_lum --out /dev/stdout", "import a.csv --out /dev/null"])
def test_a_device_is_no_run_file(words: str, folder: Path) -> None:
    done = shell(folder, f"equipoise {words} > out.txt")
    assert done.returncode == 2, done.stderr.decode()
    assert b"no regular file" in done.stderr


@pytest.mark.fault("U5")
def test_a_report_to_stdout_does_not_replace_the_device(folder: Path) -> None:
    done = shell(folder, "equipoise export run.equipoise -o /dev/stdout > out.csv")
    assert done.returncode == 0, done.stderr.decode()
    assert (folder / "out.csv").read_text().startswith("model,probe,metric")
    assert Path("/dev/stdout").is_symlink()


NOT_TEXT: list[Callable[[bytes], list[Any]]] = [
    lambda odd: ["show", odd],
    lambda odd: ["run", "openai/x", "--system", odd],
]


@pytest.mark.fault("U11")
@pytest.mark.parametrize("words", NOT_TEXT)
def test_words_that_are_not_text_are_refused(words: Callable[[bytes], list[Any]], folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", *words(b"caf\xe9")], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert b"is not text in the encoding of this system" in done.stderr
    assert_in_order(done)
