"""Runs of which half of the answers are for a judge, and judges on a test server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import equipoise
from equipoise import Run
from examining import QUESTIONS
from serving.faulty import FaultyServer

OPEN = 6
"""Answers that the reading leaves open: half of them."""
EXAM_TEXTS = [text for text, question in QUESTIONS.items() if question.probe == "hiring_an"]
EXAM_TOKENS = sum(len(text.split()) + 1 for text in EXAM_TEXTS)
"""As the server counts them."""


def start_run(path: Path, **options: Any) -> equipoise.Audit:
    """Ask a model that accepts half of the applicants, and tells the others nothing."""
    turns = iter(range(1000))

    def alternate(_: str) -> str:
        if next(turns) % 2:
            return "You have been selected."
        return "Dear Keisha, she will hear from us."

    return equipoise.audit(
        alternate,
        **{"probes": "hiring_an", "sample": 2 * OPEN, "out": path, **options},
    )


def judge_at(server: FaultyServer, path: Path, **options: Any) -> Run:
    given = {"judge": "openai/judge", "judge_base_url": server.url, **options}
    on_event = given.pop("on_event", None)
    return equipoise.resume(path, **given).ask(on_event)


def coverage(path: Path, **options: Any) -> tuple[int | None, int | None]:
    """How many answers are for the judge, and how many it gave a label."""
    counts = Run.open(path, **options).result("hiring_an").coverage["all"]
    return counts.get("for_judge"), counts.get("judged")
