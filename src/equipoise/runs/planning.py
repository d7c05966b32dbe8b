"""Writing a new run file: the settings and every prompt, before anything is asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from itertools import count, repeat
from pathlib import Path

import orjson

from equipoise.errors import StorageError
from equipoise.frames import ID, ITEM, PROMPT
from equipoise.plans import Plan
from equipoise.runs import opening, sql, tables
from equipoise.runs.exact import to_column
from equipoise.runs.faults import told
from equipoise.runs.values import now

OURS = frozenset({"created", "equipoise", "in_use", "notes"})
"""Settings that are written here and not given."""


def write(path: Path, settings: Mapping[str, object], plans: Iterable[Plan]) -> None:
    """Write a run file that has its name only when everything is in it. The caller holds the lock."""
    if path.exists() or path.is_symlink():
        raise StorageError(
            f"{path} is there already. To go on with it: equipoise resume {path}. Or choose another name."
        )
    with told(path):
        partial = path.with_name(path.name + ".partial")
        journal = partial.with_name(partial.name + "-journal")
        for left_by_kill in (partial, journal):
            left_by_kill.unlink(missing_ok=True)
        connection = opening.empty(partial)
        try:
            _fill(connection, settings, plans)
            connection.execute(sql.COMMIT)
            connection.close()
            partial.replace(path)
            opening.sync_directory(path.parent)
            opening.vouch(path)
        finally:
            connection.close()
            for name in (partial, journal):
                name.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, settings: Mapping[str, object], plans: Iterable[Plan]) -> None:
    assert not OURS & settings.keys()
    written = now().isoformat(timespec="seconds")
    ours = {"created": written, "equipoise": version("equipoise"), "in_use": False, "notes": []}
    connection.executemany(sql.ADD_SETTING, [(key, as_json(value)) for key, value in {**settings, **ours}.items()])
    for plan in plans:
        _add_probe(connection, plan)


def _add_probe(connection: sqlite3.Connection, plan: Plan) -> None:
    name, position = plan.probe.name, 0
    for batch in plan.batches():
        if not position:
            covariates = tables.types(batch.drop(ID, ITEM, PROMPT).schema)
            origin = (plan.corpus, plan.corpus_sha256, plan.repetitions)
            row = (name, plan.probe.version, as_json(dict(plan.parameters)), *origin, as_json(covariates))
            connection.execute(sql.ADD_PROBE, row)
        for part in batch.iter_slices(tables.BATCH):
            ids, items, values, texts = tables.prompt_columns(part)
            rows = zip(repeat(name), ids, count(position), items, values, map(to_column, texts), strict=False)
            connection.executemany(sql.ADD_PROMPT, rows)
            position += part.height


def as_json(value: object) -> str:
    """A value as it is stored."""
    return orjson.dumps(value).decode()
