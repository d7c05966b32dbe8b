"""Answers from elsewhere, such as a batch job, stored in a run file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from equipoise.answers.files import NO_NAMES, read_all
from equipoise.answers.matching import PLACE, RANK, ROW, Numbers, PromptIndex, refuse_nothing_matched
from equipoise.answers.rows import read_python
from equipoise.assets.store import sha256_of
from equipoise.errors import InputError
from equipoise.measuring.result import Matching
from equipoise.models.protocol import Reply
from equipoise.probes import choose_probes
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.runs.run import Run, store_labels
from equipoise.runs.spec import make_record, make_spec
from equipoise.runs.suites import Probes, plan_probes
from equipoise.schema import ANSWER, ATTEMPT, ID, MEASURED, PROMPT, REPETITION, STATUS, Status, replace_surrogates

PROBE = "probe"
NUMBER = "number"
"""The place of an answer among the rows that were read."""
Tables = Callable[[], Iterable[pl.DataFrame]]


class Recorded(NamedTuple):
    """What became of answers: how many attempts are new in the file, and how many of these had failed before."""

    new: int
    replaced: int
    matching: Matching


def record_answers(file: RunFile, read_tables: Tables) -> Recorded:
    """Store answers under the attempts they belong to. An answer that is already there stays, a failure does not.

    The tables are read twice, so that millions of answers need little memory: first to find the attempt of each answer,
    then to store them.
    """
    planned = file.probes()
    repetitions = np.repeat([probe.repetitions for probe in planned], [probe.prompts for probe in planned])
    named = (
        batch.with_columns(pl.lit(probe.name).alias(PROBE)) for probe in planned for batch in file.prompts(probe.name)
    )
    index = PromptIndex(named, repetitions, keep=(PROBE, ID))
    found, read = _find_rows(index, read_tables())
    assigned, matching = index.assign(found, read)
    refuse_nothing_matched(matching)
    kept, is_failed = _choose_new(file, index.repetitions, found, assigned)
    attempts = index.kept[assigned[PLACE]].hstack(assigned.select(REPETITION))
    file.set_failures_aside(attempts.filter(is_failed).iter_rows())
    number = found[NUMBER][assigned[ROW]]
    new = _store(file, read_tables(), attempts.with_columns(number).filter(kept).sort(NUMBER))
    dropped = assigned.height - int(kept.sum())
    matching = replace(matching, matched=matching.matched - dropped, surplus=matching.surplus + dropped)
    return Recorded(new, int(is_failed.sum()), matching)


def _store(file: RunFile, tables: Iterable[pl.DataFrame], attempts: pl.DataFrame) -> int:
    """Store the answers in these tables that have an attempt, and that were asked; return how many there are."""
    start = new = 0
    for table in tables:
        numbers = attempts[NUMBER]
        first, end = (numbers.search_sorted(place) for place in (start, start + table.height))
        own = attempts[first:end]
        answered = own.hstack(table[own[NUMBER] - start].select(STATUS, ANSWER))
        answered = answered.filter(pl.col(STATUS) != Status.PENDING.value)
        new += file.record(
            Attempt(probe=probe, prompt=prompt, repetition=number, reply=Reply(status=Status(status), answer=answer))
            for probe, prompt, number, status, answer in answered.select(PROBE, *ATTEMPT, STATUS, ANSWER).iter_rows()
        )
        start += table.height
    return new


def _choose_new(
    file: RunFile, most: Numbers, found: pl.DataFrame, assigned: pl.DataFrame
) -> tuple[pl.Series, pl.Series]:
    """Which of the assigned rows are stored, and which of these in place of a failure.

    Refused are answers that do not say their repetition, where that of the file may be the same or another.
    """
    free, failed, answered = 0, 1, 2
    stored = np.where(np.arange(1, most.max() + 1) > most[:, None], answered, free).astype(np.uint8)
    start = 0
    for probe in file.probes():
        for position, number, status in file.ended(probe.name):
            stored[start + position, number - 1] = answered if status in MEASURED else failed
        start += probe.prompts
    place, repetition = assigned[PLACE].to_numpy(), assigned[REPETITION].to_numpy() - 1
    rows = found[assigned[ROW]]
    there, is_answer = stored[place, repetition], rows[RANK].to_numpy() == 0
    replaces = (there == failed) & is_answer
    kept = (there == free) | replaces
    stored[place[kept], repetition[kept]] = answered
    unclear = ~kept & is_answer & rows[REPETITION].is_null().to_numpy() & (stored[place] == free).any(axis=1)
    if unclear.any():
        raise InputError(
            f"{int(unclear.sum()):,} answers do not say their repetition, and {file.path} has answers to their prompts "
            f"already, of {int(most.max())} for each. Import all files at once into a new run file, or give each "
            f"answer its {REPETITION}, from 1."
        )
    return pl.Series(kept), pl.Series(replaces)


def _find_rows(index: PromptIndex, tables: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """Where each row's prompt stands, with the number of the row; and how many rows there are."""
    found: list[pl.DataFrame] = []
    read = 0
    for table in tables:
        numbered = table.select(ID, PROMPT, REPETITION, STATUS).with_row_index(NUMBER, read)
        found.append(index.find(numbered).drop(STATUS))
        read += table.height
    return pl.concat(found), read


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
    read_tables, path = _find_tables(answers, names), Path(out)
    is_new = not path.exists()
    if not is_new:
        file = RunFile.open(path)
    else:
        plans = plan_probes(probes, suite or "standard", parameters, repeated=suite is not None)
        # How the model was asked is not known.
        named = [planned.probe.name for planned in plans] if probes is not None else None
        own = tuple(planned.probe.own for planned in plans if planned.probe.own)
        spec = make_spec(model=model, probes=named, suite=suite or "standard", parameters=parameters, own=own)
        file = RunFile.create(path, settings=make_record(spec, model_settings={"imported": True}), plans=plans)
    try:
        with file:
            _refuse_other_probes(file, probes)
            new, replaced, matching = record_answers(file, read_tables)
            store_labels(file, choose_probes(probes))
            file.add_notes([_describe_sources(answers, new, replaced)])
    except BaseException:
        if is_new and not Run(path, checked=True).ended:
            path.unlink(missing_ok=True)
        raise
    return Run(path, choose_probes(probes), checked=True), new, matching


