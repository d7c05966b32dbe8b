"""`docs/run-file.md` describes the file as it is."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.runs.file import sql
from equipoise.schema import Status
from runs.fakes import create, finish, plan

PAGE = (Path(__file__).parents[2] / "docs" / "run-file.md").read_text()
QUERIES = re.findall(r"^    (select .*?;)$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_every_table_and_column_is_documented(tmp_path: Path) -> None:
    create(tmp_path / "run.db").close()
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection:
        tables = [
            name for (name,) in connection.execute("select name from sqlite_schema where type in ('table', 'view')")
        ]
        for table in tables:
            section = PAGE.split(f"\n### {table}")[1].split("\n## ")[0].split("\n### ")[0]
            for (column,) in connection.execute("select name from pragma_table_info(?)", (table,)):
                assert f"`{column}`" in section, f"{table}.{column}"
    assert all(f"`{status}`" in PAGE for status in Status)
    assert len(QUERIES) >= 5
    assert f"{sql.APPLICATION_ID:#x}".upper().replace("X", "x") in PAGE
    assert f"currently {sql.SCHEMA}." in PAGE


@pytest.mark.parametrize("query", QUERIES)
def test_the_example_queries_run(tmp_path: Path, query: str) -> None:
    with create(tmp_path / "run.db", plan("hiring_an")) as run:
        run.store(map(finish, run.pending()))
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection:
        for statement in query.split(";")[:-1]:
            connection.execute(statement).fetchall()
