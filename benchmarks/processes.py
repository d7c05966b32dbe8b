"""Run benchmark jobs in separate processes, install the peers, and format the results as Markdown.

Standard library only, so that a peer's environment can import it, too.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUR_PYTHON = Path(sys.executable)


def run_job(python: Path, module: str, *arguments: object, variables: dict[str, str] | None = None) -> Any:
    """Run `python -m module arguments`, with these variables in its environment; return the JSON of its last line."""
    command = [str(python), "-m", module, *map(str, arguments)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", **(variables or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def time_command(command: Sequence[str], variables: dict[str, str]) -> float:
    """Run a command that must succeed; return its CPU seconds."""
    before = _cpu_seconds()
    subprocess.run(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return _cpu_seconds() - before


def installed_versions(python: Path, packages: Iterable[str]) -> str:
    """The packages with their versions in an environment, as in "numpy 2.1, polars 1.36"."""
    code = "import sys, importlib.metadata as m; print(', '.join(f'{p} {m.version(p)}' for p in sys.argv[1:]))"
    return subprocess.run([python, "-c", code, *packages], capture_output=True, text=True, check=True).stdout.strip()


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table. Columns of numbers stand to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    numeric = [all(re.match(r"[-–\d]|$", cell) for cell in column) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(" ---: " if right else " --- " for right in numeric) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in cells)])


def write_block(page: Path, name: str, text: str) -> None:
    """Put a text between the two comments of this name in a page."""
    written = page.read_text(encoding="utf-8")
    before, begin, rest = written.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- /{name} -->")
    if not (begin and end):
        raise SystemExit(f"{page.name} has no place for {name!r}")
    page.write_text(f"{before}{begin}{text}\n{end}{after}", encoding="utf-8")


def format_seconds(value: float) -> str:
    """Seconds with three significant digits: 312 s, 1.52 s, 0.0183 s."""
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"


def format_ratio(value: float) -> str:
    """A ratio: 312×, 4.2×."""
    return f"{value:,.0f}×" if value >= 20 else f"{value:.2g}×" if value < 10 else f"{value:.3g}×"


def log(text: str) -> None:
    """Print a line of progress to stderr, with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


@contextmanager
def measure_time() -> Iterator[dict[str, Any]]:
    """Measure a block: `wall` and `cpu` are its seconds, once it has ended."""
    cost: dict[str, Any] = {}
    wall, cpu = time.perf_counter(), _cpu_seconds()
    yield cost
    cost |= {"wall": time.perf_counter() - wall, "cpu": _cpu_seconds() - cpu}


def _cpu_seconds() -> float:
    """CPU seconds of this process, its threads and the child processes that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def print_result(result: dict[str, Any]) -> None:
    """Print the result of a job and the peak memory of this process, as one line of JSON."""
    result["peak_mb"] = _peak_mb()
    sys.stdout.write(json.dumps(result) + "\n")


def _peak_mb() -> float:
    """Peak resident memory of this process in MB."""
    # Not ru_maxrss: a child inherits it from its parent, so a large parent would hide a small child.
    peak = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), flags=re.MULTILINE)
    assert peak is not None
    return int(peak[1]) / 1024
