"""An engine without a model, in the place of vLLM: every answer says to which prompt it belongs."""

from __future__ import annotations

import argparse
import hashlib
import threading
from collections.abc import Callable
from typing import Any


def seal(prompt: str) -> str:
    return hashlib.sha256(prompt.encode()).hexdigest()[:16]


def generate(row: dict[str, Any]) -> dict[str, Any]:
    """Answer like the stage of vLLM: the columns of the question stay, those of the answer are added."""
    return {**row, "generated_text": f"He said {seal(row['messages'][-1]['content'])}.", "num_generated_tokens": 3}


def build(_options: argparse.Namespace, ask: Callable[..., Any], answer: Callable[..., Any]) -> Callable[[Any], Any]:
    """A processor of the shape that Ray's `build_processor` gives: one engine between question and answer."""
    return lambda dataset: dataset.map(lambda row: answer(generate({**row, **ask(row)})))


def build_stuck(
    options: argparse.Namespace, ask: Callable[..., Any], answer: Callable[..., Any]
) -> Callable[[Any], Any]:
    """An engine that never comes back from a prompt whose seal is not in the model's name.

    It takes no logical CPU, so that answers are written meanwhile, and works on one block at a time.
    """
    answered = set(options.model.split(","))

    def answer_or_hang(row: dict[str, Any]) -> dict[str, Any]:
        if seal(row["prompt"]) not in answered:
            threading.Event().wait()
        return dict(answer(generate({**row, **ask(row)})))

    return lambda dataset: dataset.map(answer_or_hang, num_cpus=0, concurrency=1)
