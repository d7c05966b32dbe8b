"""What a piece of work costs: seconds, CPU seconds, and the most memory its process held.

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
def clocked(into: dict[str, Any], name: str = "") -> Iterator[None]:
    """Put the wall and CPU seconds of the block into `into`, as `wall` and `cpu`, or `{name}_wall` and `{name}_cpu`."""
    prefix = f"{name}_" if name else ""
    wall, cpu = time.perf_counter(), _cpu()
    yield
    into[f"{prefix}wall"], into[f"{prefix}cpu"] = time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    """CPU seconds of this process, its threads and the children it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def report(found: dict[str, Any]) -> None:
    """End a job: print what it found, and the most memory it held, as one line of JSON."""
    found["peak_mb"] = _peak()
    sys.stdout.write(json.dumps(found) + "\n")


def _peak() -> float:
    """The most memory this process held, in MB. A process inherits `ru_maxrss` from the one that started it, and a
    large parent would hide a small child: the kernel's own mark for the program is asked for instead."""
    mark = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), flags=re.MULTILINE)
    assert mark is not None
    return int(mark[1]) / 1024
