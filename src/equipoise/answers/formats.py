"""What a line of JSON from elsewhere looks like: envelopes of batch jobs and tools, and bodies of answers in them.

An envelope says which prompt was asked and whether that went well; a body is what the model's own API gives. A line
that fits no envelope is refused, with the names of those that are known: a guessed answer would be a wrong number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.errors import BadFile
from equipoise.schema import ANSWER, FILTER_REASONS, ID, LENGTH_REASONS, PROMPT, REPETITION, STATUS, Status

Fields = dict[str, Any]
KEY = re.compile(r"(.*?)(?:[#-](\d+))?", re.DOTALL)
"""A key of ours: the id of a prompt, with the repetition where there are several."""
NOT_ASKED = frozenset({"canceled", "cancelled", "expired", "batch_expired", "batch_cancelled"})
"""What batch jobs say of requests that were never sent: they are still to be asked."""


class _NoAnswer(Exception):
    """The body has a shape that is known, and no answer where it should stand."""


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """How the lines of one kind of file are recognised and read."""

    name: str
    fields: tuple[frozenset[str], ...]
    """Sets of fields; a line that has all fields of one of them is of this kind."""
    read: Callable[[Mapping[str, Any]], Iterator[Fields]]
    """The fields of each answer in a line. KeyError, TypeError and the like mean that there is none."""

    def fits(self, line: Mapping[str, Any]) -> bool:
        """Whether a line is of this kind."""
        return any(needed <= line.keys() for needed in self.fields)


def split_key(key: object) -> Fields:
    """The id and the repetition that a key of ours holds."""
    match = KEY.fullmatch(key) if isinstance(key, str) else None
    return {ID: match[1], REPETITION: match[2]} if match else {ID: key}


def read_line(line: Mapping[str, Any], where: str) -> Iterator[Fields]:
    """The answers in a line, each with the fields of a row."""
    for envelope in ENVELOPES:
        if envelope.fits(line):
            try:
                yield from envelope.read(line)
            except (_NoAnswer, AttributeError, KeyError, IndexError, TypeError):
                raise BadFile(f"{where}: {envelope.name} output without an answer where it should stand.") from None
            return
    shown = ", ".join(map(str, line))[:60] or "none"
    known = ", ".join(envelope.name for envelope in ENVELOPES[1:])
    raise BadFile(
        f"{where}: no field {ANSWER}. There are: {shown}. Needed are {ANSWER}, and {ID} or {PROMPT}; or the output of "
        f"another tool: {known}."
    )


def outcome(text: str | None, reason: object = None, *, refused: bool = False) -> Fields:
    """Status and answer, by the text and the reason for which it ended."""
    word = str(reason).lower()
    if refused or word in FILTER_REASONS:
        return {STATUS: Status.FILTERED, ANSWER: text}
    return {STATUS: Status.TRUNCATED if word in LENGTH_REASONS else Status.OK, ANSWER: text}


def failure(error: object) -> Fields:
    """Status and answer of a request that failed."""
    words = set(re.findall(r"[a-z_]+", str(error).lower()))
    if words & NOT_ASKED:
        return {STATUS: Status.PENDING, ANSWER: None}
    return {STATUS: Status.FILTERED if words & FILTER_REASONS else Status.HTTP_ERROR, ANSWER: None}


# Bodies: what the APIs of models answer.


def read_body(body: Mapping[str, Any]) -> Fields:
    """Status and answer of a response of any API that is known, by the field in which it holds its answer."""
    for field, read in BODIES.items():
        if field in body:
            return read(body)
    raise _NoAnswer


def _read_chat(body: Mapping[str, Any]) -> Fields:
    choice = body["choices"][0]
    if "text" in choice:
        return outcome(choice["text"], choice.get("finish_reason"))
    message = choice["message"]
    text = _join(message.get("content"))
    refused = bool(message.get("refusal")) and not text
    return outcome(message["refusal"] if refused else text, choice.get("finish_reason"), refused=refused)


def _read_output(body: Mapping[str, Any]) -> Fields:
    """The Responses API (a list of items), or Bedrock's Converse and Nova (one message)."""
    output = body["output"]
    if isinstance(output, Mapping):
        return outcome(_join(output["message"]["content"]), body.get("stopReason"))
    parts = [part for item in output if item.get("type") == "message" for part in item["content"]]
    refusals = [part["refusal"] for part in parts if part.get("type") == "refusal"]
    details = body.get("incomplete_details") or {}
    return outcome(_join(parts) or _join(refusals), details.get("reason"), refused=bool(refusals))


def _read_message(body: Mapping[str, Any]) -> Fields:
    return outcome(_join(body["content"]), body.get("stop_reason"))


def _read_candidates(body: Mapping[str, Any]) -> Fields:
    if not body["candidates"]:
        return outcome(None, refused=bool((body.get("promptFeedback") or {}).get("blockReason")))
    candidate = body["candidates"][0]
    parts = (candidate.get("content") or {}).get("parts") or []
    return outcome(_join([part for part in parts if not part.get("thought")]), candidate.get("finishReason"))


