"""A run file with answers of every kind: two genders, reasoning, cut off, and failed."""

from __future__ import annotations

from pathlib import Path

import equipoise
from equipoise.models.protocol import Reply
from equipoise.runs.file.values import Attempt
from equipoise.schema import Status
from runs.fakes import create


def write_answer(number: int, repetition: int) -> Reply:
    if number % 10 == 3:
        return Reply(status=Status.HTTP_ERROR, detail="503 <b>overloaded</b>")
    status = Status.TRUNCATED if number % 10 == 4 else Status.OK
    if number % 10 == 5:
        return Reply(status=status, answer="<think>He or she?</think>The person \u200b works.")
    pronoun = "He" if (number + repetition) % 2 else "She"
    return Reply(status=status, answer=f"{pronoun} is number {number} and likes Tulips.\n\n{pronoun} sings.")


def make_file(path: Path) -> Path:
    """Two probes, 60 prompts of one of them with two repetitions; every tenth attempt failed."""
    plans = [equipoise.plan("jobs_lum", sample=60, repeat=2), equipoise.plan("hiring_an", sample=16)]
    with create(path, *plans) as file:
        file.store(
            Attempt(
                probe=pending.probe,
                prompt_id=pending.prompt_id,
                repetition=pending.repetition,
                reply=write_answer(number, pending.repetition),
            )
            for number, pending in enumerate(file.pending())
        )
    return path
