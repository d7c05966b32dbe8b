"""Decides what an error of an endpoint means for the run (docs/faults.md, E1-E5, E10, E14-E19).

What it means for the attempt is in `failures.py`, which also reads the errors in files of batch jobs.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime

from equipoise.failures import RATE_CODES, ReportedError, ended_as, read_reported
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
MAX_MESSAGE = 10_000
"""Characters of a message that are read; far fewer are shown."""
DROP_ORDER = ("top_p", "seed", "max_tokens", "max_completion_tokens", "temperature")
"""Which parameter to drop first when a message names several."""


DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
UNIT_SECONDS = (86400, 3600, 60, 1, 0.001)
WAIT_IN_MESSAGE = re.compile(
    r"(?:try again|retry) in ((?:\d+(?:\.\d+)? ?(?:milliseconds?|seconds?|minutes?|hours?|ms|[dhms]))+)\b",
    re.IGNORECASE,
)
UNITS = {"millisecond": "ms", "second": "s", "minute": "m", "hour": "h"}
MIN_TIMESTAMP, MIN_MILLISECOND_TIMESTAMP = 1e9, 1e11
"""A number this large may be a point in time in seconds, or in milliseconds, since 1970."""
LARGEST_CLOCK_ERROR = 86400.0
"""A point in time that is longer ago than this is none: the number is a duration."""
LONGEST_WAIT = 1e9
"""In seconds. Longer waits count as this long."""


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
    error = read_reported(document, status)
    if error is None:
        if status < 400:
            return None
        error = ReportedError(status=status, codes=frozenset(), param=None, message="")
    return replace(error, message=redact((error.message or data.decode("utf-8", "backslashreplace"))[:MAX_MESSAGE]))


def classify(error: ReportedError, headers: Mapping[str, str], target: Target) -> Reply | TransientFault | Refused:
    """Decide whether the error ends the attempt, may go away, or ends the run."""
    detail = f"HTTP {error.status}: {excerpt(error.message) or 'no message'}"
    wait = retry_after(headers, error.message)
    if _is_quota(error, wait):
        return Refused(f"The quota of {target.model} is exhausted (quota, not rate limit). The endpoint says: {detail}")
    if (status := ended_as(error)) is not None:
        return Reply(status=status, detail=detail)
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


def _is_bad_request(error: ReportedError, words: re.Pattern[str]) -> bool:
    return error.status == 400 and bool(words.search(error.message))


def _is_quota(error: ReportedError, wait: float | None) -> bool:
    if error.status == 402 or error.codes & QUOTA_CODES:
        return True
    if error.status == 429:
        # Messages about rate limits mention plans and billing too, but they have the code, or say when to come back.
        return wait is None and not error.codes & RATE_CODES and bool(QUOTA_WORDS.search(error.message))
    return error.status in (400, 403) and bool(CERTAIN_QUOTA_WORDS.search(error.message))


def _explain_key(target: Target) -> str:
    if target.key_source is not None:
        return f"The key was refused; it came from {target.key_source}."
    where = f"in {target.key_variable}" if target.key_variable else "in a variable named with --key-variable"
    return f"A key is needed and none was sent. It is looked for {where}."


# How long to wait


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """Seconds to wait, from the headers or else from the error message; None when neither says.

    The value is finite and not negative. It may be 0, so whoever waits must have a backoff of their own.
    """
    now, header = _parse_date(headers.get("Date", "")) or time.time(), headers.get("Retry-After", "")
    wait = _parse_number(headers.get("retry-after-ms", ""))
    wait = _parse_wait(header, now) if wait is None else wait / 1000
    if wait is None and (moment := _parse_date(header)) is not None:
        wait = moment - now
    if wait is None and (match := WAIT_IN_MESSAGE.search(message)):
        words = match[1].lower().replace(" ", "")
        for unit, short in UNITS.items():
            words = words.replace(f"{unit}s", short).replace(unit, short)
        wait = _parse_wait(words, now)
    if wait is None:
        # The endpoint does not say which of its limits was reached. The shortest is right or costs one more 429; the
        # longest may be a day.
        resets = [value for name, value in headers.items() if name.lower().startswith("x-ratelimit-reset")]
        wait = min((seconds for value in resets if (seconds := _parse_wait(value, now)) is not None), default=None)
    return None if wait is None else min(max(wait, 0.0), LONGEST_WAIT)


def _parse_wait(text: str, now: float) -> float | None:
    """Seconds from a number, a timestamp or a duration such as `1m30s`."""
    text = text.strip()
    number = _parse_number(text)
    if number is not None:
        moment = number if number < MIN_MILLISECOND_TIMESTAMP else number / 1000
        is_moment = number >= MIN_TIMESTAMP and moment > now - LARGEST_CLOCK_ERROR
        return moment - now if is_moment else number
    match = DURATION.fullmatch(text) if text else None
    if match is None:
        return None
    return sum(float(part) * seconds for part, seconds in zip(match.groups(), UNIT_SECONDS, strict=True) if part)


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _parse_date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