def _read_feedback(body: Mapping[str, Any]) -> Fields:
    return outcome(None, refused=bool(body["promptFeedback"].get("blockReason")))


def _read_generation(body: Mapping[str, Any]) -> Fields:
    return outcome(body["generation"], body.get("stop_reason"))


def _read_outputs(body: Mapping[str, Any]) -> Fields:
    return outcome(body["outputs"][0]["text"], body["outputs"][0].get("stop_reason"))


def _read_results(body: Mapping[str, Any]) -> Fields:
    return outcome(body["results"][0]["outputText"], body["results"][0].get("completionReason"))


BODIES = {
    "choices": _read_chat,
    "output": _read_output,
    "content": _read_message,
    "candidates": _read_candidates,
    "promptFeedback": _read_feedback,
    "generation": _read_generation,
    "outputs": _read_outputs,
    "results": _read_results,
}


def _join(content: Any) -> Any:
    """The text of an answer in parts; text and nothing stay what they are."""
    if content is None or isinstance(content, str):
        return content
    parts = [part if isinstance(part, str) else part.get("text") for part in content]
    texts = [text for text in parts if text is not None]
    if not all(isinstance(text, str) for text in texts):
        raise _NoAnswer
    return "".join(texts)


def _find_prompt(request: Mapping[str, Any]) -> Any:
    """The text that was asked, from a request of any of these APIs; None if it is not found."""
    for field, inner in (("messages", "content"), ("contents", "parts")):
        if isinstance(turns := request.get(field), Sequence) and turns:
            return _join(turns[-1][inner])
    return next((request[field] for field in ("prompt", "inputText") if field in request), None)


# Envelopes: the lines of files.


def _read_own(line: Mapping[str, Any]) -> Iterator[Fields]:
    yield dict(line)


def _read_openai(line: Mapping[str, Any]) -> Iterator[Fields]:
    key, response = split_key(line["custom_id"]), line.get("response") or {}
    if line.get("error") or response.get("status_code") != 200:
        yield key | failure([line.get("error"), response.get("body")])
    else:
        yield key | read_body(response["body"])


def _read_anthropic(line: Mapping[str, Any]) -> Iterator[Fields]:
    result = line["result"]
    succeeded = result["type"] == "succeeded"
    yield split_key(line["custom_id"]) | (read_body(result["message"]) if succeeded else failure(result))


def _read_gemini(line: Mapping[str, Any]) -> Iterator[Fields]:
    key = split_key(line["key"]) if "key" in line else {}
    prompt = _find_prompt(line["request"]) if "request" in line else None
    failed = line.get("error") or (line.get("status") if not line.get("response") else None)
    yield key | {PROMPT: prompt} | (failure(failed) if failed else read_body(line["response"]))


def _read_bedrock(line: Mapping[str, Any]) -> Iterator[Fields]:
    key = split_key(line["recordId"]) if "recordId" in line else {}
    outcome = failure(line["error"]) if "error" in line else read_body(line["modelOutput"])
    yield key | {PROMPT: _find_prompt(line["modelInput"])} | outcome


def _read_lm_eval(line: Mapping[str, Any]) -> Iterator[Fields]:
    arguments = line["arguments"]
    first = arguments["gen_args_0"]["arg_0"] if isinstance(arguments, Mapping) else arguments[0][0]
    (responses,) = line["resps"]
    if not all(isinstance(response, str) for response in responses):
        raise _NoAnswer  # log-likelihoods of given answers
    document = line.get("doc")
    key = document.get(ID) if isinstance(document, Mapping) else None
    for response in responses:
        yield {ID: key if isinstance(key, str) else None, PROMPT: first, ANSWER: response}


ENVELOPES = (
    Envelope(name="our own", fields=(frozenset({ANSWER}),), read=_read_own),
    Envelope(
        name="OpenAI and vLLM batch",
        fields=(frozenset({"custom_id", "response"}), frozenset({"custom_id", "error"})),
        read=_read_openai,
    ),
    Envelope(
        name="Anthropic batch",
        fields=(frozenset({"custom_id", "result"}),),
        read=_read_anthropic,
    ),
    Envelope(
        name="Bedrock batch",
        fields=(frozenset({"modelInput", "modelOutput"}), frozenset({"modelInput", "error"})),
        read=_read_bedrock,
    ),
    Envelope(
        name="Gemini and Vertex batch",
        fields=(
            frozenset({"key", "response"}),
            frozenset({"key", "error"}),
            frozenset({"request", "response"}),
            frozenset({"request", "status"}),
        ),
        read=_read_gemini,
    ),
    Envelope(name="lm-eval samples", fields=(frozenset({"arguments", "resps"}),), read=_read_lm_eval),
)
