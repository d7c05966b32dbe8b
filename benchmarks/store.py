"""The run file: answers a second that survive a power cut, and how soon a large run goes on."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.harness import OURS, ROOT, job, say, seconds, table, times

KEY = {"OPENAI_API_KEY": "sk-loopback-0123456789"}


def run(*, quick: bool) -> str:
    """Commits beside plain SQLite, and resuming beside a run of a hundred prompts."""
    commits = []
    for each in (1, 32, 256):
        done = (2_000 if quick else 20_000) // (10 if each == 1 else 1)
        found = job(OURS, "benchmarks.store_job", "commit", done, each)
        ours, plain = done / found["ours_wall"], done / found["plain_wall"]
        commits.append((each, f"{ours:,.0f}", f"{plain:,.0f}", times(plain / ours)))
    head = ("answers a commit", "equipoise, a second", "plain SQLite, a second", "plain / equipoise")
    about = (
        "Answers of 1,100 characters, each commit synced to the disk; plain SQLite with two columns does the least "
        "that keeps them (`pragma synchronous = full`, in a WAL)."
    )
    return f"## Store\n\n{about}\n\n{table(head, commits)}\n\n{_resuming(100_000 if quick else 1_000_000)}"


def _resuming(size: int) -> str:
    rows = []
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        small, large = Path(folder) / "small.equipoise", Path(folder) / "large.equipoise"
        job(OURS, "benchmarks.store_job", "fill", small, 100, 0, url, extra=KEY)
        start = _first_request(small, server)
        rows.append(("100 prompts, 0 ended", "", seconds(start), "1×"))
        for ended in (0, size // 2, size * 999 // 1000):
            say(f"{size:,} prompts, {ended:,} ended")
            filled = job(OURS, "benchmarks.store_job", "fill", large, size, ended, url, extra=KEY)
            first = _first_request(large, server)
            rows.append(
                (f"{size:,} prompts, {ended:,} ended", f"{filled['mb']:,.0f} MB", seconds(first), times(first / start))
            )
    return (
        "From the start of `equipoise resume` to its first request, with the file in the system's cache. The content "
        "of the file is checked whole before anything is asked.\n\n"
        + table(("run", "file", "first request after", "of the smallest"), rows)
    )


def _first_request(path: Path, server: socket.socket) -> float:
    """Seconds from the start of the command until something is sent; then the command is ended."""
    command = [str(OURS.with_name("equipoise")), "resume", str(path)]
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **KEY}, stderr=subprocess.DEVNULL) as process:
        try:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                took = time.perf_counter() - began
        finally:
            process.kill()
    return took
