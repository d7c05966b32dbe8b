"""Lines of files that other tools write, as their documentation has them, for each outcome of a prompt.

A shape is a function of the key and the text of a prompt, its answer, and the state in which it ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

OK = "ok"
CUT = "truncated"
WITHHELD = "filtered"
FAILED = "http_error"
NOT_ASKED = "pending"
STATES = (OK, CUT, WITHHELD, FAILED, NOT_ASKED)

Line = dict[str, Any]
Shape = Callable[[str, str, str, str], Line]


def write(path: Path, lines: list[Line]) -> Path:
    """Write one JSON document per line."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


# OpenAI and those that write as OpenAI does


def chat_completion(answer: str, state: str) -> Line:
    reasons = {OK: "stop", CUT: "length", WITHHELD: "content_filter"}
    message: Line = {"role": "assistant", "content": answer, "refusal": None, "annotations": []}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1790000000,
        "model": "m-2026-01-01",
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": reasons.get(state),
            }
        ],
        "usage": {"prompt_tokens": 22, "completion_tokens": 2, "total_tokens": 24},
        "system_fingerprint": "fp_1",
    }


def openai_line(key: str, body: object, status: int = 200) -> Line:
    response = {"status_code": status, "request_id": "req_1", "body": body}
    return {"id": "batch_req_1", "custom_id": key, "response": response, "error": None}


def openai_expired(key: str) -> Line:
    error = {"code": "batch_expired", "message": "This request could not be executed in time."}
    return {"id": "batch_req_1", "custom_id": key, "response": None, "error": error}


def openai_chat(key: str, _prompt: str, answer: str, state: str) -> Line:
    if state == NOT_ASKED:
        return openai_expired(key)
    if state == FAILED:
        return openai_line(key, {}, 500)
    return openai_line(key, chat_completion(answer, state))


def openai_responses(key: str, _prompt: str, answer: str, state: str) -> Line:
    if state in (FAILED, NOT_ASKED):
        return openai_chat(key, "", answer, state)
    thought = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "He or she?"}],
    }
    part: Line = {"type": "output_text", "text": answer, "annotations": []}
    if state == WITHHELD:
        part = {"type": "refusal", "refusal": answer}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    body: Line = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "incomplete_details": None,
        "model": "m",
        "output": [thought, message],
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    if state == CUT:
        body["status"] = "incomplete"
        body["incomplete_details"] = {"reason": "max_output_tokens"}
    return openai_line(key, body)


def vllm(key: str, _prompt: str, answer: str, state: str) -> Line:
    line = openai_chat(key, "", answer, state)
    line["id"] = "vllm-1"
    if state == FAILED:
        line["response"]["body"] = None
        line["error"] = {
            "object": "error",
            "message": "It expired.",
            "type": "InternalServerError",
            "code": 500,
        }
    return line


def fireworks(key: str, _prompt: str, answer: str, state: str) -> Line:
    line = openai_chat(key, "", answer, state)
    if state == FAILED:
        error = {"object": "error", "code": 500, "message": "Batch expired."}
        line["response"] = {"error": error}
    elif state != NOT_ASKED:
        line["response"] = line["response"]["body"]
    return line


# Anthropic


def message(answer: str, state: str) -> Line:
    reasons = {OK: "end_turn", CUT: "max_tokens", WITHHELD: "refusal"}
    thought = {"type": "thinking", "thinking": "He or she?", "signature": "x"}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [thought, {"type": "text", "text": answer}],
        "stop_reason": reasons[state],
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 36},
    }


def anthropic(key: str, _prompt: str, answer: str, state: str) -> Line:
    if state == FAILED:
        error = {"type": "invalid_request_error", "message": "max_tokens: too large"}
        result = {"type": "errored", "error": {"type": "error", "error": error}}
        return {"custom_id": key, "result": result}
    if state == NOT_ASKED:
        return {"custom_id": key, "result": {"type": "expired"}}
    return {"custom_id": key, "result": {"type": "succeeded", "message": message(answer, state)}}


# Google


def gemini_response(answer: str, state: str) -> Line:
    reasons = {OK: "STOP", CUT: "MAX_TOKENS", WITHHELD: "SAFETY"}
    parts = [{"text": "He or she?", "thought": True}, {"text": answer}]
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": reasons[state]}
    return {
        "candidates": [{**candidate, "index": 0}],
        "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 5, "totalTokenCount": 9},
        "modelVersion": "m-001",
        "responseId": "r",
    }


def gemini(key: str, _prompt: str, answer: str, state: str) -> Line:
    words = "The safety of the job expired."
    if state == NOT_ASKED:
        return {"key": key, "error": {"code": 1, "status": "CANCELLED", "message": words}}
    if state == FAILED:
        return {"key": key, "error": {"code": 13, "status": "INTERNAL", "message": words}}
    return {"key": key, "response": gemini_response(answer, state)}


