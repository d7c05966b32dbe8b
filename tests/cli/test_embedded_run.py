"""A run with a real language model, as the README shows it: asked, stopped by a budget, resumed, measured, reported."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from calling import Command, output
from equipoise.runs.run import Run
from equipoise.settings import Settings

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SHOWN = r"equipoise (.*--sample 60 --probabilities)\n    A \(A–B\) jobs_lum masculine_rate is (\S+) \((\S+) to (\S+)\)"


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_a_real_model_is_asked_stopped_resumed_and_gets_the_mark_of_the_readme(
    cached: Settings, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(cached.cache))
    ((words, *numbers),) = re.findall(SHOWN, README)
    stopped = command(*words.split(), "--out", "run.equipoise", "--max-requests", "1", "--concurrency", "1")
    assert (stopped.code, "equipoise resume run.equipoise" in stopped.err) == (4, True), stopped.err
    first = Run.open("run.equipoise").attempts()
    assert first.height == 1
    words = "resume run.equipoise --concurrency 8 --json --report report.html"
    shown = json.loads(output(command(*words.split())))
    assert shown["complete"] is True
    run = Run.open("run.equipoise")
    attempts = run.attempts()
    assert (attempts["id"].n_unique(), attempts["completion_tokens"].sum()) == (60, 60)
    assert first["first_token"].is_in(attempts["first_token"].implode()).all()
    result = run.result("jobs_lum")
    found = result.metrics["masculine_rate"]
    # Other processors round differently.
    assert [found.value, found.low, found.high] == pytest.approx([float(number) for number in numbers], abs=0.01)
    assert str(result.marks["masculine_rate"]) == "A (A–B)"
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
