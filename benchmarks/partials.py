"""Shards of answers: one process against two workers of Ray, and how the cost grows (`-m benchmarks.partials`)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import OUR_PYTHON, ROOT, format_seconds, installed_versions, log, markdown_table, run_job

SIZES = (100_000, 1_000_000, 10_000_000)
COMPARED = 1_000_000
WAYS = {"local": "one process", "ray": "`--engine ray`, two workers", "ray_data": "Ray Data, two workers"}


def run(*, quick: bool) -> str:
    """Times and memory of the same shards, and of more and more of them."""
    sizes, compared = (SIZES[:1], SIZES[0]) if quick else (SIZES, COMPARED)
    ways: dict[str, Any] = {}
    growth: dict[int, Any] = {}
    weight = 0.0
    for size in sizes:
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / "answers"
            folder.mkdir()
            log(f"{size:,} answers: writing")
            written = _run("write", size, folder)
            log(f"{size:,} answers: one process")
            growth[size] = _run("local", size, folder)
            if size == compared:
                weight = written["bytes"] / 2**20
                ways["local"] = growth[size]
                for way in list(WAYS)[1:]:
                    log(f"{size:,} answers: {way}")
                    ways[way] = _run(way, size, folder)
    assert len({result["digest"] for result in ways.values()}) == 1, "the numbers differ"
    return "\n\n".join(["## Shards and partials", _compare(ways, compared, weight), _grow(growth)])


def _run(job: str, size: int, folder: Path) -> Any:
    return run_job(
        OUR_PYTHON, "benchmarks.partials_job", job, size, folder, variables={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    )


def _compare(ways: dict[str, Any], size: int, weight: float) -> str:
    rows = []
    for way, result in ways.items():
        started = format_seconds(result["start_wall"]) if "start_wall" in result else ""
        memory = f"{result['workers_mb']:,.0f} MB, {result['children_mb']:,.0f} MB" if started else ""
        cpu = result["cpu"] + result["children_cpu"]
        rows.append(
            (
                WAYS[way],
                started,
                format_seconds(result["wall"]),
                format_seconds(cpu),
                f"{result['peak_mb']:,.0f} MB",
                memory,
            )
        )
    about = (
        f"`hiring_an`, {size:,} answers of 1,100 characters, ten to each prompt, in Parquet files of 100,000 "
        f"({weight:,.0f} MB). Scored: read, matched, evaluated, summed up. The results are the same, bit for bit. CPU "
        "is that of all processes. Memory: the peak of the process that was called, then the peaks of Ray's workers "
        f"together and of all processes of Ray together. {installed_versions(OUR_PYTHON, ['ray'])}."
    )
    head = ("way", "Ray started", "scored", "CPU", "peak", "peak of Ray: workers, all")
    return f"{about}\n\n{markdown_table(head, rows)}"


def _grow(growth: dict[int, Any]) -> str:
    rows = [
        (
            f"{size:,}",
            format_seconds(result["wall"]),
            format_seconds(result["cpu"]),
            format_seconds(result["cpu"] / size * 1e6),
            f"{result['peak_mb']:,.0f} MB",
            f"{result['cells']:,}",
            f"{result['partial_bytes'] / 2**20:,.1f} MB",
            format_seconds(result["result_wall"]),
        )
        for size, result in growth.items()
    ]
    about = (
        "How the cost grows, in one process. What answers become is cells, and they grow more slowly than answers; "
        "intervals and marks are made once, of the cells of all shards."
    )
    head = ("answers", "scored", "CPU", "CPU per million", "peak", "cells", "partial", "intervals and marks")
    return f"{about}\n\n{markdown_table(head, rows)}"


if __name__ == "__main__":
    print(run(quick="--quick" in sys.argv))
