"""Throws random damage at equipoise and counts what becomes of it: `python -m benchmarks.fuzz [--small] [--write]`.

Everything is seeded, so a case that fails can be had again. Whatever ends in another way than by reading, refusing or
naming the fault counts as crashed, and the command ends with exit 1.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.fuzz_files import flip_bits, forge_partials, mutate_answers, mutate_configurations, replace_fields
from benchmarks.fuzz_servers import give_odd_logprobs, misbehave

PAGE = Path(__file__).resolve().parents[1] / "docs" / "faults.md"
BLOCK = re.compile(r"(<!-- fuzz -->\n).*?(<!-- /fuzz -->)", re.DOTALL)
Kind = Callable[[random.Random, int, Path], Iterator[str]]
KINDS: dict[str, tuple[Kind, int, int]] = {
    "run files with a flipped bit": (flip_bits, 1500, 25),
    "run files with a replaced field": (replace_fields, 2500, 60),
    "files of answers": (mutate_answers, 60_000, 1500),
    "forged partials": (forge_partials, 2000, 80),
    "configurations": (mutate_configurations, 20_000, 500),
    "responses of an endpoint": (misbehave, 2000, 80),
    "log-probabilities": (give_odd_logprobs, 2000, 80),
}
"""What is tried, and how often: in full, and for the tests."""
CRASHED = "crashed: "


def fuzz(*, small: bool, seed: int = 0) -> Iterator[tuple[str, Counter[str]]]:
    """Try each kind; give how often which outcome came."""
    for name, (kind, many, few) in KINDS.items():
        with tempfile.TemporaryDirectory(prefix="equipoise-fuzz-") as folder:
            dice = random.Random(f"{seed}:{name}")
            yield name, Counter(kind(dice, few if small else many, Path(folder)))


def make_table(outcomes: dict[str, Counter[str]]) -> str:
    """The counts as rows of a Markdown table."""
    lines = ["| what | cases | outcomes | crashed |", "| --- | --- | --- | --- |"]
    for name, counts in outcomes.items():
        ended = ", ".join(f"{n:,} {word}" for word, n in counts.most_common() if not word.startswith(CRASHED))
        crashed = sum(n for word, n in counts.items() if word.startswith(CRASHED))
        lines.append(f"| {name} | {counts.total():,} | {ended} | {crashed} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Fuzz, print the counts and what crashed; with --write, put the counts into docs/faults.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a few cases of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="write the counts into docs/faults.md")
    options = parser.parse_args(arguments)
    outcomes: dict[str, Counter[str]] = {}
    for name, counts in fuzz(small=options.small, seed=options.seed):
        outcomes[name] = counts
        print(f"{time.strftime('%H:%M:%S')} {name}", flush=True)
        for word, number in counts.most_common():
            print(f"  {number:7,} {word}", flush=True)
    table = make_table(outcomes)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(BLOCK.sub(lambda match: f"{match[1]}{table}\n{match[2]}", page), encoding="utf-8")
    return int(any(word.startswith(CRASHED) for counts in outcomes.values() for word in counts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
