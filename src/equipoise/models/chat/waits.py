"""How long an endpoint asks to wait, in each of the ways that endpoints use to say so."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
UNIT_SECONDS = (86400, 3600, 60, 1, 0.001)
WAIT_IN_MESSAGE = re.compile(
    r"(?:try again|retry) in ((?:\d+(?:\.\d+)? ?(?:milliseconds?|seconds?|minutes?|hours?|ms|[dhms]))+)\b",
    re.IGNORECASE,
)
MIN_TIMESTAMP = 1e9
"""A number this large may be a point in time in seconds since 1970."""
MIN_MILLISECOND_TIMESTAMP = 1e11
LARGEST_CLOCK_ERROR = 86400.0
"""A point in time that is longer ago than this is none: the number is a duration."""
LONGEST_WAIT = 1e9
"""In seconds. Longer waits count as this long."""


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """Seconds to wait, from the headers or else from the error message; None when neither says.

    The value is finite and not negative. It may be 0, so whoever waits must have a backoff of their own.
    """
    wait = _find_wait(headers, message)
    return None if wait is None else min(max(wait, 0.0), LONGEST_WAIT)


def _find_wait(headers: Mapping[str, str], message: str) -> float | None:
    current_time = _parse_date(headers.get("Date", "")) or time.time()
    if (milliseconds := _parse_number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    header = headers.get("Retry-After", "")
    if (seconds := _parse_wait(header, current_time)) is not None:
        return seconds
    if (moment := _parse_date(header)) is not None:
        return moment - current_time
    if match := WAIT_IN_MESSAGE.search(message):
        seconds = _parse_wait(_abbreviate_units(match[1]), current_time)
        if seconds is not None:
            return seconds
    # The endpoint does not say which of its limits was reached. The shortest is right or costs one more 429; the
    # longest may be a day.
    resets = [
        seconds
        for name, value in headers.items()
        if name.lower().startswith("x-ratelimit-reset") and (seconds := _parse_wait(value, current_time)) is not None
    ]
    return min(resets, default=None)


def _abbreviate_units(text: str) -> str:
    for unit, short in (("millisecond", "ms"), ("second", "s"), ("minute", "m"), ("hour", "h")):
        text = re.sub(rf" ?{unit}s?", short, text, flags=re.IGNORECASE)
    return text.replace(" ", "").lower()


def _parse_wait(text: str, current_time: float) -> float | None:
    """Seconds from a number, a timestamp or a duration such as `1m30s`."""
    text = text.strip()
    number = _parse_number(text)
    if number is not None:
        moment = number if number < MIN_MILLISECOND_TIMESTAMP else number / 1000
        is_moment = number >= MIN_TIMESTAMP and moment > current_time - LARGEST_CLOCK_ERROR
        return moment - current_time if is_moment else number
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
