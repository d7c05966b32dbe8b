"""What a line of JSON from elsewhere looks like: envelopes of batch jobs and tools around the answers of APIs.

An envelope says which prompt was asked and what came of it. A line that fits no envelope is refused, with the names of
those that are known: a guessed answer would be a wrong number. A line that fits one and holds no answer is an attempt
without one, in a state that says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from equipoise.errors import BadFile
from equipoise.models.bodies import KNOWN, READERS, UNREADABLE, join_texts, read_reply
from equipoise.models.failures import ended_in_batch, read_reported
from equipoise.models.protocol import Reply
from equipoise.schema import ANSWER, ID, MEASURED, PROMPT, REPETITION, STATUS, Status

Fields = dict[str, Any]
Line = Mapping[str, Any]
NO_STATUS = 200
"""What counts as the HTTP status of a response that does not say it."""
TOOLS = "batch jobs of OpenAI, vLLM, Anthropic, Gemini, Vertex and Bedrock, samples of lm-eval"
ASKED = {"custom_id", "key", "recordId", "request", "modelInput"}
ANSWERED = {"response", "modelOutput", "error", "status"}
"""Fields by which a line of a batch job says what was asked, and what came of it."""
FAILED = [status for status in Status if status not in MEASURED]
DETAILS = ("served_model", "fingerprint", "finish_reason", "prompt_tokens", "completion_tokens")
"""What a response says beside its answer; a run file keeps it of imported answers, too."""
KEY = re.compile(r"(.*?)(?:[#-](\d+))?", re.DOTALL)
"""A key of ours: the id of a prompt, with the repetition where there are several."""


def split_key(key: object) -> Fields:
    """The id and the repetition that a key of ours holds."""
    match = KEY.fullmatch(key) if isinstance(key, str) else None
    return {ID: match[1], REPETITION: match[2]} if match else {ID: key}


def read_line(line: Line, where: str) -> Iterator[Fields]:
    """The answers in a line, each with the fields of a row."""
    names = line.keys()
    failed = line.get(STATUS) in FAILED and not {ID, PROMPT}.isdisjoint(names)  # a failure in our words
    if ANSWER in line or failed:
        yield {ANSWER: None, **line}
        return
    if names >= {"custom_id", "result"}:
        read = _read_anthropic
    elif names >= {"arguments", "resps"}:
        read = _read_lm_eval
    elif not (ASKED.isdisjoint(names) or ANSWERED.isdisjoint(names)):
        read = _read_batch
    else:
        raise BadFile(
            f"{where}: no field {ANSWER}. There are: {', '.join(map(str, line))[:60] or 'none'}. Needed are {ANSWER} "
            f"(or {STATUS}, where there is none), and {ID} or {PROMPT}; or the output of another tool: {TOOLS}. Files "
            "of other kinds: CSV, Parquet (.parquet), logs of Inspect (.eval, .json)."
        )
    try:
        yield from read(line)
    except UNREADABLE:
        raise BadFile(f"{where}: no text that a model wrote where {TOOLS} have it. Known are: {KNOWN}.") from None


def read_body(body: Line) -> Fields:
    """Status and answer of a response of an API; one of `UNREADABLE` if no such API is known."""
    if (error := read_reported(body, NO_STATUS)) is not None:
        return without_answer(ended_in_batch(error))
    if body.keys() and body.keys().isdisjoint(READERS):
        raise ValueError
    if "output" in body and body.get("status") in ("cancelled", "queued", "in_progress"):
        return without_answer(Status.PENDING)
    reply = read_reply(body)
    return without_answer(Status.MALFORMED) if reply is None else outcome(reply)


def outcome(reply: Reply) -> Fields:
    """The fields of an attempt with this reply, with what the response says about it."""
    details = {name: getattr(reply, name) for name in DETAILS if getattr(reply, name) is not None}
    return {STATUS: reply.status, ANSWER: reply.answer, **details}


def without_answer(status: Status) -> Fields:
    """The fields of an attempt that has a state and no answer."""
    return {STATUS: status, ANSWER: None}


def _fail(error: object, status: int = NO_STATUS) -> Fields:
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


def find_prompt(request: Line) -> Any:
    """The text that was asked, from a request of any of these APIs; None if it is not found."""
    for field, inner in (("messages", "content"), ("contents", "parts")):
        if isinstance(turns := request.get(field), Sequence) and turns:
            return join_texts(turns[-1][inner])
    return next((request[field] for field in ("prompt", "inputText") if field in request), None)


def _read_batch(line: Line) -> Iterator[Fields]:
    """One request of a batch job: its key, perhaps the request itself, and what came of it."""
    key = next((split_key(line[name]) for name in ("custom_id", "key", "recordId") if name in line), {})
    request = line.get("request") or line.get("modelInput")
    prompt = find_prompt(request) if isinstance(request, Mapping) else None
    yield key | {PROMPT: prompt} | _read_response(line)


def _read_response(line: Line) -> Fields:
    """The response itself, or inside another one with its HTTP status; or an error, which Vertex calls `status`."""
    body = line.get("response") or line.get("modelOutput") or {}
    status = NO_STATUS
    error = line.get("error") or (None if body else line.get("status"))
    if "status_code" in body or "body" in body:
        status, body = int(body.get("status_code", NO_STATUS)), body.get("body") or {}
    if error or not 200 <= status < 300:
        return _fail(error or body, status)
    return read_body(body)


def _read_anthropic(line: Line) -> Iterator[Fields]:
    key, result = split_key(line["custom_id"]), line["result"]
    match result.get("type"):
        case "succeeded":
            yield key | read_body(result["message"])
        case "errored":
            yield key | _fail(result.get("error"))
        case "canceled" | "expired":
            yield key | without_answer(Status.PENDING)
        case _:
            raise ValueError


def _read_lm_eval(line: Line) -> Iterator[Fields]:
    arguments, document = line["arguments"], line.get("doc")
    first = arguments["gen_args_0"]["arg_0"] if isinstance(arguments, Mapping) else arguments[0][0]
    identifier = document.get(ID) if isinstance(document, Mapping) else None
    key = {ID: identifier if isinstance(identifier, str) else None, PROMPT: _find_lm_eval_prompt(first)}
    responses = [response for responses in line["resps"] for response in responses]
    if len(line["resps"]) > 1 or not all(isinstance(response, str) for response in responses):
        raise ValueError  # log-likelihoods of given answers
    if not responses:
        yield key | without_answer(Status.MALFORMED)
    for response in responses:
        yield key | {ANSWER: response}


def _find_lm_eval_prompt(asked: Any) -> str | None:
    """The text that was asked: as it is, or as the last of several messages, which may stand in a text as JSON."""
    if isinstance(asked, Sequence) and not isinstance(asked, str) and len(asked) == 1 and isinstance(asked[0], str):
        asked = asked[0]
    if isinstance(asked, str) and asked.startswith("[{"):
        try:
            asked = json.loads(asked)
        except ValueError:
            return str(asked)
    if isinstance(asked, str):
        return asked
    text = find_prompt({"messages": asked})
    return text if isinstance(text, str) else None
