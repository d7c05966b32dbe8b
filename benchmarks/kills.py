"""A run that is killed again and again at random moments, while it starts and while it asks, and always resumed.

    python benchmarks/kills.py            1,000 kills
    python benchmarks/kills.py 50

In the end every planned attempt must be there once, every answer its prompt's own, every attempt that was acknowledged
stored, and no prompt asked more often than the kills explain. A run that is finished before its time is followed by
another one.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from runs.fakes import create, plan
from runs.killable import Server, acknowledged, start
from runs.test_processes import CONCURRENCY, assert_whole, killed_at_random

PROMPTS = 3000


def report(path: Path, server: Server, told: set[tuple[str, str, int]], kills: int) -> None:
    """Say how the run went; raise AssertionError if a promise is broken."""
    asked_again = sum(server.seen.values()) - PROMPTS
    print(
        f"{kills} kills: {PROMPTS:,} attempts, {len(told):,} of them acknowledged, {asked_again:,} asked again, "
        f"at most {max(server.seen.values())} times each",
        flush=True,
    )
    assert_whole(path, server, told, kills)


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    dice, done, began = random.Random(0), 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        while done < wanted:
            path, told, kills = Path(folder) / f"run{done}.db", set[tuple[str, str, int]](), 0
            create(path, plan("alpha", PROMPTS)).close()
            with Server(delay=0.02) as server:
                while done < wanted and sum(server.seen.values()) < PROMPTS:
                    told |= killed_at_random(start(path, server, f"--concurrency={CONCURRENCY}"), dice)
                    done, kills = done + 1, kills + 1
                last = start(path, server, f"--concurrency={CONCURRENCY}")
                out, err = last.communicate()
                assert last.returncode == 0, err
                report(path, server, told | acknowledged(out), kills)
    print(f"{done:,} kills in {time.monotonic() - began:,.0f} s: everything holds")


if __name__ == "__main__":
    main()
