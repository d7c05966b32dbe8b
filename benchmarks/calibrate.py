"""Simulate models, and write whether intervals, marks, tests and gates meet their goals.

    python -m benchmarks.calibrate            600 runs a row; prints the tables
    python -m benchmarks.calibrate --write    and writes them to docs/calibration.md
    python -m benchmarks.calibrate --full     2,000 runs a row

The corpora must have been fetched (`equipoise data fetch`). Everything is seeded. What a job found
is added to a file at once (`--results`), and a job whose rows are there is not run again: so an
interrupted run continues where it was. Rows that other code has made are not used.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration.gates import judge_all
from benchmarks.calibration.goals import find_missed
from benchmarks.calibration.jobs import Job, list_jobs
from benchmarks.calibration.page import GATE_PAGE, PAGE, describe_fair_models, make_tables
from benchmarks.calibration.runs import Row
from benchmarks.processes import ROOT, write_block

RUNS = 600
FULL_RUNS = 2_000
RESULTS = ROOT / "build" / "calibration.jsonl"
SOURCE = ROOT / "src" / "equipoise"
MEASURED = ("authoring", "detect", "measuring", "probes", "stats")
SIMULATIONS = ROOT / "benchmarks" / "calibration"
JUDGES = ("goals.py", "jobs.py", "page.py")
"""Modules that make no rows."""


def run_job(job: Job) -> tuple[list[Row], float]:
    """The rows of a job, and its CPU seconds."""
    start = time.process_time()
    rows = job.run()
    return rows, time.process_time() - start


def digest_code() -> str:
    """What tells the code that makes the rows from any other: comments and docstrings do not count."""
    files = [file for folder in MEASURED for file in (SOURCE / folder).rglob("*.py")]
    files += [file for file in SIMULATIONS.glob("*.py") if file.name not in JUDGES]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(_read_statements(file).encode())
    return digest.hexdigest()[:16]


def _read_statements(file: Path) -> str:
    """The syntax tree of a module, without places and without strings that stand alone."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [statement for statement in node.body if not _is_text(statement)]
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, or the like after an attribute."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


def read_results(path: Path, code: str | None) -> dict[str, list[Row]]:
    """The rows of each job that a file holds, if this code has made them (None: any code).

    A line that was cut off by an interruption is left out.
    """
    found = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if code in (None, record["code"]):
                found[record["job"]] = record["rows"]
    return found


def _to_plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value)} cannot be stored")


def run_jobs(
    jobs: Sequence[Job],
    path: Path,
    workers: int,
    *,
    of_any_code: bool = False,
) -> dict[str, list[Row]]:
    """Run the jobs whose rows are not in the file; return the rows of all of them by table.

    Processes are spawned, not forked: the threads of polars do not survive a fork.
    """
    code = digest_code()
    found = read_results(path, None if of_any_code else code)
    waiting = [job for job in jobs if job.key not in found]
    log = _Progress(len(jobs), len(jobs) - len(waiting))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        # A line that an interruption cut off ends here.
        file.write("\n")
        for job, rows, seconds in _run(waiting, workers):
            record = {
                "job": job.key,
                "code": code,
                "seconds": round(seconds, 2),
                "rows": rows,
            }
            file.write(json.dumps(record, default=_to_plain) + "\n")
            file.flush()
            found[job.key] = rows
            log.add(job, seconds)
    tables: dict[str, list[Row]] = {}
    for job in jobs:
        for row in found[job.key]:
            tables.setdefault(row["table"], []).append(row)
    return tables


def _run(jobs: Sequence[Job], workers: int) -> Iterable[tuple[Job, list[Row], float]]:
    if workers == 1:
        for job in jobs:
            yield job, *run_job(job)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run_job, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], *future.result()


class _Progress:
    """Lines of progress with the elapsed time, on stderr."""

    def __init__(self, jobs: int, done: int) -> None:
        self.jobs = jobs
        self.done = done
        self.start = time.monotonic()
        self.say(f"{jobs} jobs, of which {done} are in the file already")

    def add(self, job: Job, seconds: float) -> None:
        """One more job has ended."""
        self.done += 1
        self.say(f"{self.done}/{self.jobs} {job.key[:100]}: {seconds:.1f} s of CPU")

    def say(self, text: str) -> None:
        """Print a line."""
        elapsed = time.monotonic() - self.start
        print(f"{elapsed / 60:6.1f} min  {text}", file=sys.stderr, flush=True)


def write_page(tables: Mapping[str, str]) -> None:
    """Write the tables to the page."""
    for name, table in tables.items():
        write_block(PAGE, name, table)


def main() -> None:
    """Run the simulations."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write the pages")
    parser.add_argument("--full", action="store_true", help=f"{FULL_RUNS:,} runs a row")
    parser.add_argument("--runs", type=int, help=f"runs a row instead of {RUNS}")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS, help="where rows are kept")
    parser.add_argument("--of-any-code", action="store_true", help="use rows of other code, too")
    parser.add_argument("--only", default="", help="only the jobs whose name holds this text")
    options = parser.parse_args()
    runs = options.runs or (FULL_RUNS if options.full else RUNS)
    jobs = [job for job in list_jobs(runs) if options.only in job.key]
    rows = run_jobs(jobs, options.results, options.workers, of_any_code=options.of_any_code)
    findings = judge_all(rows)
    tables = make_tables(findings, runs)
    print("\n\n".join(tables.values()))
    suspects = find_missed(findings, correct=False)
    print(f"\nWithout a correction for many tests, {len(suspects)} goals are missed:")
    print("\n".join(f"- {line}" for line in suspects))
    if options.write:
        write_page(tables)
        write_block(GATE_PAGE, "fair models", describe_fair_models(findings))


if __name__ == "__main__":
    main()
