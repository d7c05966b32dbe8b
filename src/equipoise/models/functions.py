"""Python functions as models: for what has no endpoint, and for tests."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, Self, runtime_checkable

from equipoise.detect.visible import has_visible
from equipoise.frames import Status
from equipoise.models.protocol import Passing, Refused, Reply
from equipoise.models.redact import excerpt

BATCH = 64


@runtime_checkable
class Generator(Protocol):
    """Answers many prompts at a time, in their order."""

    def generate(self, prompts: list[str], /) -> Sequence[str]:
        """One answer for each prompt."""
        ...


Function = Callable[[str], str] | Callable[[str], Awaitable[str]]


class FunctionModel:
    """A function of the prompt (plain ones run in a thread, `async` ones in the loop), or an object with `generate`.

    An object with `generate` gets the prompts that arrive together as one batch, and one batch at a time.
    """

    def __init__(self, function: Function | Generator, *, name: str | None = None) -> None:
        self.name = name or _name(function)
        self.settings: dict[str, object] = {"function": _name(function)}
        self.notes: list[str] = []
        self._function = function
        self._waiting: list[tuple[str, asyncio.Future[object]]] = []
        self._batches: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Nothing is to be opened."""
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Stop asking; who still waits is cancelled."""
        for _, future in self._waiting:
            future.cancel()
        if self._batches is not None:
            self._batches.cancel()
            await asyncio.wait([self._batches])

    async def answer(self, prompt: str) -> Reply:
        """What the function returns; what it raises makes this one attempt `malformed`."""
        started = time.monotonic()
        try:
            answer = await self._call(prompt)
        except (Passing, Refused):
            raise
        except Exception as problem:
            answer = problem
        latency = time.monotonic() - started
        if isinstance(answer, Exception):
            detail = excerpt(f"{type(answer).__name__}: {answer}")
            return Reply(status=Status.MALFORMED, detail=detail, latency=latency)
        if not isinstance(answer, str):
            detail = f"an answer must be a str, got {type(answer).__name__}"
            return Reply(status=Status.MALFORMED, detail=detail, latency=latency)
        if not has_visible(answer):
            return Reply(status=Status.EMPTY, reasoning=answer or None, latency=latency)
        return Reply(status=Status.OK, answer=answer, latency=latency)

    async def _call(self, prompt: str) -> object:
        if isinstance(self._function, Generator):
            return await self._arrive(prompt)
        if _is_async(self._function):
            result: object = self._function(prompt)
        else:
            result = await asyncio.to_thread(self._function, prompt)
        return await result if inspect.isawaitable(result) else result

    async def _arrive(self, prompt: str) -> object:
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting.append((prompt, future))
        if self._batches is None or self._batches.done():
            self._batches = asyncio.create_task(self._generate())
        return await future

    async def _generate(self) -> None:
        assert isinstance(self._function, Generator)
        while self._waiting:
            await asyncio.sleep(0)  # whoever arrives in this turn of the loop comes along
            self._waiting = [(prompt, future) for prompt, future in self._waiting if not future.done()]
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            try:
                answers = await asyncio.to_thread(_answers, self._function, [prompt for prompt, _ in batch])
            except BaseException:
                for _, future in batch:
                    future.cancel()
                raise
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():
                    continue
                if isinstance(answer, Passing | Refused):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)


def _answers(function: Generator, prompts: list[str]) -> Sequence[object]:
    """An answer or an exception for each prompt. A batch that raises is asked again one by one, to spare the others."""
    if not prompts:
        return []
    try:
        answers = list(function.generate(prompts))
    except Exception as problem:
        return [problem] if len(prompts) == 1 else [_answers(function, [prompt])[0] for prompt in prompts]
    if len(answers) != len(prompts):
        return [ValueError(f"generate gave {len(answers)} answers for {len(prompts)} prompts")] * len(prompts)
    return answers


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _name(function: object) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', '?')}.{getattr(named, '__qualname__', '?')}"
