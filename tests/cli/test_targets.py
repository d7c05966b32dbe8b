"""No command overwrites a run file, and a target that cannot be written is refused before anything is asked."""

from __future__ import annotations

from pathlib import Path

from calling import Command
from serving.faulty import FaultyServer

OVERWRITING = [
    ["report", "run.equipoise", "-o", "run.equipoise"],
    ["report", "run.equipoise", "-o", "other.equipoise"],
    ["resume", "run.equipoise", "--report", "run.equipoise"],
    ["transcripts", "run.equipoise", "-o", "other.equipoise"],
    ["export", "run.equipoise", "--what", "metrics", "--format", "csv", "-o", "other.equipoise"],
    ["gate", "run.equipoise", "--fail-on", "D", "--junit", "other.equipoise"],
    ["prompts", "jobs_lum", "--sample", "2", "-o", "run.equipoise"],
]


def test_a_run_file_is_never_overwritten(command: Command, small: Path, tmp_path: Path) -> None:
    Path("other.equipoise").write_bytes(Path("run.equipoise").read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.equipoise")}
    for words in OVERWRITING:
        outcome = command(*words)
        assert (outcome.code, "its answers would be lost" in outcome.err) == (2, True), words
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.equipoise")} == before


REFUSED = [
    (["--report", "."], 5, "it is a folder"),
    (["--report", "no/such/report.html"], 5, "there is no folder"),
    (["--out", "same.equipoise", "--report", "same.equipoise"], 2, "cannot both be"),
    (["--out", "no/such/run.equipoise"], 5, "there is no folder"),
]


def test_a_target_is_checked_before_anything_is_asked(command: Command) -> None:
    with FaultyServer() as server:
        where = ("--base-url", server.url, "--probe", "jobs_lum", "--sample", "3")
        for options, code, message in REFUSED:
            outcome = command("run", "custom/test", *where, *options)
            assert (outcome.code, message in outcome.err) == (code, True), options
        assert server.total == 0
