"""A model that is a Python function, and a probe that is not installed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equipoise
from equipoise import Probe, Result
from equipoise.detect import PRONOUN_GENDER
from equipoise.probes import get_probe

JOBS_LUM = get_probe("jobs_lum")
OPPOSITE = replace(
    PRONOUN_GENDER,
    name="opposite",
    read=lambda text: PRONOUN_GENDER.read(text).replace({"male": "female", "female": "male"}),
)
"""Reads a man where there is a woman."""
JOBS_OPPOSITE = replace(JOBS_LUM, detector=OPPOSITE)
NOT_INSTALLED = replace(JOBS_OPPOSITE, name="my_jobs", version=7)


def answer(prompt: str) -> str:
    """A model that writes about a man two times out of three."""
    return "He." if len(prompt) % 3 else "She."


class Recorder:
    """The same model, which records what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.asked.append(prompt)
        return answer(prompt)


def answer_all(probe: str | Probe = "jobs_lum", **parameters: Any) -> dict[str, str]:
    """The model's answers by the ids of the prompts."""
    prompts = equipoise.plan(probe, **parameters).prompts()
    return {key: answer(text) for key, text in prompts["id", "prompt"].iter_rows()}


def plain_metrics(result: Result) -> dict[str, Any]:
    """The metrics as values that can be compared: None for NaN."""
    return result.to_dict()["metrics"]  # type: ignore[no-any-return]
