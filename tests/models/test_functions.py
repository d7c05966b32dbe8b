"""Python functions as models."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Sequence

import pytest

from equipoise.models import FunctionModel, Model, Refused, Reply, TransientFault
from equipoise.schema import Status


def ask(model: Model, *prompts: str, system: str | None = None) -> list[Reply]:
    """The replies to all prompts, asked at once."""

    async def ask_all() -> list[Reply]:
        async with model:
            return await asyncio.gather(*(model.answer(prompt, system) for prompt in prompts))

    return asyncio.run(ask_all())


def upper(prompt: str) -> str:
    return prompt.upper()


async def upper_later(prompt: str) -> str:
    await asyncio.sleep(0)
    return prompt.upper()


class AsyncCallable:
    async def __call__(self, prompt: str) -> str:
        return prompt.upper()


class Batches:
    """Records the sizes of its batches, and raises when a batch holds the prompt `bad`."""

    def __init__(self, bad: str = "") -> None:
        self.bad = bad
        self.sizes: list[int] = []

    def generate(self, prompts: list[str]) -> Sequence[str]:
        self.sizes.append(len(prompts))
        if self.bad in prompts:
            raise RuntimeError(f"cannot answer {self.bad!r}")
        return [prompt.upper() for prompt in prompts]


@pytest.mark.parametrize("function", [upper, upper_later, functools.partial(upper_later), AsyncCallable(), Batches()])
def test_each_prompt_gets_its_answer(function: object) -> None:
    prompts = [f"prompt {number}" for number in range(200)]
    replies = ask(FunctionModel(function), *prompts)  # type: ignore[arg-type] # all kinds at once
    assert [reply.answer for reply in replies] == [prompt.upper() for prompt in prompts]
    assert {reply.status for reply in replies} == {Status.OK}
    assert all(reply.latency is not None for reply in replies)


@pytest.mark.parametrize("function", [upper, upper_later, AsyncCallable(), Batches()])
@pytest.mark.parametrize(("system", "text"), [(None, "WHO?"), ("", "WHO?"), ("Be brief.", "BE BRIEF.\n\nWHO?")])
def test_a_function_gets_the_system_part_then_the_prompt_as_one_text(
    function: object, system: str | None, text: str
) -> None:
    [reply] = ask(FunctionModel(function), "Who?", system=system)  # type: ignore[arg-type] # all kinds at once
    assert reply.answer == text


def test_a_plain_function_does_not_block_the_event_loop() -> None:
    both_called = threading.Barrier(2, timeout=30)

    def wait(prompt: str) -> str:
        both_called.wait()
        return prompt

    assert [reply.answer for reply in ask(FunctionModel(wait), "a", "b")] == ["a", "b"]


def test_prompts_that_wait_at_the_same_time_are_one_batch() -> None:
    batches = Batches()
    ask(FunctionModel(batches), *map(str, range(150)))
    assert batches.sizes == [64, 64, 22]


def test_a_prompt_that_raises_leaves_the_others_of_its_batch_unharmed() -> None:
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
def test_an_answer_that_is_no_text_is_malformed(value: object) -> None:
    [reply] = ask(FunctionModel(lambda prompt: value), "a")  # type: ignore[arg-type] # the point
    assert (reply.status, reply.answer) == (Status.MALFORMED, None)
    assert type(value).__name__ in (reply.detail or "")


def test_an_exception_makes_this_one_attempt_malformed() -> None:
    def fail(prompt: str) -> str:
        if prompt == "b":
            raise ValueError("no \x1b[31m <b>way</b>")
        return prompt

    replies = ask(FunctionModel(fail), "a", "b")
    assert replies[0].answer == "a"
    assert (replies[1].status, replies[1].detail) == (Status.MALFORMED, "ValueError: no \\x1b[31m way")


@pytest.mark.parametrize("value", ["", "  ", "<think>only this</think>"])
def test_an_answer_without_visible_text_is_empty(value: str) -> None:
    [reply] = ask(FunctionModel(lambda prompt: value), "a")
    assert (reply.status, reply.answer) == (Status.EMPTY, None)


@pytest.mark.parametrize("fault", [TransientFault(Reply(status=Status.TIMEOUT), kind="timeout"), Refused("enough")])
@pytest.mark.parametrize("batched", [False, True])
def test_a_function_may_raise_the_faults_of_models(fault: Exception, batched: bool) -> None:
    class Failing:
        def generate(self, prompts: list[str]) -> list[str]:
            raise fault

    def failing(prompt: str) -> str:
        raise fault

    model = FunctionModel(Failing() if batched else failing)
    with pytest.raises((TransientFault, Refused)):
        ask(model, "a")


def test_calls_that_wait_when_the_model_closes_are_cancelled() -> None:
    started, released = threading.Event(), threading.Event()

    class Stuck:
        def generate(self, prompts: list[str]) -> list[str]:
            started.set()
            released.wait(30)
            return prompts

    async def run() -> object:
        async with FunctionModel(Stuck()) as model:
            running = asyncio.create_task(model.answer("a"))
            await asyncio.to_thread(started.wait, 30)
            waiting = asyncio.create_task(model.answer("b"))
            await asyncio.sleep(0)
        released.set()
        return await asyncio.gather(running, waiting, return_exceptions=True)

    results = asyncio.run(run())
    assert isinstance(results, list)
    assert [type(result) for result in results] == [Reply, asyncio.CancelledError]


def test_the_name_of_the_function_is_the_name_of_the_model() -> None:
    model = FunctionModel(upper)
    assert model.name.endswith(".upper")
    assert model.settings == {"function": model.name}
    assert FunctionModel(upper, name="mine").name == "mine"
    assert FunctionModel(Batches()).name.endswith(".Batches")
    assert model.notes == []
