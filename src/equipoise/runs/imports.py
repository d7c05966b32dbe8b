"""Answers from elsewhere, such as a batch job, stored in a run file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from equipoise.answers.files import read_file
from equipoise.answers.matching import PLACE, ROW, PromptIndex, refuse_nothing_matched
from equipoise.answers.rows import Row, read_python, tabulate_rows
from equipoise.errors import InputError
from equipoise.measuring.result import Matching
from equipoise.models import Reply, Sampling
from equipoise.probes import choose_probes
from equipoise.runs.file.settings import RunSettings
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.runs.run import Run
from equipoise.runs.suites import Probes, plan_probes
from equipoise.schema import ID, PROMPT, REPETITION, STATUS, Status

PROBE = "probe"
NUMBER = "number"
"""The place of an answer among the rows that were read: there it stands exactly, in a table not (lone surrogates)."""


def record_answers(file: RunFile, rows: Iterable[Row]) -> tuple[int, Matching]:
    """Store answers under the attempts they belong to; give how many are new. What is already there stays."""
    planned = file.probes()
    prompts = pl.concat(
        [file.prompts(probe.name).select(pl.lit(probe.name).alias(PROBE), ID, PROMPT) for probe in planned]
    )
    repetitions = max(probe.repetitions for probe in planned)
    rows = list(rows)
    answers = pl.concat(list(tabulate_rows(rows))).with_row_index(NUMBER)
    index = PromptIndex([prompts])
    found = index.find(answers)
    assigned = index.assign(found, repetitions)
    matching = index.count_matches(repetitions, read=answers.height, found=found.height, assigned=assigned.height)
    refuse_nothing_matched(matching)
    outcomes = found.select(STATUS, NUMBER)[assigned[ROW]]
    attempts = prompts[assigned[PLACE]].hstack(assigned.select(REPETITION)).hstack(outcomes)
    new = file.record(
        Attempt(
            probe=row[PROBE],
            prompt=row[ID],
            repetition=row[REPETITION],
            reply=Reply(status=Status(row[STATUS]), answer=rows[row[NUMBER]][-1]),
        )
        for row in attempts.filter(pl.col(STATUS) != Status.PENDING).iter_rows(named=True)
    )
    return new, matching


def import_answers(
    answers: str | Path | Sequence[str | Path] | Any,
    out: str | Path,
    *,
    model: str = "custom/imported",
    probes: Probes = None,
    suite: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[Run, int, Matching]:
    """Store answers from elsewhere in a run file, which is made if it is not there.

    `answers` is the path of a file or several paths, or whatever `score` takes. Returns the run, how many attempts are
    new, and what became of the answers. For a run file that is there, `model`, `suite` and `parameters` are its own.
    """
    rows, path = list(_read_answers(answers)), Path(out)
    is_new = not path.exists()
    if not is_new:
        file = RunFile.open(path)
    else:
        suite = suite or "standard"
        plans = plan_probes(probes, suite, parameters or {})
        file = RunFile.create(path, settings=_imported_settings(model, suite), plans=plans)
    try:
        with file:
            new, matching = record_answers(file, rows)
    except InputError:
        if is_new:
            path.unlink(missing_ok=True)
        raise
    return Run.open(path, probes=choose_probes(probes)), new, matching


def _read_answers(answers: Any) -> Iterator[Row]:
    """Rows of answers from one file, several files, or Python."""
    paths = [answers] if isinstance(answers, str | Path) else answers
    if isinstance(paths, Sequence) and paths and all(isinstance(path, str | Path) for path in paths):
        for path in paths:
            yield from read_file(Path(path))
    else:
        yield from read_python(answers)


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
