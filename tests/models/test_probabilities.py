"""The probabilities of first tokens, as endpoints give them, and all the ways in which they do not (docs/faults.md)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from equipoise.models.chat.model import make_chat_model
from equipoise.models.protocol import Asking, NoProbabilities, Reply, TransientFault
from equipoise.schema import Status
from serving.asking import Outcome, outcome_of
from serving.faults import Responder, send_json
from serving.faulty import FaultyServer

ASKING, OPENED = Asking(max_tokens=1, opening=""), Asking(max_tokens=1, opening="Gender:")
TOKENS = [{"token": "Yes", "logprob": math.log(0.7)}, {"token": " no", "logprob": math.log(0.2)}]
FOUR = [{"token": " four", "logprob": math.log(0.9)}]


def choice(logprobs: Any = None, finish: str = "length", **message: Any) -> Responder:
    """A response with these log-probabilities."""
    content = {"content": "Yes", **message}
    return send_json(200, {"choices": [{"message": content, "finish_reason": finish, "logprobs": logprobs}]})


def listing(tokens: Sequence[object], **message: Any) -> Responder:
    return choice({"content": [{"token": "Yes", "logprob": -0.3, "top_logprobs": tokens}]}, **message)


def error(message: str) -> Responder:
    return send_json(400, {"error": {"message": message}})


def ask(
    *responses: Responder, times: int = 1, asking: Asking = ASKING, model: str = "custom/m"
) -> tuple[list[Outcome], list[str], list[Mapping[str, Any]]]:
    """Outcomes of prompts asked in turn, notes, and all requests. The last response is given again and again."""

    async def ask_all() -> list[Outcome]:
        async with connected:
            return [await outcome_of(connected, f"Prompt {number}?", "Be brief.", asking) for number in range(times)]

    with FaultyServer(lambda prompt, nth: responses[min(server.total, len(responses)) - 1]) as server:
        connected = make_chat_model(model, base_url=server.url, environ={})
        return asyncio.run(ask_all()), connected.notes, [request.body for request in server.received]


def test_one_token_is_asked_for_and_its_probabilities_are_kept() -> None:
    [reply], notes, [body] = ask(listing(TOKENS))
    assert isinstance(reply, Reply)
    assert (reply.status, reply.answer) == (Status.OK, "Yes")
    assert reply.first_token == [{"token": "Yes", "p": 0.7}, {"token": " no", "p": 0.2}]
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
    [note] = notes
    assert "fewer first tokens than the 20" in note


def test_without_asking_for_them_nothing_is_sent_about_probabilities() -> None:
    _, notes, [body] = ask(choice(), asking=Asking(max_tokens=8))
    assert body == {"model": "m", "max_tokens": 8, "messages": body["messages"]}
    assert notes == []


WITHOUT: list[Any] = [
    None,
    {},
    {"content": None},
    {"content": []},
    {"content": [{"token": "Yes", "logprob": -0.3}]},
]


@pytest.mark.fault("L1")
@pytest.mark.parametrize("logprobs", WITHOUT, ids=str)
def test_an_endpoint_that_omits_them_is_asked_once(logprobs: Any) -> None:
    [outcome], _, bodies = ask(choice(logprobs))
    assert isinstance(outcome, NoProbabilities)
    assert "gives no probabilities" in str(outcome)
    assert "without --probabilities" in str(outcome)
    assert len(bodies) == 1


@pytest.mark.fault("L1")
def test_an_endpoint_that_refuses_them_is_asked_once() -> None:
    [outcome], _, bodies = ask(error("logprobs is not supported with this model"))
    assert isinstance(outcome, NoProbabilities)
    assert "it says: logprobs is not supported" in str(outcome)
    assert "without --probabilities" in str(outcome)
    assert len(bodies) == 1


def thinking(token: str) -> Responder:
    """A response whose likeliest first token is not the first that is listed."""
    return listing([{"token": "Yes", "logprob": -5.0}, {"token": token, "logprob": -0.01}])


@pytest.mark.fault("L5")
@pytest.mark.parametrize(
    "response",
    [
        pytest.param(thinking("<think>"), id="think"),
        pytest.param(thinking("<|channel|>"), id="channel"),
        pytest.param(thinking("[THINK]"), id="THINK"),
        pytest.param(listing(TOKENS, reasoning_content="Okay, the user asks"), id="field"),
    ],
)
def test_a_model_that_begins_with_reasoning_is_asked_once(response: Responder) -> None:
    [outcome], _, bodies = ask(response)
    assert isinstance(outcome, NoProbabilities)
    assert "begins its answers with reasoning" in str(outcome)
    assert "without --probabilities" in str(outcome)
    assert len(bodies) == 1


@pytest.mark.fault("L1")
def test_a_format_without_probabilities_is_known_before_anything_is_sent() -> None:
    assert make_chat_model("custom/m", base_url="http://127.0.0.1:1", environ={}).gives_probabilities
    assert not make_chat_model("anthropic/m", key="k" * 20, environ={}).gives_probabilities


@pytest.mark.fault("L8")
@pytest.mark.parametrize(("name", "continues"), [("openai/m", False), ("mistral/m", True)])
def test_whether_a_provider_continues_answers_is_known_before_anything_is_sent(name: str, continues: bool) -> None:
    assert make_chat_model(name, key="k" * 20, environ={}).continues_answers == continues


@pytest.mark.fault("L2")
def test_an_endpoint_that_gives_fewer_is_asked_for_fewer() -> None:
    outcomes, notes, bodies = ask(error("top_logprobs must be at most 8"), listing(TOKENS), times=2)
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


@pytest.mark.fault("L7")
def test_halves_of_characters_that_look_alike_are_added_up() -> None:
    halves = [{"token": half, "logprob": math.log(0.1)} for half in ("\ud83d", "\ud83e")]
    [reply], _, _ = ask(listing([*TOKENS[:1], *halves]))
    assert isinstance(reply, Reply)
    assert reply.first_token == [{"token": "Yes", "p": 0.7}, {"token": "\ufffd", "p": 0.2}]


NO_ENTRY = "an entry that is none"
BROKEN = [
    pytest.param([{"token": "Yes", "logprob": math.nan}], NO_ENTRY, id="not a number"),
    pytest.param([{"token": "Yes", "logprob": 0.5}], NO_ENTRY, id="above certainty"),
    pytest.param([{"token": "Yes", "logprob": -math.inf}], NO_ENTRY, id="minus infinity"),
    pytest.param([{"token": "Yes", "logprob": -(10**400)}], NO_ENTRY, id="no float"),
    pytest.param([{"token": "Yes", "logprob": None}], NO_ENTRY, id="null"),
    pytest.param([{"token": "Yes", "logprob": True}], NO_ENTRY, id="true"),
    pytest.param([{"token": "Yes", "logprob": "-0.1"}], NO_ENTRY, id="a text"),
    pytest.param([{"token": 7, "logprob": -0.1}], NO_ENTRY, id="token is a number"),
    pytest.param([{"logprob": -0.1}], "no log-probabilities", id="no token"),
    pytest.param(
        [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -0.1}],
        "add up to 1.81",
        id="more than one in all",
    ),
    pytest.param(["Yes"], "no log-probabilities", id="no object"),
    pytest.param([], "no log-probabilities", id="nothing"),
]


@pytest.mark.fault("L3")
@pytest.mark.parametrize(("tokens", "words"), BROKEN)
def test_what_is_no_probability_is_refused_if_it_comes_first(tokens: list[Any], words: str) -> None:
    [first], _, _ = ask(listing(tokens))
    assert isinstance(first, NoProbabilities)
    assert words in str(first)


@pytest.mark.fault("L3")
@pytest.mark.parametrize(("tokens", "words"), BROKEN)
def test_what_is_no_probability_is_malformed_if_it_comes_later(tokens: list[Any], words: str) -> None:
    [_, later], _, _ = ask(listing(TOKENS), listing(tokens), times=2)
    assert isinstance(later, TransientFault)
    assert later.kind == "malformed"
    assert later.reply.status == Status.MALFORMED
    assert words in (later.reply.detail or "")
    assert later.reply.raw


@pytest.mark.fault("L4")
@pytest.mark.parametrize("content", [None, "", "\n", "<|im_end|>"])
def test_the_text_of_the_answer_does_not_matter(content: str | None) -> None:
    [reply], _, _ = ask(listing(TOKENS, content=content))
    assert isinstance(reply, Reply)
    assert (reply.status, reply.answer, reply.detail) == (Status.OK, content or "", None)
    assert reply.first_token is not None


@pytest.mark.parametrize("content", [None, "", "Yes"])
def test_what_was_filtered_is_not_asked_about_its_probabilities(content: str | None) -> None:
    [filtered], _, bodies = ask(choice(finish="content_filter", content=content))
    assert isinstance(filtered, Reply)
    assert filtered.status == Status.FILTERED
    assert filtered.first_token is None
    assert len(bodies) == 1


@pytest.mark.fault("L8")
@pytest.mark.parametrize(
    ("provider", "mark", "option"), [("custom", False, False), ("mistral", True, False), ("vllm", False, True)]
)
def test_an_answer_is_begun_in_the_way_of_the_provider(provider: str, mark: bool, option: bool) -> None:
    replies, _, (check, *bodies) = ask(listing(FOUR), listing(TOKENS), times=2, asking=OPENED, model=f"{provider}/m")
    assert [reply.answer for reply in replies if isinstance(reply, Reply)] == ["Yes", "Yes"]
    for reply in replies:
        assert isinstance(reply, Reply)
        assert reply.first_token == [{"token": "Yes", "p": 0.7}, {"token": " no", "p": 0.2}]
    assert check["messages"][-1]["content"] == "one two three"
    assert len(bodies) == 2
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
