"""What an endpoint's complaint means for the attempt and for the run.

Endpoints word the same complaint in many ways; codes are believed before words, and words only where the status
leaves the question open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.frames import Status
from equipoise.models.protocol import Passing, Refused, Reply
from equipoise.models.redact import Redact, excerpt
from equipoise.models.waits import retry_after

QUOTA_CODES = {
    *("insufficient_quota", "insufficient_balance", "insufficient_credits", "billing_error"),
    *("billing_hard_limit_reached", "billing_not_active", "enforced_spend_limit_reached"),
}
QUOTA = re.compile(
    r"insufficient[ _](?:quota|balance|credit|fund)|billing|credit|exceeded your current quota|spend(?:ing)? limit|"
    r"usage limits?\b",
    re.IGNORECASE,
)
QUOTA_ANYWHERE = re.compile(
    r"insufficient[ _](?:quota|balance|credit|fund)|credit balance is too low|spend(?:ing)? limit", re.IGNORECASE
)
RATE_CODES = {"rate_limit_error", "rate_limit_exceeded"}
FILTER_CODES = {
    *("content_filter", "content_filtered", "responsibleaipolicyviolation", "content_policy_violation"),
    *("data_inspection_failed", "moderation_blocked", "content_filter_error"),
}
FILTER = re.compile(
    r"content[ _](?:filter|management policy|policy)|(?:input|prompt|content|output)\b.{0,40}\bflagged|"
    r"blocked by .{0,40}(?:filter|safety|policy)",
    re.IGNORECASE,
)
CONTEXT_CODES = {"context_length_exceeded", "exceed_context_size_error", "request_too_large", "string_too_long"}
CONTEXT = re.compile(
    r"maximum context length|prompt is too long|input is too long|exceeds? (?:the )?(?:available |model'?s? )?"
    r"(?:maximum )?context|context (?:length|window|size|limit).{0,40}exceed|too many tokens in",
    re.IGNORECASE,
)
KEY_CODES = {"invalid_api_key", "api_key_invalid"}
KEY = re.compile(
    r"(?:incorrect|invalid|expired|missing) api[ _-]?key|api[ _-]?key (?:is )?(?:not valid|invalid|expired)",
    re.IGNORECASE,
)
MODEL_CODES = {"model_not_found", "model_decommissioned", "invalid_model"}
MODEL = re.compile(
    r"model\b.{0,100}\b(?:does not exist|not found|not a valid model|has been decommissioned)|"
    r"(?:unknown|no such|invalid) model\b",
    re.IGNORECASE,
)
UNSUPPORTED_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"}
UNSUPPORTED = re.compile(
    r"unsupported|(?:not|n't) (?:currently )?support|not (?:permitted|allowed|accepted|recogni[sz]ed)|"
    r"unrecogni[sz]ed|(?:unknown|unexpected) (?:parameter|field|name|keyword|argument)|extra (?:inputs|fields)|"
    r"cannot (?:both )?be (?:both )?(?:specified|used|set)|only the default|may only be set|deprecated",
    re.IGNORECASE,
)
MEANING = {
    401: {"authentication_error", "invalid_api_key", "unauthorized", "unauthenticated"},
    403: {"permission_error", "permission_denied", "forbidden"},
    404: {"not_found_error", "model_not_found", "not_found"},
    429: {*RATE_CODES, "resource_exhausted", "too_many_requests"},
    529: {"overloaded_error", "overloaded"},
    400: {"invalid_request_error", "bad_request", "badrequesterror", "invalid_argument"},
}
"""What the names of errors mean where an error comes as a 200."""
LONG = 10_000
"""Characters of a message that are read; far fewer are shown."""
DROPPED_FIRST = ("top_p", "seed", "max_tokens", "max_completion_tokens", "temperature")


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """An error as an endpoint words it, without secrets."""

    status: int
    codes: frozenset[str]
    param: str | None
    message: str


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Who was asked, in words for a message."""

    model: str
    url: str
    key_source: str | None
    """Where the key came from; None when none was sent."""
    key_variable: str | None
    """The variable it is looked for in."""


def complaint(status: int, document: object, data: bytes, redact: Redact) -> Complaint | None:
    """The error in a document, or None if a 200 holds none. Where it has no words, the bytes are the message."""
    if isinstance(document, list) and document:  # Gemini
        document = document[0]
    error = _error(document, status)
    if error is None:
        if status < 400:
            return None
        message = redact(_text(data)[:LONG])
        return Complaint(status=status, codes=frozenset(), param=None, message=message)
    codes = frozenset(_codes(error))
    if status < 400:
        status = _meant(codes)
    param = error.get("param")
    return Complaint(
        status=status,
        codes=codes,
        param=param if isinstance(param, str) else None,
        message=redact((_message(error) or _text(data))[:LONG]),
    )


