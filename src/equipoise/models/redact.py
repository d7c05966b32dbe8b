"""Makes foreign text safe to store and show: secrets blotted out, control characters escaped, long text cut."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

Redact = Callable[[str], str]

REDACTED = "[redacted]"
RECOGNISED_PREFIX = 12
"""So many characters of a secret are enough to recognise it; the characters that follow are blotted out too."""
MAX_EXCERPT = 200
TOKEN = r"[\w\-.~+/=%\\]*"  # noqa: S105 - a pattern
MASK = r"(?:\*{2,}|•{2,}|…|\.{3})"

SECRET_NAME = re.compile(
    r"(?:.*[-_.])?(?:key|apikey|secret|password|passwd|pwd|authorization|signature|sig)"
    r"|(?:(?:access|api|auth|bearer|id|refresh|session)[-_]?)?token|auth|code|credentials?",
    re.IGNORECASE,
)
"""Names whose values are secrets, in the query of a URL or in a request's body."""

TAG = re.compile(r"<[^<>]*>")


def make_redactor(secrets: Iterable[str], *, min_length: int, thorough: bool) -> Redact:
    """Return a function that blots out every secret of at least `min_length` characters.

    It recognises a secret as it is, URL-encoded, in base64 or in hex, by its first twelve characters. It also
    recognises the masked form that some endpoints show (`sk-ab***yz`): in every text if `thorough`, which is slower,
    otherwise only in texts that hold the secret itself too.
    """
    kept = {secret for secret in secrets if len(secret) >= max(min_length, 1)}
    prefixes = sorted({form for secret in kept for form in _encoded_prefixes(secret)}, key=len, reverse=True)
    masked = [pattern for secret in sorted(kept) for pattern in _masked_patterns(secret)]
    pattern = re.compile("|".join([re.escape(prefix) + TOKEN for prefix in prefixes] + masked), re.ASCII)

    def redact(text: str) -> str:
        # Searching for plain strings first is a hundred times faster than the pattern.
        for prefix in prefixes:
            if thorough or prefix in text:
                return pattern.sub(REDACTED, text)
        return text

    return redact


def _encoded_prefixes(secret: str) -> Iterator[str]:
    start = secret[:RECOGNISED_PREFIX]
    yield start
    yield start.replace("/", "\\/")
    quoted = quote(start, safe="")
    yield from (quoted, re.sub("%..", lambda code: code[0].lower(), quoted))
    data = start.encode()
    yield from (data.hex(), data.hex().upper())
    # In base64 it looks different at each of three offsets; its first characters also depend on the text before it.
    for offset, foreign in ((0, 0), (1, 2), (2, 3)):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(offset) + data).decode()[foreign : (offset + len(data)) * 8 // 6]


def _masked_patterns(secret: str) -> Iterator[str]:
    if len(secret) >= RECOGNISED_PREFIX:
        yield re.escape(secret[:3]) + r"[\w-]{0,12}" + MASK + r"[\w\-*•.…]*"
        yield r"(?<![*•.…])" + MASK + r"[\w-]{0,8}" + re.escape(secret[-4:])


def is_secret(name: str, value: object) -> bool:
    """Whether the value of a field is a secret, judged by the field's name."""
    return isinstance(value, str) and SECRET_NAME.fullmatch(name) is not None


def excerpt(text: str, limit: int = MAX_EXCERPT) -> str:
    """The beginning of a text on one line, without tags and with unprintable characters escaped."""
    text = " ".join(TAG.sub(" ", text[: 50 * limit]).replace("<", "&lt;").replace(">", "&gt;").split())
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
