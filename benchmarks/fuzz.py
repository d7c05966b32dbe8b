"""Throws random damage at equipoise and counts what becomes of it: `python -m benchmarks.fuzz [--write]`.

Everything is seeded, so a case that fails can be had again. Whatever ends in another way than by reading, refusing or
naming the fault counts as crashed, and the command ends with exit 1.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.fuzz_files import flip_bits, forge_partials, mutate_answers, mutate_configurations, replace_fields
from benchmarks.fuzz_servers import give_odd_logprobs, misbehave
from benchmarks.processes import ROOT, log, markdown_table, write_block

Kind = Callable[[random.Random, int, Path], Iterator[str]]
KINDS: dict[str, tuple[Kind, int]] = {
    "run files with a flipped bit": (flip_bits, 1500),
    "run files with a replaced field": (replace_fields, 2500),
    "files of answers": (mutate_answers, 60_000),
    "forged partials": (forge_partials, 2000),
    "configurations": (mutate_configurations, 20_000),
    "responses of an endpoint": (misbehave, 2000),
    "log-probabilities": (give_odd_logprobs, 2000),
}
"""What is tried, and how often."""
CRASHED = "crashed: "


def main() -> None:
    """Try each kind and print what crashed; with --write, put the counts into docs/faults.md."""
    rows, all_crashed = [], 0
    for name, (kind, many) in KINDS.items():
        with tempfile.TemporaryDirectory(prefix="equipoise-fuzz-") as folder:
            counts = Counter(kind(random.Random(f"0:{name}"), many, Path(folder)))
        log(f"{name}: {counts.most_common()}")
        ended = ", ".join(f"{n:,} {word}" for word, n in counts.most_common() if not word.startswith(CRASHED))
        crashed = sum(n for word, n in counts.items() if word.startswith(CRASHED))
        rows.append((name, f"{counts.total():,}", ended, crashed))
        all_crashed += crashed
    if "--write" in sys.argv[1:]:
        table = markdown_table(("what", "cases", "outcomes", "crashed"), rows)
        write_block(ROOT / "docs" / "faults.md", "fuzz", table)
    sys.exit(int(all_crashed > 0))


if __name__ == "__main__":
    main()
