"""Answers of chat endpoints, and the system parts that are sent to them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from equipoise.models.protocol import Reply, Sampling
from equipoise.schema import Status
from serving.asking import PROTOCOLS, ask, ask_faulty, ask_with_response, connect_to
from serving.faults import Fault
from serving.faulty import FaultyServer, sealed

# Answers


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_comes_with_its_tokens_model_and_finish_reason(protocol: str) -> None:
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=50, extra={"stop": ["\n\n"]})
    with FaultyServer() as server:
        [reply] = ask(connect_to(server, protocol, sampling=sampling), "Is she a doctor?")
    assert isinstance(reply, Reply)
    assert (reply.status, reply.answer) == (Status.OK, sealed("Is she a doctor?"))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.served_model) == (4, 4, "test-model")
    assert (reply.finish_reason, reply.fingerprint) == (
        ("stop", "fp_1") if protocol == "openai" else ("end_turn", None)
    )
    assert reply.latency
    assert server.received[0].body == {
        "model": "test-model",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 50,
        "stop": ["\n\n"],
        "messages": [{"role": "user", "content": "Is she a doctor?"}],
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("user", "prompt", "sent"),
    [
        (None, None, None),
        ("Be brief.", None, "Be brief."),
        (None, "You are a recruiter.", "You are a recruiter."),
        ("Be brief.", "You are a recruiter.", "Be brief.\n\nYou are a recruiter."),
        ("", None, ""),
        ("", "You are a recruiter.", "You are a recruiter."),
    ],
)
def test_the_system_part_is_the_text_of_the_user_then_that_of_the_prompt(
    protocol: str, user: str | None, prompt: str | None, sent: str | None
) -> None:
    with FaultyServer() as server:
        model = connect_to(server, protocol, sampling=Sampling(system=user))
        [reply] = ask(model, "Is she hired?", system=prompt)
    assert isinstance(reply, Reply)
    assert reply.answer == sealed("Is she hired?")
    body = server.received[0].body
    first = [] if sent is None or protocol == "anthropic" else [{"role": "system", "content": sent}]
    assert body["messages"] == [*first, {"role": "user", "content": "Is she hired?"}]
    assert body.get("system") == (sent if protocol == "anthropic" else None)
    assert ("system" in body) == (protocol == "anthropic" and sent is not None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_prompt_is_sent_with_its_own_system_part_only(protocol: str) -> None:
    async def ask_in_turn() -> None:
        async with model:
            await model.answer("first", "System one.")
            await model.answer("second")
            await model.answer("third", "System three.")

    with FaultyServer() as server:
        model = connect_to(server, protocol)
        asyncio.run(ask_in_turn())
    texts = [str(request.body) for request in server.received]
    assert ["System one." in text for text in texts] == [True, False, False]
    assert ["System three." in text for text in texts] == [False, False, True]
    assert model.settings["system"] is None


def test_each_of_many_prompts_asked_at_once_gets_its_own_answer() -> None:
    prompts = [f"Prompt {number}" for number in range(200)]
    with FaultyServer() as server:
        replies = ask(connect_to(server), *prompts)
        assert set(server.requests.values()) == {1}
    answers = [reply.answer for reply in replies if isinstance(reply, Reply)]
    assert answers == [sealed(prompt) for prompt in prompts]


THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
CONTENTS: list[tuple[dict[str, Any], str | None, str | None]] = [
    ({"content": "Yes", "reasoning_content": "Hm"}, "Yes", "Hm"),
    ({"content": "Yes", "reasoning": "Hm"}, "Yes", "Hm"),
    ({"content": [{"type": "text", "text": "Y"}, {"type": "text", "text": "es"}]}, "Yes", None),
    ({"content": [THINKING, {"type": "text", "text": "Yes"}]}, "Yes", "Hm"),
    ({"content": "<think>Hm</think>Yes"}, "<think>Hm</think>Yes", None),
    ({"content": "Hm</think>Yes"}, "Hm</think>Yes", None),
    ({"content": "Yes <think>Hm</think>"}, "Yes <think>Hm</think>", None),
    ({"content": "<think>Hm</think>\n"}, None, "<think>Hm</think>\n"),
    ({"content": "a\ud800b\x00"}, "a\ud800b\x00", None),
]


@pytest.mark.fault("E11")
@pytest.mark.parametrize(("message", "answer", "reasoning"), CONTENTS)
def test_reasoning_is_kept_apart_and_the_answer_is_unchanged(
    message: dict[str, Any], answer: str | None, reasoning: str | None
) -> None:
    reply = ask_with_response({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert isinstance(reply, Reply)
    assert reply.status == (Status.OK if answer else Status.EMPTY)
    assert reply.answer == answer
    assert reply.reasoning == reasoning


@pytest.mark.fault("E11")
@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"content": None, "refusal": "I can't help."}, id="a field, no content"),
        pytest.param({"content": " ", "refusal": "I can't help."}, id="a field, beside blanks"),
        pytest.param({"content": [{"type": "refusal", "refusal": "I can't help."}]}, id="the only part"),
        pytest.param(
            {"content": [{"type": "text", "text": ""}, {"type": "refusal", "refusal": "No."}]},
            id="a part, beside an empty text",
        ),
    ],
)
def test_a_refusal_counts_as_filtered_and_is_no_answer(message: dict[str, Any]) -> None:
    reply = ask_with_response({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert isinstance(reply, Reply)
    assert reply.status == Status.FILTERED
    assert reply.answer is None


@pytest.mark.fault("E11")
def test_a_refusal_beside_a_text_leaves_the_text_as_the_answer() -> None:
    message = {"content": "Yes", "refusal": "I would rather not."}
    reply = ask_with_response({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert isinstance(reply, Reply)
    assert reply.status == Status.OK
    assert reply.answer == "Yes"


@pytest.mark.fault("E9")
def test_a_byte_order_mark_before_the_json_is_left_out() -> None:
    reply, _ = ask_faulty(Fault.BYTE_ORDER_MARK)
    assert isinstance(reply, Reply)
    assert reply.answer == "She said yes."


def test_thinking_blocks_are_kept_apart() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm", "signature": "x"},
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "text", "text": "Y"},
        {"type": "text", "text": "es"},
    ]
    usage = {"input_tokens": 3, "cache_read_input_tokens": 4, "cache_creation_input_tokens": None, "output_tokens": 2}
    reply = ask_with_response({"content": blocks, "stop_reason": "end_turn", "usage": usage}, "anthropic")
    assert isinstance(reply, Reply)
    assert (reply.answer, reply.reasoning) == ("Yes", "Hm")
    assert (reply.prompt_tokens, reply.completion_tokens) == (7, 2)


def test_fields_of_a_wrong_type_are_ignored() -> None:
    choice = {"message": {"content": "Yes", "reasoning": 7}, "finish_reason": {"stop": 1}}
    usage = {"prompt_tokens": "many", "completion_tokens": -1}
    reply = ask_with_response({"choices": [choice], "model": 7, "usage": usage, "system_fingerprint": []})
    assert reply == Reply(status=Status.OK, answer="Yes", latency=reply.latency if isinstance(reply, Reply) else None)
