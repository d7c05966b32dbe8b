"""Measure a piece of work: wall seconds, CPU seconds, and the peak memory of its process.

Standard library only, so that a peer's environment can import it too.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def measure_time(result: dict[str, Any], name: str = "") -> Iterator[None]:
    """Store the wall and CPU seconds of a block in `result`: `wall` and `cpu`, or `{name}_wall` and `{name}_cpu`."""
    prefix = f"{name}_" if name else ""
    wall, cpu = time.perf_counter(), _cpu_seconds()
    yield
    result[f"{prefix}wall"], result[f"{prefix}cpu"] = time.perf_counter() - wall, _cpu_seconds() - cpu


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
