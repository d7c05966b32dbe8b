"""Jobs in processes of their own, environments of peers, and the tables of what was measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OURS = Path(sys.executable)


class Unavailable(Exception):
    """A peer cannot be set up here; its comparison is left out, and the reason is said."""


def job(python: Path, module: str, *arguments: object, rounds: int = 1, extra: dict[str, str] | None = None) -> Any:
    """Run `python -m module arguments` and read the JSON it ends with; of several rounds the one with the least CPU."""
    command = [str(python), "-m", module, *map(str, arguments)]
    found = []
    for _ in range(rounds):
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}", **(extra or {})},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}")
        found.append(json.loads(done.stdout.strip().splitlines()[-1]))
    return min(found, key=lambda one: one.get("cpu", 0.0))


def command(words: Sequence[str], settings: dict[str, str] | None = None) -> tuple[float, float]:
    """Wall and CPU seconds of a command that ends well."""
    began = time.perf_counter()
    process = subprocess.Popen(words, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return took, used.ru_utime + used.ru_stime


def environment(name: str, packages: Sequence[str], *, python: Path = OURS, alone: Sequence[str] = ()) -> Path:
    """The Python of a peer's own environment `.venv-NAME`, made if it is not there; `alone`: without dependencies."""
    folder = ROOT / f".venv-{name}"
    ready = folder / ".ready"
    wanted = "\n".join([*packages, "--no-deps", *alone])
    interpreter = folder / "bin" / "python"
    if ready.exists() and ready.read_text() == wanted:
        return interpreter
    say(f"setting up {folder.name}")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        subprocess.run([python, "-m", "venv", folder], check=True)
        pip = [str(interpreter), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        if packages:
            subprocess.run([*pip, *packages], check=True)
        if alone:
            subprocess.run([*pip, "--no-deps", *alone], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"{folder.name} could not be set up: {error}") from error
    ready.write_text(wanted)
    return interpreter


def interpreter(version: str) -> Path:
    """A Python of this version ("3.12"): on the path, or among pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    candidates = [*([Path(on_path)] if on_path else []), *sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)]
    for candidate in candidates:
        question = [str(candidate), "-c", "import sys; print('.'.join(map(str, sys.version_info[:2])))"]
        answer = subprocess.run(question, capture_output=True, text=True, check=False)
        if answer.stdout.strip() == version:
            return candidate
    raise Unavailable(f"no Python {version} was found on the path or among pyenv's versions")


def versions(python: Path, packages: Iterable[str]) -> str:
    """ "name 1.2, other 3.4" as installed in an environment."""
    code = "import sys, importlib.metadata as m; print(', '.join(f'{p} {m.version(p)}' for p in sys.argv[1:]))"
    return subprocess.run([python, "-c", code, *packages], capture_output=True, text=True, check=True).stdout.strip()


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; the first column is text, the others are figures."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def seconds(value: float) -> str:
    """A time with three significant digits: 312 s, 1.52 s, 0.0183 s."""
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"


def times(value: float) -> str:
    """A ratio: 312×, 4.2×."""
    return f"{value:,.0f}×" if value >= 20 else f"{value:.2g}×" if value < 10 else f"{value:.3g}×"


def say(what: str) -> None:
    """Tell what is going on, with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)
