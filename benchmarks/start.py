"""How fast the command line starts, compared with an empty Python, and which heavy libraries it imports."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from statistics import median

from benchmarks.processes import OUR_PYTHON, ROOT, format_ratio, markdown_table, time_command

HEAVY = ("polars", "numpy", "aiohttp", "jinja2", "vl_convert", "xllamacpp")


def run(*, quick: bool) -> str:
    """The median CPU of several starts. All modules are compiled to byte code first, as in an installation."""
    rounds = 5 if quick else 15
    equipoise, inspect = OUR_PYTHON.with_name("equipoise"), ROOT / ".venv-peers" / "bin" / "inspect"
    commands = {
        "`python -c pass`": [str(OUR_PYTHON), "-c", "pass"],
        "`import equipoise`": [str(OUR_PYTHON), "-c", "import equipoise"],
        "`equipoise --help`": [str(equipoise), "--help"],
        "`equipoise run --help`": [str(equipoise), "run", "--help"],
    }
    if inspect.exists():
        commands["`inspect --help` (inspect_ai)"] = [str(inspect), "--help"]
    with tempfile.TemporaryDirectory() as compiled:
        # Installed packages have their byte code beside them, but ours may run from the sources.
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        variables["PYTHONPYCACHEPREFIX"] = compiled
        for command in commands.values():
            time_command(command, variables)
        cpu_seconds = {
            name: median(time_command(command, variables)[1] for _ in range(rounds))
            for name, command in commands.items()
        }
        imported = _imported_heavy_libraries(variables)
    empty = cpu_seconds["`python -c pass`"]
    rows = [(name, f"{cpu * 1e3:.0f} ms", format_ratio(cpu / empty)) for name, cpu in cpu_seconds.items()]
    heavy_imports = f"Of {', '.join(HEAVY)}, `equipoise --help` imports {', '.join(imported) or 'none'}."
    about = f"CPU of the whole process; medians of {rounds} starts. {heavy_imports}"
    return f"## Start\n\n{about}\n\n{markdown_table(('command', 'CPU', 'compared with an empty Python'), rows)}"


def _imported_heavy_libraries(variables: dict[str, str]) -> list[str]:
    """The heavy libraries that `equipoise --help` imports."""
    code = f"""
import sys
from equipoise.cli import main
sys.argv = ["equipoise", "--help"]
try:
    main()
finally:
    sys.stderr.write(" ".join(name for name in {HEAVY} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    return done.stderr.split()
