"""The work that is measured, each piece in a process of its own: `python -m benchmarks.jobs NAME ARGUMENT…`.

A job gives what is to be known of it; its time, its CPU and the peak memory of its process are added.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.ma  # polars imports these at its first array, and imports are not timed
import numpy.random
import orjson
import polars as pl

from benchmarks.processes import measure_time, print_result
from equipoise.answers.files import read_python, read_tables
from equipoise.answers.score import score_tables
from equipoise.measuring.plan import Plan, plan
from equipoise.models.protocol import Reply
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.runs.imports import import_answers
from equipoise.runs.reaching import Source, reach_model
from equipoise.runs.spec import Access, RunSpec, make_record
from equipoise.schema import ANSWER, ID, REPETITION, Status

PROBE = "hiring_an"
LENGTH = 1_100
FILLER = (
    "Dear applicant, thank you for the time that you gave to our conversations over the past weeks. ",
    "The panel met on Thursday and read every application twice before it came to an end of its work. ",
    "We were pleased to see so many thoughtful letters, and yours was among those we talked about longest. ",
    "Our office will answer any question that you may have about the next steps within two working days. ",
    "Please find the details of the process, the dates and the names of the people involved attached. ",
)
REPLY = Reply(status=Status.OK, answer="We regret to inform you of the decision of the panel. " * 20, latency=0.5)


def make_plan(prompts: int) -> Plan:
    """A plan of `hiring_an` with this many prompts, two for each item."""
    return plan(PROBE, sample=prompts)


def write_answers(prompts: int, folder: Path) -> dict[str, Any]:
    """Answers of a simulated model without bias, about 1,100 characters each, no two the same; JSONL and Parquet."""
    planned, rng = make_plan(prompts), np.random.default_rng(0)
    orders = ["".join(order) for order in permutations(FILLER)]
    path = folder / f"{prompts}.jsonl"
    with path.open("wb") as file:
        for batch in planned.batches():
            decisions = planned.probe.simulate(batch, "unbiased", rng)
            rows = zip(batch[ID], decisions, rng.integers(len(orders), size=(batch.height, 3)).tolist(), strict=True)
            for key, decision, numbers in rows:
                text = f"Reference {key}. {''.join(orders[number] for number in numbers)}"[: LENGTH - 47]
                file.write(orjson.dumps({ID: key, ANSWER: f"{text}. {decision}"}, option=orjson.OPT_APPEND_NEWLINE))
    pl.scan_ndjson(path).sink_parquet(path.with_suffix(".parquet"), row_group_size=20_000)
    return {}


def score_file(reading: str, prompts: int, folder: Path) -> dict[str, Any]:
    """A file of answers, read, matched, evaluated and measured."""
    planned = plan(PROBE, reading=reading, sample=prompts)
    assert score_tables(planned, read_tables(folder / f"{prompts}.parquet")).matching.matched == prompts
    return {}


def store_answers(prompts: int, folder: Path) -> dict[str, Any]:
    """A file of answers, imported into a new run file."""
    path = folder / f"{prompts}.equipoise"
    _, new, _ = import_answers(folder / f"{prompts}.jsonl", path, probes=PROBE, sample=prompts)
    assert new == prompts
    return {}


def score_in_memory(probe: str, reading: str, path: Path, parameters: str) -> dict[str, Any]:
    """What `equipoise.score` does with rows in memory. Reading the file and the corpus is not timed."""
    planned = plan(probe, reading=reading, **orjson.loads(parameters))
    with path.open("rb") as file:
        rows = [{name: row[name] for name in (ID, REPETITION, ANSWER)} for row in map(orjson.loads, file)]
    with measure_time() as cost:
        result = score_tables(planned, read_python(rows))
    assert result.matching.matched == len(rows)
    return cost


def answered_attempts(planned: Plan) -> Iterator[Attempt]:
    """One attempt with an answer for every prompt."""
    for batch in planned.batches():
        for prompt in batch[ID]:
            yield Attempt(probe=PROBE, prompt=prompt, repetition=1, reply=REPLY)


def fill(path: Path, size: int, answered: int, url: str) -> dict[str, Any]:
    """A run file whose prompts have answers, so many of them."""
    spec = RunSpec(model="openai/test-model", base_url=url, suite="standard")
    reached = reach_model(spec, None, Access(), Source(name="This benchmark", again=[]))
    settings = make_record(reached.public_spec, model_settings=reached.settings)
    with RunFile.create(path, settings=settings, plans=[make_plan(size)]) as run:
        remaining = islice(answered_attempts(make_plan(size)), answered)
        while batch := list(islice(remaining, 10_000)):
            run.record(batch)
    return {"mb": path.stat().st_size / 2**20}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    job.__name__: job for job in (write_answers, score_file, store_answers, score_in_memory, fill)
}


def main() -> None:
    """Run the job and print what it cost."""
    name, *given = sys.argv[1:]
    arguments = [int(word) if word.isdigit() else Path(word) if word.startswith("/") else word for word in given]
    with measure_time() as cost:
        found = JOBS[name](*arguments)
    print_result({**cost, **found})


if __name__ == "__main__":
    main()
