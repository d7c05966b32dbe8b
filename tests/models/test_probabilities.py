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
from serving.raw import RawServer, with_length

ASKING = Asking(max_tokens=1, opening="")
Outcome = Reply | TransientFault | Refused
TOKENS = [{"token": "Yes", "logprob": math.log(0.7)}, {"token": " no", "logprob": math.log(0.2)}]


def choice(logprobs: Any = None, **message: Any) -> bytes:
    """The body of a response with these log-probabilities."""
    content = {"content": "Yes", **message}
    return json.dumps({"choices": [{"message": content, "finish_reason": "length", "logprobs": logprobs}]}).encode()


def listed(tokens: Sequence[object]) -> dict[str, Any]:
    return {"content": [{"token": "Yes", "logprob": -0.3, "top_logprobs": tokens}]}


def error(message: str, status: int = 400) -> bytes:
    body = json.dumps({"error": {"message": message}}).encode()
    return f"HTTP/1.1 {status} Bad\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def ask(
    respond: Callable[[int], bytes], times: int = 1, asking: Asking = ASKING
) -> tuple[list[Outcome], list[str], list[dict[str, Any]]]:
    """The outcomes of prompts that are asked one after the other, the notes, and the bodies of all requests."""

    async def ask_all() -> list[Outcome]:
        outcomes: list[Outcome] = []
        async with model:
            for number in range(times):
                try:
                    outcomes.append(await model.answer(f"Prompt {number}?", None, asking))
                except (TransientFault, Refused) as fault:
                    outcomes.append(fault)
        return outcomes

    with RawServer(lambda prompt: [respond(len(server.bodies))]) as server:
        model = connect("custom/m", base_url=server.url, environ={})
        return asyncio.run(ask_all()), model.notes, server.bodies


def give(body: bytes) -> Callable[[int], bytes]:
    return lambda number: with_length(body)


def test_one_token_is_asked_for_and_its_probabilities_are_kept() -> None:
    [reply], notes, [body] = ask(give(choice(listed(TOKENS * 1))))
    assert isinstance(reply, Reply)
    assert (reply.status, reply.answer) == (Status.OK, "Yes")
    assert reply.first_token == [{"token": "Yes", "p": 0.7}, {"token": " no", "p": 0.2}]
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
    assert notes


def test_without_asking_for_them_nothing_is_sent_about_probabilities() -> None:
    _, notes, [body] = ask(give(choice()), asking=Asking(max_tokens=8))
    assert body == {"model": "m", "max_tokens": 8, "messages": body["messages"]}
    assert notes == []


@pytest.mark.fault("L1")
@pytest.mark.parametrize(
    "logprobs", [None, {}, {"content": None}, {"content": []}, {"content": [{"token": "Yes", "logprob": -0.3}]}]
)
def test_an_endpoint_that_omits_them_is_asked_once(logprobs: Any) -> None:
    [outcome], _, bodies = ask(give(choice(logprobs)))
    assert isinstance(outcome, Refused)
    assert "gives no probabilities" in str(outcome)
    assert "without --probabilities" in str(outcome)
    assert len(bodies) == 1


@pytest.mark.fault("L1")
def test_an_endpoint_that_refuses_them_is_asked_once() -> None:
    [outcome], _, bodies = ask(lambda number: error("logprobs is not supported with this model"))
    assert isinstance(outcome, Refused)
    assert "it says: logprobs is not supported" in str(outcome)
    assert len(bodies) == 1


@pytest.mark.fault("L2")
def test_an_endpoint_that_gives_fewer_is_asked_for_fewer() -> None:
    def respond(number: int) -> bytes:
        return (
            error("top_logprobs must be at most 8") if number == 1 else with_length(choice(listed(TOKENS), id=number))
        )

    outcomes, notes, bodies = ask(respond, times=2)
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert [body["top_logprobs"] for body in bodies] == [20, 5, 5]
    assert len([note for note in notes if "fewer first tokens than the 5" in note]) == 1


