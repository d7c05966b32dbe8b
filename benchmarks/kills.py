"""Kill a run again and again at random moments, while it starts and while it asks, and resume it each time.

    python benchmarks/kills.py            1,000 kills
    python benchmarks/kills.py 50

At the end, every planned attempt must be stored once, every answer with its own prompt, and every attempt that was
acknowledged; and no prompt may have been asked more often than the kills explain. When a run is finished before all
kills are done, another one is started.
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
from runs.test_processes import CONCURRENCY, assert_whole, kill_at_random

PROMPTS = 3000


def report(path: Path, server: Server, acknowledged_keys: set[tuple[str, str, int]], kills: int) -> None:
    """Print how the run went; raise AssertionError if a promise is broken."""
    asked_again = sum(server.requests.values()) - PROMPTS
    print(
        f"{kills} kills: {PROMPTS:,} attempts, {len(acknowledged_keys):,} of them acknowledged, "
        f"{asked_again:,} asked again, at most {max(server.requests.values())} times each",
        flush=True,
    )
    assert_whole(path, server, acknowledged_keys, kills)


def main() -> None:
    wanted_kills = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rng, total_kills, start_time = random.Random(0), 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        while total_kills < wanted_kills:
            path, acknowledged_keys, kills = Path(folder) / f"run{total_kills}.db", set[tuple[str, str, int]](), 0
            create(path, plan("alpha", PROMPTS)).close()
            with Server(delay=0.02) as server:
                while total_kills < wanted_kills and sum(server.requests.values()) < PROMPTS:
                    acknowledged_keys |= kill_at_random(start(path, server, f"--concurrency={CONCURRENCY}"), rng)
                    total_kills, kills = total_kills + 1, kills + 1
                final = start(path, server, f"--concurrency={CONCURRENCY}")
                out, err = final.communicate()
                assert final.returncode == 0, err
                report(path, server, acknowledged_keys | acknowledged(out), kills)
    print(f"{total_kills:,} kills in {time.monotonic() - start_time:,.0f} s: everything holds")


if __name__ == "__main__":
    main()
