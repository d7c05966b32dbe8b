"""The work that is measured, each piece in a process of its own: `python -m benchmarks.jobs NAME ARGUMENT…`.

A job gives what is to be known of it; its time, its CPU and the peak memory of its process are added.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain, permutations
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
from equipoise.measuring.plan import plan
from equipoise.models.protocol import Reply
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
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


def write_answers(prompts: int, folder: Path) -> dict[str, Any]:
    """Answers of a simulated model without bias, about 1,100 characters each, no two the same; Parquet files."""
    planned, rng = plan(PROBE, sample=prompts), np.random.default_rng(0)
    orders = ["".join(order) for order in permutations(FILLER)]
    for number, batch in enumerate(planned.batches()):
        decisions = planned.probe.simulate(batch, "unbiased", rng)
        chosen = rng.integers(len(orders), size=(batch.height, 3)).tolist()
        texts = [
            f"Reference {key}. {''.join(orders[place] for place in places)}"[: LENGTH - 47] + f". {decision}"
            for key, decision, places in zip(batch[ID], decisions, chosen, strict=True)
        ]
        batch.select(ID, pl.Series(ANSWER, texts)).write_parquet(folder / f"{number:06}.parquet")
    return {}


def score_files(reading: str, prompts: int, folder: Path) -> dict[str, Any]:
    """Files of answers, read, matched, evaluated and measured."""
    tables = chain.from_iterable(map(read_tables, sorted(folder.iterdir())))
    assert score_tables(plan(PROBE, reading=reading, sample=prompts), tables).matching.matched == prompts
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


def fill(path: Path, size: int, url: str) -> dict[str, Any]:
    """A run file whose prompts have answers, all but one in a thousand."""
    spec = RunSpec(model="openai/test-model", base_url=url, suite="standard")
    reached = reach_model(spec, None, Access(), Source(name="This benchmark", again=[]))
    settings, planned = make_record(reached.public_spec, model_settings=reached.settings), plan(PROBE, sample=size)
    with RunFile.create(path, record=settings, plans=[planned]) as run:
        for batch in planned.batches():
            answered = batch[ID][: batch.height * 999 // 1000]
            run.store(Attempt(probe=PROBE, prompt_id=prompt, repetition=1, reply=REPLY) for prompt in answered)
    return {"mb": path.stat().st_size / 2**20}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    job.__name__: job for job in (write_answers, score_files, score_in_memory, fill)
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
