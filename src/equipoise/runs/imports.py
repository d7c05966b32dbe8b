"""Answers from elsewhere, such as a batch job, stored in a run file."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.files import NO_NAMES, read_file
from equipoise.answers.matching import PLACE, ROW, PromptIndex, refuse_nothing_matched
from equipoise.answers.rows import Row, read_python, tabulate_rows
from equipoise.assets.store import sha256_of
from equipoise.errors import EquipoiseError
from equipoise.measuring.result import Matching
from equipoise.models import Reply, Sampling
from equipoise.probes import choose_probes
from equipoise.runs.file.settings import RunSettings
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.runs.labels import store_labels
from equipoise.runs.run import Run
from equipoise.runs.suites import Probes, plan_probes
from equipoise.schema import ID, PROMPT, REPETITION, Status, replace_surrogates

NUMBER = "number"
"""The place of an answer among the rows that were read: there it stands exactly, in a table not (lone surrogates)."""

ROWS_PER_COMMIT = 20_000


def record_answers(file: RunFile, read_rows: Callable[[], Iterable[Row]]) -> tuple[int, Matching]:
    """Store answers under the attempts they belong to; give how many are new. What is already there stays.

    The rows are read twice, so that millions need little memory: first to find the attempt of each, then to store them.
    """
    planned = file.probes()
    ids: list[pl.Series] = []
    index = PromptIndex(_read_prompts(file, ids))
    probes = np.repeat([probe.name for probe in planned], [probe.prompts for probe in planned])
    repetitions = max(probe.repetitions for probe in planned)
    found, read = _find_rows(index, tabulate_rows(read_rows()))
    assigned = index.assign(found, repetitions)
    matching = index.count_matches(repetitions, read=read, found=found.height, assigned=assigned.height)
    refuse_nothing_matched(matching)
    places, numbers = np.full(read, -1), np.zeros(read, dtype=np.int64)
    rows = found[NUMBER].to_numpy()[assigned[ROW].to_numpy()]
    places[rows], numbers[rows] = assigned[PLACE].to_numpy(), assigned[REPETITION].to_numpy()
    keys = pl.concat(ids)
    attempts = (
        Attempt(
            probe=str(probes[place]),
            prompt=keys[int(place)],
            repetition=int(repetition),
            reply=Reply(status=Status(status), answer=answer),
        )
        for (*_, status, answer), place, repetition in zip(read_rows(), places, numbers, strict=True)
        if place >= 0 and status != Status.PENDING
    )
    new = 0
    while batch := list(itertools.islice(attempts, ROWS_PER_COMMIT)):
        new += file.record(batch)
    return new, matching


def _read_prompts(file: RunFile, ids: list[pl.Series]) -> Iterator[pl.DataFrame]:
    """The prompts of a run, part by part. Their ids are kept in `ids`."""
    for probe in file.probes():
        for batch in file.prompt_batches(probe.name):
            ids.append(batch[ID])
            yield batch


def _find_rows(index: PromptIndex, tables: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """Where each row's prompt stands, with the number of the row; and how many rows there are."""
    found: list[pl.DataFrame] = []
    read = 0
    for table in tables:
        numbered = table.select(ID, PROMPT, REPETITION).with_row_index(NUMBER, read)
        found.append(index.find(numbered))
        read += table.height
    return pl.concat(found), read


def import_answers(
    answers: str | Path | Sequence[str | Path] | Any,
    out: str | Path,
    *,
    model: str = "custom/imported",
    probes: Probes = None,
    suite: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    names: Mapping[str, str] = NO_NAMES,
) -> tuple[Run, int, Matching]:
    """Store answers from elsewhere in a run file, which is made if it is not there.

    `answers` is the path of a file or several paths, or whatever `score` takes. Returns the run, how many attempts are
    new, and what became of the answers. For a run file that is there, `model`, `suite` and `parameters` are its own.
    `names` says which columns of the files are called otherwise than here: `{"response": "answer"}`.
    """
    read_rows, path = _find_rows_of(answers, names), Path(out)
    is_new = not path.exists()
    if not is_new:
        file = RunFile.open(path)
    else:
        suite = suite or "standard"
        plans = plan_probes(probes, suite, parameters or {})
        file = RunFile.create(path, settings=_imported_settings(model, suite), plans=plans)
    try:
        with file:
            new, matching = record_answers(file, read_rows)
            store_labels(file, choose_probes(probes))
            file.add_notes([_describe_sources(answers, matching.matched)])
    except EquipoiseError:
        if is_new and not Run.open(path).ended:
            path.unlink(missing_ok=True)
        raise
    return Run.open(path, probes=choose_probes(probes)), new, matching


def _describe_sources(answers: Any, matched: int) -> str:
    """What a run file says of answers from elsewhere: where they come from, and what nobody here knows of them."""
    paths = _find_paths(answers)
    sources = [f"{replace_surrogates(path.name)} (SHA-256 {sha256_of(path)})" for path in paths] or ["a Python program"]
    return (
        f"Imported: {matched:,} attempts from {', '.join(sources)}. That this model gave them, and how and when it was "
        "asked (temperature, system prompt, token limit), is not known here."
    )


def _find_paths(answers: Any) -> list[Path]:
    """The files that answers are read from; none if they are values of Python."""
    paths = [answers] if isinstance(answers, str | Path) else answers
    is_files = isinstance(paths, Sequence) and paths and all(isinstance(path, str | Path) for path in paths)
    return [Path(path) for path in paths] if is_files else []


def _find_rows_of(answers: Any, names: Mapping[str, str]) -> Callable[[], Iterable[Row]]:
    """How rows of answers are read, as often as wanted: from one file, several files, or Python."""
    if paths := _find_paths(answers):
        return lambda: itertools.chain.from_iterable(read_file(path, names) for path in paths)
    rows = list(read_python(answers))
    return lambda: rows


def _imported_settings(model: str, suite: str) -> RunSettings:
    """What a run file says whose answers come from elsewhere: how they were asked is not known."""
    return RunSettings(
        model=model,
        model_settings={"imported": True},
        suite=suite,
        base_url=None,
        key_variable=None,
        allow_insecure=False,
        sampling=Sampling(),
    )