def _refuse_other_probes(file: RunFile, wanted: Probes) -> None:
    """Refuse probes that were named and that the run file has no prompts of."""
    known = [probe.name for probe in file.probes()]
    others = [probe.name for probe in choose_probes(wanted) if probe.name not in known] if wanted is not None else []
    if others:
        raise InputError(
            f"{file.path} has prompts of {', '.join(known)}, and none of {', '.join(others)}. Give another --out."
        )


def _describe_sources(answers: Any, new: int, replaced: int) -> str:
    """What a run file says of answers from elsewhere: where they come from, and what nobody here knows of them."""
    paths = _find_paths(answers)
    sources = [f"{replace_surrogates(path.name)} (SHA-256 {sha256_of(path)})" for path in paths] or ["a Python program"]
    instead = f", {replaced:,} of them in place of failures" if replaced else ""
    return (
        f"Imported: {new:,} attempts from {', '.join(sources)}{instead}. That this model gave them, and how and when "
        "it was asked (temperature, system prompt, token limit), is not known here."
    )


def _find_paths(answers: Any) -> list[Path]:
    """The files that answers are read from; none if they are values of Python."""
    paths = [answers] if isinstance(answers, str | Path) else answers
    is_files = isinstance(paths, Sequence) and paths and all(isinstance(path, str | Path) for path in paths)
    return [Path(path) for path in paths] if is_files else []


def _find_tables(answers: Any, names: Mapping[str, str]) -> Tables:
    """How tables of answers are read, as often as wanted: from one file, several files, or Python."""
    if paths := _find_paths(answers):
        for path in paths:
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise InputError(f"{path} is no file, and what is imported is read twice. Write it to a file first.")
        return lambda: read_all(paths, names)
    tables = list(read_python(answers))
    return lambda: tables
