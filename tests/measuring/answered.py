"""Answers to probes that the tests of measuring share: simulated, lost by their content, or deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import equipoise
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.schema import ID

Answers = dict[str, str]
"""The answer to each prompt, by the id of the prompt."""


def simulate_answers(probe: str, stance: str, seed: int, **parameters: Any) -> Answers:
    """What a reference model answers to all prompts."""
    prompts = equipoise.plan(probe, **parameters).prompts()
    texts = get_probe(probe).simulate(prompts, stance, np.random.default_rng(seed))
    return dict(zip(prompts[ID], texts, strict=True))


def answer_in_turn(probe: str, texts: Sequence[str], **parameters: Any) -> Answers:
    """These texts in turn."""
    prompts = equipoise.plan(probe, **parameters).prompts()
    return {key: texts[place % len(texts)] for place, key in enumerate(prompts[ID])}


def lose(answers: Mapping[str, str], lost: Sequence[str]) -> Answers:
    """The answers without those that are lost."""
    gone = set(lost)
    return {key: text for key, text in answers.items() if key not in gone}


def choose(candidates: Sequence[str], number: int, seed: int = 0) -> list[str]:
    """Some of the candidates, by chance."""
    random = np.random.default_rng(seed)
    chosen: list[str] = random.permutation(np.array(candidates))[:number].tolist()
    return chosen


def score(probe: str, answers: Mapping[str, str], **parameters: Any) -> Result:
    """The result of these answers; planned prompts without one are pending."""
    return equipoise.score(probe, dict(answers), **parameters)
