"""Batch jobs of providers, asked exactly as a run would ask: each prompt becomes one line of their input files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from equipoise.answers.prompts import PromptFormat, Row
from equipoise.models import Sampling
from equipoise.models.chat import anthropic, openai
from equipoise.schema import ID, PROMPT, REPETITION, SYSTEM

OPENAI_PATH = "/v1/chat/completions"
MakeLine = Callable[[str, str, str, str | None, Sampling], Row]


def make_lines(form: PromptFormat, model: str, sampling: Sampling) -> Callable[[Row], Row]:
    """For a format of batch jobs: what a prompt becomes. `model` may begin with the provider's name, as for a run."""
    provider, make_line = BATCHES[form]
    name = model.removeprefix(f"{provider}/")

    def make(row: Row) -> Row:
        key = f"{row[ID]}-{row[REPETITION]}" if REPETITION in row else row[ID]
        return make_line(key, name, row[PROMPT], sampling.system_for(row.get(SYSTEM)), sampling)

    return make


def _openai_line(key: str, model: str, prompt: str, system: str | None, sampling: Sampling) -> Row:
    body = {**openai.parameters(model, sampling), **openai.messages(prompt, system)}
    return {"custom_id": key, "method": "POST", "url": OPENAI_PATH, "body": body}


def _anthropic_line(key: str, model: str, prompt: str, system: str | None, sampling: Sampling) -> Row:
    return {
        "custom_id": key,
        "params": {**anthropic.parameters(model, sampling), **anthropic.messages(prompt, system)},
    }


def _gemini_line(key: str, _model: str, prompt: str, system: str | None, sampling: Sampling) -> Row:
    """The model of a Gemini job is given when it is started, for all lines."""
    config = {
        "temperature": sampling.temperature,
        "topP": sampling.top_p,
        "maxOutputTokens": sampling.max_tokens,
        "seed": sampling.seed,
    }
    request: Row = {
        "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        "generationConfig": {name: value for name, value in config.items() if value is not None},
        **sampling.extra,
    }
    return {
        "key": key,
        "request": request if system is None else {**request, "systemInstruction": {"parts": [{"text": system}]}},
    }


BATCHES: Mapping[PromptFormat, tuple[str, MakeLine]] = {
    PromptFormat.OPENAI_BATCH: ("openai", _openai_line),
    PromptFormat.ANTHROPIC_BATCH: ("anthropic", _anthropic_line),
    PromptFormat.GEMINI_BATCH: ("gemini", _gemini_line),
}
