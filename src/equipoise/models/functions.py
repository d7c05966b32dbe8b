"""Python functions as models, for whatever has no endpoint, and for tests."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol, Self, runtime_checkable

from equipoise.detect.visible import has_visible_text
from equipoise.models.protocol import AS_SAMPLED, Asking, LocalModel, Refused, Reply, TransientFault
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


class FunctionModel(LocalModel):
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
        self._waiting: deque[tuple[str, Future[object]]] = deque()

    async def __aenter__(self) -> Self:
        """Make the thread in which batches are generated, one after the other."""
        self._thread = ThreadPoolExecutor(1)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Cancel all calls that wait for a batch."""
        for _, future in self._waiting:
            future.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

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
            future: Future[object] = Future()
            self._waiting.append((text, future))
            await asyncio.sleep(0)  # Calls that start in this turn of the event loop still join the batch.
            if not future.cancelled():  # as when the model is closed
                self._thread.submit(self._answer_batch, function)
            return await asyncio.wrap_future(future)
        result: object = function(text) if self._is_async else await asyncio.to_thread(function, text)
        return await result if inspect.isawaitable(result) else result

    def _answer_batch(self, generator: Generator) -> None:
        """Answer the calls that wait, if those before have left any."""
        batch = [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]
        batch = [(text, future) for text, future in batch if future.set_running_or_notify_cancel()]
        answers = _generate(generator, [text for text, _ in batch]) if batch else []
        for (_, future), answer in zip(batch, answers, strict=True):
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
