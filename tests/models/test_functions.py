"""Python functions as models."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from equipoise.models.programs import FunctionModel
from equipoise.models.protocol import Refused, Reply, TransientFault
from equipoise.schema import Status


def ask(function: Any, *prompts: str, system: str | None = None) -> list[Reply]:
    """The replies to all prompts, asked at once."""

    async def ask_all() -> list[Reply]:
        async with FunctionModel(function) as model:
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

    def __init__(self, bad: str = "", error: Exception | None = None) -> None:
        self.bad = bad
        self.error = error or RuntimeError(f"cannot answer {bad!r}")
        self.sizes: list[int] = []

    def generate(self, prompts: list[str]) -> Sequence[str]:
        self.sizes.append(len(prompts))
        if self.bad in prompts:
            raise self.error
        return [] if "short" in prompts else [prompt.upper() for prompt in prompts]


@pytest.mark.parametrize("function", [upper, upper_later, functools.partial(upper_later), AsyncCallable(), Batches()])
def test_each_prompt_gets_its_answer_after_its_system_part(function: object) -> None:
    prompts = [f"prompt {number}" for number in range(20)]
    replies = ask(function, *prompts)
    assert [reply.answer for reply in replies] == [prompt.upper() for prompt in prompts]
    assert all(reply.status == Status.OK and reply.latency is not None for reply in replies)
    assert ask(function, "Who?", system="")[0].answer == "WHO?"
    assert ask(function, "Who?", system="Be brief.")[0].answer == "BE BRIEF.\n\nWHO?"


def test_a_plain_function_does_not_block_the_event_loop() -> None:
    both_called = threading.Barrier(2, timeout=30)

    def wait(prompt: str) -> str:
        both_called.wait()
        return prompt

    assert [reply.answer for reply in ask(wait, "a", "b")] == ["a", "b"]


def test_prompts_that_wait_at_the_same_time_are_one_batch() -> None:
    batches = Batches()
    assert len(ask(batches, *map(str, range(150)))) == 150
    assert batches.sizes == [1, 64, 64, 21]


def test_a_prompt_that_nobody_waits_for_any_more_leaves_the_others_unharmed() -> None:
    async def run() -> Reply:
        async with FunctionModel(Batches()) as model:
            gone, stays = (asyncio.create_task(model.answer(prompt)) for prompt in "ab")
            await asyncio.sleep(0)
            gone.cancel()
            return await stays

    assert asyncio.run(run()).answer == "B"


def test_a_prompt_that_raises_leaves_the_others_of_its_batch_unharmed() -> None:
    replies = ask(Batches(bad="c"), *"abcd")
    assert [reply.answer for reply in replies] == ["A", "B", None, "D"]
    assert (replies[2].status, replies[2].detail) == (Status.MALFORMED, "RuntimeError: cannot answer 'c'")
    [short] = ask(Batches(), "short")
    assert (short.status, short.detail) == (Status.MALFORMED, "ValueError: generate gave 0 answers for 1 prompts")


@pytest.mark.parametrize(
    ("value", "status", "detail"),
    [
        (b"bytes", Status.MALFORMED, "an answer must be a str, got bytes"),
        (ValueError("no \x1b[31m <b>way</b>"), Status.MALFORMED, "ValueError: no \\x1b[31m way"),
        ("  ", Status.EMPTY, None),
        ("<think>only this</think>", Status.EMPTY, None),
    ],
)
def test_what_is_no_answer_has_a_name(value: object, status: Status, detail: str | None) -> None:
    def answer(prompt: str) -> object:
        if isinstance(value, Exception):
            raise value
        return value

    [wrong] = ask(answer, "a")
    assert (wrong.status, wrong.answer, wrong.detail) == (status, None, detail)


@pytest.mark.parametrize("fault", [TransientFault(Reply(status=Status.TIMEOUT), kind="timeout"), Refused("enough")])
def test_a_function_may_raise_the_faults_of_models(fault: Exception) -> None:
    def failing(prompt: str) -> str:
        raise fault

    for function in (failing, Batches(bad="a", error=fault)):
        with pytest.raises(type(fault)):
            ask(function, "a")


def test_the_name_of_the_function_is_the_name_of_the_model() -> None:
    assert FunctionModel(upper).name.endswith(".upper")
    assert FunctionModel(upper, name="mine").name == "mine"
