"""What the APIs of models answer: status and answer of a response of any API that is known."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.errors import BadFile
from equipoise.failures import ended_in_batch, read_reported
from equipoise.schema import ABORT_REASONS, ANSWER, FILTER_REASONS, LENGTH_REASONS, STATUS, Status

Fields = dict[str, Any]
Body = Mapping[str, Any]
KNOWN = (
    "chat completions, completions, responses (OpenAI and others); messages (Anthropic); Gemini; "
    "Converse, Nova, Llama, Mistral, Titan (Bedrock)"
)
NO_STATUS = 200
"""What counts as the HTTP status of a response that does not say it."""
_REASONING = re.compile(r"\A\s*<reasoning>.*?(?:</reasoning>|\Z)", re.DOTALL)
"""How gpt-oss on Bedrock gives its reasoning: before the answer, or cut off without one."""
_TEXTS = ("text", "output_text", "input_text", None)
"""The types of parts that hold an answer or a prompt; others hold reasoning, tools or refusals."""


def read_body(body: Body) -> Fields:
    """Status and answer of a response, by the field in which it holds its answer. BadFile if no such API is known."""
    if not isinstance(body, Mapping):
        raise TypeError
    if not body:
        return without_answer(Status.MALFORMED)
    if (error := read_reported(body, NO_STATUS)) is not None:
        return without_answer(ended_in_batch(error))
    for field, read in BODIES.items():
        if field in body:
            return read(body)
    shown = ", ".join(map(str, body))[:60]
    raise BadFile(f"a response of an API that is not known, with the fields {shown}. Known are: {KNOWN}.")


def read_failure(error: object, status: int = NO_STATUS) -> Fields:
    """Status and answer of a request that failed, by what the error says and its HTTP status."""
    reported = read_reported({"error": _unpack_error(error)}, status)
    assert reported is not None
    return without_answer(ended_in_batch(reported))


def _unpack_error(error: object) -> Mapping[str, Any]:
    """The innermost of nested errors. A text, as Vertex gives it, is a short code, perhaps with an error in JSON."""
    if isinstance(error, Mapping):
        inner = error.get("error")
        return _unpack_error(inner) if isinstance(inner, Mapping | str) and inner else {"message": "", **error}
    text = str(error or "")
    name, _, rest = text.partition(":")
    try:
        inner = json.loads(rest)
    except ValueError:
        inner = None
    if isinstance(inner, Mapping):
        return _unpack_error(inner)
    return {"code": "_".join(name.lower().split()), "message": text}


def without_answer(status: Status) -> Fields:
    """The fields of an attempt that has a state and no answer."""
    return {STATUS: status, ANSWER: None}


def outcome(text: str | None, reason: object = None, *, refused: bool = False) -> Fields:
    """Status and answer, by the text and the reason for which it ended."""
    word = str(reason).lower()
    if word in ABORT_REASONS:
        return without_answer(Status.HTTP_ERROR)
    if refused or word in FILTER_REASONS:
        return {STATUS: Status.FILTERED, ANSWER: text}
    return {STATUS: Status.TRUNCATED if word in LENGTH_REASONS else Status.OK, ANSWER: text}


def join_texts(content: Any) -> Any:
    """The text of an answer or a prompt in parts; text and nothing stay what they are."""
    if content is None or isinstance(content, str):
        return content
    parts = [{"text": part} if isinstance(part, str) else part for part in content]
    texts = [part["text"] for part in parts if part.get("type") in _TEXTS and part.get("text") is not None]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return "".join(texts)


def find_prompt(request: Body) -> Any:
    """The text that was asked, from a request of any of these APIs; None if it is not found."""
    for field, inner in (("messages", "content"), ("contents", "parts")):
        if isinstance(turns := request.get(field), Sequence) and turns:
            return join_texts(turns[-1][inner])
    return next((request[field] for field in ("prompt", "inputText") if field in request), None)


def _read_parts(content: Any, reason: object, refusal: str | None = None) -> Fields:
    """Status and answer of a message, which may be a refusal in a field or a part of its own."""
    parts = [] if content is None or isinstance(content, str) else content
    refusals = [part["refusal"] for part in parts if isinstance(part, Mapping) and part.get("type") == "refusal"]
    text, refused = join_texts(content), refusal or join_texts(refusals)
    return outcome(refused, reason, refused=True) if refused and not text else outcome(text, reason)


def _read_chat(body: Body) -> Fields:
    if not body["choices"]:
        return without_answer(Status.MALFORMED)
    choice = body["choices"][0]
    reason = choice.get("finish_reason") or choice.get("stop_reason")  # the second on Bedrock
    if "text" in choice:
        return outcome(choice["text"], reason)
    message = choice["message"]
    content = message.get("content")
    if isinstance(content, str):
        content = _REASONING.sub("", content)
    return _read_parts(content, reason, message.get("refusal"))


def _read_output(body: Body) -> Fields:
    """The Responses API (a list of items), or Bedrock's Converse and Nova (one message)."""
    output = body["output"]
    if isinstance(output, Mapping):
        return outcome(join_texts(output["message"]["content"]), body.get("stopReason"))
    if body.get("status") == "failed":
        return without_answer(Status.HTTP_ERROR)
    if body.get("status") in ("cancelled", "queued", "in_progress"):
        return without_answer(Status.PENDING)
    parts = [part for item in output if item.get("type") == "message" for part in item["content"]]
    return _read_parts(parts, (body.get("incomplete_details") or {}).get("reason"))


def _read_message(body: Body) -> Fields:
    return outcome(join_texts(body["content"]), body.get("stop_reason"))


def _read_candidates(body: Body) -> Fields:
    """Gemini. A response without candidates says at most why: the prompt was blocked."""
    if not body.get("candidates"):
        blocked = (body.get("promptFeedback") or {}).get("blockReason")
        return without_answer(Status.FILTERED if blocked else Status.EMPTY)
    candidate = body["candidates"][0]
    parts = (candidate.get("content") or {}).get("parts") or []
    reason = candidate.get("finishReason") or candidate.get("finish_reason")  # the second from Google's Python library
    return outcome(join_texts([part for part in parts if not part.get("thought")]), reason)


def _read_generation(body: Body) -> Fields:
    return outcome(body["generation"], body.get("stop_reason"))


def _read_outputs(body: Body) -> Fields:
    return outcome(body["outputs"][0]["text"], body["outputs"][0].get("stop_reason"))


def _read_results(body: Body) -> Fields:
    return outcome(body["results"][0]["outputText"], body["results"][0].get("completionReason"))


BODIES = {
    "choices": _read_chat,
    "output": _read_output,
    "content": _read_message,
    "candidates": _read_candidates,
    "promptFeedback": _read_candidates,
    "usageMetadata": _read_candidates,
    "generation": _read_generation,
    "outputs": _read_outputs,
    "results": _read_results,
}
