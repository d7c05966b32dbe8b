"""Python functions as models, for whatever has no endpoint, and for tests."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from equipoise.detect.visible import has_visible_text
from equipoise.models.protocol import AS_SAMPLED, Asking, Model, Refused, Reply, TransientFault
from equipoise.models.redact import excerpt
from equipoise.schema import Status

MAX_BATCH = 64


@runtime_checkable
class Generator(Protocol):
    """An object that answers many prompts in one call."""

    def generate(self, prompts: list[str], /) -> Sequence[str]:
        """Return one answer per prompt, in the same order."""
        ...


Function = Callable[[str], str | Reply] | Callable[[str], Awaitable[str | Reply]]


class FunctionModel(Model):
    """A Python function of the prompt as a model, or an object with a method `generate`.

    A plain function runs in a thread, an `async` one in the event loop. `generate` gets the prompts that are waiting
    as one batch, and the next batch when it has returned. A prompt's system part comes first in the text, followed
    by a blank line.
    """

    def __init__(
        self, function: Function | Generator, *, name: str | None = None, settings: dict[str, object] | None = None
    ) -> None:
        super().__init__(name or _qualified_name(function), settings or {"function": _qualified_name(function)})
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        if not self._is_async and not isinstance(function, Generator):
            self.concurrency = 1  # a plain function need not expect to be called again before it has returned
        self._waiting: list[tuple[str, asyncio.Future[object]]] = []
        self._batches: asyncio.Task[None] | None = None

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:  # noqa: ARG002
        """Call the function, which ignores `asking`. What it raises makes this one attempt `malformed`."""
        started = time.monotonic()
        try:
            answer = await self._call(f"{system}\n\n{prompt}" if system else prompt)
        except Exception as error:
            answer = error
        if isinstance(answer, TransientFault | Refused):
            raise answer
        return replace(_make_reply(answer), latency=time.monotonic() - started)

    async def _call(self, text: str) -> object:
        function = self._function
        if isinstance(function, Generator):
            future = asyncio.get_running_loop().create_future()
            self._waiting.append((text, future))
            if self._batches is None or self._batches.done():
                self._batches = asyncio.create_task(self._answer_batches(function))
            return await future
        result: object = function(text) if self._is_async else await asyncio.to_thread(function, text)
        return await result if inspect.isawaitable(result) else result

    async def _answer_batches(self, generator: Generator) -> None:
        """Answer what waits, and what has come meanwhile, one batch after the other."""
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            batch = [(text, future) for text, future in batch if not future.done()]
            answers = await asyncio.to_thread(_generate, generator, [text for text, _ in batch])
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():  # as when nobody waits for it any more
                    future.set_result(answer)


def _generate(generator: Generator, texts: list[str]) -> Sequence[object]:
    """Return one answer or one exception per text. A batch that raises is repeated one by one, to spare the others."""
    try:
        answers = list(generator.generate(texts))
    except Exception as error:
        return [error] if len(texts) == 1 else [_generate(generator, [text])[0] for text in texts]
    if len(answers) != len(texts):
        return [ValueError(f"generate gave {len(answers)} answers for {len(texts)} prompts")] * len(texts)
    return answers


def _make_reply(answer: object) -> Reply:
    """What becomes of an attempt: a reply as it is, a text, an exception, or something else that is no answer."""
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, Exception):
        return Reply(status=Status.MALFORMED, detail=excerpt(f"{type(answer).__name__}: {answer}"))
    if not isinstance(answer, str):
        return Reply(status=Status.MALFORMED, detail=f"an answer must be a str, got {type(answer).__name__}")
    if not has_visible_text(answer):
        return Reply(status=Status.EMPTY, reasoning=answer or None)
    return Reply(status=Status.OK, answer=answer)


def _qualified_name(function: object) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', '?')}.{getattr(named, '__qualname__', '?')}"
