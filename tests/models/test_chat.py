"""Answers of chat endpoints, and the parameters and system parts that are sent to them."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.models.failures import find_rejected_parameter, read_reported
from equipoise.models.protocol import Reply, Sampling, TransientFault
from equipoise.schema import Status
from serving.asking import PROTOCOLS, ask, ask_with_response, connect_to
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
        ("Be brief.", "You are a recruiter.", "Be brief.\n\nYou are a recruiter."),
        ("", None, ""),
        ("", "You are a recruiter.", "You are a recruiter."),
    ],
)
def test_the_system_part_is_the_text_of_the_user_then_that_of_the_prompt(
    protocol: str, user: str | None, prompt: str | None, sent: str | None
) -> None:
    with FaultyServer() as server:
        ask(connect_to(server, protocol, sampling=Sampling(system=user)), "Is she hired?", system=prompt)
    body = server.received[0].body
    first = [] if sent is None or protocol == "anthropic" else [{"role": "system", "content": sent}]
    assert body["messages"] == [*first, {"role": "user", "content": "Is she hired?"}]
    assert body.get("system") == (sent if protocol == "anthropic" else None)
    assert ("system" in body) == (protocol == "anthropic" and sent is not None)


THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
REFUSED = "a refusal"
CONTENTS: list[tuple[dict[str, Any], str | None, str | None]] = [
    ({"content": "Yes", "reasoning_content": "Hm"}, "Yes", "Hm"),
    ({"content": "Yes", "reasoning": "Hm"}, "Yes", "Hm"),
    ({"content": [{"type": "text", "text": "Y"}, {"type": "text", "text": "es"}]}, "Yes", None),
    ({"content": [THINKING, {"type": "text", "text": "Yes"}]}, "Yes", "Hm"),
    ({"content": "<think>Hm</think>Yes"}, "<think>Hm</think>Yes", None),
    ({"content": "<think>Hm</think>\n"}, None, "<think>Hm</think>\n"),
    ({"content": "a\ud800b\x00"}, "a\ud800b\x00", None),
    ({"content": " ", "refusal": "I can't help with that."}, REFUSED, None),
    ({"content": [{"type": "text", "text": ""}, {"type": "refusal", "refusal": "No."}]}, REFUSED, None),
]


@pytest.mark.fault("E11")
@pytest.mark.parametrize(("message", "answer", "reasoning"), CONTENTS)
def test_reasoning_is_kept_apart_and_the_answer_is_unchanged(
    message: dict[str, Any], answer: str | None, reasoning: str | None
) -> None:
    reply = ask_with_response({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert isinstance(reply, Reply)
    status = Status.FILTERED if answer == REFUSED else Status.OK if answer else Status.EMPTY
    kept = answer if status == Status.OK else None
    assert (reply.status, reply.answer, reply.reasoning) == (status, kept, reasoning)


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


# Parameters


SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=50, seed=1, extra={"min_p": 0.1})


def test_rejected_parameters_are_renamed_or_dropped_once_for_all_requests() -> None:
    rejected = frozenset({"max_tokens", "max_completion_tokens", "seed", "min_p"})
    with FaultyServer(rejects=rejected - {"max_completion_tokens"}) as server:
        model = connect_to(server, sampling=SAMPLING)
        assert model.settings["dropped"] == {}
        ask(model, "first")
        replies = ask(model, "second", "third")
        assert server.total == 3 + 3
    assert [reply.answer for reply in replies if isinstance(reply, Reply)] == [sealed("second"), sealed("third")]
    assert model.settings["dropped"] == {"max_tokens": "max_completion_tokens", "min_p": None, "seed": None}
    assert sorted(model.notes) == [
        "The endpoint rejects max_tokens: it is sent as max_completion_tokens.",
        "The endpoint rejects min_p: it is no longer sent.",
        "The endpoint rejects seed: it is no longer sent.",
    ]
    body = server.received[-1].body
    assert body["max_completion_tokens"] == 50
    assert body.keys() == {"model", "messages", "temperature", "top_p", "max_completion_tokens"}
    with FaultyServer(rejects=rejected) as server:
        model = connect_to(server, sampling=SAMPLING)
        assert isinstance(ask(model)[0], Reply)
    assert model.settings["dropped"] == {
        "max_tokens": "max_completion_tokens",
        **dict.fromkeys(rejected - {"max_tokens"}),
    }


@pytest.mark.fault("E27")
@pytest.mark.parametrize("resumed", [False, True])
def test_after_the_first_answer_no_parameter_is_dropped(resumed: bool) -> None:
    """One stray 400 must not change how the rest of the prompts is asked, nor those of a run that goes on."""
    with FaultyServer(rejects=frozenset({"seed", "max_tokens"})) as server:
        model = connect_to(server, sampling=SAMPLING)
        if resumed:
            model.continue_after(["seed", "max_tokens"])
        [first] = ask(model)
        assert (server.total, server.received[-1].body["max_completion_tokens"]) == (1 if resumed else 3, 50)
        server.rejects = frozenset({"temperature"})
        [stray] = ask(model)
        server.rejects = frozenset()
        [last] = ask(model)
    assert isinstance(first, Reply)
    assert isinstance(last, Reply)
    assert isinstance(stray, TransientFault)
    assert stray.kind == "client"
    assert "temperature" in str(stray)
    assert {request.body["temperature"] for request in server.received} == {0.5}
    assert len(model.notes) == (0 if resumed else 2)


def test_anthropic_has_no_seed_and_requires_a_limit() -> None:
    with FaultyServer(rejects=frozenset({"top_p"})) as server:
        model = connect_to(server, "anthropic", sampling=Sampling(top_p=0.9, seed=1))
        [reply] = ask(model)
    assert isinstance(reply, Reply)
    assert model.settings["dropped"] == {"top_p": None}
    assert "seed" not in server.received[-1].body
    assert model.settings["max_tokens"] == server.received[-1].body["max_tokens"] == 4096
    assert len(model.notes) == 2


EXTRA = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 42}
REJECTIONS: list[tuple[object, str | None]] = [
    ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "top_p"),
    ("Unsupported value: 'temperature' does not support 0.5 with this model.", "temperature"),
    ("property 'seed' is unsupported", "seed"),
    ('Invalid JSON payload received. Unknown name "seed": Cannot find field.', "seed"),
    ([EXTRA], "seed"),
    ("temperature must be between 0 and 2", None),
    ("max_tokens is too large: 100000. This model supports at most 4096 completion tokens", None),
    ("This model is not supported.", None),
]


@pytest.mark.parametrize(("message", "dropped"), REJECTIONS)
def test_only_an_unsupported_parameter_is_dropped(message: object, dropped: str | None) -> None:
    error = read_reported({"detail": message}, 400)
    assert error is not None
    assert find_rejected_parameter(error, {"temperature", "top_p", "seed", "max_tokens"}) == dropped
