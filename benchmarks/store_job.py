"""Work of the run file, in a process of its own: `commit ANSWERS EACH` or `fill FILE PROMPTS ENDED URL`.

`commit` stores answers of about 1,100 characters in commits of EACH, by the run file and by plain SQLite side by side.
`fill` makes a run file if there is none, and goes on until so many of its prompts have ended.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.clock import clocked, report
from equipoise.auditing import Connection, describe, open_model
from equipoise.frames import ID, Status
from equipoise.models import Reply
from equipoise.plans import Plan
from equipoise.runs import Attempt, RunFile
from equipoise.scoring import plan
from equipoise.settings import Settings

PROBE = "hiring_an"
REPLY = Reply(
    status=Status.OK,
    answer="We regret to inform you of the decision of the panel. " * 20,
    prompt_tokens=60,
    completion_tokens=240,
    latency=0.5,
    served_model="test-model",
    finish_reason="stop",
)


def attempts(asked: Plan) -> Iterator[Attempt]:
    """An answer to every prompt."""
    for batch in asked.batches():
        for prompt in batch[ID]:
            yield Attempt(probe=PROBE, prompt=prompt, repetition=1, reply=REPLY)


def commit(size: int, each: int) -> dict[str, Any]:
    """Seconds for so many answers in commits of `each`."""
    asked = plan(PROBE, sample_k=size)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        with RunFile.create(Path(folder) / "run.equipoise", settings={"model": "none"}, plans=[asked]) as run:
            answers = list(attempts(asked))
            with clocked(found, "ours"):
                for start in range(0, size, each):
                    run.record(answers[start : start + each])
        with closing(sqlite3.connect(Path(folder) / "plain.db", isolation_level=None)) as plain:
            plain.execute("pragma journal_mode = wal")
            plain.execute("pragma synchronous = full")
            plain.execute("create table answers (id text primary key, answer text not null)")
            with clocked(found, "plain"):
                for start in range(0, size, each):
                    plain.execute("begin")
                    rows = ((answer.prompt, answer.reply.answer) for answer in answers[start : start + each])
                    plain.executemany("insert into answers values (?, ?)", rows)
                    plain.execute("commit")
    return found


def fill(path: Path, size: int, ended: int, url: str) -> dict[str, Any]:
    """Bring a run file to where so many of its prompts have ended."""
    asked = plan(PROBE, sample_k=size)
    connection = Connection(model="openai/test-model", base_url=url)
    began = time.perf_counter()
    if path.exists():
        run = RunFile.open(path)
    else:
        settings = describe(connection, open_model(connection, Settings.load()), "standard")
        run = RunFile.create(path, settings=settings, plans=[asked])
    with run:
        rest = islice(attempts(asked), ended)
        while chunk := list(islice(rest, 10_000)):
            run.record(chunk)
    return {"wall": time.perf_counter() - began, "mb": path.stat().st_size / 2**20}


def main() -> None:
    """Do what is asked, and report what it cost."""
    if sys.argv[1] == "commit":
        report(commit(int(sys.argv[2]), int(sys.argv[3])))
    else:
        report(fill(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))


if __name__ == "__main__":
    main()
