"""Mutation testing tells a function that is tested from one that is only run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.mutants import FINDERS, find_mutants
from benchmarks.mutate import main

MODULE = '''\
"""Two functions."""

START = 3


def spread(values):
    """The largest value less the smallest."""
    return max(values) - min(values)


def degrees(count):
    """The degrees of freedom."""
    return count - 1


def begin():
    """Where to begin."""
    return START
'''
GOOD_TEST = """\
from equipoise.stats.toy import spread


def test_spread():
    assert spread([1, 5, 2]) == 4
"""
BAD_TEST = """\
from equipoise.stats.toy import begin, degrees


def test_degrees():
    degrees(7)


def test_begin():
    assert begin() == 3
"""
BETTER_TEST = BAD_TEST.replace("degrees(7)", "assert degrees(7) == 6")
EXPLANATION = """\
[[mutant]]
file = "src/equipoise/stats/toy.py"
original = "return count - 1"
mutated = "return count - 2"
why = "Nobody counts that far."
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small repository with one module and two test files."""
    if shutil.which("git") is None:
        pytest.skip("Copies of a repository are made with git.")
    root = tmp_path / "repository"
    package = root / "src" / "equipoise"
    stats = package / "stats"
    stats.mkdir(parents=True)
    (package / "__init__.py").touch()
    (stats / "__init__.py").touch()
    (stats / "toy.py").write_text(MODULE)
    (root / "tests").mkdir()
    (root / "tests" / "test_good.py").write_text(GOOD_TEST)
    (root / "tests" / "test_bad.py").write_text(BAD_TEST)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    return root


def read_statuses(work: Path) -> list[str]:
    """The statuses of all mutants that were run so far."""
    lines = (work / "verdicts.jsonl").read_text().splitlines()
    return [json.loads(line)["status"] for line in lines]


def test_only_the_mutants_of_a_function_without_assertion_survive(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    report = tmp_path / "report.md"
    arguments = ["--work", str(work), "--report", str(report), "--jobs", "1"]

    assert main(arguments, root=repository) == 1
    first = report.read_text()
    survived = {"return count + 1", "return count", "return count - 2", "return count - 0"}
    assert {line[1:] for line in first.splitlines() if line.startswith("+")} == survived
    assert "-return count - 1\n" in first
    statuses = read_statuses(work)
    assert statuses.count("survived") == len(survived)
    assert statuses.count("killed") == len(statuses) - len(survived)
    assert (repository / "src" / "equipoise" / "stats" / "toy.py").read_text() == MODULE

    # A second run has nothing left to do; what is explained is counted apart.
    (repository / "benchmarks").mkdir()
    (repository / "benchmarks" / "equivalent_mutants.toml").write_text(EXPLANATION)
    capsys.readouterr()
    assert main(arguments, root=repository) == 1
    assert "of which 0 are to be tested" in capsys.readouterr().out
    assert "## Survivors: 3\n" in report.read_text()
    assert "Nobody counts that far." in report.read_text()

    # With a better test nothing survives, and only the survivors are run again.
    (repository / "tests" / "test_bad.py").write_text(BETTER_TEST)
    assert main(arguments, root=repository) == 0
    assert read_statuses(work)[-len(survived) :] == ["killed"] * len(survived)


CHANGES = [
    ("arithmetic", "x = a + b", ["x = a - b"]),
    ("arithmetic", "x = (n) - 1", ["x = (n)", "x = (n) + 1"]),
    ("arithmetic", "x = 1 + n", ["x = n", "x = 1 - n"]),
    ("arithmetic", "x = (a + b) * c", ["x = (a + b) / c", "x = (a - b) * c"]),
    ("arithmetic", "x *= 2", ["x /= 2"]),
    ("arithmetic", 'x = f"{a + b}"', []),
    ("comparison", "x = a < b <= c", ["x = a < b < c", "x = a <= b <= c"]),
    ("comparison", "x = a not in b", ["x = a in b"]),
    ("comparison", "x = a is not (b)", ["x = a is (b)"]),
    ("boolean", "x = (a) and (b)", ["x = (a) or (b)"]),
    ("boolean", "x = not a", ["x =  a"]),
    ("boolean", "zip(a, b, strict=True)", []),
    ("number", "x = y[0]", ["x = y[1]"]),
    ("number", "x = 0.5", ["x = 0.0", "x = 0.55"]),
    ("number", "x: Literal[3] = 1e-9", ["x: Literal[3] = 0.0"]),
    ("sign", "x = -y", ["x = y"]),
    ("axis", "x = y.sum(axis=-1)", ["x = y.sum(axis=0)"]),
    ("function", "x = np.minimum(a, b)", ["x = np.maximum(a, b)"]),
    ("condition", "x = a if b else c", ["x = a if not (b) else c"]),
    ("statement", "é.write(1)", ["pass"]),
    ("return", "def f():\n    return 1", ["def f():\n    return None"]),
    ("string", 'x = "ok"', ["x = 'Xok'"]),
    ("string", "def f():\n    'Text.'", []),
]


@pytest.mark.parametrize(("kind", "text", "mutated"), CHANGES)
def test_a_change_is_made_where_it_says(kind: str, text: str, mutated: list[str]) -> None:
    mutants = find_mutants("x.py", text, [kind])
    assert sorted(mutant.mutated_text for mutant in mutants) == sorted(mutated)


def test_every_kind_of_change_is_tried() -> None:
    assert {kind for kind, _, _ in CHANGES} == FINDERS.keys()
