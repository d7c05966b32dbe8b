"""Errors as endpoints word them, and documents that hold no answer (docs/faults.md, E2–E19)."""

from __future__ import annotations

import pytest

from equipoise.models.protocol import Refused, Reply, TransientFault
from equipoise.schema import Status
from serving.asking import PROTOCOLS, ask_with_response

BILLING = "You exceeded your current quota, check billing. Please retry in 20.5s."
WORDINGS: list[tuple[str, object, int, object]] = [
    ("E2", "rate_limit", 429, [{"error": {"code": 429, "message": BILLING}}]),
    ("E3", Refused, 429, {"error": {"message": "Your credit is used up."}}),
    ("E3", Refused, 400, {"error": {"message": "Your credit balance is too low to access the API"}}),
    ("E3", Refused, 429, {"error": {"type": "rate_limit_error", "details": {"error_code": "billing_not_active"}}}),
    (
        "E3",
        Refused,
        429,
        {
            "error": {
                "type": "rate_limit_error",
                "details": {"error_code": "enforced_spend_limit_reached"},
            },
        },
    ),
    ("E10", "rate_limit", 200, {"error": {"code": "429", "message": "busy"}}),
    ("E10", "rate_limit", 200, {"error": {"type": "rate_limit_error", "message": "busy"}}),
    ("E10", Refused, 200, {"error": {"code": "invalid_api_key", "message": "No."}}),
    ("E10", "server", 200, {"error": "out of memory"}),
    ("E10", "server", 200, {"choices": [{"error": {"code": 502, "message": "Up"}, "message": {"content": "Ye"}}]}),
    ("E10", "client", 200, {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}),
    ("E14", Status.FILTERED, 403, {"error": {"code": 403, "message": "Your input was flagged", "metadata": {}}}),
    ("E14", Status.FILTERED, 400, {"error": {"message": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
    ("E14", Status.FILTERED, 200, {"error": {"code": "content_filter", "message": "No."}}),
    ("E16", Refused, 400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]),
    ("E17", "client", 400, {"error": {"message": "foo/bar is not a valid model ID", "code": 400}}),
    ("E17", Refused, 400, {"error": {"message": "The model `foo` does not exist", "code": "x"}}),
    ("E17", Refused, 404, {"detail": "Not Found"}),
    ("E18", Status.CONTEXT_LENGTH, 400, {"error": {"type": "exceed_context_size_error", "message": "x"}}),
    ("E18", Status.CONTEXT_LENGTH, 400, {"message": "This model's maximum context length is 4096 tokens."}),
    ("E18", Status.CONTEXT_LENGTH, 413, {"error": {"type": "request_too_large", "message": "x"}}),
    ("E18", Status.CONTEXT_LENGTH, 500, {"error": {"message": "the request exceeds the available context size"}}),
    ("E19", "client", 400, {"error": {"message": "temperature must be at most 2", "param": "temperature"}}),
    ("E19", "client", 422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}),
]


@pytest.mark.fault("E2", "E3", "E10", "E14", "E16", "E17", "E18", "E19")
@pytest.mark.parametrize(("row", "expected", "status", "document"), WORDINGS)
def test_the_same_error_is_recognised_in_many_wordings(
    row: str, expected: object, status: int, document: object
) -> None:
    outcome = ask_with_response(document, status=status)
    if isinstance(outcome, TransientFault):
        assert outcome.kind == expected
        assert outcome.reply.raw is None
    else:
        assert (outcome.status if isinstance(outcome, Reply) else Refused) == expected


WITHOUT_ANSWER: list[object] = [
    {},
    [],
    None,
    {"choices": None},
    {"choices": []},
    {"choices": [None]},
    {"choices": [{}]},
    {"choices": [{"message": "Yes"}]},
    {"choices": {"message": {"content": "Yes"}}, "content": "Yes"},
]


@pytest.mark.fault("E10")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("document", WITHOUT_ANSWER, ids=str)
def test_a_document_without_an_answer_is_malformed(document: object, protocol: str) -> None:
    fault = ask_with_response(document, protocol)
    assert isinstance(fault, TransientFault)
    assert fault.kind == "malformed"
    assert fault.reply.status == Status.MALFORMED
    assert fault.reply.raw is not None
