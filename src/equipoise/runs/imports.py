"""Answers from elsewhere, such as a batch job, stored in a run file."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from equipoise.answers.matching import PLACE, ROW, PromptIndex, refuse_nothing_matched
from equipoise.answers.rows import Row, tabulate_rows
from equipoise.measuring.result import Matching
from equipoise.models import Reply
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
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