def verdict(said: Complaint, headers: Mapping[str, str], asked: Asked) -> Reply | Passing | Refused:
    """What the complaint means: rows E1–E5, E10, E14, E16–E19 of the catalogue of faults."""
    detail = f"HTTP {said.status}: {excerpt(said.message) or 'no message'}"
    wait = retry_after(headers, said.message)
    if _is_quota(said, wait):
        return Refused(f"The quota of {asked.model} is exhausted (quota, not rate limit). The endpoint says: {detail}")
    open_question = said.status in (400, 403, 413, 422)
    if said.codes & FILTER_CODES or (open_question and FILTER.search(said.message)):
        return Reply(status=Status.FILTERED, detail=detail)
    if said.codes & CONTEXT_CODES or said.status == 413 or _is_context(said):
        return Reply(status=Status.CONTEXT_LENGTH, detail=detail)
    if said.status in (401, 403) or said.codes & KEY_CODES or (said.status == 400 and KEY.search(said.message)):
        return Refused(f"{_key(asked)} The endpoint {asked.url} says: {detail}")
    if said.status == 404 or said.codes & MODEL_CODES or (said.status == 400 and MODEL.search(said.message)):
        return Refused(
            f"The endpoint {asked.url} does not serve {asked.model}. Check the model's name and the base URL. "
            f"The endpoint says: {detail}"
        )
    failed = Reply(status=Status.HTTP_ERROR, detail=detail)
    if said.status == 429:
        return Passing(failed, kind="rate_limit", retry_after=wait)
    if said.status == 408 or said.status >= 500:
        return Passing(failed, kind="server", retry_after=wait)
    return Passing(failed, kind="client")


def rejected(said: Complaint, droppable: Iterable[str]) -> str | None:
    """The parameter that the endpoint does not support, of those that could be left out."""
    if said.status not in (400, 422):
        return None
    if not (said.codes & UNSUPPORTED_CODES or UNSUPPORTED.search(said.message)):
        return None
    names = list(droppable)
    if said.param is not None and (last := said.param.rpartition(".")[2]) in names:
        return last
    order = {name: place for place, name in enumerate(DROPPED_FIRST)}
    for name in sorted(names, key=lambda name: order.get(name, len(order))):
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said.message):
            return name
    return None


def _error(document: object, status: int) -> dict[str, Any] | None:
    if not isinstance(document, dict):
        return None
    error = document.get("error")
    if not error:
        choices = document.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        error = choice.get("error") if isinstance(choice, dict) else None  # OpenRouter
    if isinstance(error, dict):
        return error
    if error:
        return {"message": str(error)}
    return document if status >= 400 or document.get("object") == "error" else None


def _codes(error: dict[str, Any]) -> Iterable[str]:
    inner = [error, *(error.get(name) for name in ("innererror", "inner_error", "details", "metadata"))]
    for place in inner:
        if isinstance(place, dict):
            for name in ("code", "type", "status", "error_code", "error_type", "reason"):
                value = place.get(name)
                if isinstance(value, str | int):
                    yield str(value)[:100].lower()


def _meant(codes: frozenset[str]) -> int:
    """The status that an error in a 200 should have had; of an unknown one, the server is to blame."""
    for code in codes:
        if code.isascii() and code.isdigit() and 400 <= int(code) < 600:
            return int(code)
    return next((status for status, names in MEANING.items() if codes & names), 500)


def _message(error: dict[str, Any]) -> str:
    for name in ("message", "detail", "msg", "error_description"):
        value = error.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list):  # FastAPI's list of what is wrong where
            wrong = [item for item in value if isinstance(item, dict)]
            return "; ".join(f"{_place(item.get('loc'))}: {item.get('msg')}" for item in wrong)
    return ""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _place(where: object) -> str:
    return ".".join(map(str, where)) if isinstance(where, list) else "?"


def _is_quota(said: Complaint, wait: float | None) -> bool:
    if said.status == 402 or said.codes & QUOTA_CODES:
        return True
    if said.status == 429:
        # Rate limits advertise plans and billing too; but they say so, or when to come back.
        return wait is None and not said.codes & RATE_CODES and bool(QUOTA.search(said.message))
    return said.status in (400, 403) and bool(QUOTA_ANYWHERE.search(said.message))


def _is_context(said: Complaint) -> bool:
    return said.status not in (401, 403, 404, 429) and bool(CONTEXT.search(said.message))


def _key(asked: Asked) -> str:
    if asked.key_source is not None:
        return f"The key was refused; it came from {asked.key_source}."
    where = f"in {asked.key_variable}" if asked.key_variable else "in a variable named with --key-variable"
    return f"A key is wanted and none was sent. It is looked for {where}."
