"""Answers in the files of other tools: each shape as its documentation has it, each outcome read as what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from answers.shapes import CUT, FAILED, NOT_ASKED, OK, WITHHELD, Line, write
from equipoise.answers.files import SCHEMA, read_tables
from equipoise.errors import BadFile, StorageError

EMPTY = "empty"
MALFORMED = "malformed"
TIMEOUT = "timeout"
CONTEXT = "context_length"
ASKED = {"messages": [{"role": "user", "content": "Who?"}]}
KEYS = {"custom_id": "0abc"}

# Responses of APIs, with reasoning where they give it, and how they say that an answer is whole, was cut, or withheld.
RESPONSES: Mapping[str, tuple[Callable[[str, str], Line], str]] = {
    "chat completions": (
        lambda text, reason: {"choices": [{"message": {"content": text, "refusal": None}, "finish_reason": reason}]},
        "stop length content_filter",
    ),
    "messages": (
        lambda text, reason: {
            "content": [{"type": "thinking", "thinking": "He?"}, {"type": "text", "text": text}],
            "stop_reason": reason,
        },
        "end_turn max_tokens refusal",
    ),
    "Gemini": (
        lambda text, reason: {
            "candidates": [
                {"content": {"parts": [{"text": "He?", "thought": True}, {"text": text}]}, "finishReason": reason}
            ]
        },
        "STOP MAX_TOKENS SAFETY",
    ),
    "Converse": (
        lambda text, reason: {
            "output": {"message": {"content": [{"reasoningContent": {"reasoningText": {}}}, {"text": text}]}},
            "stopReason": reason,
        },
        "end_turn max_tokens guardrail_intervened",
    ),
    "Llama": (lambda text, reason: {"generation": text, "stop_reason": reason}, "stop length content_filtered"),
    "Titan": (
        lambda text, reason: {"results": [{"outputText": text, "completionReason": reason}]},
        "FINISH LENGTH CONTENT_FILTERED",
    ),
    "Mistral": (
        lambda text, reason: {"outputs": [{"text": text, "stop_reason": reason}]},
        "stop length content_filter",
    ),
}


def bedrock(response: Line, key: str = "0abc", asked: Line = ASKED) -> Line:
    return {"recordId": key, "modelInput": asked, "modelOutput": response}


def vertex(response: Line, prompt: str = "Who?") -> Line:
    """A line of Vertex has no key: the prompt itself is given back."""
    return {"status": "", "request": {"contents": [{"parts": [{"text": prompt}]}]}, "response": response}


def anthropic(response: Line, key: str = "0abc") -> Line:
    return {"custom_id": key, "result": {"type": "succeeded", "message": response}}


def batch(body: object, code: object = 200, error: object = None, key: str = "0abc") -> Line:
    return {"custom_id": key, "response": {"status_code": code, "request_id": "r", "body": body}, "error": error}


BATCHES: list[tuple[str, Callable[[Line], Line], str]] = [
    ("OpenAI", batch, "chat completions"),
    ("Fireworks", lambda response: {**KEYS, "response": response, "error": None}, "chat completions"),
    ("Anthropic", anthropic, "messages"),
    ("Gemini", lambda response: {"key": "0abc", "response": response}, "Gemini"),
    ("Vertex", vertex, "Gemini"),
    ("Claude on Vertex", lambda response: {**KEYS, "request": ASKED, "response": response, "status": ""}, "messages"),
    ("Claude on Bedrock", bedrock, "messages"),
    ("Converse on Bedrock", lambda response: bedrock(response, "CALL0000001"), "Converse"),
    ("Llama on Bedrock", lambda response: bedrock(response, asked={"prompt": "Who?"}), "Llama"),
    ("Titan on Bedrock", lambda response: bedrock(response, "CALL1", {"inputText": "Who?"}), "Titan"),
    ("Mistral on Bedrock", lambda response: bedrock(response, asked={"prompt": "Who?"}), "Mistral"),
]


def read(path: Path) -> list[tuple[Any, ...]]:
    """id, prompt, repetition, status and answer of each row."""
    return pl.concat(read_tables(path)).select(*SCHEMA).rows()


@pytest.mark.parametrize(("envelope", "api"), [row[1:] for row in BATCHES], ids=[row[0] for row in BATCHES])
def test_answers_in_the_output_of_batch_jobs(envelope: Callable[[Line], Line], api: str, tmp_path: Path) -> None:
    respond, reasons = RESPONSES[api]
    lines = [envelope(respond("She.", reason)) for reason in reasons.split()]
    for (key, prompt, repetition, *outcome), state in zip(
        read(write(tmp_path / "a.jsonl", lines)), (OK, CUT, WITHHELD), strict=True
    ):
        assert key == "0abc" or prompt == "Who?"
        assert (repetition, outcome) == (None, [state, None if state == WITHHELD else "She."])


def lm_eval(asked: object, *answers: str, **fields: Any) -> Line:
    arguments = {"gen_args_0": {"arg_0": asked, "arg_1": {"until": []}}}
    return {"doc_id": 0, "doc": {}, "arguments": arguments, "resps": [list(answers)], "filter": "none", **fields}


@pytest.mark.parametrize(("key", "repetition"), [("0abc", None), ("0abc-2", 2), ("0abc#3", 3)])
def test_a_key_holds_the_repetition(key: str, repetition: int | None, tmp_path: Path) -> None:
    [row] = read(write(tmp_path / "a.jsonl", [batch(chat("She."), key=key)]))
    assert row == ("0abc", None, repetition, OK, "She.")


def test_repetitions_of_lm_eval_come_back_in_order(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "a.jsonl", [lm_eval("Who?", "She.", "He.")]))
    assert rows == [(None, "Who?", None, OK, "She."), (None, "Who?", None, OK, "He.")]


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    "line",
    [
        {"id": "batch_1", "object": "batch", "status": "completed"},
        {"custom_id": "0abc", "params": {"model": "m"}},
        {"key": "0abc", "request": {"contents": []}},
        {"recordId": "0abc", "modelInput": {}},
        {"text": "She.", "id": "0abc"},
        {"totalRecordCount": 3, "successRecordCount": 3},
    ],
)
def test_what_is_not_known_is_refused_with_what_is(line: Line, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="line 1: no field answer") as error:
        read(write(tmp_path / "a.jsonl", [line]))
    known = "OpenAI, vLLM, Anthropic, Gemini, Vertex and Bedrock, samples of lm-eval"
    assert known in str(error.value)
    assert "CSV, Parquet (.parquet), logs of Inspect" in str(error.value)


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    "line",
    [
        {"custom_id": "a", "result": {}},
        {"custom_id": "a", "result": {"type": "paused"}},
        anthropic({"text": "She."}),
        anthropic({"content": [{"text": 5}]}),
        {"custom_id": "a", "response": "She."},
        batch({"data": [1]}),
        batch({"choices": []}, "fine"),
        {"key": "a", "response": {"candidates": [7]}},
        {"key": "a", "response": "She."},
        bedrock({"embedding": [0.1]}),
        {"modelInput": {"message": "Who?"}, "modelOutput": {"text": "She."}},
        {"doc_id": 1, "arguments": [["Who?", " She"]], "resps": [[[-1.2, False]]]},
        {"doc_id": 1, "arguments": [["?", "a"]], "resps": [[["-1", "False"]], [["-2", "True"]]]},
        {"doc_id": 1, "arguments": [], "resps": [["She."]]},
    ],
)
def test_a_known_shape_that_cannot_be_read_is_refused(line: Line, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"line 1: no text that a model wrote .*Known are: chat completions"):
        read(write(tmp_path / "a.jsonl", [line]))


def chat(content: object, reason: str | None = "stop", **choice: Any) -> Line:
    message = {"role": "assistant", "content": content, "refusal": None}
    return {"object": "chat.completion", "choices": [{"message": message, "finish_reason": reason, **choice}]}


def failed(code: int, name: str | None, message: str, kind: str = "invalid_request_error") -> Line:
    return batch({"error": {"message": message, "type": kind, "param": None, "code": name}}, code)


def anthropic_error(message: str, kind: str = "invalid_request_error") -> Line:
    error = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return {"custom_id": "0abc", "result": {"type": "errored", "error": error}}


def responses(status: str, said: str | None = None, error: Line | None = None, reason: str | None = None) -> Line:
    content = [{"type": "output_text", "text": said}]
    output = [] if said is None else [{"type": "message", "content": content}]
    details = {"reason": reason} if reason else None
    return batch({"status": status, "error": error, "incomplete_details": details, "output": output})


FLAGGED = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    ("line", "status", "answer"),
    [
        # The HTTP status is a number, a text, or not there.
        (batch(chat("She.")), OK, "She."),
        (batch(chat("She."), "200"), OK, "She."),
        ({"custom_id": "0abc", "response": {"request_id": "r", "body": chat("She.")}, "error": None}, OK, "She."),
        # Failures count by their codes and by what their status leaves open, as those of an endpoint do.
        (failed(400, "context_length_exceeded", "Too long."), CONTEXT, None),
        (failed(400, None, "This model's maximum context length is 8192 tokens.", "BadRequestError"), CONTEXT, None),
        (failed(400, None, "The decoder prompt is longer than the maximum model length of 4096.", "…"), CONTEXT, None),
        (anthropic_error("prompt is too long: 214315 tokens > 200000 maximum"), CONTEXT, None),
        (failed(400, "invalid_prompt", FLAGGED), WITHHELD, None),
        (failed(400, "content_filter", "No."), WITHHELD, None),
        (anthropic_error("Output blocked by content filtering policy"), WITHHELD, None),
        (anthropic_error("Overloaded", "overloaded_error"), FAILED, None),
        (failed(401, "invalid_api_key", "Your token has expired."), FAILED, None),
        (failed(429, "rate_limit_exceeded", "Slow down, for the safety of all. Refusal."), FAILED, None),
        (batch(None, 500), FAILED, None),
        (batch(None, 400, {"object": "error", "message": "maximum context length is 99", "code": 400}), CONTEXT, None),
        ({"custom_id": "0abc", "response": None, "error": {"code": "batch_cancelled", "message": ""}}, NOT_ASKED, None),
        (
            {"key": "0abc", "error": {"code": 4, "message": "Deadline expired.", "status": "DEADLINE_EXCEEDED"}},
            TIMEOUT,
            None,
        ),
        ({"key": "0abc", "status": {"code": 3, "message": "bad"}}, FAILED, None),
        (batch(None, 500, {"object": "error", "message": "It expired.", "code": 500}), FAILED, None),
        ({**KEYS, "response": {"error": {"object": "error", "code": 500, "message": "Expired."}}}, FAILED, None),
        ({**KEYS, "request": ASKED, "status": 'Bad Request: {"error": {"code": 400}}'}, FAILED, None),
        ({**KEYS, "request": ASKED, "status": "Cancelled"}, NOT_ASKED, None),
        ({**KEYS, "result": {"type": "expired"}}, NOT_ASKED, None),
        ({"key": "0abc", "error": {"code": 1, "status": "CANCELLED", "message": "Safety."}}, NOT_ASKED, None),
        (
            {"recordId": "0abc", "modelInput": ASKED, "error": {"errorCode": 400, "errorMessage": "Token expired."}},
            FAILED,
            None,
        ),
        # Answers that broke off, were withheld, cut, or are not there.
        (batch(chat("She", "error")), FAILED, None),
        (batch(chat("She", "abort")), FAILED, None),
        (batch(chat([{"type": "refusal", "refusal": "I cannot."}])), WITHHELD, None),
        (batch(chat([{"type": "thinking", "thinking": "He?"}, {"type": "text", "text": "She."}])), OK, "She."),
        (batch({"choices": [], "usage": {}}), MALFORMED, None),
        (batch({}), MALFORMED, None),
        ({"custom_id": "0abc", "response": None, "error": None}, MALFORMED, None),
        (batch(chat(None, error={"code": 502, "message": "Provider returned error"})), FAILED, None),
        (responses("failed", error={"code": "server_error", "message": "expired"}), FAILED, None),
        (responses("failed", "She", {"code": "server_error", "message": "…"}), FAILED, None),
        (responses("failed", "She"), FAILED, None),
        (responses("failed", error={"code": "invalid_prompt", "message": FLAGGED}), WITHHELD, None),
        (responses("cancelled"), NOT_ASKED, None),
        (responses("incomplete", "She", reason="content_filter"), WITHHELD, None),
        ({"key": "0abc", "response": {"usageMetadata": {"promptTokenCount": 4}, "modelVersion": "m"}}, EMPTY, None),
        (
            {"key": "0abc", "response": {"candidates": [{"finish_reason": "MAX_TOKENS"}], "usageMetadata": {}}},
            EMPTY,
            "",
        ),
        ({"key": "0abc", "response": {"promptFeedback": {"blockReason": "SAFETY"}}}, WITHHELD, None),
        (bedrock({"choices": [{"message": {"content": "She"}, "stop_reason": "length"}]}), CUT, "She"),
        (bedrock({"choices": [{"text": "She", "stop_reason": "length"}]}), CUT, "She"),
        (bedrock(chat("<reasoning>He or she? She", "length")), EMPTY, ""),
        (bedrock(chat("<reasoning>He or she?</reasoning>They.")), OK, "They."),
        # Our own lines may leave out the answer where there is none.
        ({"id": "0abc", "status": "http_error"}, FAILED, None),
    ],
)
def test_what_a_line_means(line: Line, status: str, answer: str | None, tmp_path: Path) -> None:
    ((key, *_, found, said),) = read(write(tmp_path / "a.jsonl", [line]))
    assert (key, found, said) == ("0abc", status, answer)


@pytest.mark.parametrize(
    "asked",
    [
        "Who?",
        ["Who?"],
        '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]',
        ['[{"role": "user", "content": "Who?"}]'],
        [{"role": "user", "content": "Who?"}],
    ],
)
def test_prompts_of_lm_eval_as_text_and_as_messages(asked: object, tmp_path: Path) -> None:
    line = lm_eval(asked, "She.")
    assert read(write(tmp_path / "a.jsonl", [line])) == [(None, "Who?", None, OK, "She.")]


def test_a_sample_of_lm_eval_without_an_answer_is_malformed(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "a.jsonl", [lm_eval("Who?") | {"resps": []}]))
    assert rows == [(None, "Who?", None, MALFORMED, None)]


def test_lm_eval_writes_each_answer_once_for_every_filter(tmp_path: Path) -> None:
    lines = [lm_eval("?", "She.", doc={"id": key}, filter=name) for name in ("strict", "loose") for key in "ab"]
    assert [row[:2] for row in read(write(tmp_path / "a.jsonl", lines))] == [("a", "?"), ("b", "?")]


def test_arguments_of_lm_eval_may_be_a_list_as_they_were_before(tmp_path: Path) -> None:
    line = lm_eval("?", "She.", doc={"id": "a"}) | {"arguments": [["<|user|>?", {"until": []}]]}
    [row] = read(write(tmp_path / "a.jsonl", [line]))
    assert row[:2] == ("a", "<|user|>?")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b'[{"id": "a", "answer": "She."}]', "line 1: a JSON object is needed.* jq -c"),
        ("a.jsonl", b'[\n{"id": "a", "answer": "She."}]', "line 1: not JSON"),
        ("a.json", b'{"answers": []}', "no field answer"),
        ("a.json", b'{"eval": {}}', "cannot be read as a log of Inspect"),
        ("a.jsonl.gz", b"\x1f\x8b\x08\x00", "line 1: not UTF-8"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00", "line 1: not UTF-8"),
        ("a.csv", b"id,answer,answer\na,b,c\n", "the column answer is there twice"),
        ("a.eval", b'{"id": "a", "answer": "She."}', "cannot be read as a log of Inspect"),
        ("a.parquet", b'{"id": "a", "answer": "She."}', "cannot be read as Parquet"),
    ],
)
@pytest.mark.fault("D4")
def test_a_file_of_another_kind_is_refused(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadFile, match=words):
        read(tmp_path / name)


def test_json_of_one_line_is_read_as_our_own_format(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "a.json", [{"id": "a", "answer": "She."}]))
    assert rows == [("a", None, None, OK, "She.")]


@pytest.mark.fault("D4")
def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be read: Is a directory"):
        read(tmp_path)


@pytest.mark.fault("D4")
@pytest.mark.parametrize("name", ["none.jsonl", "none.csv", "none.parquet", "none.eval"])
def test_a_file_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=f"There is no file .*{name}"):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("request_sent", "prompt"),
    [
        pytest.param({"messages": []}, None, id="no messages"),
        pytest.param({"contents": []}, None, id="no contents"),
        pytest.param({"messages": [], "prompt": "Who?"}, "Who?", id="no messages, and a prompt"),
    ],
)
def test_an_answer_is_read_although_the_request_beside_it_lists_no_message(
    request_sent: Line, prompt: str | None, tmp_path: Path
) -> None:
    line = {**batch(chat("She.")), "request": request_sent}
    assert read(write(tmp_path / "a.jsonl", [line])) == [("0abc", prompt, None, OK, "She.")]
