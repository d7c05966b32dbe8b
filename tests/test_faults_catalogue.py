"""docs/faults.md and the tests agree: every row has a test, every marker names a row, every exit code is explained."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from equipoise import errors
from equipoise.cli import gate

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "faults.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([A-Z]\d+) \|", PAGE, flags=re.MULTILINE)


@cache
def marked_rows() -> list[tuple[str, str]]:
    """The rows that tests are marked with, `pytest.mark.fault("E16")`, each with the file and line of the marker.

    The files are parsed, not imported: what a test needs may not be installed. So the ids must be literal strings.
    """
    rows = []
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault":
                place = f"{path.relative_to(TESTS)}:{node.lineno}"
                assert node.args, f"{place}: a marker without a row"
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"{place}: the row must be a literal string"
                    rows.append((str(argument.value), place))
    return rows


def test_every_row_has_a_test() -> None:
    tested = {row for row, _ in marked_rows()}
    assert [row for row in ROWS if row not in tested] == []


def test_every_marker_names_a_row() -> None:
    assert [(row, place) for row, place in marked_rows() if row not in ROWS] == []


def test_no_id_stands_for_two_rows() -> None:
    assert sorted(ROWS) == sorted(set(ROWS))


def test_every_exit_code_is_explained() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    codes = {kind.exit_code for kind in classes if issubclass(kind, errors.EquipoiseError)}
    table = PAGE.partition("## Exit codes")[2].partition("\n## ")[0]
    explained = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE) for code in row.split(",")}
    assert explained == codes | {*gate.EXIT_CODES.values(), 130, 143}
