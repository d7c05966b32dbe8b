"""The run file: how many answers per second are stored durably, and how fast a large run is resumed."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.processes import OUR_PYTHON, ROOT, format_ratio, format_seconds, log, markdown_table, run_job

KEY_VARIABLE = {"OPENAI_API_KEY": "sk-loopback-0123456789"}


def run(*, quick: bool) -> str:
    """Commits compared with plain SQLite, and resuming compared with a run of a hundred prompts."""
    commits = []
    for batch_size in (1, 32, 256):
        answers = (2_000 if quick else 20_000) // (10 if batch_size == 1 else 1)
        result = run_job(OUR_PYTHON, "benchmarks.store_job", "commit", answers, batch_size)
        ours, plain = answers / result["ours_wall"], answers / result["plain_wall"]
        commits.append((batch_size, f"{ours:,.0f}", f"{plain:,.0f}", format_ratio(plain / ours)))
    head = ("answers per commit", "equipoise, per second", "plain SQLite, per second", "plain / equipoise")
    about = (
        "Answers of 1,100 characters; each commit is synced to the disk. Plain SQLite, with a table of two columns, "
        "does the least that stores them as durably (`pragma synchronous = full`, in a WAL)."
    )
    resuming = _measure_resuming(100_000 if quick else 1_000_000)
    return f"## Store\n\n{about}\n\n{markdown_table(head, commits)}\n\n{resuming}"


def _measure_resuming(size: int) -> str:
    """Seconds until `equipoise resume` sends its first request, as Markdown."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        small, large = Path(folder) / "small.equipoise", Path(folder) / "large.equipoise"
        run_job(OUR_PYTHON, "benchmarks.store_job", "fill", small, 100, 0, url, variables=KEY_VARIABLE)
        shortest = _time_to_first_request(small, server, url)
        rows.append(("100 prompts, 0 answered", "", format_seconds(shortest), "1×"))
        for answered in (0, size // 2, size * 999 // 1000):
            log(f"{size:,} prompts, {answered:,} answered")
            filled = run_job(
                OUR_PYTHON, "benchmarks.store_job", "fill", large, size, answered, url, variables=KEY_VARIABLE
            )
            time_taken = _time_to_first_request(large, server, url)
            rows.append(
                (
                    f"{size:,} prompts, {answered:,} answered",
                    f"{filled['mb']:,.0f} MB",
                    format_seconds(time_taken),
                    format_ratio(time_taken / shortest),
                )
            )
    return (
        "The time from the start of `equipoise resume` to its first request, with the file in the system's cache. The "
        "whole content of the file is checked before anything is asked.\n\n"
        + markdown_table(("run", "file", "first request after", "compared with the smallest"), rows)
    )


def _time_to_first_request(path: Path, server: socket.socket, url: str) -> float:
    """Seconds from the start of `equipoise resume` until its first request arrives. Then the command is killed."""
    command = [str(OUR_PYTHON.with_name("equipoise")), "resume", str(path), "--base-url", url]
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **KEY_VARIABLE}, stderr=subprocess.DEVNULL) as process:
        try:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                duration = time.perf_counter() - start
        finally:
            process.kill()
    return duration
