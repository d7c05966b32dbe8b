"""Run the benchmarks and print the results: `python -m benchmarks [--quick] [--write] [PART …]`.

Each part returns Markdown. With --write, the text replaces that part of docs/benchmarks.md (between its two comments),
followed by the date, the machine and the versions.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import asking, marks, ours
from benchmarks.processes import OUR_PYTHON, ROOT, installed_versions, log, write_block

PARTS: dict[str, Callable[..., str]] = {
    "marks": marks.run,
    "scale": ours.scale,
    "asking": asking.run,
    "start": ours.start,
}
QUICK_PARTS = ("marks", "asking", "start")
LIBRARIES = ("equipoise", "polars", "numpy", "aiohttp", "orjson", "inspect_ai")
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
            write_block(PAGE, part, f"{text}\n\n{_machine_and_versions()}")


def _machine_and_versions() -> str:
    """The date, the machine and the versions, as one line of Markdown."""
    (processor, *_) = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{os.cpu_count()} cores of {processor}, {memory:.0f} GiB; Python {platform.python_version()}"
    return f"*{time.strftime('%-d %B %Y')}; {machine}, {installed_versions(OUR_PYTHON, LIBRARIES)}.*"


if __name__ == "__main__":
    main()
