"""Python functions as models."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Sequence

import pytest

from equipoise.frames import Status
from equipoise.models import FunctionModel, Model, Passing, Refused, Reply


def ask(model: Model, *prompts: str) -> list[Reply]:
    async def all_at_once() -> list[Reply]:
        async with model:
            return await asyncio.gather(*(model.answer(prompt) for prompt in prompts))

    return asyncio.run(all_at_once())


def upper(prompt: str) -> str:
    return prompt.upper()


async def upper_later(prompt: str) -> str:
    await asyncio.sleep(0)
    return prompt.upper()


class Caller:
    async def __call__(self, prompt: str) -> str:
        return prompt.upper()


class Batches:
    """Remembers its batches, and fails on what it is told to."""

    def __init__(self, bad: str = "") -> None:
        self.bad = bad
        self.sizes: list[int] = []

    def generate(self, prompts: list[str]) -> Sequence[str]:
        self.sizes.append(len(prompts))
        if self.bad in prompts:
            raise RuntimeError(f"cannot answer {self.bad!r}")
        return [prompt.upper() for prompt in prompts]


@pytest.mark.parametrize("function", [upper, upper_later, functools.partial(upper_later), Caller(), Batches()])
def test_each_prompt_gets_its_answer(function: object) -> None:
    prompts = [f"prompt {number}" for number in range(200)]
    replies = ask(FunctionModel(function), *prompts)  # type: ignore[arg-type] # all kinds at once
    assert [reply.answer for reply in replies] == [prompt.upper() for prompt in prompts]
    assert {reply.status for reply in replies} == {Status.OK}
    assert all(reply.latency is not None for reply in replies)


def test_a_plain_function_does_not_stop_the_loop() -> None:
    together = threading.Barrier(2, timeout=30)

    def wait(prompt: str) -> str:
        together.wait()
        return prompt

    assert [reply.answer for reply in ask(FunctionModel(wait), "a", "b")] == ["a", "b"]


def test_prompts_that_arrive_together_are_one_batch() -> None:
    batches = Batches()
    ask(FunctionModel(batches), *map(str, range(150)))
    assert batches.sizes == [64, 64, 22]


def test_one_bad_prompt_spoils_no_other() -> None:
    replies = ask(FunctionModel(Batches(bad="c")), *"abcd")
    assert [reply.answer for reply in replies] == ["A", "B", None, "D"]
    assert replies[2].status == Status.MALFORMED
    assert replies[2].detail == "RuntimeError: cannot answer 'c'"


def test_a_wrong_number_of_answers_is_malformed() -> None:
    class Short:
        def generate(self, prompts: list[str]) -> list[str]:
            return prompts[1:]

    replies = ask(FunctionModel(Short()), "a", "b")
    assert {reply.status for reply in replies} == {Status.MALFORMED}
    assert replies[0].detail == "ValueError: generate gave 1 answers for 2 prompts"


@pytest.mark.parametrize("value", [None, 3, b"bytes", ["list"]])
def test_what_is_no_text_is_malformed(value: object) -> None:
    [reply] = ask(FunctionModel(lambda prompt: value), "a")  # type: ignore[arg-type] # the point
    assert (reply.status, reply.answer) == (Status.MALFORMED, None)
    assert type(value).__name__ in (reply.detail or "")


def test_what_is_raised_is_malformed_for_this_attempt_only() -> None:
    def fail(prompt: str) -> str:
        if prompt == "b":
            raise ValueError("no \x1b[31m <b>way</b>")
        return prompt

    replies = ask(FunctionModel(fail), "a", "b")
    assert replies[0].answer == "a"
    assert (replies[1].status, replies[1].detail) == (Status.MALFORMED, "ValueError: no \\x1b[31m way")


@pytest.mark.parametrize("value", ["", "  ", "<think>only this</think>"])
def test_no_visible_text_is_empty(value: str) -> None:
    [reply] = ask(FunctionModel(lambda prompt: value), "a")
    assert (reply.status, reply.answer) == (Status.EMPTY, None)


@pytest.mark.parametrize("fault", [Passing(Reply(status=Status.TIMEOUT), kind="timeout"), Refused("enough")])
@pytest.mark.parametrize("batched", [False, True])
def test_a_function_may_speak_of_faults_as_models_do(fault: Exception, batched: bool) -> None:
    class Failing:
        def generate(self, prompts: list[str]) -> list[str]:
            raise fault

    def failing(prompt: str) -> str:
        raise fault

    model = FunctionModel(Failing() if batched else failing)
    with pytest.raises((Passing, Refused)):
        ask(model, "a")


def test_whoever_waits_when_the_model_closes_is_cancelled() -> None:
    started, free = threading.Event(), threading.Event()

    class Stuck:
        def generate(self, prompts: list[str]) -> list[str]:
            started.set()
            free.wait(30)
            return prompts

    async def run() -> object:
        async with FunctionModel(Stuck()) as model:
            waiting = asyncio.create_task(model.answer("a"))
            await asyncio.to_thread(started.wait, 30)
            late = asyncio.create_task(model.answer("b"))
            await asyncio.sleep(0)
        free.set()
        return await asyncio.gather(waiting, late, return_exceptions=True)

    results = asyncio.run(run())
    assert isinstance(results, list)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 2


def test_a_model_says_what_it_is() -> None:
    model = FunctionModel(upper)
    assert model.name.endswith(".upper")
    assert model.settings == {"function": model.name}
    assert FunctionModel(upper, name="mine").name == "mine"
    assert FunctionModel(Batches()).name.endswith(".Batches")
    assert model.notes == []
