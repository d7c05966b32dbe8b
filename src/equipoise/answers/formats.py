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

from equipoise.bodies import KNOWN, READERS, UNREADABLE, Completion, join_texts, read_completion
from equipoise.errors import BadFile
from equipoise.failures import ended_in_batch, read_reported
from equipoise.schema import ANSWER, ID, MEASURED, PROMPT, REPETITION, STATUS, Status

Fields = dict[str, Any]
NO_STATUS = 200
"""What counts as the HTTP status of a response that does not say it."""
Line = Mapping[str, Any]
KEY = re.compile(r"(.*?)(?:[#-](\d+))?", re.DOTALL)
"""A key of ours: the id of a prompt, with the repetition where there are several."""


def split_key(key: object) -> Fields:
    """The id and the repetition that a key of ours holds."""
    match = KEY.fullmatch(key) if isinstance(key, str) else None
    return {ID: match[1], REPETITION: match[2]} if match else {ID: key}


def read_line(line: Line, where: str) -> Iterator[Fields]:
    """The answers in a line, each with the fields of a row."""
    if ANSWER in line or is_own_failure(line):
        yield {ANSWER: None, **line}
        return
    for name, (kinds, read) in ENVELOPES.items():
        if any(line.keys() >= {*fields.split()} for fields in kinds):
            try:
                yield from read(line)
            except BadFile as error:
                raise BadFile(f"{where}: {name}: {error}") from None
            except UNREADABLE:
                raise BadFile(f"{where}: {name} output without an answer where it should stand.") from None
            return
    shown = ", ".join(map(str, line))[:60] or "none"
    raise BadFile(
        f"{where}: no field {ANSWER}. There are: {shown}. Needed are {ANSWER} (or {STATUS}, where there is none), and "
        f"{ID} or {PROMPT}; or the output of another tool: {', '.join(ENVELOPES)}. Files of other kinds: CSV, Parquet "
        "(.parquet), logs of Inspect (.eval, .json)."
    )


def is_own_failure(line: Line) -> bool:
    """Whether a line says in our words that an attempt has no answer: a prompt, and a state that needs none."""
    failed = isinstance(line.get(STATUS), str) and line[STATUS] in {*Status} - {*MEASURED}
    return failed and not {ID, PROMPT}.isdisjoint(line)


def read_body(body: Line) -> Fields:
    """Status and answer of a response of an API. BadFile if no such API is known."""
    if not isinstance(body, Mapping):
        raise TypeError
    if (error := read_reported(body, NO_STATUS)) is not None:
        return without_answer(ended_in_batch(error))
    if body and not any(field in body for field in READERS):
        shown = ", ".join(map(str, body))[:60]
        raise BadFile(f"a response of an API that is not known, with the fields {shown}. Known are: {KNOWN}.")
    if "output" in body and body.get("status") in ("cancelled", "queued", "in_progress"):
        return without_answer(Status.PENDING)
    completion = read_completion(body)
    return without_answer(Status.MALFORMED) if completion is None else outcome(completion)


def outcome(completion: Completion) -> Fields:
    """As for endpoints (`models.chat.wire.make_reply`): what broke off, was withheld or refused is no answer."""
    if completion.status in (Status.HTTP_ERROR, Status.FILTERED):
        return without_answer(completion.status)
    return {STATUS: completion.status, ANSWER: completion.text}


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
        case unknown:
            raise BadFile(f"result.type must be succeeded, errored, canceled or expired. Got {unknown!r} instead.")


def _read_lm_eval(line: Line) -> Iterator[Fields]:
    arguments, document = line["arguments"], line.get("doc")
    first = arguments["gen_args_0"]["arg_0"] if isinstance(arguments, Mapping) else arguments[0][0]
    identifier = document.get(ID) if isinstance(document, Mapping) else None
    key = {ID: identifier if isinstance(identifier, str) else None, PROMPT: _find_lm_eval_prompt(first)}
    responses = [response for responses in line["resps"] for response in responses]
    if len(line["resps"]) > 1 or not all(isinstance(response, str) for response in responses):
        raise BadFile("log-likelihoods of given answers. Generated texts are needed (output_type: generate_until).")
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


ENVELOPES = {
    "Anthropic batch": (["custom_id result"], _read_anthropic),
    "OpenAI, vLLM and other batch": (
        ["custom_id response", "custom_id error", "custom_id request status"],
        _read_batch,
    ),
    "Bedrock batch": (["modelInput modelOutput", "modelInput error"], _read_batch),
    "Gemini and Vertex batch": (
        ["key response", "key error", "key status", "request response", "request status"],
        _read_batch,
    ),
    "lm-eval samples": (["arguments resps"], _read_lm_eval),
}
"""How lines of other tools are recognised, by sets of fields of which they have one, and read. A reader gives the
fields of each answer in a line; BadFile, KeyError, TypeError and the like mean that it cannot be read."""
