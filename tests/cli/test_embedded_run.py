"""A run with a real language model: asked, stopped by a budget, resumed, measured, reported."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.runs.run import Run
from equipoise.settings import Settings, environment

PROMPTS = 5


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_a_real_model_is_asked_stopped_resumed_and_reported(cached: Settings, tmp_path: Path) -> None:
    def equipoise(*words: str) -> subprocess.CompletedProcess[str]:
        env = {**environment(), "EQUIPOISE_CACHE": str(cached.cache)}
        command = [sys.executable, "-m", "equipoise", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    asked = ["--probe", "jobs_lum", "--sample", str(PROMPTS), "--max-tokens", "24", "--out", "run.equipoise"]
    stopped = equipoise("run", "embedded", *asked, "--max-requests", "2")
    assert stopped.returncode == 4, stopped.stderr
    assert "equipoise resume run.equipoise" in stopped.stderr
    first = Run.open(tmp_path / "run.equipoise").attempts()
    assert 0 < first.height < PROMPTS

    done = equipoise("resume", "run.equipoise", "--json", "--report", "report.html")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["complete"] is True
    assert shown["results"]["jobs_lum"]["coverage"]["all"]["planned"] == PROMPTS
    attempts = Run.open(tmp_path / "run.equipoise").attempts()
    assert attempts["id"].n_unique() == PROMPTS
    assert all(answer.strip() for answer in attempts["answer"])
    kept = attempts.filter(attempts["id"].is_in(first["id"].implode()))
    assert sorted(kept["answer"]) == sorted(first["answer"])
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["report.html", "run.equipoise"]
