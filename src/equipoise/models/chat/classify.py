"""Decides what an error of an endpoint means for the attempt and for the run (docs/faults.md, E1-E5, E10, E14-E19).

Endpoints word the same error in many ways. Error codes count first; the words of the message count only where the
HTTP status leaves the question open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.models.chat.waits import retry_after
from equipoise.models.protocol import KeyRefused, NotServed, Refused, Reply, TransientFault
from equipoise.models.redact import Redact, excerpt
from equipoise.schema import Status

QUOTA_CODES = {
    *("insufficient_quota", "insufficient_balance", "insufficient_credits", "billing_error"),
    *("billing_hard_limit_reached", "billing_not_active", "enforced_spend_limit_reached"),
}
QUOTA_WORDS = re.compile(
    r"insufficient[ _](?:quota|balance|credit|fund)|billing|credit|exceeded your current quota|spend(?:ing)? limit|"
    r"usage limits?\b",
    re.IGNORECASE,
)
CERTAIN_QUOTA_WORDS = re.compile(
    r"insufficient[ _](?:quota|balance|credit|fund)|credit balance is too low|spend(?:ing)? limit", re.IGNORECASE
)
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
    r"(?:maximum )?context|context (?:length|window|size|limit).{0,40}exceed|too many tokens in",
    re.IGNORECASE,
)
KEY_CODES = {"invalid_api_key", "api_key_invalid"}
KEY_WORDS = re.compile(
    r"(?:incorrect|invalid|expired|missing) api[ _-]?key|api[ _-]?key (?:is )?(?:not valid|invalid|expired)",
    re.IGNORECASE,
)
MODEL_CODES = {"model_not_found", "model_decommissioned", "invalid_model"}
MODEL_WORDS = re.compile(
    r"model\b.{0,100}\b(?:does not exist|not found|not a valid model|has been decommissioned)|"
    r"(?:unknown|no such|invalid) model\b",
    re.IGNORECASE,
)
ADDRESS_WORDS = re.compile(r"unexpected endpoint or method|unknown (?:request )?url|cannot post /", re.IGNORECASE)
PROXY_LOGIN_NEEDED = "The proxy wants a user and a password: put them into its address, as in HTTPS_PROXY=http://user:password@host:3128."
UNSUPPORTED_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"}
UNSUPPORTED_WORDS = re.compile(
    r"unsupported|(?:not|n't) (?:currently )?support|not (?:permitted|allowed|accepted|recogni[sz]ed)|"
    r"unrecogni[sz]ed|(?:unknown|unexpected) (?:parameter|field|name|keyword|argument)|extra (?:inputs|fields)|"
    r"cannot (?:both )?be (?:both )?(?:specified|used|set)|only the default|may only be set|deprecated",
    re.IGNORECASE,
)
STATUS_OF_CODES = {
    401: {"authentication_error", "invalid_api_key", "unauthorized", "unauthenticated"},
    403: {"permission_error", "permission_denied", "forbidden"},
    404: {"not_found_error", "model_not_found", "not_found"},
    429: {*RATE_CODES, "resource_exhausted", "too_many_requests"},
    529: {"overloaded_error", "overloaded"},
    400: {"invalid_request_error", "bad_request", "badrequesterror", "invalid_argument"},
}
"""The HTTP status that error codes stand for, needed where an error comes with status 200."""
MAX_MESSAGE = 10_000
"""Characters of a message that are read; far fewer are shown."""
DROP_ORDER = ("top_p", "seed", "max_tokens", "max_completion_tokens", "temperature")
"""Which parameter to drop first when a message names several."""


@dataclass(frozen=True, kw_only=True)
class ReportedError:
    """An error as the endpoint reports it, with secrets blotted out."""

    status: int
    codes: frozenset[str]
    param: str | None
    message: str


@dataclass(frozen=True, kw_only=True)
class Target:
    """The model and endpoint that were asked, as error messages name them."""

    model: str
    url: str
    key_source: str | None
    """Where the key came from; None when none was sent."""
    key_variable: str | None
    """The environment variable in which the key is looked for."""
    suggestion: str = ""
    """What may be wrong with the address, as the end of a sentence."""


def read_error(status: int, document: object, data: bytes, redact: Redact) -> ReportedError | None:
    """The error in a response, or None if there is none. Without a message in the document, the body is the message."""
    if isinstance(document, list) and document:  # Gemini
        document = document[0]
    error = _find_error(document, status)
    if error is None:
        if status < 400:
            return None
        message = redact(_decode(data)[:MAX_MESSAGE])
        return ReportedError(status=status, codes=frozenset(), param=None, message=message)
    codes = frozenset(_find_codes(error))
    param = error.get("param")
    return ReportedError(
        status=status if status >= 400 else _implied_status(codes),
        codes=codes,
        param=param if isinstance(param, str) else None,
        message=redact((_find_message(error) or _decode(data))[:MAX_MESSAGE]),
    )


def classify(error: ReportedError, headers: Mapping[str, str], target: Target) -> Reply | TransientFault | Refused:
    """Decide whether the error ends the attempt, may go away, or ends the run."""
    detail = f"HTTP {error.status}: {excerpt(error.message) or 'no message'}"
    wait = retry_after(headers, error.message)
    if _is_quota(error, wait):
        return Refused(f"The quota of {target.model} is exhausted (quota, not rate limit). The endpoint says: {detail}")
    is_ambiguous = error.status in (400, 403, 413, 422)
    if error.codes & FILTER_CODES or (is_ambiguous and FILTER_WORDS.search(error.message)):
        return Reply(status=Status.FILTERED, detail=detail)
    if error.codes & CONTEXT_CODES or error.status == 413 or _is_context(error):
        return Reply(status=Status.CONTEXT_LENGTH, detail=detail)
    if error.status in (401, 403) or error.codes & KEY_CODES or _is_bad_request(error, KEY_WORDS):
        return KeyRefused(f"{_explain_key(target)} The endpoint {target.url} says: {detail}")
    if error.status == 407:
        return Refused(f"{PROXY_LOGIN_NEEDED} It says: {detail}")
    is_about_model = error.codes & MODEL_CODES or MODEL_WORDS.search(error.message)
    if is_about_model and error.status in (400, 404, 422, *((error.status,) if error.codes & MODEL_CODES else ())):
        return NotServed(
            f"The endpoint {target.url} does not serve {target.model}. Check the model's name and the base URL. "
            f"The endpoint says: {detail}"
        )
    if error.status in (404, 405) or ADDRESS_WORDS.search(error.message):
        return NotServed(
            f"The endpoint {target.url} does not serve {target.model}, or is no chat endpoint{target.suggestion}. "
            f"Check the base URL and the model's name. The endpoint says: {detail}"
        )
    reply = Reply(status=Status.HTTP_ERROR, detail=detail)
    if error.status == 429:
        return TransientFault(reply, kind="rate_limit", retry_after=wait)
    if error.status == 408 or error.status >= 500:
        return TransientFault(reply, kind="server", retry_after=wait)
    return TransientFault(reply, kind="client")


def find_rejected_parameter(error: ReportedError, droppable: Iterable[str]) -> str | None:
    """The parameter that the endpoint does not support, if the error names one that can be dropped."""
    if error.status not in (400, 422):
        return None
    if not (error.codes & UNSUPPORTED_CODES or UNSUPPORTED_WORDS.search(error.message)):
        return None
    names = list(droppable)
    if error.param is not None and (last := error.param.rpartition(".")[2]) in names:
        return last
    rank = {name: place for place, name in enumerate(DROP_ORDER)}
    for name in sorted(names, key=lambda name: rank.get(name, len(rank))):
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", error.message):
            return name
    return None


def is_about_probabilities(error: ReportedError) -> bool:
    """Whether the endpoint refuses a request because of the log-probabilities that it asks for."""
    return error.status in (400, 422, 501) and "logprob" in f"{error.param} {error.message}".lower()


def _find_error(document: object, status: int) -> dict[str, Any] | None:
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


def _find_codes(error: dict[str, Any]) -> Iterable[str]:
    places = [error, *(error.get(name) for name in ("innererror", "inner_error", "details", "metadata"))]
    for place in places:
        if isinstance(place, dict):
            for name in ("code", "type", "status", "error_code", "error_type", "reason"):
                value = place.get(name)
                if isinstance(value, str | int):
                    yield str(value)[:100].lower()


def _implied_status(codes: frozenset[str]) -> int:
    """The status that an error sent with status 200 should have had; an unknown error counts as the server's fault."""
    for code in codes:
        if code.isascii() and code.isdigit() and 400 <= int(code) < 600:
            return int(code)
    return next((status for status, names in STATUS_OF_CODES.items() if codes & names), 500)


