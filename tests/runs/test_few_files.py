"""A process that may open only a few files (docs/faults.md, P11)."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from serving.faulty import FaultyServer


@pytest.mark.fault("P11")
@pytest.mark.parametrize("limit", [8, 12, 16, 31, 32, 38])
def test_with_too_few_open_files_nothing_is_sent_that_could_not_be_stored(
    tmp_path: Path,
    limit: int,
) -> None:
    """The command ends in order: done, or a sentence and exit 5."""
    path = tmp_path / "run.equipoise"
    command = [
        sys.executable,
        "-m",
        "equipoise",
        "run",
        "custom/m",
        f"--out={path}",
        "--max-tokens=8",
    ]
    command += ["--probe=hiring_an", "--sample=4"]
    with FaultyServer() as server:
        ended = subprocess.run(
            [*command, f"--base-url={server.url}"],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
        )
        requests = server.total
    assert "Traceback" not in ended.stderr
    assert ended.returncode in (0, 5), ended.stderr
    assert (requests > 0) == (ended.returncode == 0)
