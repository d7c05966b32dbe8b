"""A process that asks for large answers and prints its peak memory: `python -m runs.large_child FILE URL N`."""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from equipoise.models import connect
from equipoise.runs.ask.policy import Policy
from equipoise.runs.ask.pump import Pump
from equipoise.runs.file.store import RunFile


def main(path: str, url: str, concurrency: str) -> None:
    """Print the peak before asking, and after it, in megabytes."""
    before = peak_megabytes()
    with RunFile.open(Path(path)) as run:
        model = connect("custom/m", base_url=url, key="sk-0123456789abcdef", environ={})
        asyncio.run(Pump(run, model, Policy(concurrency=int(concurrency))).run())
    sys.stdout.write(f"{before} {peak_megabytes()}\n")


def peak_megabytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    main(*sys.argv[1:])
