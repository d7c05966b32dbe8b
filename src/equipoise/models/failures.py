"""What an error that an API of models reports means: for endpoints, and for files of batch jobs.

Endpoints word the same error in many ways. Its codes and fields count first; the words of the message count only where
the HTTP status leaves the question open.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NamedTuple

from equipoise.schema import Status

MAX_MESSAGE = 10_000
"""Characters of a message that are read; far fewer are shown."""
RATE_CODES = {"rate_limit_error", "rate_limit_exceeded"}
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
Meaning = Literal["quota", "filtered", "context_length", "key", "not_served", "rate_limit", "server", "client"]
"""What an error means. `client` is any 4xx without another meaning."""


class _Sign(NamedTuple):
    """How a meaning is recognised: by a status, by a code, or by words of the message where the status is open."""

    meaning: Meaning
    statuses: Collection[int]
    codes: str
    words: str = r"(?!)"
    open_statuses: Collection[int] = ()

    def fits(self, error: ReportedError) -> bool:
        """Whether an error has this sign."""
        if error.status in self.statuses or not error.codes.isdisjoint(self.codes.split()):
            return True
        return error.status in self.open_statuses and bool(re.search(self.words, error.message, re.IGNORECASE))


_QUOTA_WORDS = r"insufficient[ _](?:quota|balance|credit|fund)|credit balance is too low|spend(?:ing)? limit"
_SIGNS = (
    _Sign(
        "quota",
        {402},
        "insufficient_quota insufficient_balance insufficient_credits billing_error billing_hard_limit_reached "
        "billing_not_active enforced_spend_limit_reached",
        _QUOTA_WORDS,
        {400, 403},
    ),
    _Sign(
        "filtered",
        (),
        "content_filter content_filtered responsibleaipolicyviolation content_policy_violation data_inspection_failed "
        "moderation_blocked content_filter_error",
        r"content[ _](?:filter|management policy|policy)|(?:input|prompt|content|output)\b.{0,40}\bflagged|"
        r"blocked by .{0,40}(?:filter|safety|policy)",
        {400, 403, 422},
    ),
    _Sign(
        "context_length",
        {413},
        "context_length_exceeded exceed_context_size_error request_too_large string_too_long",
        r"maximum context length|prompt is too long|input is too long|exceeds? (?:the )?(?:available |model'?s? )?"
        r"(?:maximum )?context|context (?:length|window|size|limit).{0,40}exceed|too many tokens in|"
        r"longer than the maximum model length|exceeds the maximum number of tokens",
        {400, 422, 500},
    ),
    _Sign(
        "key",
        {401, 403},
        "invalid_api_key api_key_invalid",
        r"(?:incorrect|invalid|expired|missing) api[ _-]?key|api[ _-]?key (?:is )?(?:not valid|invalid|expired)",
        {400},
    ),
    _Sign(
        "not_served",
        {404, 405},
        "model_not_found model_decommissioned invalid_model",
        r"model\b.{0,100}\b(?:does not exist|not found|not a valid model|has been decommissioned)|"
        r"(?:unknown|no such|invalid) model\b|unexpected endpoint or method|unknown (?:request )?url|cannot post /",
        {400, 422, 500},
    ),
    _Sign("quota", (), "", rf"{_QUOTA_WORDS}|billing|credit|exceeded your current quota|usage limits?\b", {429}),
    _Sign("rate_limit", {429}, ""),
    _Sign("server", {408}, ""),
)
"""The first sign that fits counts."""

_UNSUPPORTED_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"}
_UNSUPPORTED_WORDS = re.compile(
    r"unsupported|(?:not|n't) (?:currently )?support|not (?:permitted|allowed|accepted|recogni[sz]ed)|"
    r"unrecogni[sz]ed|(?:unknown|unexpected) (?:parameter|field|name|keyword|argument)|extra (?:inputs|fields)|"
    r"cannot (?:both )?be (?:both )?(?:specified|used|set)|only the default|may only be set|deprecated",
    re.IGNORECASE,
)
_DROP_ORDER = ("top_p", "seed", "max_tokens", "max_completion_tokens", "temperature")
"""Which parameter to drop first when a message names several."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(ms|mil|[dhms])", re.IGNORECASE)
_UNIT_SECONDS = {"ms": 0.001, "mil": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_WAIT_IN_MESSAGE = re.compile(r"(?:try again|retry) in ((?:\d+(?:\.\d+)? ?[a-z]+)+)", re.IGNORECASE)
_MIN_TIMESTAMP, _MIN_MILLISECOND_TIMESTAMP = 1e9, 1e11
"""A number this large is a point in time in seconds, or in milliseconds, since 1970."""
_LONGEST_WAIT = 1e9
"""In seconds. Longer waits count as this long."""


@dataclass(frozen=True, kw_only=True)
class ReportedError:
    """An error as the API reports it."""

    status: int
    codes: frozenset[str]
    message: str


def read_reported(document: object, status: int, body: bytes = b"") -> ReportedError | None:
    """The error in a response, or None if there is none. Without a message in the document, the body is the message."""
    if isinstance(document, list) and document:  # Gemini
        document = document[0]
    error = _find_error(document, status)
    if error is None:
        return None
    codes = frozenset(_find_codes(error))
    message = _find_message(error) or body.decode("utf-8", "backslashreplace")
    return ReportedError(
        status=status if status >= 400 else _implied_status(codes),
        codes=codes,
        message=message[:MAX_MESSAGE],
    )


def classify(error: ReportedError, *, says_when: bool = False) -> Meaning:
    """What the error means. `says_when`: the endpoint says when to come back."""
    if error.status == 429 and (says_when or error.codes & RATE_CODES):
        error = replace(error, message="")  # which may well mention plans and billing
    found = next((sign.meaning for sign in _SIGNS if sign.fits(error)), None)
    return found or ("server" if error.status >= 500 else "client")


def ended_in_batch(error: ReportedError) -> Status:
    """The state of a request of a batch job that failed: what was never sent is still to be asked."""
    if error.codes & NOT_ASKED_CODES:
        return Status.PENDING
    if error.codes & TIMEOUT_CODES:
        return Status.TIMEOUT
    meaning = classify(error)
    return Status(meaning) if meaning in ("filtered", "context_length") else Status.HTTP_ERROR


def find_rejected_parameter(error: ReportedError, droppable: Iterable[str]) -> str | None:
    """The parameter that the endpoint does not support, if the error names one that can be dropped."""
    is_unsupported = error.codes & _UNSUPPORTED_CODES or _UNSUPPORTED_WORDS.search(error.message)
    if error.status not in (400, 422) or not is_unsupported:
        return None
    names = sorted(droppable, key=lambda name: _DROP_ORDER.index(name) if name in _DROP_ORDER else len(_DROP_ORDER))
    return next((name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", error.message)), None)


def _find_error(document: object, status: int) -> Mapping[str, Any] | None:
    if not isinstance(document, Mapping):
        return {} if status >= 400 else None
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
    """A text, or a list of wrong fields with their locations (FastAPI); before it, the parameter that it is about."""
    names = ("message", "detail", "msg", "error_description", "errorMessage")
    message = next((str(error[name]) for name in names if error.get(name)), "")
    return f"{error['param']}: {message}" if isinstance(error.get("param"), str) else message


def retry_after(headers: Mapping[str, str], message: str = "", *, is_rate_limit: bool = True) -> float | None:
    """Seconds to wait (finite, perhaps 0), from the headers or else from the error message; None when neither says.

    Endpoints send the times at which their limits are reset with every response, so these times mean something
    only where a limit was reached.
    """
    now = _parse_date(headers.get("Date", "")) or time.time()
    said = _WAIT_IN_MESSAGE.search(message)
    resets = []
    if is_rate_limit:
        resets = [
            _parse_wait(text, now) for name, text in headers.items() if name.lower().startswith("x-ratelimit-reset")
        ]
    waits = (
        _parse_wait(f"{headers.get('retry-after-ms', '')}ms", now),
        _parse_wait(headers.get("Retry-After", ""), now),
        _parse_wait(said[1] if said else "", now),
        # The endpoint does not say which of its limits was reached. The shortest is right or costs one more 429; the
        # longest may be a day.
        min((reset for reset in resets if reset is not None), default=None),
    )
    wait = next((wait for wait in waits if wait is not None), None)
    return None if wait is None else min(max(wait, 0.0), _LONGEST_WAIT)


def _parse_wait(text: str, now: float) -> float | None:
    """Seconds from a number, a point in time or a duration such as `1m30s`."""
    try:
        number = float(text)
    except ValueError:
        if (moment := _parse_date(text)) is not None:
            return moment - now
        parts = _DURATION.findall(text)
        return sum(float(count) * _UNIT_SECONDS[unit.lower()] for count, unit in parts) if parts else None
    if math.isnan(number):
        return None
    if number < _MIN_TIMESTAMP:
        return number
    return (number if number < _MIN_MILLISECOND_TIMESTAMP else number / 1000) - now


def _parse_date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
