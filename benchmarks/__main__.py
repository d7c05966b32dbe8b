"""Run the benchmarks and print the results: `python -m benchmarks [--quick] [--write] [PART …]`.

Each part returns Markdown. With --write, the text replaces that part of docs/benchmarks.md (between its two comments),
followed by the date, the machine and the versions.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import asking, marks, ours
from benchmarks.processes import OUR_PYTHON, ROOT, installed_versions, log

PARTS: dict[str, Callable[..., str]] = {
    "marks": marks.run,
    "scale": ours.scale,
    "asking": asking.run,
    "start": ours.start,
    "partials": ours.partials,
}
QUICK_PARTS = ("marks", "asking", "start")
LIBRARIES = ("equipoise", "polars", "numpy", "aiohttp", "orjson")
PAGE = ROOT / "docs" / "benchmarks.md"


def main() -> None:
    """Run the parts named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one or more of {', '.join(PARTS)}; default: all")
    parser.add_argument("--quick", action="store_true", help=f"small sizes; default parts: {', '.join(QUICK_PARTS)}")
    parser.add_argument("--write", action="store_true", help="write the results to docs/benchmarks.md")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; there are {', '.join(PARTS)}")
    names = options.parts or (QUICK_PARTS if options.quick else PARTS)
    for part in names:
        log(part)
        text = PARTS[part](quick=options.quick)
        print(f"\n{text}\n", flush=True)
        if options.write:
            _write_part(part, f"{text}\n\n{_machine_and_versions()}")


def _machine_and_versions() -> str:
    """The date, the machine and the versions, as one line of Markdown."""
    machine = f"{_cpu()}, {_memory_gib():.0f} GiB; Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return f"*{time.strftime('%-d %B %Y')}; {machine}, {installed_versions(OUR_PYTHON, LIBRARIES)}.*"


def _cpu() -> str:
    names = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE)
    return f"{os.cpu_count()} cores of {names[0] if names else platform.machine()}"


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _write_part(part: str, text: str) -> None:
    begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
    page = PAGE.read_text(encoding="utf-8")
    if begin not in page or end not in page:
        raise SystemExit(f"docs/benchmarks.md has no place for the part {part!r}: {begin} … {end}")
    before, after = page.partition(begin)[0], page.partition(end)[2]
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
