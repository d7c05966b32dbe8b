"""Answers from elsewhere, such as a batch job, into a run file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from equipoise.answers import Matching, deal, frames
from equipoise.frames import ANSWER, ID, PROMPT, REPETITION, STATUS, Status
from equipoise.models import Reply
from equipoise.runs import Attempt, RunFile

PROBE = "probe"


def record(file: RunFile, rows: Iterable[Mapping[str, Any]]) -> tuple[int, Matching]:
    """Store answers under the attempts they belong to; give how many are new. What is there already stays."""
    planned = file.probes()
    prompts = pl.concat(
        [file.prompts(probe.name).select(pl.lit(probe.name).alias(PROBE), ID, PROMPT) for probe in planned]
    )
    answers = pl.concat([*frames(rows), next(frames([{}]))[:0]])
    dealt, matching = deal(prompts, max(probe.repetitions for probe in planned), answers)
    dealt = dealt.filter(pl.col(STATUS) != Status.PENDING).join(prompts.select(PROBE, ID), on=ID)
    attempts = (
        Attempt(
            probe=row[PROBE],
            prompt=row[ID],
            repetition=row[REPETITION],
            reply=Reply(status=Status(row[STATUS]), answer=row[ANSWER]),
        )
        for row in dealt.iter_rows(named=True)
    )
    return file.record(attempts), matching
