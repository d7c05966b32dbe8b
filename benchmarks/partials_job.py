"""Shards of `hiring_an`: `python -m benchmarks.partials_job write|local|ray|ray_data ANSWERS FOLDER`.

`write` simulates short answers, ten to each prompt, in Parquet files of 100,000. The others score
them: in this process, or with two workers of Ray, by tasks of Ray's core or by Ray Data.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl

from benchmarks.clock import measure_time, print_result
from equipoise.answers.parts import PartScorer
from equipoise.answers.shards import score_shards
from equipoise.engines import ray as engine
from equipoise.measuring.blocks import ITEMS_PER_BLOCK
from equipoise.measuring.partials import Partial
from equipoise.measuring.plan import Plan, plan
from equipoise.schema import ANSWER, ID, ITEM_NUMBER, PROMPT, REPETITION, STATUS

REPETITIONS = 10
ITEMS_PER_SHARD = 5_000
ANSWERS_PER_SHARD = ITEMS_PER_SHARD * 2 * REPETITIONS
WORKERS = 2
SECONDS_BETWEEN_LOOKS = 1.0


def make_plan(answers: int) -> Plan:
    """A plan of `hiring_an` with so many attempts: two prompts for each item, ten times each."""
    return plan("hiring_an", sample=answers // (2 * REPETITIONS), repeat=REPETITIONS)


def write_shards(planned: Plan, folder: Path) -> None:
    """Write the answers of a simulated model without bias."""
    rng = np.random.default_rng(0)
    for start in range(0, planned.items, ITEMS_PER_SHARD):
        prompts = planned.take(start, start + ITEMS_PER_SHARD)
        number = pl.Series(ITEM_NUMBER, start + np.arange(prompts.height) // 2)
        repeated = prompts.select(ID, number, pl.int_ranges(1, REPETITIONS + 1).alias(REPETITION)).explode(REPETITION)
        texts = [planned.probe.simulate(prompts, "unbiased", rng) for _ in range(REPETITIONS)]
        decisions = pl.Series([text for group in zip(*texts, strict=True) for text in group])
        repeated.with_columns((repeated[ID] + " " + decisions).alias(ANSWER)).write_parquet(
            folder / f"{start:09}.parquet"
        )


def score_with_ray_data(planned: Plan, files: list[Path]) -> Partial:
    """The same with Ray Data: files are read by Ray, and each block of rows becomes a partial."""
    import ray  # noqa: PLC0415 - a process that scores alone does not need it

    def score(table: Any) -> dict[str, list[bytes]]:
        given = pl.from_arrow(table)
        assert isinstance(given, pl.DataFrame)
        empty = {PROMPT: pl.lit(None, pl.String), STATUS: pl.lit("ok")}
        answers = given.select(ID, REPETITION, ANSWER).with_columns(**empty)
        blocks = (given[ITEM_NUMBER] // ITEMS_PER_BLOCK).unique().sort().to_list()
        return {"partial": [pickle.dumps(PartScorer(planned).score_tables(lambda: [answers], blocks))]}

    ray.data.DataContext.get_current().enable_progress_bars = False
    scored = ray.data.read_parquet([str(path) for path in files]).map_batches(
        score, batch_size=None, batch_format="pyarrow", num_cpus=1
    )
    return Partial.sum(pickle.loads(row["partial"]) for row in scored.iter_rows())


@contextmanager
def watch_processes(result: dict[str, Any]) -> Iterator[None]:
    """Store the peak memory of all processes that this one has started, and the CPU seconds that they use meanwhile."""
    ended, cpu, peak, workers = threading.Event(), read_cpu(), 0.0, 0.0
    before = sum(cpu.values())

    def look() -> None:
        nonlocal peak, workers
        while not ended.wait(SECONDS_BETWEEN_LOOKS):
            cpu.update(read_cpu())
            memory = read_memory()
            peak = max(peak, sum(size for size, _ in memory))
            workers = max(workers, sum(size for size, is_worker in memory if is_worker))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    yield
    ended.set()
    watcher.join()
    cpu.update(read_cpu())
    result |= {"children_cpu": sum(cpu.values()) - before, "children_mb": peak, "workers_mb": workers}


def read_cpu() -> dict[int, float]:
    """The CPU seconds of each process that this one has started."""
    used = {}
    for pid in list_descendants(os.getpid()):
        with suppress(OSError, IndexError, ValueError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


def read_memory() -> list[tuple[float, bool]]:
    """The memory of each of them in MB, and whether it is a worker of Ray."""
    sizes = []
    for pid in list_descendants(os.getpid()):
        with suppress(OSError):
            # The proportional set size: what processes share is counted once.
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            found = re.search(r"^Pss:\s+(\d+) kB", rollup, flags=re.MULTILINE)
            is_worker = Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::")
            sizes.append((int(found[1]) / 1024 if found else 0.0, is_worker))
    return sizes


def list_descendants(parent: int) -> set[int]:
    """The processes that a process has started, and those that they have started."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = {parent}
    while more := {pid for pid, above in parents.items() if above in found} - found:
        found |= more
    return found - {parent}


def start_ray(result: dict[str, Any]) -> None:
    """Start two workers that talk to nobody else."""
    import ray  # noqa: PLC0415 - a process that scores alone does not need it

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with measure_time(result, "start"):
        ray.init(
            num_cpus=WORKERS,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=500 * 2**20,
            runtime_env={"env_vars": engine.WORKER_VARIABLES},
            _node_ip_address="127.0.0.1",
        )


def main() -> None:
    """Run the job and print its result."""
    job, answers, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    planned = make_plan(answers)
    if job == "write":
        write_shards(planned, folder)
        print_result({"bytes": sum(path.stat().st_size for path in folder.iterdir())})
        return
    files = sorted(folder.iterdir())
    result: dict[str, Any] = {}
    if job != "local":
        start_ray(result)
    with watch_processes(result), measure_time(result):
        if job == "local":
            total = score_shards(planned, files)
        elif job == "ray":
            total = engine.score_shards(planned, files)
        else:
            total = score_with_ray_data(planned, files)
    with measure_time(result, "result"):
        scored = total.result()
    assert scored.matching.matched == answers
    result["cells"] = total.sums.cells.height
    result["partial_bytes"] = write_and_weigh(total, folder.with_suffix(".partial"))
    result["digest"] = hashlib.sha256(orjson.dumps(scored.to_dict())).hexdigest()
    print_result(result)


def write_and_weigh(total: Partial, path: Path) -> int:
    """Write a partial to a file, and return how large that is."""
    total.write(path)
    size = path.stat().st_size
    path.unlink()
    return size


if __name__ == "__main__":
    main()
