"""Answers from elsewhere, such as a batch job, into a run file."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from equipoise.answers import Row, frames
from equipoise.frames import ANSWER, ID, PROMPT, REPETITION, STATUS, Status
from equipoise.matching import PLACE, ROW, Matching, Places
from equipoise.models import Reply
from equipoise.runs import Attempt, RunFile

PROBE = "probe"


def record(file: RunFile, rows: Iterable[Row]) -> tuple[int, Matching]:
    """Store answers under the attempts they belong to; give how many are new. What is there already stays."""
    planned = file.probes()
    prompts = pl.concat(
        [file.prompts(probe.name).select(pl.lit(probe.name).alias(PROBE), ID, PROMPT) for probe in planned]
    )
    repetitions = max(probe.repetitions for probe in planned)
    answers = pl.concat(list(frames(rows)))
    places = Places([prompts])
    found = places.find(answers)
    dealt = places.deal(found, repetitions)
    matching = places.matching(repetitions, read=answers.height, found=found.height, dealt=dealt.height)
    said = found.select(STATUS, ANSWER)[dealt[ROW]]
    ended = prompts[dealt[PLACE]].hstack(dealt.select(REPETITION)).hstack(said).filter(pl.col(STATUS) != Status.PENDING)
    attempts = (
        Attempt(
            probe=row[PROBE],
            prompt=row[ID],
            repetition=row[REPETITION],
            reply=Reply(status=Status(row[STATUS]), answer=row[ANSWER]),
        )
        for row in ended.iter_rows(named=True)
    )
    return file.record(attempts), matching
