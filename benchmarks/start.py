"""How soon the command line is there: CPU seconds beside an empty Python, and what has been imported by then."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from statistics import median

from benchmarks.harness import OURS, ROOT, command, table, times

HEAVY = ("polars", "numpy", "aiohttp", "jinja2", "vl_convert", "xllamacpp")


def run(*, quick: bool) -> str:
    """The median of several starts, with the byte code of all modules in place, as an installation has it."""
    rounds = 5 if quick else 15
    equipoise, inspect = OURS.with_name("equipoise"), ROOT / ".venv-peers" / "bin" / "inspect"
    commands = {
        "`python -c pass`": [str(OURS), "-c", "pass"],
        "`import equipoise`": [str(OURS), "-c", "import equipoise"],
        "`equipoise --help`": [str(equipoise), "--help"],
        "`equipoise run --help`": [str(equipoise), "run", "--help"],
    }
    if inspect.exists():
        commands["`inspect --help` (inspect_ai)"] = [str(inspect), "--help"]
    with tempfile.TemporaryDirectory() as compiled:
        # Those installed in other environments have their byte code beside them; ours may be run from the sources.
        settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        settings["PYTHONPYCACHEPREFIX"] = compiled
        for words in commands.values():
            command(words, settings)
        found = {name: median(command(words, settings)[1] for _ in range(rounds)) for name, words in commands.items()}
        loaded = _heavy(settings)
    empty = found["`python -c pass`"]
    rows = [(name, f"{cpu * 1e3:.0f} ms", times(cpu / empty)) for name, cpu in found.items()]
    heavy = f"Of {', '.join(HEAVY)}, `equipoise --help` imports {', '.join(loaded) or 'none'}."
    about = f"CPU of the whole process, the median of {rounds} starts. {heavy}"
    return f"## Start\n\n{about}\n\n{table(('command', 'CPU', 'beside an empty Python'), rows)}"


def _heavy(settings: dict[str, str]) -> list[str]:
    """What of the heavy libraries is there when the help has been printed."""
    code = f"""
import sys
from equipoise.cli import main
sys.argv = ["equipoise", "--help"]
try:
    main()
finally:
    sys.stderr.write(" ".join(name for name in {HEAVY} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=False)
    return done.stderr.split()
