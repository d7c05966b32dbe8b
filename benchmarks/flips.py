"""Flip random bits of a real run file, one at a time: `python -m benchmarks.flips [FLIPS] [SEED]`.

Each flip must either be refused with an error of ours or change nothing: no result, no count, no setting.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from equipoise import Run, audit
from equipoise.errors import EquipoiseError

UNCHANGED, REFUSED, SILENT = "unchanged", "refused", "changed silently"


def observe(path: Path) -> str | None:
    """All settings, counts and results of a run as JSON; None if the file is refused."""
    try:
        run = Run.open(path)
        results = {name: run.result(name).to_dict() for name in run.planned}
    except EquipoiseError:
        return None
    shown = {"settings": run.settings.to_json(), "states": run.states, "usage": run.usage, "results": results}
    return json.dumps(shown, sort_keys=True, default=str)


def _answer(prompt: str) -> str:
    return "He." if len(prompt) % 3 else "She."


def main() -> None:
    """Print how many flips were refused, harmless and silent; fail if one was silent."""
    flips = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    warnings.simplefilter("ignore")
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        whole, flipped = Path(folder) / "whole.equipoise", Path(folder) / "flipped.equipoise"
        audit(_answer, probes=["jobs_lum", "hiring_an"], out=whole, sample=40)
        content, expected, dice = whole.read_bytes(), observe(whole), random.Random(seed)
        assert expected is not None
        for _ in range(flips):
            place, bit = dice.randrange(len(content)), dice.randrange(8)
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            flipped.unlink(missing_ok=True)
            flipped.write_bytes(damaged)
            observed = observe(flipped)
            outcome = REFUSED if observed is None else UNCHANGED if observed == expected else SILENT
            outcomes[outcome] += 1
            if outcome == SILENT:
                print(f"bit {bit} of byte {place} of {len(content)}", flush=True)
    print(f"{flips} flips of {len(content):,} bytes, seed {seed}: {dict(outcomes)}")
    sys.exit(bool(outcomes[SILENT]))


if __name__ == "__main__":
    main()
