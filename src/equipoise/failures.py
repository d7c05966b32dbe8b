"""What an error that an API of models reports means for one attempt: by its codes and fields first.

Endpoints word the same error in many ways. The words of the message count only where the HTTP status leaves the
question open. How a run goes on after an error is decided in `models/chat/classify.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.schema import Status

RATE_CODES = {"rate_limit_error", "rate_limit_exceeded"}
FILTER_CODES = {
    *("content_filter", "content_filtered", "responsibleaipolicyviolation", "content_policy_violation"),
    *("data_inspection_failed", "moderation_blocked", "content_filter_error"),
}
FILTER_WORDS = re.compile(
    r"content[ _](?:filter|management policy|policy)|(?:input|prompt|content|output)\b.{0,40}\bflagged|"
    r"blocked by .{0,40}(?:filter|safety|policy)",
    re.IGNORECASE,
)
CONTEXT_CODES = {"context_length_exceeded", "exceed_context_size_error", "request_too_large", "string_too_long"}
CONTEXT_WORDS = re.compile(
    r"maximum context length|prompt is too long|input is too long|exceeds? (?:the )?(?:available |model'?s? )?"
    r"(?:maximum )?context|context (?:length|window|size|limit).{0,40}exceed|too many tokens in|"
    r"longer than the maximum model length|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
NOT_ASKED_CODES = {"canceled", "cancelled", "expired", "batch_expired", "batch_cancelled", "1"}
"""What batch jobs say of requests that were never sent. Single digits are the codes of gRPC, which Google gives."""
TIMEOUT_CODES = {"deadline_exceeded", "4"}
STATUS_OF_CODES = {
    401: {"authentication_error", "invalid_api_key", "unauthorized", "unauthenticated", "16"},
    403: {"permission_error", "permission_denied", "forbidden", "7"},
    404: {"not_found_error", "model_not_found", "not_found", "5"},
    429: {*RATE_CODES, "resource_exhausted", "too_many_requests", "8"},
    529: {"overloaded_error", "overloaded"},
    400: {"invalid_request_error", "bad_request", "badrequesterror", "invalid_argument", "invalid_prompt", "3"},
}
"""The HTTP status that error codes stand for, needed where an error comes without one, or with status 200."""


@dataclass(frozen=True, kw_only=True)
class ReportedError:
    """An error as the API reports it."""

    status: int
    codes: frozenset[str]
    param: str | None
    message: str


def read_reported(document: object, status: int) -> ReportedError | None:
    """The error in the body of a response, or None if there is none. The message may be empty."""
    error = _find_error(document, status)
    if error is None:
        return None
    codes = frozenset(_find_codes(error))
    param = error.get("param")
    return ReportedError(
        status=status if status >= 400 else _implied_status(codes),
        codes=codes,
        param=param if isinstance(param, str) else None,
        message=_find_message(error),
    )


def ended_as(error: ReportedError) -> Status | None:
    """`filtered` or `context_length` where that is why there is no answer; None for any other reason."""
    is_ambiguous = error.status in (400, 403, 413, 422)
    if error.codes & FILTER_CODES or (is_ambiguous and FILTER_WORDS.search(error.message)):
        return Status.FILTERED
    may_be_context = error.status not in (401, 403, 404, 429)
    if error.codes & CONTEXT_CODES or error.status == 413:
        return Status.CONTEXT_LENGTH
    return Status.CONTEXT_LENGTH if may_be_context and CONTEXT_WORDS.search(error.message) else None


def ended_in_batch(error: ReportedError) -> Status:
    """The state of a request of a batch job that failed: what was never sent is still to be asked."""
    if error.codes & NOT_ASKED_CODES:
        return Status.PENDING
    if error.codes & TIMEOUT_CODES:
        return Status.TIMEOUT
    return ended_as(error) or Status.HTTP_ERROR


def _find_error(document: object, status: int) -> Mapping[str, Any] | None:
    if not isinstance(document, Mapping):
        return None
    error = document.get("error")
    if not error:
        choices = document.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        error = choice.get("error") if isinstance(choice, Mapping) else None  # OpenRouter
    if isinstance(error, Mapping):
        return error
    if error:
        return {"message": str(error)}
    return document if status >= 400 or document.get("object") == "error" else None


def _find_codes(error: Mapping[str, Any]) -> Iterable[str]:
    places = [error, *(error.get(name) for name in ("innererror", "inner_error", "details", "metadata"))]
    for place in places:
        if isinstance(place, Mapping):
            for name in ("code", "type", "status", "error_code", "error_type", "reason", "errorCode"):
                value = place.get(name)
                if isinstance(value, str | int):
                    yield str(value)[:100].lower()


def _implied_status(codes: frozenset[str]) -> int:
    """The status that an error sent with status 200 should have had; an unknown error counts as the server's fault."""
    for code in codes:
        if code.isascii() and code.isdigit() and 400 <= int(code) < 600:
            return int(code)
    return next((status for status, names in STATUS_OF_CODES.items() if codes & names), 500)


def _find_message(error: Mapping[str, Any]) -> str:
    for name in ("message", "detail", "msg", "error_description", "errorMessage"):
        value = error.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list):  # FastAPI lists each wrong field with its location
            entries = [entry for entry in value if isinstance(entry, dict)]
            return "; ".join(f"{_join_location(entry.get('loc'))}: {entry.get('msg')}" for entry in entries)
    return ""


def _join_location(location: object) -> str:
    return ".".join(map(str, location)) if isinstance(location, list) else "?"
