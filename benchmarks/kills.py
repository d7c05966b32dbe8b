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

from equipoise.frames import Status
from equipoise.runs import RunFile
from runs.fakes import create, plan, seal
from runs.killable import Server, acknowledged, start, stored, texts
from runs.test_processes import CONCURRENCY, killed_at_random

PROMPTS = 3000


def whole(path: Path, server: Server, told: set[tuple[str, str, int]], kills: int) -> bool:
    """Whether everything that was promised of this run holds."""
    with RunFile.read(path) as run:
        found, prompts, counts = stored(run), texts(run), run.counts()
    asked_again = sum(server.seen.values()) - PROMPTS
    print(
        f"  {kills} kills: {len(found):,} of {PROMPTS:,} attempts, {len(told):,} acknowledged by killed processes, "
        f"{asked_again:,} asked again, at most {max(server.seen.values())} times each"
    )
    return (
        counts[Status.OK] == sum(counts.values()) == PROMPTS == len(found)
        and told <= found.keys()
        and all(answer == seal(prompts[probe, prompt]) for (probe, prompt, _), answer in found.items())
        and asked_again <= kills * (CONCURRENCY + 128)
        and max(server.seen.values()) <= 1 + kills
    )


def main() -> int:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    dice, done, began, right = random.Random(0), 0, time.monotonic(), True
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
                right &= last.returncode == 0 and whole(path, server, told | acknowledged(out), kills)
                print(err, end="")
    print(f"{done:,} kills in {time.monotonic() - began:,.0f} s: {'all holds' if right else 'BROKEN'}")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
