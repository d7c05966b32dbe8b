"""Ask with inspect_ai: `python -m benchmarks.peers.inspect_loop URL REQUESTS CONCURRENCY`.

The task only generates and has no scorer. Its log is written as usual, but into a temporary folder.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from inspect_ai import Task, eval  # noqa: A004 - its name for it
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import get_model
from inspect_ai.solver import generate

from benchmarks.clock import measure_time, print_result
from benchmarks.fast_server import ANSWER, KEY, MODEL, QUESTION


def ask(url: str, requests: int, concurrency: int, folder: str) -> str:
    """Run a task with this many samples; return the path of its log."""
    dataset = [Sample(id=number + 1, input=QUESTION.format(number)) for number in range(requests)]
    (log,) = eval(
        Task(name="asking", dataset=dataset, solver=generate()),
        model=get_model(f"openai-api/loopback/{MODEL}", base_url=url, api_key=KEY),
        max_connections=concurrency,
        max_samples=concurrency,
        display="none",
        log_dir=folder,
    )
    assert log.status == "success"
    return str(log.location)


def main(url: str, requests: str, concurrency: str) -> None:
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_CACHE_HOME"] = folder
        ask(url, 1, 1, folder)  # not timed: what it imports and builds for its first sample
        with measure_time(result):
            log = ask(url, int(requests), int(concurrency), folder)
        answers = [sample.output.completion for sample in read_eval_log(log).samples]
    assert answers == [ANSWER] * int(requests)
    print_result(result)


if __name__ == "__main__":
    main(*sys.argv[1:])
