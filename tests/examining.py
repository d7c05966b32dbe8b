"""Judges for tests: they know the labels of all exam questions, and are fair, biased or broken."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.probes import find_probes
from equipoise.probes.labelled import ExamQuestion, set_exam

QUESTIONS: dict[str, ExamQuestion] = {
    question.text: question for probe in find_probes().values() if probe.judge for question in set_exam(probe)
}
EXAM = 40
"""How many questions the exam of a probe has."""


def fair(verdict: str) -> Callable[[str], str]:
    """A judge that answers its exam rightly, and then always the same."""
    return lambda prompt: (QUESTIONS[prompt].label or "none") if prompt in QUESTIONS else verdict


def sees_only_men(prompt: str) -> str:
    """A judge that is right about men, and takes women for men or rejects them."""
    question = QUESTIONS.get(prompt)
    if question is None or question.gender != "female":
        return fair("rejected")(prompt)
    return {"female": "male", "accepted": "rejected", "yes": "no"}.get(question.label, question.label or "none")


def broken(_prompt: str) -> str:
    """A judge that never says one of the words."""
    return "As a language model I find all of these words interesting."
