"""The help appears at once: a command imports only what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"polars", "numpy", "rich", "aiohttp", "jinja2", "sqlite3", "scipy", "xllamacpp", "vl_convert", "ray"}
CODE = """
import atexit, sys
atexit.register(lambda: print({{name.partition(".")[0] for name in sys.modules}} & {heavy}, file=sys.stderr))
sys.argv = ["equipoise", *{words}]
from equipoise.cli import main
main()
"""


def heavy_modules(*words: str) -> tuple[str, str]:
    """What the command prints, and which heavy modules it imports."""
    code = CODE.format(heavy=HEAVY, words=list(words))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr.strip()


@pytest.mark.parametrize(
    "words", [["--help"], ["run", "--help"], ["gate", "--help"], ["data", "--help"], ["--version"]], ids=" ".join
)
def test_the_help_imports_nothing_heavy(words: list[str]) -> None:
    printed, imported = heavy_modules(*words)
    assert printed
    assert imported == "set()"


def test_a_command_that_works_imports_what_it_needs() -> None:
    """The test above can see an import."""
    printed, imported = heavy_modules("prompts", "jobs_lum", "--sample", "1")
    assert printed
    assert "polars" in imported
    assert not any(name in imported for name in ("aiohttp", "jinja2", "scipy", "xllamacpp", "vl_convert", "ray"))


def test_scoring_imports_ray_only_if_it_is_asked_to(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.jsonl").write_text(f'{{"id": "{number}", "answer": "He."}}\n')
    code = CODE.format(heavy=HEAVY, words=["score", str(tmp_path), "--probe", "jobs_lum"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "None of the 2 answers belongs to a planned prompt." in done.stderr
    assert "'polars'" in done.stderr
    assert "'ray'" not in done.stderr
