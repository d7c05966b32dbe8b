"""Responses of APIs in files: status and answer of an attempt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.bodies import KNOWN, READERS, Body, Completion, join_texts, read_completion
from equipoise.errors import BadFile
from equipoise.failures import ended_in_batch, read_reported
from equipoise.schema import ANSWER, STATUS, Status

Fields = dict[str, Any]
NO_STATUS = 200
"""What counts as the HTTP status of a response that does not say it."""


def read_body(body: Body) -> Fields:
    """Status and answer of a response. BadFile if no such API is known."""
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
    return without_answer(Status.MALFORMED) if completion is None else _fields(completion)


def outcome(text: str | None, reason: str | None = None) -> Fields:
    """Status and answer, by the text and the reason for which it ended."""
    return _fields(Completion(text=text, finish_reason=reason))


def _fields(completion: Completion) -> Fields:
    if completion.status == Status.HTTP_ERROR:
        return without_answer(Status.HTTP_ERROR)
    return {STATUS: completion.status, ANSWER: completion.refusal if completion.refused else completion.text}


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


def find_prompt(request: Body) -> Any:
    """The text that was asked, from a request of any of these APIs; None if it is not found."""
    for field, inner in (("messages", "content"), ("contents", "parts")):
        if isinstance(turns := request.get(field), Sequence) and turns:
            return join_texts(turns[-1][inner])
    return next((request[field] for field in ("prompt", "inputText") if field in request), None)
