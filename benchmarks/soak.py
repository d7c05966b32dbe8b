"""A long run against a server that fails one request in ten: is every answer stored with its prompt? Does memory grow?

    python benchmarks/soak.py             100,000 requests
    python benchmarks/soak.py 20000

The server runs in a process of its own (`tests/serving/faulty.py`). Its answers carry a keyed hash of their prompt.
Memory is the resident set of this process, sampled every second. What a request costs is measured by
`python -m benchmarks asking`.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import polars as pl

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from equipoise.models import connect  # noqa: E402
from equipoise.runs.ask.events import RunProgress  # noqa: E402
from equipoise.runs.ask.policy import Policy  # noqa: E402
from equipoise.runs.ask.pump import pump  # noqa: E402
from equipoise.runs.file.reader import RunReader  # noqa: E402
from equipoise.runs.file.store import RunFile  # noqa: E402
from equipoise.schema import ANSWER, ID, PROMPT, STATUS, Status  # noqa: E402
from runs.fakes import SETTINGS, plan  # noqa: E402
from serving.faulty import seal  # noqa: E402

FAULTS = (
    "reset=0.02,short_body=0.01,server_500=0.02,html_502=0.01,unavailable_503=0.01,invalid_json=0.02,"
    "rate_limit_milliseconds=0.01"
)
CONCURRENCY = 16


@contextmanager
def serving(faults: str) -> Iterator[str]:
    """Start the server in a process of its own; give its base URL."""
    command = [sys.executable, "-m", "serving.faulty", "--faults", faults, "--wait", "0.02"]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        process.terminate()


class Memory:
    """Samples the resident set of this process every second."""

    def __init__(self) -> None:
        self.samples: list[float] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._end.set()
        self._thread.join()

    def _sample(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._end.wait(1.0):
            self.samples.append(int(Path("/proc/self/statm").read_text().split()[1]) * page / 2**20)


def fill_run_file(path: Path, url: str, size: int) -> tuple[RunProgress, float]:
    """Fill a new run file; return its progress at the end and the seconds it took."""
    model = connect("openai/test-model", base_url=url, environ={"OPENAI_API_KEY": "sk-soak-0123456789"})
    policy = Policy(concurrency=CONCURRENCY, first_backoff=0.01, longest_backoff=0.2)
    with RunFile.create(path, settings=SETTINGS, plans=[plan("alpha", size)]) as run:
        start = time.monotonic()
        progress = asyncio.run(pump(run, model, policy))
        return progress, time.monotonic() - start


def count_misattributed(path: Path) -> int:
    """Count the answers that are stored with a prompt they do not belong to."""
    with RunReader.open(path) as run:
        texts = dict(run.prompts("alpha").select(ID, PROMPT).iter_rows())
        return sum(
            seal(texts[prompt]) not in (answer or "")
            for frame in run.attempts("alpha")
            for prompt, answer in frame.filter(pl.col(STATUS) == "ok").select(ID, ANSWER).iter_rows()
        )


def main() -> int:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "soak.db"
        with serving(FAULTS) as url, Memory() as memory:
            progress, wall = fill_run_file(path, url, size)
        states = {str(status): n for status, n in progress.counts.items() if n}
        misattributed = count_misattributed(path)
        print(f"prompts {size:,}, requests {progress.requests:,}, {progress.requests / wall:,.0f} per second")
        print(f"states {states}")
        print(f"answers attributed to another prompt: {misattributed}")
        tenth = max(1, len(memory.samples) // 10)
        print("resident memory, MB: " + " ".join(f"{sample:.0f}" for sample in memory.samples[::tenth]))
        middle, last = memory.samples[len(memory.samples) // 2], memory.samples[-1]
        print(f"from the middle to the end: {last - middle:+.1f} MB")
    return int(misattributed > 0 or progress.counts[Status.PENDING] > 0)


if __name__ == "__main__":
    sys.exit(main())
