"""Equipoise alone: starting, and scoring many answers. Each part is Markdown."""

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
from equipoise.schema import READINGS

EQUIPOISE = str(OUR_PYTHON.with_name("equipoise"))
KEY_VARIABLE = {"OPENAI_API_KEY": "sk-loopback-0123456789"}
SCALES = (10_000, 100_000, 1_000_000, 5_424_000)


def job(name: str, *arguments: object) -> Any:
    """Run one job of ours in a process of its own."""
    log(" ".join(map(str, (name, *arguments))))
    return run_job(OUR_PYTHON, "benchmarks.jobs", name, *arguments, variables=KEY_VARIABLE)


def start(*, quick: bool) -> str:
    """The median CPU of several starts, and how soon a large run goes on."""
    rounds, prompts = (5, 100_000) if quick else (15, 1_000_000)
    commands = {
        "`python -c pass`": [str(OUR_PYTHON), "-c", "pass"],
        "`import equipoise`": [str(OUR_PYTHON), "-c", "import equipoise"],
        "`equipoise --help`": [EQUIPOISE, "--help"],
        "`equipoise run --help`": [EQUIPOISE, "run", "--help"],
        "`inspect --help` (inspect_ai)": [str(OUR_PYTHON.with_name("inspect")), "--help"],
    }
    # Installed packages have their byte code beside them; ours is written by the first start.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    cpu = {
        name: median([time_command(command, variables) for _ in range(rounds + 1)][1:])
        for name, command in commands.items()
    }
    empty = cpu["`python -c pass`"]
    rows = [(name, f"{seconds * 1e3:.0f} ms", format_ratio(seconds / empty)) for name, seconds in cpu.items()]
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        url, path = f"http://127.0.0.1:{server.getsockname()[1]}/v1", Path(folder) / "large.equipoise"
        filled = job("fill", path, prompts, url)
        seconds = format_seconds(_time_to_first_request(path, server, url))
    about = (
        f"CPU of the whole process; medians of {rounds} starts. `equipoise resume` of a run of {prompts:,} prompts, "
        f"all but one in a thousand answered ({filled['mb']:,.0f} MB), sends its first request after {seconds}."
    )
    return f"## Start\n\n{about}\n\n{markdown_table(('command', 'CPU', 'compared with an empty Python'), rows)}"


def scale(*, quick: bool) -> str:
    """Seconds, seconds per million prompts, and peak memory, for each size and reading."""
    rows = []
    for size in SCALES[:2] if quick else SCALES:
        with tempfile.TemporaryDirectory() as folder:
            job("write_answers", size, folder)
            for reading in READINGS:
                cost = job("score_files", reading, size, folder)
                seconds = (format_seconds(cost["wall"]), format_seconds(cost["cpu"] / size * 1e6))
                rows.append((f"{size:,}", reading, *seconds, f"{cost['peak_mb']:,.0f} MB"))
    about = (
        "`hiring_an`, with answers of 1,100 characters, no two the same, each row in a process of its own: "
        "Parquet files of answers are read, matched, evaluated and measured, with all slices, intervals and marks. "
        "Peak memory is that of the whole process."
    )
    head = ("prompts", "reading", "seconds", "CPU per million", "peak")
    return f"## Scale\n\n{about}\n\n{markdown_table(head, rows)}"


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
