"""What came from outside, made fit to be kept and shown: without secrets, without live characters, short."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

Redact = Callable[[str], str]

REDACTED = "[redacted]"
ENOUGH = 12
"""So many characters of a secret give it away; what follows them goes too."""
EXCERPT = 200
TOKEN = r"[\w\-.~+/=%\\]*"  # noqa: S105 - a pattern
MASK = r"(?:\*{2,}|•{2,}|…|\.{3})"

SECRET_NAME = re.compile(
    r"(?:.*[-_.])?(?:key|apikey|secret|password|passwd|pwd|authorization|signature|sig)"
    r"|(?:(?:access|api|auth|bearer|id|refresh|session)[-_]?)?token|auth|code|credentials?",
    re.IGNORECASE,
)
"""Names whose values are secrets, in the query of a URL or in a request's body."""

TAG = re.compile(r"<[^<>]*>")


def redactor(secrets: Iterable[str], *, shortest: int, thorough: bool) -> Redact:
    """A function that blots out each secret of at least `shortest` characters.

    It finds a secret as it is, URL-encoded, in base64 or in hex, whole or by its first twelve characters, and the
    two ends of it that some endpoints show (`sk-ab***yz`): these everywhere if it is to be thorough, which takes
    time, or else beside the secret.
    """
    found = {secret for secret in secrets if len(secret) >= max(shortest, 1)}
    marks = sorted({mark for secret in found for mark in _forms(secret)}, key=len, reverse=True)
    ends = [end for secret in sorted(found) for end in _ends(secret)]
    pattern = re.compile("|".join([re.escape(mark) + TOKEN for mark in marks] + ends), re.ASCII)

    def redact(text: str) -> str:
        # Looking for plain strings first is a hundred times faster than the pattern.
        for mark in marks:
            if thorough or mark in text:
                return pattern.sub(REDACTED, text)
        return text

    return redact


def _forms(secret: str) -> Iterator[str]:
    start = secret[:ENOUGH]
    yield start
    yield start.replace("/", "\\/")
    quoted = quote(start, safe="")
    yield from (quoted, re.sub("%..", lambda code: code[0].lower(), quoted))
    data = start.encode()
    yield from (data.hex(), data.hex().upper())
    for shift, unsure in ((0, 0), (1, 2), (2, 3)):  # by where it starts in a longer encoded text
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(shift) + data).decode()[unsure : (shift + len(data)) * 8 // 6]


def _ends(secret: str) -> Iterator[str]:
    if len(secret) >= ENOUGH:
        yield re.escape(secret[:3]) + r"[\w-]{0,12}" + MASK + r"[\w\-*•.…]*"
        yield r"(?<![*•.…])" + MASK + r"[\w-]{0,8}" + re.escape(secret[-4:])


def is_secret(name: str, value: object) -> bool:
    """Whether a field's value is a secret, by the field's name."""
    return isinstance(value, str) and SECRET_NAME.fullmatch(name) is not None


def excerpt(text: str, limit: int = EXCERPT) -> str:
    """The beginning of a text on one line: no tags, and what does not print is escaped."""
    text = " ".join(TAG.sub(" ", text[: 50 * limit]).replace("<", "&lt;").replace(">", "&gt;").split())
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
