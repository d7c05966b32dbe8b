"""How long an endpoint asks to wait, in whichever of the usual ways it says so."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
UNITS = (86400, 3600, 60, 1, 0.001)
IN_WORDS = re.compile(
    r"(?:try again|retry) in ((?:\d+(?:\.\d+)? ?(?:milliseconds?|seconds?|minutes?|hours?|ms|[dhms]))+)\b",
    re.IGNORECASE,
)
EPOCH = 1e9
"""A larger number is a point in time, not a duration."""


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """Seconds to wait: from the headers, then from the words of the message; None when it does not say."""
    now = _date(headers.get("Date", "")) or time.time()
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    given = headers.get("Retry-After", "")
    if (seconds := _seconds(given, now)) is not None:
        return seconds
    if (moment := _date(given)) is not None:
        return max(0.0, moment - now)
    if (found := IN_WORDS.search(message)) and (seconds := _seconds(_short_units(found[1]), now)) is not None:
        return seconds
    # Which of several limits was hit is not said. Asking too early costs one more 429, the longest may be a day.
    resets = [
        seconds
        for name, value in headers.items()
        if name.lower().startswith("x-ratelimit-reset") and (seconds := _seconds(value, now)) is not None
    ]
    return min(resets, default=None)


def _short_units(text: str) -> str:
    for long, brief in (("millisecond", "ms"), ("second", "s"), ("minute", "m"), ("hour", "h")):
        text = re.sub(rf" ?{long}s?", brief, text, flags=re.IGNORECASE)
    return text.replace(" ", "").lower()


def _seconds(text: str, now: float) -> float | None:
    text = text.strip()
    number = _number(text)
    if number is not None:
        if number < EPOCH:
            return number
        return max(0.0, (number if number < EPOCH * 100 else number / 1000) - now)
    match = DURATION.fullmatch(text) if text else None
    if match is None:
        return None
    return sum(float(part) * unit for part, unit in zip(match.groups(), UNITS, strict=True) if part)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
