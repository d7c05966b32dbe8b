"""Answers from elsewhere, such as a batch job, stored in a run file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.files import NO_NAMES, read_all, read_python
from equipoise.answers.formats import DETAILS
from equipoise.answers.matching import PLACE, RANK, ROW, PromptIndex, hash_keys, refuse_nothing_matched
from equipoise.assets import sha256_of
from equipoise.errors import InputError
from equipoise.measuring.result import Matching
from equipoise.models.protocol import Reply
from equipoise.probes import choose_probes
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.runs.run import Run, store_labels
from equipoise.runs.spec import make_record, make_spec
from equipoise.runs.suites import Probes, plan_probes
from equipoise.schema import ANSWER, ATTEMPT, ID, REPETITION, STATUS, Status, is_measured, replace_surrogates

PROBE = "probe"
REPLACES = "replaces"
"""Whether an answer takes the place of a failure."""
Tables = Callable[[], Iterable[pl.DataFrame]]


def import_answers(
    answers: str | Path | Sequence[str | Path] | Any,
    out: str | Path,
    *,
    model: str = "custom/imported",
    probes: Probes = None,
    suite: str | None = None,
    names: Mapping[str, str] = NO_NAMES,
    **parameters: Any,
) -> tuple[Run, int, Matching]:
    """Store answers from elsewhere in a run file, which is made if it is not there.

    `answers` is the path of a file or several paths, or whatever `score` takes. Returns the run, how many attempts are
    new, and what became of the answers. For a run file that is there, `model`, `suite` and `parameters` are its own.
    A `suite` that is given asks each prompt as often as `run` would; without one it is the standard suite, once each.
    `names` says which columns of the files are called otherwise than here: `{"response": "answer"}`.
    """
    given = [answers] if isinstance(answers, str | Path) else answers
    is_files = isinstance(given, Sequence) and given and all(isinstance(path, str | Path) for path in given)
    paths = [Path(path) for path in given] if is_files else []
    for path in paths:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is no file, and what is imported is read twice. Write it to a file first.")
    tables = [] if paths else list(read_python(answers))
    file_path = Path(out)
    is_new = not file_path.exists()
    file = _create(file_path, model, probes, suite, parameters) if is_new else RunFile.open(file_path)
    try:
        with file:
            new, replaced, matching = record_answers(file, lambda: read_all(paths, names) if paths else tables)
            store_labels(file, choose_probes(probes))
            file.add_notes([_describe_sources(paths, new, replaced)])
    except BaseException:
        if is_new and not Run(file_path, already_checked=True).counts.ended:
            file_path.unlink(missing_ok=True)
        raise
    return Run(file_path, choose_probes(probes), already_checked=is_new), new, matching


def _create(path: Path, model: str, probes: Probes, suite: str | None, parameters: Mapping[str, Any]) -> RunFile:
    """A run file for answers of a model of which nobody knows how it was asked."""
    plans = plan_probes(probes, suite or "standard", parameters, repeated=suite is not None)
    named = [planned.probe.name for planned in plans] if probes is not None else None
    own = tuple(planned.probe.own for planned in plans if planned.probe.own)
    spec = make_spec(model=model, probes=named, suite=suite or "standard", parameters=dict(parameters), own=own)
    return RunFile.create(path, record=make_record(spec, model_settings={"imported": True}), plans=plans)


def _describe_sources(paths: Sequence[Path], new: int, replaced: int) -> str:
    """What a run file says of answers from elsewhere: where they come from, and what nobody here knows of them."""
    sources = [f"{replace_surrogates(path.name)} (SHA-256 {sha256_of(path)})" for path in paths] or ["a Python program"]
    instead = f", {replaced:,} of them in place of failures" if replaced else ""
    return (
        f"Imported: {new:,} attempts from {', '.join(sources)}{instead}. That this model gave them, and how and when "
        "it was asked (temperature, system prompt, token limit), is not known here."
    )


def record_answers(file: RunFile, read_tables: Tables) -> tuple[int, int, Matching]:
    """Store answers under the attempts they belong to; how many are new, and how many of these had failed before.

    An answer that is already there stays, a failure does not. The tables are read twice, so that millions of answers
    need little memory: first to find the attempt of each answer, then to store them.
    """
    planned = file.probes()
    repetitions = np.repeat([probe.repetitions for probe in planned], [probe.prompts for probe in planned])
    named = (
        batch.with_columns(pl.lit(probe.name).alias(PROBE)) for probe in planned for batch in file.prompts(probe.name)
    )
    index = PromptIndex(named, pl.Series(repetitions), keep=(PROBE, ID))
    keys = pl.concat(hash_keys(table) for table in read_tables())
    assigned, matching = index.assign(keys)
    refuse_nothing_matched(matching)
    stated = keys[assigned[ROW]].select(RANK, stated=REPETITION)
    attempts = _choose_new(file, pl.concat([assigned, stated, index.kept[assigned[PLACE]]], how="horizontal"))
    replaced = attempts.filter(REPLACES).select(PROBE, *ATTEMPT)
    file.set_failures_aside(replaced.iter_rows())
    new = _store(file, read_tables(), attempts)
    dropped = assigned.height - attempts.height
    matching = replace(matching, matched=matching.matched - dropped, surplus=matching.surplus + dropped)
    return new, replaced.height, matching


def _choose_new(file: RunFile, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows whose attempts are pending, or failed and are answered now.

    Refused are answers that do not say their repetition, where that of the file may be the same or another.
    """
    rows = rows.join(file.ended(), on=(PROBE, *ATTEMPT), how="left", maintain_order="left")
    is_answer = pl.col(RANK) == 0
    rows = rows.with_columns((is_answer & pl.col(STATUS).is_not_null() & ~is_measured()).alias(REPLACES))
    is_new = pl.col(STATUS).is_null() | pl.col(REPLACES)
    is_repeated = pl.col(PROBE).is_in([probe.name for probe in file.probes() if probe.repetitions > 1])
    if unclear := rows.filter(~is_new & is_answer & pl.col("stated").is_null() & is_repeated).height:
        raise InputError(
            f"{unclear:,} answers do not say their repetition, and {file.path} has answers to their prompts already. "
            f"Import all files at once into a new run file, or give each answer its {REPETITION}, from 1."
        )
    return rows.filter(is_new).drop(STATUS)


def _store(file: RunFile, tables: Iterable[pl.DataFrame], attempts: pl.DataFrame) -> int:
    """Store the answers in these tables that have an attempt, and that were asked; return how many there are."""
    start = new = 0
    for table in tables:
        details = [name for name in DETAILS if name in table.columns]
        numbered = table.select(STATUS, ANSWER, *details).with_row_index(ROW, start)
        start += table.height
        own = attempts.filter(pl.col(ROW).is_between(numbered[ROW].min(), numbered[ROW].max()))
        answered = own.join(numbered, on=ROW).filter(pl.col(STATUS) != Status.PENDING.value).sort(ROW)
        new += file.store(_make_attempt(row, details) for row in answered.iter_rows(named=True))
    return new


def _make_attempt(row: Mapping[str, Any], details: Sequence[str]) -> Attempt:
    """The attempt of an answer, with what its response says about it."""
    reply = Reply(
        status=Status(row[STATUS]),
        answer=row[ANSWER],
        **{name: row[name] for name in details},
    )
    return Attempt(probe=row[PROBE], prompt_id=row[ID], repetition=row[REPETITION], reply=reply)
