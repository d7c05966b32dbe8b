"""The probabilities of first tokens, as endpoints give them, and all the ways in which they do not (docs/faults.md)."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest

from equipoise.models import Refused, Reply, TransientFault, connect
from equipoise.models.protocol import Asking, NoProbabilities
from equipoise.schema import Status
from serving.asking import Outcome
from serving.raw import RawServer, with_length

ASKING, OPENED = Asking(max_tokens=1, opening=""), Asking(max_tokens=1, opening="Gender:")
TOKENS = [{"token": "Yes", "logprob": math.log(0.7)}, {"token": " no", "logprob": math.log(0.2)}]
FOUR = [{"token": " four", "logprob": math.log(0.9)}]


def choice(logprobs: Any = None, **message: Any) -> bytes:
    """A response with these log-probabilities."""
    content = {"content": "Yes", **message}
    document = {"choices": [{"message": content, "finish_reason": "length", "logprobs": logprobs}]}
    return with_length(json.dumps(document).encode())


def listing(tokens: Sequence[object], **message: Any) -> bytes:
    return choice({"content": [{"token": "Yes", "logprob": -0.3, "top_logprobs": tokens}]}, **message)


def error(message: str) -> bytes:
    body = json.dumps({"error": {"message": message}}).encode()
    return f"HTTP/1.1 400 Bad\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def ask(
    respond: bytes | Callable[[str, int], bytes], times: int = 1, asking: Asking = ASKING, model: str = "custom/m"
) -> tuple[list[Outcome], list[str], list[dict[str, Any]]]:
    """The outcomes of prompts that are asked one after the other, the notes, and the bodies of all requests."""

    async def ask_all() -> list[Outcome]:
        outcomes: list[Outcome] = []
        async with connected:
            for number in range(times):
                try:
                    outcomes.append(await connected.answer(f"Prompt {number}?", "Be brief.", asking))
                except (TransientFault, Refused) as fault:
                    outcomes.append(fault)
        return outcomes

    def send(prompt: str) -> list[bytes]:
        return [respond if isinstance(respond, bytes) else respond(prompt, len(server.bodies))]

    with RawServer(send) as server:
        connected = connect(model, base_url=server.url, environ={})
        return asyncio.run(ask_all()), connected.notes, server.bodies


def test_one_token_is_asked_for_and_its_probabilities_are_kept() -> None:
    [reply], notes, [body] = ask(listing(TOKENS))
    assert isinstance(reply, Reply)
    assert (reply.status, reply.answer) == (Status.OK, "Yes")
    assert reply.first_token == [{"token": "Yes", "p": 0.7}, {"token": " no", "p": 0.2}]
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
    assert notes
    _, notes, [body] = ask(choice(), asking=Asking(max_tokens=8))
    assert body == {"model": "m", "max_tokens": 8, "messages": body["messages"]}, "unless they are not asked for"
    assert notes == []


@pytest.mark.fault("L1")
@pytest.mark.parametrize(
    ("response", "words"),
    [
        (choice(None), "gives no probabilities"),
        (choice({}), "gives no probabilities"),
        (choice({"content": []}), "gives no probabilities"),
        (choice({"content": [{"token": "Yes", "logprob": -0.3}]}), "gives no probabilities"),
        (error("logprobs is not supported with this model"), "it says: logprobs is not supported"),
    ],
)
def test_an_endpoint_that_omits_or_refuses_them_is_asked_once(response: bytes, words: str) -> None:
    [outcome], _, bodies = ask(response)
    assert isinstance(outcome, Refused)
    assert words in str(outcome)
    assert "without --probabilities" in str(outcome)
    assert len(bodies) == 1


@pytest.mark.fault("L1", "L8")
def test_what_a_provider_does_not_give_is_known_before_anything_is_sent() -> None:
    assert connect("custom/m", base_url="http://127.0.0.1:1", environ={}).gives_probabilities
    assert not connect("anthropic/m", key="k" * 20, environ={}).gives_probabilities
    assert not connect("openai/m", key="k" * 20, environ={}).continues_answers
    [outcome], _, bodies = ask(listing(TOKENS), asking=OPENED, model="openai/m")
    assert isinstance(outcome, NoProbabilities)
    assert "begins a new answer" in str(outcome)
    assert bodies == []


@pytest.mark.fault("L2")
def test_an_endpoint_that_gives_fewer_is_asked_for_fewer() -> None:
    def respond(prompt: str, number: int) -> bytes:
        return error("top_logprobs must be at most 8") if number == 1 else listing(TOKENS)

    outcomes, notes, bodies = ask(respond, times=2)
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert [body["top_logprobs"] for body in bodies] == [20, 5, 5]
    assert len([note for note in notes if "fewer first tokens than the 5" in note]) == 1


@pytest.mark.fault("L7")
def test_half_a_character_and_more_tokens_than_asked_for_can_be_stored() -> None:
    tokens = [{"token": "Yes\ud83d", "logprob": math.log(0.7)}]
    tokens += [{"token": f"t{number}", "logprob": math.log(0.2) - number} for number in range(5_000)]
    [reply], _, _ = ask(listing(tokens))
    assert isinstance(reply, Reply)
    assert reply.first_token is not None
    assert reply.first_token[:2] == [{"token": "Yes\ufffd", "p": 0.7}, {"token": "t0", "p": 0.2}]
    assert len(reply.first_token) == 20
    assert orjson.dumps(reply.first_token)


BROKEN = [
    ([{"token": "Yes", "logprob": math.nan}], "nan, which is no logarithm"),
    ([{"token": "Yes", "logprob": 0.5}], "0.5, which is no logarithm"),
    ([{"token": "Yes", "logprob": -math.inf}], "nan, which is no logarithm"),
    ([{"token": "Yes", "logprob": -(10**400)}], "nan, which is no logarithm"),
    ([{"token": "Yes", "logprob": None}], "no token or no number"),
    ([{"token": "Yes", "logprob": "-0.1"}], "no token or no number"),
    ([{"logprob": -0.1}], "no token or no number"),
    ([{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -0.1}], "add up to 1.81"),
    (["Yes"], "no token or no number"),
    ([], "has no log-probabilities"),
]


@pytest.mark.fault("L3")
@pytest.mark.parametrize(("tokens", "words"), BROKEN)
def test_what_is_no_probability_is_malformed_and_refused_if_it_comes_first(tokens: list[Any], words: str) -> None:
    [first], _, _ = ask(listing(tokens))
    assert isinstance(first, Refused)
    assert words in str(first)
    [_, later], _, _ = ask(lambda prompt, number: listing(TOKENS if number == 1 else tokens), times=2)
    assert isinstance(later, TransientFault)
    assert (later.kind, later.reply.status) == ("malformed", Status.MALFORMED)
    assert words in (later.reply.detail or "")
    assert later.reply.raw


@pytest.mark.fault("L4")
@pytest.mark.parametrize("content", [None, "", "\n", "<|im_end|>"])
def test_the_text_of_the_answer_does_not_matter(content: str | None) -> None:
    [reply], _, _ = ask(listing(TOKENS, content=content))
    assert isinstance(reply, Reply)
    assert (reply.status, reply.answer) == (Status.OK, content or "")
    assert reply.first_token is not None


@pytest.mark.fault("L5")
@pytest.mark.parametrize(
    ("token", "message"),
    [("<think>", {}), ("<|channel|>", {}), ("[THINK]", {}), ("Yes", {"reasoning_content": "Okay, the user asks"})],
)
def test_a_model_that_begins_with_reasoning_is_asked_once(token: str, message: dict[str, Any]) -> None:
    tokens = [{"token": token, "logprob": -0.01}, {"token": "Yes", "logprob": -5.0}]
    [outcome], _, bodies = ask(listing(tokens, **message))
    assert isinstance(outcome, Refused)
    assert "begins its answers with reasoning" in str(outcome)
    assert len(bodies) == 1


def test_what_was_filtered_is_not_asked_about_its_probabilities() -> None:
    document = {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}
    [outcome], _, _ = ask(with_length(json.dumps(document).encode()))
    assert isinstance(outcome, Reply)
    assert outcome.status == Status.FILTERED


@pytest.mark.fault("L8")
@pytest.mark.parametrize(
    ("provider", "mark", "option"), [("custom", False, False), ("mistral", True, False), ("vllm", False, True)]
)
def test_an_answer_is_begun_in_the_way_of_the_provider(provider: str, mark: bool, option: bool) -> None:
    replies, _, (check, *bodies) = ask(
        lambda prompt, number: listing(TOKENS if "Gender" in prompt else FOUR), 2, OPENED, f"{provider}/m"
    )
    assert [reply.first_token and reply.first_token[0]["token"] for reply in replies if isinstance(reply, Reply)] == [
        "Yes",
        "Yes",
    ]
    assert check["messages"][-1]["content"] == "one two three"
    for body in bodies:
        begun = {"role": "assistant", "content": "Gender:", **({"prefix": True} if mark else {})}
        assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant"]
        assert body["messages"][-1] == begun
        assert body.get("continue_final_message", False) == option
        assert ("add_generation_prompt" in body) == option


@pytest.mark.fault("L8")
def test_an_endpoint_that_begins_a_new_answer_costs_one_request() -> None:
    (outcome,), _, bodies = ask(listing(TOKENS), asking=OPENED)
    assert isinstance(outcome, NoProbabilities)
    assert "does not go on with an answer" in str(outcome)
    assert len(bodies) == 1