def _find_message(error: dict[str, Any]) -> str:
    for name in ("message", "detail", "msg", "error_description"):
        value = error.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list):  # FastAPI lists each wrong field with its location
            entries = [entry for entry in value if isinstance(entry, dict)]
            return "; ".join(f"{_join_location(entry.get('loc'))}: {entry.get('msg')}" for entry in entries)
    return ""


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _join_location(location: object) -> str:
    return ".".join(map(str, location)) if isinstance(location, list) else "?"


def _is_bad_request(error: ReportedError, words: re.Pattern[str]) -> bool:
    return error.status == 400 and bool(words.search(error.message))


def _is_quota(error: ReportedError, wait: float | None) -> bool:
    if error.status == 402 or error.codes & QUOTA_CODES:
        return True
    if error.status == 429:
        # Messages about rate limits mention plans and billing too, but they have the code, or say when to come back.
        return wait is None and not error.codes & RATE_CODES and bool(QUOTA_WORDS.search(error.message))
    return error.status in (400, 403) and bool(CERTAIN_QUOTA_WORDS.search(error.message))


def _is_context(error: ReportedError) -> bool:
    return error.status not in (401, 403, 404, 429) and bool(CONTEXT_WORDS.search(error.message))


def _explain_key(target: Target) -> str:
    if target.key_source is not None:
        return f"The key was refused; it came from {target.key_source}."
    where = f"in {target.key_variable}" if target.key_variable else "in a variable named with --key-variable"
    return f"A key is needed and none was sent. It is looked for {where}."
