"""Python functions as models."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from equipoise.models.programs import FunctionModel
from equipoise.models.protocol import Refused, Reply, TransientFault
from equipoise.runs.start import start
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
        return [prompt.upper() for prompt in prompts]


KINDS = [
    pytest.param(upper, id="function"),
    pytest.param(upper_later, id="async function"),
    pytest.param(functools.partial(upper_later), id="partial of an async function"),
    pytest.param(AsyncCallable(), id="async callable"),
    pytest.param(Batches(), id="generator"),
]


@pytest.mark.parametrize("function", KINDS)
def test_each_of_many_prompts_gets_its_answer(function: object) -> None:
    prompts = [f"prompt {number}" for number in range(100)]
    replies = ask(function, *prompts)
    assert [reply.answer for reply in replies] == [prompt.upper() for prompt in prompts]
    assert {reply.status for reply in replies} == {Status.OK}
    assert all(reply.latency is not None for reply in replies)


@pytest.mark.parametrize("function", KINDS)
@pytest.mark.parametrize(("system", "text"), [(None, "WHO?"), ("", "WHO?"), ("Be brief.", "BE BRIEF.\n\nWHO?")])
def test_a_function_gets_the_system_part_then_the_prompt_as_one_text(
    function: object, system: str | None, text: str
) -> None:
    [reply] = ask(function, "Who?", system=system)
    assert reply.answer == text


def test_a_plain_function_does_not_block_the_event_loop() -> None:
    both_called = threading.Barrier(2, timeout=30)

    def wait(prompt: str) -> str:
        both_called.wait()
        return prompt

    assert [reply.answer for reply in ask(wait, "a", "b")] == ["a", "b"]


def test_prompts_that_wait_at_the_same_time_are_one_batch() -> None:
    batches = Batches()
    replies = ask(batches, *map(str, range(150)))
    assert [reply.answer for reply in replies] == [str(number) for number in range(150)]
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
    assert replies[2].status == Status.MALFORMED
    assert replies[2].detail == "RuntimeError: cannot answer 'c'"


def test_a_wrong_number_of_answers_makes_all_of_the_batch_malformed() -> None:
    class Short:
        def generate(self, prompts: list[str]) -> list[str]:
            return prompts[1:]

    replies = ask(Short(), "a", "b", "c")
    assert {reply.status for reply in replies} == {Status.MALFORMED}
    assert {reply.answer for reply in replies} == {None}
    assert replies[0].detail == "ValueError: generate gave 0 answers for 1 prompts"
    assert replies[1].detail == "ValueError: generate gave 1 answers for 2 prompts"


@pytest.mark.parametrize("value", [None, 3, b"bytes", ["list"]], ids=repr)
def test_an_answer_that_is_no_text_is_malformed(value: object) -> None:
    [reply] = ask(lambda prompt: value, "a")
    assert reply.status == Status.MALFORMED
    assert reply.answer is None
    assert reply.detail == f"an answer must be a str, got {type(value).__name__}"


def test_an_exception_makes_this_one_attempt_malformed() -> None:
    def fail(prompt: str) -> str:
        if prompt == "b":
            raise ValueError("no \x1b[31m <b>way</b>")
        return prompt

    good, bad = ask(fail, "a", "b")
    assert good.answer == "a"
    assert bad.status == Status.MALFORMED
    assert bad.answer is None
    assert bad.detail == "ValueError: no \\x1b[31m way"


@pytest.mark.parametrize("value", ["", "  ", "<think>only this</think>"])
def test_an_answer_without_visible_text_is_empty(value: str) -> None:
    [reply] = ask(lambda prompt: value, "a")
    assert reply.status == Status.EMPTY
    assert reply.answer is None
    assert reply.detail is None


def test_a_function_may_give_a_reply_of_its_own() -> None:
    given = Reply(status=Status.FILTERED, detail="not by this pipeline")
    [reply] = ask(lambda prompt: given, "a")
    assert reply.status == Status.FILTERED
    assert reply.detail == "not by this pipeline"


FAULTS = [
    pytest.param(TransientFault(Reply(status=Status.TIMEOUT), kind="timeout"), id="transient"),
    pytest.param(Refused("enough"), id="refused"),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_function_may_raise_the_faults_of_models(fault: Exception) -> None:
    def failing(prompt: str) -> str:
        raise fault

    with pytest.raises(type(fault)):
        ask(failing, "a")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_generator_may_raise_the_faults_of_models(fault: Exception) -> None:
    with pytest.raises(type(fault)):
        ask(Batches(bad="a", error=fault), "a")


def test_the_name_of_the_function_is_the_name_of_the_model() -> None:
    model = FunctionModel(upper)
    assert model.name.endswith(".upper")
    assert model.settings == {"function": model.name}
    assert model.notes == []


def test_the_class_of_a_generator_is_the_name_of_the_model() -> None:
    assert FunctionModel(Batches()).name.endswith(".Batches")


def test_a_name_that_is_given_counts_more_than_that_of_the_function() -> None:
    assert FunctionModel(upper, name="mine").name == "mine"


@pytest.mark.fault("E6")
def test_a_plain_function_is_never_called_again_while_it_runs(tmp_path: Path) -> None:
    """It cannot be interrupted: it is waited for, its answers count, and that is said once."""
    running = 0
    most_at_once = 0
    calls = 0

    def slow(prompt: str) -> str:
        nonlocal running, most_at_once, calls
        running += 1
        calls += 1
        most_at_once = max(most_at_once, running)
        time.sleep(0.15)
        running -= 1
        return "She is a nurse."

    events: list[object] = []
    session = start(slow, probes="jobs_lum", sample=4, out=tmp_path / "run.equipoise", deadline=0.05)
    run = session.ask(on_event=events.append)
    assert run.counts[Status.OK] == 4
    assert (calls, most_at_once) == (4, 1)
    (note,) = [event for event in events if isinstance(event, str) and "interrupted" in event]
    assert "takes longer than 0.05 s (--deadline)" in note