@pytest.mark.fault("L7")
def test_half_a_character_and_more_tokens_than_asked_for_can_be_stored() -> None:
    tokens = [{"token": "Yes\ud83d", "logprob": math.log(0.7)}]
    tokens += [{"token": f"t{number}", "logprob": math.log(0.2) - number} for number in range(5_000)]
    [reply], _, _ = ask(give(choice(listed(tokens))))
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
    [first], _, _ = ask(give(choice(listed(tokens))))
    assert isinstance(first, Refused)
    assert words in str(first)

    def respond(number: int) -> bytes:
        return with_length(choice(listed(TOKENS if number == 1 else tokens)))

    [_, later], _, _ = ask(respond, times=2)
    assert isinstance(later, TransientFault)
    assert (later.kind, later.reply.status) == ("malformed", Status.MALFORMED)
    assert words in (later.reply.detail or "")
    assert later.reply.raw


@pytest.mark.fault("L4")
@pytest.mark.parametrize("content", [None, "", "\n", "<|im_end|>"])
def test_the_text_of_the_answer_does_not_matter(content: str | None) -> None:
    [reply], _, _ = ask(give(choice(listed(TOKENS), content=content)))
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
    [outcome], _, bodies = ask(give(choice(listed(tokens), **message)))
    assert isinstance(outcome, Refused)
    assert "begins its answers with reasoning" in str(outcome)
    assert len(bodies) == 1


@pytest.mark.fault("L1")
def test_a_format_without_them_is_known_before_anything_is_sent() -> None:
    assert connect("custom/m", base_url="http://127.0.0.1:1", environ={}).gives_probabilities
    assert not connect("anthropic/m", key="k" * 20, environ={}).gives_probabilities


def test_what_was_filtered_is_not_asked_about_its_probabilities() -> None:
    body = json.dumps({"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}).encode()
    [outcome], _, _ = ask(give(body))
    assert isinstance(outcome, Reply)
    assert outcome.status == Status.FILTERED


@pytest.mark.fault("L8")
@pytest.mark.parametrize(
    ("provider", "mark", "option"), [("custom", False, False), ("mistral", True, False), ("vllm", False, True)]
)
def test_an_answer_is_begun_in_the_way_of_the_provider(provider: str, mark: bool, option: bool) -> None:
    four = [{"token": " four", "logprob": math.log(0.9)}]
    with RawServer(lambda prompt: [with_length(choice(listed(TOKENS if "Gender" in prompt else four)))]) as server:
        model = connect(f"{provider}/m", base_url=server.url, environ={})

        async def ask_two() -> list[Reply]:
            async with model:
                asking = Asking(max_tokens=1, opening="Gender:")
                return [await model.answer(f"A novel {number}?", "Be brief.", asking) for number in range(2)]

        replies = asyncio.run(ask_two())
    assert [reply.first_token and reply.first_token[0]["token"] for reply in replies] == ["Yes", "Yes"]
    check, *bodies = server.bodies
    assert check["messages"][-1]["content"] == "one two three"
    for body in bodies:
        begun = {"role": "assistant", "content": "Gender:", **({"prefix": True} if mark else {})}
        assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant"]
        assert body["messages"][-1] == begun
        assert body.get("continue_final_message", False) == option
        assert ("add_generation_prompt" in body) == option


@pytest.mark.fault("L8")
def test_an_endpoint_that_begins_a_new_answer_costs_one_request() -> None:
    (outcome,), _, bodies = ask(give(choice(listed(TOKENS))), asking=Asking(max_tokens=1, opening="Gender:"))
    assert isinstance(outcome, NoProbabilities)
    assert "does not go on with an answer" in str(outcome)
    assert len(bodies) == 1


@pytest.mark.fault("L8")
def test_a_provider_that_continues_no_answers_is_sent_nothing() -> None:
    with RawServer(lambda prompt: [with_length(choice(listed(TOKENS)))]) as server:
        model = connect("openai/m", base_url=server.url, environ={})

        async def ask_one() -> None:
            async with model:
                await model.answer("A novel?", None, Asking(max_tokens=1, opening="Gender:"))

        with pytest.raises(NoProbabilities, match="begins a new answer"):
            asyncio.run(ask_one())
        assert (model.continues_answers, server.bodies) == (False, [])
