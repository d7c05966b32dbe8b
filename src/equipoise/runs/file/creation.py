"""Writing plans into a run file: every prompt, before anything is asked."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from itertools import chain, count, islice, repeat
from pathlib import Path

import polars as pl

from equipoise.errors import BadParameter, IntegrityError, ProbeError, StorageError
from equipoise.measuring.plan import Plan
from equipoise.models.protocol import Asking
from equipoise.runs.file import sql, tables
from equipoise.runs.file.checks import MAX_PLANNED, beside
from equipoise.runs.file.connection import create_empty, sync_directory, translate_storage_errors
from equipoise.runs.file.digests import write_digest, write_digests
from equipoise.runs.file.tables import encode_json, encode_text
from equipoise.runs.file.values import asking_of
from equipoise.runs.spec import RunRecord, to_plain
from equipoise.schema import ITEM, SYSTEM


def write_run_file(path: Path, settings: RunRecord, plans: Iterable[Plan]) -> None:
    """Write a run file that gets its name only when it is complete. The caller holds the lock."""
    if path.exists() or path.is_symlink():
        raise StorageError(f"{path} already exists. To go on with it: equipoise resume {path}. Or choose another name.")
    if beside(path, "-wal").exists():
        raise StorageError(
            f"{beside(path, '-wal')} is left of another run file of that name, and would spoil a new one. "
            "Delete it, or choose another name."
        )
    partial = beside(path, ".partial")
    unfinished = (partial, beside(partial, "-journal"))
    with translate_storage_errors(path):
        for left_by_kill in unfinished:
            left_by_kill.unlink(missing_ok=True)
        connection = create_empty(partial)
        try:
            for key, value in to_plain(settings).items():
                connection.execute(sql.SET_SETTING, (key, encode_json(value)))
            for plan in plans:
                _add_probe(connection, plan, asking_of(plan.probe, settings.spec.max_tokens))
            write_digests(connection, uuid.uuid4().hex)
            connection.execute(sql.COMMIT)
            connection.close()
            partial.replace(path)
            sync_directory(path.parent)
        finally:
            connection.close()
            for file in unfinished:
                file.unlink(missing_ok=True)


def extend_probe(connection: sqlite3.Connection, plan: Plan, path: Path) -> None:
    """Make the plan of a probe larger: more prompts, of which those in the file are the first, or more repetitions."""
    name = plan.probe.name
    stored = [row[0] for row in connection.execute(sql.PROMPT_ROWS, (name,))]
    connection.execute(sql.SET_PARAMETERS, (encode_json(dict(plan.parameters)), plan.repetitions, name))
    if _add_prompts(connection, plan, plan.batches(), stored) < len(stored):
        raise IntegrityError(f"{path} holds other prompts of {name} than are planned now, and was not extended.")
    write_digest(connection, f"probe {name}")


def _add_probe(connection: sqlite3.Connection, plan: Plan, asking: Asking) -> None:
    batches = plan.batches()
    first = next(batches)
    covariates = tables.stored_types(first)
    prompts = plan.items * first.height // max(1, first[ITEM].n_unique())
    connection.execute(sql.USE_CACHE.format(min(sql.MAX_CACHE, sql.MIN_CACHE + prompts * sql.CACHE_PER_PROMPT // 1024)))
    origin = (plan.corpus, plan.corpus_sha256, plan.repetitions)
    parameters = encode_json(dict(plan.parameters))
    row = (plan.probe.name, plan.probe.version, parameters, *origin, encode_json(covariates))
    connection.execute(sql.ADD_PROBE, (*row, asking.max_tokens, asking.opening))
    _add_prompts(connection, plan, chain([first], batches))


def _add_prompts(
    connection: sqlite3.Connection, plan: Plan, batches: Iterable[pl.DataFrame], stored: Sequence[str] = ()
) -> int:
    """Add all prompts but the first, which are stored; return how many there are, or 0 if the stored ones differ."""
    name, position = plan.probe.name, 0
    for batch in batches:
        _refuse_gaps(name, batch)
        for part in batch.iter_slices(tables.BATCH):
            ids, items, values, texts, systems = tables.prompt_columns(part)
            known = list(stored[position : position + part.height])
            if ids[: len(known)] != known:
                return 0
            encoded = map(encode_text, texts), map(encode_text, systems)
            rows = zip(repeat(name), ids, count(position), items, values, *encoded, strict=False)
            connection.executemany(sql.ADD_PROMPT, islice(rows, len(known), None))
            position += part.height
    if position * plan.repetitions > MAX_PLANNED:
        raise BadParameter(
            f"A run has at most {MAX_PLANNED:,} attempts of a probe. Got {plan.repetitions:,} repetitions of "
            f"{position:,} prompts of {name} instead."
        )
    return position


def _refuse_gaps(probe: str, prompts: pl.DataFrame) -> None:
    """Refuse prompts that lack a covariate: nobody could say to which group their answers belong."""
    gaps = prompts.drop(SYSTEM, strict=False).fill_nan(None).null_count()
    if missing := [column for column in gaps.columns if gaps[column][0]]:
        raise ProbeError(f"The prompts of {probe} need a value in each column. Some lack: {', '.join(missing)}.")
