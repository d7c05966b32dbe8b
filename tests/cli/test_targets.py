"""No command writes over a run file, and what cannot be written is told before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from calling import exit_code
from serving.faulty import FaultyServer


def asked(server: FaultyServer, *more: str) -> list[str]:
    return ["run", "custom/test", "--base-url", server.url, "--probe", "jobs_lum", "--sample", "3", *more]


OVERWRITING = [
    ["report", "run.equipoise", "-o", "run.equipoise"],
    ["report", "run.equipoise", "-o", "other.equipoise"],
    ["resume", "run.equipoise", "--report", "run.equipoise"],
    ["export", "run.equipoise", "--what", "metrics", "--format", "csv", "-o", "other.equipoise"],
    ["gate", "run.equipoise", "--fail-on", "D", "--junit", "other.equipoise"],
    ["prompts", "jobs_lum", "--sample", "2", "-o", "run.equipoise"],
]


@pytest.mark.parametrize("words", OVERWRITING, ids=[" ".join(words) for words in OVERWRITING])
def test_a_run_file_is_never_written_over(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with FaultyServer() as server:
        assert exit_code(monkeypatch, *asked(server, "--out", "run.equipoise")) == 0
    Path("other.equipoise").write_bytes(Path("run.equipoise").read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.equipoise")}
    capfd.readouterr()
    assert exit_code(monkeypatch, *words) == 2
    assert "its answers would be lost" in capfd.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.equipoise")} == before


EARLY = [
    (["--report", "."], 5, "it is a folder"),
    (["--report", "no/such/report.html"], 5, "there is no folder"),
    (["--out", "same.equipoise", "--report", "same.equipoise"], 2, "cannot both be"),
    (["--out", "no/such/run.equipoise"], 5, "there is no folder"),
]


@pytest.mark.parametrize(("words", "code", "said"), EARLY, ids=[" ".join(words) for words, *_ in EARLY])
def test_a_target_is_checked_before_anything_is_asked(
    words: list[str],
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    with FaultyServer() as server:
        assert exit_code(monkeypatch, *asked(server, *words)) == code
        assert server.total == 0
    assert said in capfd.readouterr().err


def test_what_runs_here_has_no_address(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert exit_code(monkeypatch, "run", "embedded", "--base-url", "http://127.0.0.1:1/v1") == 2
    assert "runs on this machine" in capfd.readouterr().err