def vertex(_key: str, prompt: str, answer: str, state: str) -> Line:
    """A line of Vertex has no key: the prompt itself is given back."""
    contents = [{"role": "user", "parts": [{"text": prompt}]}]
    line: Line = {
        "status": "",
        "processed_time": "2026-01-01T00:00:00.000+00:00",
        "request": {"contents": contents, "generationConfig": {"temperature": 0.5}},
        "response": {},
    }
    if state == NOT_ASKED:
        line["status"] = "Cancelled"
    elif state == FAILED:
        line["status"] = 'Bad Request: {"code": 400}'
    else:
        line["response"] = gemini_response(answer, state)
    return line


def vertex_claude(key: str, prompt: str, answer: str, state: str) -> Line:
    messages = [{"role": "user", "content": prompt}]
    request = {"messages": messages, "anthropic_version": "vertex-2023-10-16"}
    line: Line = {"custom_id": key, "request": request}
    if state == NOT_ASKED:
        return line | {"status": "Cancelled"}
    if state == FAILED:
        return line | {"status": 'Bad Request: {"error": {"code": 400}}'}
    return line | {"response": message(answer, state), "status": ""}


# Bedrock


def bedrock_line(key: str, asked: Line, state: str, output: Line) -> Line:
    line: Line = {"recordId": key, "modelInput": asked}
    if state == FAILED:
        return line | {"error": {"errorCode": 400, "errorMessage": "Token expired."}}
    return line | {"modelOutput": output}


def bedrock_claude(key: str, prompt: str, answer: str, state: str) -> Line:
    asked = {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": prompt}],
    }
    output = {} if state == FAILED else message(answer, state)
    return bedrock_line(key, asked, state, output)


def bedrock_converse(_key: str, prompt: str, answer: str, state: str) -> Line:
    """Records without an id of ours are found by their prompt."""
    reasons = {OK: "end_turn", CUT: "max_tokens", WITHHELD: "guardrail_intervened"}
    asked = {
        "messages": [{"role": "user", "content": [{"text": prompt}]}],
        "inferenceConfig": {"maxTokens": 99},
    }
    thought = {"reasoningContent": {"reasoningText": {"text": "He or she?"}}}
    said = {"role": "assistant", "content": [thought, {"text": answer}]}
    output = {"output": {"message": said}, "stopReason": reasons.get(state)}
    return bedrock_line("CALL0000001", asked, state, output)


def bedrock_llama(key: str, prompt: str, answer: str, state: str) -> Line:
    reasons = {OK: "stop", CUT: "length", WITHHELD: "content_filtered"}
    output = {
        "generation": answer,
        "generation_token_count": 9,
        "stop_reason": reasons.get(state),
    }
    return bedrock_line(key, {"prompt": prompt, "max_gen_len": 99}, state, output)


def bedrock_titan(key: str, prompt: str, answer: str, state: str) -> Line:
    reasons = {OK: "FINISH", CUT: "LENGTH", WITHHELD: "CONTENT_FILTERED"}
    result = {"tokenCount": 3, "outputText": answer, "completionReason": reasons.get(state)}
    output = {"inputTextTokenCount": 8, "results": [result]}
    return bedrock_line(key, {"inputText": prompt}, state, output)


def bedrock_mistral(key: str, prompt: str, answer: str, state: str) -> Line:
    reasons = {OK: "stop", CUT: "length", WITHHELD: "content_filter"}
    output = {"outputs": [{"text": answer, "stop_reason": reasons.get(state)}]}
    return bedrock_line(key, {"prompt": prompt}, state, output)


# lm-eval


def lm_eval(_key: str, prompt: str, answer: str, _state: str) -> Line:
    request = {"arg_0": prompt, "arg_1": {"until": ["\n\n"], "temperature": 0.7}}
    return {
        "doc_id": 0,
        "doc": {"question": prompt},
        "target": "",
        "arguments": {"gen_args_0": request},
        "resps": [[answer]],
        "filtered_resps": [answer],
        "filter": "none",
        "metrics": ["bypass"],
        "doc_hash": "5a",
        "prompt_hash": "5b",
        "target_hash": "5c",
        "bypass": 999,
    }


def lm_eval_with_id(key: str, _prompt: str, answer: str, _state: str) -> Line:
    """With the id of a document, the prompt may be what a chat template made of it."""
    line = lm_eval("", "", answer, "")
    line["doc"] = {"id": key}
    line["arguments"] = [["<|user|>…<|assistant|>", {"until": []}]]
    return line


SHAPES: tuple[Shape, ...] = (
    openai_chat,
    openai_responses,
    vllm,
    fireworks,
    anthropic,
    gemini,
    vertex,
    vertex_claude,
    bedrock_claude,
    bedrock_converse,
    bedrock_llama,
    bedrock_titan,
    bedrock_mistral,
    lm_eval,
    lm_eval_with_id,
)


def states_of(shape: Shape) -> tuple[str, ...]:
    """The outcomes that a shape can tell."""
    if shape.__name__.startswith("lm_eval"):  # which keeps nothing but the text
        return STATES[:1]
    if shape.__name__.startswith("bedrock"):  # which leaves out what was never sent
        return STATES[:-1]
    return STATES
