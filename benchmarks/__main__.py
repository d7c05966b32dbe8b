"""Measure, print, and write down: `python -m benchmarks [--quick] [--write] [PART …]`.

Each part gives a Markdown text. With --write it replaces that part of docs/benchmarks.md, between its two marks, and
the date, the machine and the versions are written with it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sqlite3
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks.harness import OURS, ROOT, Unavailable, say, versions

PARTS = ("marks", "scale", "asking", "store", "start", "report")
QUICK = ("marks", "asking", "start")
LIBRARIES = ("equipoise", "polars", "numpy", "aiohttp", "orjson")
PAGE = ROOT / "docs" / "benchmarks.md"


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all, if none is named")
    parser.add_argument("--quick", action="store_true", help=f"small sizes; by default {', '.join(QUICK)}")
    parser.add_argument("--write", action="store_true", help="write what was measured to docs/benchmarks.md")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; there are {', '.join(PARTS)}")
    parts = {part: import_module(f"benchmarks.{part}") for part in options.parts or (QUICK if options.quick else PARTS)}
    _prepare(parts.values())
    for part, module in parts.items():
        say(part)
        text = module.run(quick=options.quick)
        print(f"\n{text}\n", flush=True)
        if options.write:
            _write(part, f"{text}\n\n{_where()}")


def _prepare(parts: Iterable[ModuleType]) -> None:
    """Set up the environments of the peers, side by side; a part says itself what it had to leave out."""
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(part.prepare) for part in parts if hasattr(part, "prepare")]:
            with suppress(Unavailable):
                done.result()


def _where() -> str:
    """The date, the machine and the versions."""
    ours = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {versions(OURS, LIBRARIES)}"
    return f"*{time.strftime('%-d %B %Y')}; {_cpu()}, {_memory():.0f} GiB; {ours}.*"


def _cpu() -> str:
    names = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE)
    return f"{os.cpu_count()} cores of {names[0] if names else platform.machine()}"


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _write(part: str, text: str) -> None:
    begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
    page = PAGE.read_text(encoding="utf-8")
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"docs/benchmarks.md has no place for {part}: {begin} … {end}")
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
