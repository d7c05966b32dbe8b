"""The parameters sent with every prompt, and what becomes of those that an endpoint rejects."""

from __future__ import annotations

import math
from typing import Any

import pytest

from equipoise.errors import BadParameter
from equipoise.models.failures import find_rejected_parameter, read_reported
from equipoise.models.protocol import Reply, Sampling, TransientFault
from equipoise.runs.spec import make_spec
from serving.asking import ask, connect_to
from serving.faulty import FaultyServer, sealed

SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=50, seed=1, extra={"min_p": 0.1})
BOTH_LIMITS = frozenset({"max_tokens", "max_completion_tokens"})


# What an endpoint rejects


def test_rejected_parameters_are_renamed_or_dropped_once_for_all_requests() -> None:
    with FaultyServer(rejects=frozenset({"max_tokens", "seed", "min_p"})) as server:
        model = connect_to(server, sampling=SAMPLING)
        assert model.settings["dropped"] == {}
        ask(model, "first")
        replies = ask(model, "second", "third")
        assert server.total == 3 + 3
    answers = [reply.answer for reply in replies if isinstance(reply, Reply)]
    assert answers == [sealed("second"), sealed("third")]
    assert model.settings["dropped"] == {
        "max_tokens": "max_completion_tokens",
        "min_p": None,
        "seed": None,
    }
    assert sorted(model.notes) == [
        "The endpoint rejects max_tokens: it is sent as max_completion_tokens.",
        "The endpoint rejects min_p: it is no longer sent.",
        "The endpoint rejects seed: it is no longer sent.",
    ]
    body = server.received[-1].body
    assert body["max_completion_tokens"] == 50
    assert body.keys() == {"model", "messages", "temperature", "top_p", "max_completion_tokens"}


def test_prompts_that_are_rejected_together_are_each_answered_once() -> None:
    prompts = [f"Prompt {number}" for number in range(40)]
    with FaultyServer(rejects=frozenset({"max_tokens", "seed", "min_p"})) as server:
        model = connect_to(server, sampling=SAMPLING)
        replies = ask(model, *prompts)
        assert set(server.requests.values()) == {1}
    answers = [reply.answer for reply in replies if isinstance(reply, Reply)]
    assert answers == [sealed(prompt) for prompt in prompts]
    assert len(model.notes) == 3, "each parameter is noted once"


def test_a_limit_that_is_rejected_under_both_names_is_dropped() -> None:
    with FaultyServer(rejects=BOTH_LIMITS) as server:
        model = connect_to(server, sampling=Sampling(max_tokens=50))
        [reply] = ask(model)
    assert isinstance(reply, Reply)
    assert model.settings["dropped"] == {
        "max_tokens": "max_completion_tokens",
        "max_completion_tokens": None,
    }


def test_all_parameters_may_be_rejected_and_the_prompt_is_answered_still() -> None:
    with FaultyServer(rejects=BOTH_LIMITS | {"seed", "min_p"}) as server:
        model = connect_to(server, sampling=SAMPLING)
        [reply] = ask(model)
    assert isinstance(reply, Reply)
    assert model.settings["dropped"] == {
        "max_tokens": "max_completion_tokens",
        "max_completion_tokens": None,
        "seed": None,
        "min_p": None,
    }


@pytest.mark.fault("E27")
def test_after_the_first_answer_no_parameter_is_dropped() -> None:
    """One stray 400 must not change how the rest of the prompts is asked."""
    with FaultyServer(rejects=frozenset({"seed", "max_tokens"})) as server:
        model = connect_to(server, sampling=SAMPLING)
        [first] = ask(model)
        assert server.total == 3
        assert server.received[-1].body["max_completion_tokens"] == 50
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
    assert len(model.notes) == 2


