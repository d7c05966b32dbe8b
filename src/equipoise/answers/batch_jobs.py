"""Batch jobs of providers, asked exactly as a run would ask: each prompt becomes one line of their input files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from equipoise.answers.prompts import Row
from equipoise.errors import InputError
from equipoise.models.chat.providers import ANTHROPIC, OPENAI
from equipoise.models.protocol import Sampling
from equipoise.schema import ID, PROMPT, REPETITION, SYSTEM

OPENAI_PATH = "/v1/chat/completions"
DEFAULT_MODELS = {"openai": "gpt-4o-mini", "gemini": ""}
REASONING_MODEL = re.compile(r"(?:o\d|gpt-[5-9])")
"""How the names begin of OpenAI's models that reason: they refuse max_tokens."""
RENAMED = {"max_tokens": "max_completion_tokens"}
MakeLine = Callable[[str, str, str, str | None, Sampling], Row]


def make_line_writer(form: str, model: str | None, sampling: Sampling) -> Callable[[Row], Row]:
    """For a format of batch jobs: what a prompt becomes. `model` may begin with the provider's name, as for a run."""
    provider, make_line = BATCHES[form]
    name = _find_model(form, provider, model)

    def make(row: Row) -> Row:
        key = f"{row[ID]}-{row[REPETITION]}" if REPETITION in row else row[ID]
        return make_line(key, name, row[PROMPT], sampling.system_for(row.get(SYSTEM)), sampling)

    return make


def _find_model(form: str, provider: str, model: str | None) -> str:
    """The model as the provider calls it. A Gemini job is told its model when it is started."""
    if model is None:
        if provider not in DEFAULT_MODELS:
            raise InputError(f"--model is needed: which model does the {form} ask?")
        return DEFAULT_MODELS[provider]
    given, _, name = model.partition("/")
    if given != provider and given in {other for other, _ in BATCHES.values()}:
        raise InputError(f"A model of {provider} is needed for {form}. Got {model!r} instead: --format {given}-batch?")
    return name if given == provider else model


def _openai_line(key: str, model: str, prompt: str, system: str | None, sampling: Sampling) -> Row:
    body = {**OPENAI.parameters(model, sampling), **OPENAI.messages(prompt, system)}
    if REASONING_MODEL.match(model) and "max_completion_tokens" not in body:
        # When a run asks, the endpoint refuses max_tokens and the run renames it; a batch job only fails.
        body = {RENAMED.get(name, name): value for name, value in body.items()}
    return {"custom_id": key, "method": "POST", "url": OPENAI_PATH, "body": body}


def _anthropic_line(key: str, model: str, prompt: str, system: str | None, sampling: Sampling) -> Row:
    return {
        "custom_id": key,
        "params": {**ANTHROPIC.parameters(model, sampling), **ANTHROPIC.messages(prompt, system)},
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


BATCHES: Mapping[str, tuple[str, MakeLine]] = {
    "openai-batch": ("openai", _openai_line),
    "anthropic-batch": ("anthropic", _anthropic_line),
    "gemini-batch": ("gemini", _gemini_line),
}
