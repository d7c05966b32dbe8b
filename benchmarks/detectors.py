"""How often each detector is wrong: `python -m benchmarks.detectors`; with `--write`, also into cards and docs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from equipoise.measuring.accuracy import accuracy_table, read_labelled
from equipoise.probes import find_probes


def main() -> None:
    """Print the table of every probe that has labelled answers."""
    for name, probe in find_probes().items():
        if read_labelled(probe):
            print(f"\n## {name}\n\n{accuracy_table(probe)}")
    if "--write" in sys.argv[1:]:
        generate = Path(__file__).resolve().parents[1] / "docs" / "generate.py"
        subprocess.run([sys.executable, str(generate)], check=True)


if __name__ == "__main__":
    main()
