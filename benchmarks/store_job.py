"""Store answers: `python -m benchmarks.store_job commit ANSWERS BATCH_SIZE` or `… fill FILE PROMPTS ANSWERED URL`.

`commit` stores answers of about 1,100 characters, BATCH_SIZE in each commit, in a run file and in plain SQLite.
`fill` creates the run file if it does not exist, and stores answers until ANSWERED prompts have one.
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

from benchmarks.clock import measure_time, print_result
from benchmarks.settings import make_settings
from equipoise.measuring.plan import Plan, plan
from equipoise.models import Reply
from equipoise.runs.connection import Connection, open_model
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.schema import ID, Status
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


def answered_attempts(planned: Plan) -> Iterator[Attempt]:
    """One attempt with an answer for every prompt."""
    for batch in planned.batches():
        for prompt in batch[ID]:
            yield Attempt(probe=PROBE, prompt=prompt, repetition=1, reply=REPLY)


def commit(size: int, batch_size: int) -> dict[str, Any]:
    """Seconds to store `size` answers, `batch_size` in each commit."""
    planned = plan(PROBE, sample=size // 2)
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        with RunFile.create(Path(folder) / "run.equipoise", settings=make_settings(), plans=[planned]) as run:
            answers = list(answered_attempts(planned))
            with measure_time(result, "ours"):
                for start in range(0, size, batch_size):
                    run.record(answers[start : start + batch_size])
        with closing(sqlite3.connect(Path(folder) / "plain.db", isolation_level=None)) as plain:
            plain.execute("pragma journal_mode = wal")
            plain.execute("pragma synchronous = full")
            plain.execute("create table answers (id text primary key, answer text not null)")
            with measure_time(result, "plain"):
                for start in range(0, size, batch_size):
                    plain.execute("begin")
                    rows = ((answer.prompt, answer.reply.answer) for answer in answers[start : start + batch_size])
                    plain.executemany("insert into answers values (?, ?)", rows)
                    plain.execute("commit")
    return result


def fill(path: Path, size: int, answered: int, url: str) -> dict[str, Any]:
    """Store answers in a run file until `answered` of its prompts have one."""
    planned = plan(PROBE, sample=size // 2)
    connection = Connection(model="openai/test-model", base_url=url)
    start_time = time.perf_counter()
    if path.exists():
        run = RunFile.open(path)
    else:
        settings = connection.describe(open_model(connection, Settings.load()), "standard")
        run = RunFile.create(path, settings=settings, plans=[planned])
    with run:
        remaining = islice(answered_attempts(planned), answered)
        while batch := list(islice(remaining, 10_000)):
            run.record(batch)
    return {"wall": time.perf_counter() - start_time, "mb": path.stat().st_size / 2**20}


def main() -> None:
    """Run the job and print its result."""
    if sys.argv[1] == "commit":
        print_result(commit(int(sys.argv[2]), int(sys.argv[3])))
    else:
        print_result(fill(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))


if __name__ == "__main__":
    main()