@pytest.mark.fault("E27")
def test_a_resumed_run_drops_what_it_dropped_before_and_nothing_else() -> None:
    with FaultyServer(rejects=frozenset({"seed", "max_tokens"})) as server:
        model = connect_to(server, sampling=SAMPLING)
        model.continue_after(["seed", "max_tokens"])
        [first] = ask(model)
        assert server.total == 1
        assert server.received[-1].body["max_completion_tokens"] == 50
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
    assert model.notes == []


@pytest.mark.fault("E27")
def test_a_resumed_run_drops_nothing_new_even_before_its_first_answer() -> None:
    """The run file holds answers, although this process has none yet."""
    with FaultyServer(rejects=frozenset({"temperature"})) as server:
        model = connect_to(server, sampling=Sampling(temperature=0.7, seed=1))
        model.continue_after(["seed"])
        [stray] = ask(model)
    assert isinstance(stray, TransientFault)
    assert stray.kind == "client"
    assert model.notes == []


def test_anthropic_has_no_seed_and_says_so() -> None:
    with FaultyServer() as server:
        model = connect_to(server, "anthropic", sampling=Sampling(seed=1))
        [reply] = ask(model)
    assert isinstance(reply, Reply)
    assert "seed" not in server.received[-1].body
    assert model.notes == ["anthropic has no parameter seed: it is not sent."]


def test_anthropic_requires_a_limit_and_gets_one() -> None:
    with FaultyServer() as server:
        model = connect_to(server, "anthropic")
        [reply] = ask(model)
    assert isinstance(reply, Reply)
    assert model.settings["max_tokens"] == server.received[-1].body["max_tokens"] == 4096


def test_anthropic_may_reject_a_parameter_too() -> None:
    with FaultyServer(rejects=frozenset({"top_p"})) as server:
        model = connect_to(server, "anthropic", sampling=Sampling(top_p=0.9, seed=1))
        [reply] = ask(model)
    assert isinstance(reply, Reply)
    assert model.settings["dropped"] == {"top_p": None}
    assert len(model.notes) == 2, "one for the seed, one for top_p"


EXTRA = {
    "type": "extra_forbidden",
    "loc": ["body", "seed"],
    "msg": "Extra inputs are not permitted",
    "input": 42,
}
REJECTIONS: list[tuple[object, str | None]] = [
    ("`temperature` and `top_p` cannot both be specified for this model. Use one.", "top_p"),
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
    droppable = {"temperature", "top_p", "seed", "max_tokens"}
    assert find_rejected_parameter(error, droppable) == dropped


def test_a_parameter_is_found_in_a_list_of_wrong_fields_with_status_422() -> None:
    error = read_reported({"detail": [EXTRA]}, 422)
    assert error is not None
    assert find_rejected_parameter(error, {"temperature", "seed"}) == "seed"


# What is refused before anything is sent


@pytest.mark.parametrize("name", ["messages", "model", "n", "stream", "system"])
def test_the_extra_body_may_not_replace_what_equipoise_fills_in(name: str) -> None:
    with pytest.raises(BadParameter, match=f"must not hold '{name}'"):
        Sampling(extra={name: "anything"})


OUT_OF_BOUNDS: list[tuple[str, object]] = [
    ("temperature", -1.0),
    ("temperature", float("nan")),
    ("top_p", 0.0),
    ("top_p", 1.5),
    ("max_tokens", 0),
    ("extra", {"x": object()}),
    ("deadline", 0.0),
    ("deadline", -1.0),
    ("deadline", float("nan")),
    ("deadline", float("inf")),
]


@pytest.mark.parametrize(("name", "value"), OUT_OF_BOUNDS)
def test_a_parameter_out_of_bounds_is_refused(name: str, value: object) -> None:
    with pytest.raises(BadParameter, match=f"'{name}' must be"):
        make_spec(model="ollama/m", **{name: value})


@pytest.mark.parametrize("extra", [{"a": math.nan}, {"b": {"c": [1, math.inf]}}])
def test_numbers_that_json_does_not_have_are_refused_before_anything_is_asked(extra: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match="must hold no nan or infinity"):
        Sampling(extra=extra)
