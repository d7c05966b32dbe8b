"""Equipoise alone: starting, planning and scoring many prompts, storing, reports, shards. Each part is Markdown."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.processes import (
    OUR_PYTHON,
    ROOT,
    format_ratio,
    format_seconds,
    log,
    markdown_table,
    run_job,
    time_command,
)

EQUIPOISE = str(OUR_PYTHON.with_name("equipoise"))
KEY_VARIABLE = {"OPENAI_API_KEY": "sk-loopback-0123456789"}
SCALES = (10_000, 100_000, 1_000_000, 5_424_000)
IMPORT_CEILING = 600
"""Megabytes that an import may need at most."""
SHARDS = {100_000: ("local", "ray"), 1_000_000: ("local", "ray"), 10_000_000: ("local",)}


def job(name: str, *arguments: object) -> Any:
    """Run one job of ours in a process of its own."""
    log(" ".join(map(str, (name, *arguments))))
    return run_job(OUR_PYTHON, "benchmarks.jobs", *name.split(), *arguments, variables=KEY_VARIABLE)


def start(*, quick: bool) -> str:
    """The median CPU of several starts. All modules are compiled to byte code first, as in an installation."""
    rounds = 5 if quick else 15
    inspect = ROOT / ".venv-peers" / "bin" / "inspect"
    commands = {
        "`python -c pass`": [str(OUR_PYTHON), "-c", "pass"],
        "`import equipoise`": [str(OUR_PYTHON), "-c", "import equipoise"],
        "`equipoise --help`": [EQUIPOISE, "--help"],
        "`equipoise run --help`": [EQUIPOISE, "run", "--help"],
    }
    if inspect.exists():
        commands["`inspect --help` (inspect_ai)"] = [str(inspect), "--help"]
    with tempfile.TemporaryDirectory() as compiled:
        # Installed packages have their byte code beside them, but ours may run from the sources.
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        variables["PYTHONPYCACHEPREFIX"] = compiled
        for command in commands.values():
            time_command(command, variables)
        cpu = {
            name: median(time_command(command, variables)[1] for _ in range(rounds))
            for name, command in commands.items()
        }
    empty = cpu["`python -c pass`"]
    rows = [(name, f"{seconds * 1e3:.0f} ms", format_ratio(seconds / empty)) for name, seconds in cpu.items()]
    about = f"CPU of the whole process; medians of {rounds} starts."
    return f"## Start\n\n{about}\n\n{markdown_table(('command', 'CPU', 'compared with an empty Python'), rows)}"


def scale(*, quick: bool) -> str:
    """Seconds, seconds per million prompts, and peak memory, for each size."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in SCALES[:2] if quick else SCALES:
            planned = job("write_plan", size, folder)
            job("write_answers", size, folder)
            scored = job("score_file careful jsonl", size, folder)
            assert scored["answers"] == size
            costs = [
                text
                for cost in (planned, scored)
                for text in (
                    format_seconds(cost["wall"]),
                    format_seconds(cost["wall"] / size * 1e6),
                    f"{cost['peak_mb']:,.0f} MB",
                )
            ]
            rows.append((f"{size:,}", *costs))
            for path in Path(folder).iterdir():
                path.unlink()
    about = (
        "`hiring_an`. Planned: all prompts are made and written to a run file. Scored: a file of answers (JSONL, 1,100 "
        "characters each) is read, matched, evaluated carefully and measured, with all slices, intervals and marks. "
        "Peak memory is that of the whole process."
    )
    head = ("prompts", "planned", "per million", "peak", "scored", "per million", "peak")
    return f"## Scale\n\n{about}\n\n{markdown_table(head, rows)}"


def streaming(*, quick: bool) -> str:
    """The import of many answers, with its ceiling; and JSONL beside Parquet."""
    size = 30_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        job("write_answers", size, folder)
        formats = []
        for work in ("read_answers", "score_file specified", "score_file careful"):
            costs = [job(f"{work} {form}", size, folder) for form in ("jsonl", "parquet")]
            ratio = format_ratio(costs[0]["wall"] / costs[1]["wall"])
            formats.append((work.replace("_", " "), *(format_seconds(cost["wall"]) for cost in costs), ratio))
        stored = job("store_answers", size, folder)
    assert stored["answers"] == size
    about = (
        f"{size:,} answers of 1,100 characters to `hiring_an`, no two the same, each step in a process of its own. "
        f"Imported from JSONL into a new run file, every answer read carefully: {format_seconds(stored['wall'])}, "
        f"{format_seconds(stored['cpu'])} of CPU, {stored['peak_mb']:,.0f} MB (wanted: at most {IMPORT_CEILING}). "
        "The same answers in JSONL and in Parquet, by the wall:"
    )
    return f"## Streaming\n\n{about}\n\n{markdown_table(('work', 'JSONL', 'Parquet', 'faster'), formats)}"


def store(*, quick: bool) -> str:
    """Seconds until `equipoise resume` sends its first request, as Markdown."""
    size = 100_000 if quick else 1_000_000
    rows = []
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        small, large = Path(folder) / "small.equipoise", Path(folder) / "large.equipoise"
        for path, prompts, answered in ((small, 100, 0), (large, size, size // 2), (large, size, size * 999 // 1000)):
            filled = job("fill", path, prompts, answered, url)
            seconds = format_seconds(_time_to_first_request(path, server, url))
            rows.append((f"{prompts:,} prompts, {answered:,} answered", f"{filled['mb']:,.0f} MB", seconds))
    about = "The time from the start of `equipoise resume` to its first request, with the file in the system's cache."
    return f"## Store\n\n{about}\n\n{markdown_table(('run', 'file', 'first request after'), rows)}"


def _time_to_first_request(path: Path, server: socket.socket, url: str) -> float:
    """Seconds from the start of `equipoise resume` until its first request arrives. Then the command is killed."""
    command = [EQUIPOISE, "resume", str(path), "--base-url", url]
    begun = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **KEY_VARIABLE}, stderr=subprocess.DEVNULL) as process:
        try:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                return time.perf_counter() - begun
        finally:
            process.kill()


def partials(*, quick: bool) -> str:
    """Shards of answers in one process and on Ray, and how the cost grows."""
    rows = []
    for size, engines in list(SHARDS.items())[: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as folder:
            job("write_shards", size, folder)
            results = {engine: job(f"score_all_shards {engine}", size, folder) for engine in engines}
        assert len({result["digest"] for result in results.values()}) == 1, "the numbers differ"
        for engine, result in results.items():
            costs = (format_seconds(result[name]) for name in ("wall", "result_wall"))
            rows.append((f"{size:,}", engine, *costs, f"{result['cells']:,}", f"{result['peak_mb']:,.0f} MB"))
    about = (
        "`hiring_an`, short answers, ten to each prompt, in Parquet files of 100,000, in one process (`local`) and by "
        "`--engine ray` on this machine, its start included. Scored: read, matched, evaluated and summed up to one "
        "partial. Intervals and marks are made once, of the cells of all shards, which grow more slowly than answers. "
        "The results of both ways are the same, bit for bit. Peak memory is that of the process that was called."
    )
    head = ("answers", "engine", "scored", "intervals and marks", "cells", "peak")
    return f"## Shards and partials\n\n{about}\n\n{markdown_table(head, rows)}"
