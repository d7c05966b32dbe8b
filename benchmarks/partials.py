"""Shards of answers: one process against two workers of Ray, and how the cost grows (`-m benchmarks.partials`)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.processes import OUR_PYTHON, ROOT, format_seconds, installed_versions, log, markdown_table, run_job

WAYS = {"local": "one process", "ray": "`--engine ray`, two workers", "ray_data": "Ray Data, two workers"}
SIZES = {100_000: ("local", "ray", "ray_data"), 1_000_000: ("local", "ray"), 10_000_000: ("local",)}
HEAD = ("answers", "way", "scored", "CPU", "CPU per million", "peak", "Ray: started", "workers", "all of Ray")
GROWTH_HEAD = ("answers", "cells", "partial", "intervals and marks", "CPU of that")


def run(*, quick: bool) -> str:
    """Times and memory of the same shards, and of more and more of them."""
    results: dict[tuple[int, str], Any] = {}
    for size, ways in list(SIZES.items())[: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / "answers"
            folder.mkdir()
            log(f"{size:,} answers: writing")
            _run("write", size, folder)
            for way in ways:
                log(f"{size:,} answers: {way}")
                results[size, way] = _run(way, size, folder)
                log(str(results[size, way]))
        digests = {result["digest"] for (answers, _), result in results.items() if answers == size}
        assert len(digests) == 1, "the numbers differ"
    return describe(results)


def describe(results: dict[tuple[int, str], Any]) -> str:
    """The results as Markdown."""
    about = (
        "`hiring_an`, short answers, ten to each prompt, in Parquet files of 100,000. Scored: read, matched, evaluated "
        "and summed up to one partial, without the start of Python; reading longer answers takes longer (see Scale). "
        "The results of all ways are the same, bit for bit. CPU is that of all processes. Peak memory is that of the "
        "process that was called; then the peaks of Ray's workers together, and of all of Ray's processes together. "
        f"{installed_versions(OUR_PYTHON, ['ray'])}."
    )
    growth = (
        "What answers become is cells, and they grow more slowly than answers. Intervals and marks are made once, of "
        "the cells of all shards:"
    )
    rows = [_row(size, way, result) for (size, way), result in results.items()]
    grown = [_growth_row(size, result) for (size, way), result in results.items() if way == "local"]
    tables = (about, markdown_table(HEAD, rows), growth, markdown_table(GROWTH_HEAD, grown))
    return "\n\n".join(("## Shards and partials", *tables))


def _row(size: int, way: str, result: Any) -> tuple[str, ...]:
    cpu = result["cpu"] + result["children_cpu"]
    costs = (format_seconds(result["wall"]), format_seconds(cpu), format_seconds(cpu / size * 1e6))
    of_ray = ("", "", "")
    if "start_wall" in result:
        of_ray = (
            format_seconds(result["start_wall"]),
            f"{result['workers_mb']:,.0f} MB",
            f"{result['children_mb']:,.0f} MB",
        )
    return (f"{size:,}", WAYS[way], *costs, f"{result['peak_mb']:,.0f} MB", *of_ray)


def _growth_row(size: int, result: Any) -> tuple[str, ...]:
    times = (format_seconds(result["result_wall"]), format_seconds(result["result_cpu"]))
    return (f"{size:,}", f"{result['cells']:,}", f"{result['partial_bytes'] / 2**20:,.1f} MB", *times)


def _run(job: str, size: int, folder: Path) -> Any:
    return run_job(
        OUR_PYTHON, "benchmarks.partials_job", job, size, folder, variables={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    )


if __name__ == "__main__":
    print(run(quick="--quick" in sys.argv))
