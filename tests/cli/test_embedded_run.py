"""A run with a real language model: asked, stopped by a budget, resumed, measured, reported."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from calling import Command, output
from equipoise.runs.run import Run
from equipoise.settings import Settings
from simulating import attempts_of

PROMPTS = 3


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_a_real_model_is_asked_stopped_resumed_and_reported(
    cached: Settings, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(cached.cache))
    asked = ["--probe", "jobs_lum", "--sample", str(PROMPTS), "--max-tokens", "12", "--out", "run.equipoise"]
    stopped = command("run", "embedded", *asked, "--max-requests", "1", "--concurrency", "1")
    assert (stopped.code, "equipoise resume run.equipoise" in stopped.err) == (4, True), stopped.err
    first = attempts_of(Run.open("run.equipoise"))
    assert first.height == 1
    shown = json.loads(output(command("resume", "run.equipoise", "--json", "--report", "report.html")))
    assert shown["complete"] is True
    attempts = attempts_of(Run.open("run.equipoise"))
    assert attempts["id"].n_unique() == PROMPTS
    assert all(answer.strip() for answer in attempts["answer"])
    assert set(first["answer"]) <= set(attempts["answer"])
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
