"""Makes foreign text safe to store and show: secrets blotted out, control characters escaped, long text cut."""

from __future__ import annotations

import base64
import html
import html.entities
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote

from equipoise.errors import InputError

Redact = Callable[[str], str]

REDACTED = "[redacted]"
RECOGNISED_PREFIX = 12
"""So many characters of a secret are enough to recognise it; the characters that follow are blotted out too."""
MAX_EXCERPT = 200
TOKEN = re.compile(r"[\w\-.~+/=%\\]*", re.ASCII)
MASK = r"(?:\*{2,}|•{2,}|…|\.{3})"
SEPARATORS = ":,;.|*_+-\"'\xad\u200b\u200c\u200d\u2060\ufeff"
"""What may stand, beside white space, between the characters of a secret that is spaced out or split over lines."""
WITHOUT_SEPARATORS = dict.fromkeys(map(ord, SEPARATORS + " \t\n\r\f\v"))
SEPARATOR = rf"[\s{re.escape(SEPARATORS)}]{{0,3}}"
ESCAPED = re.compile(r"(?:%|\\x|\\u00)([0-9a-f]{2})|\\/", re.IGNORECASE)

SECRET_NAME = re.compile(
    r"(?:.*[-_.])?(?:keys?|apikeys?|secrets?|passwords?|passwd|pwd|authorization|signature|sig)"
    r"|(?:.*[-_.])?(?:(?:access|api|auth|bearer|id|refresh|session)[-_]?)token|token|auth|code|credentials?",
    re.IGNORECASE,
)
"""Names whose values are secrets, in the query of a URL or in a request's body."""
SECRET_GROUP = re.compile(r"(?:.*[-_.])?(?:credentials?|secrets|auth|authorization)", re.IGNORECASE)
"""Names of which all fields inside are secrets. (A JSON schema may well describe a field named `key` or `code`.)"""
KEY_WITH_PREFIX = re.compile(
    r"(?:sk|pk|rk|gsk|hf|ghp|gho|github_pat|glpat|xai|r8|nvapi|pplx|fw|csk|tgp|AIza|AKIA|ASIA|eyJ)"
    r"[-_]?(?=[\w-]*\d)[\w-]{12,}"
)
LONG_RUN = re.compile(r"[A-Za-z0-9]{24,}")
UUID_OR_HASH = re.compile(r"[0-9a-f]{24,32}", re.IGNORECASE)
"""Ids of accounts and projects, which are no secrets, look like this."""

TAG = re.compile(r"<[^<>]*>")


def make_redactor(secrets: Iterable[str], *, min_length: int, thorough: bool) -> Redact:
    """Return a function that blots out every secret of at least `min_length` characters.

    It recognises a secret by its first twelve characters: as it is, in hex, in base64 at any offset, escaped as in
    URLs, JSON or HTML, spaced out, or split over lines. It also recognises the masked form that some endpoints show
    (`sk-ab***yz`): in every text if `thorough`, which is slower, otherwise only in texts that hold the secret too.
    """
    kept = sorted({secret for secret in secrets if len(secret) >= max(min_length, 1)})
    forms = [form for secret in kept for form in _forms(secret)]
    starts = tuple({form.start for form in forms})
    masked = [re.compile(pattern, re.ASCII) for secret in kept for pattern in _masked_patterns(secret)]

    def holds_secret(text: str) -> bool:
        # Searching for plain strings is a hundred times faster than the patterns.
        bare = _remove_separators(text)
        if any(start in bare for start in starts):
            return True
        if (decoded := _unescape(text)) == text:
            return False
        bare = _remove_separators(decoded)
        return any(start in bare for start in starts)

    def redact(text: str) -> str:
        found = bool(starts) and holds_secret(text)
        for form in forms if found else ():
            text = form.redact(text)
        for pattern in masked if found or thorough else ():
            text = pattern.sub(REDACTED, text)
        return text

    return redact


class _Form:
    """One way to write a secret: a sequence of symbols, each a pattern, perhaps with separators between them."""

    def __init__(self, written: str, symbols: list[str], recognised: int, *, spaced: bool) -> None:
        self.start = _remove_separators(written) or written
        self._symbols = symbols
        self._recognised = recognised
        self._separator = SEPARATOR if spaced else ""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self._separator.join(self._symbols[: self._recognised]))

    @cached_property
    def _rest(self) -> list[re.Pattern[str]]:
        return [re.compile(self._separator + symbol) for symbol in self._symbols[self._recognised :]]

    def redact(self, text: str) -> str:
        """Blot out each place where the secret begins, as far as it goes on, and the rest of the word."""
        pieces, done = [], 0
        while found := self._pattern.search(text, done):
            end = found.end()
            for symbol in self._rest:
                if (following := symbol.match(text, end)) is None:
                    break
                end = following.end()
            word = TOKEN.match(text, end)
            pieces += [text[done : found.start()], REDACTED]
            done = word.end() if word else end
        return "".join([*pieces, text[done:]])


def _forms(secret: str) -> Iterator[_Form]:
    spaced = len(secret) >= RECOGNISED_PREFIX
    start, data = secret[:RECOGNISED_PREFIX], secret.encode()
    yield _Form(start, [_spellings(char) for char in secret], len(start), spaced=spaced)
    prefix = start.encode()
    for written in (prefix.hex(), prefix.hex().upper()):
        symbols = [rf"(?i:(?:0x|\\x)?{digit})" for digit in data.hex()]
        yield _Form(written, symbols, 2 * len(prefix), spaced=spaced)
    # In base64 it looks different at each of three offsets; its first characters also depend on the text before it.
    for offset, foreign in ((0, 0), (1, 2), (2, 3)):
        recognised = (offset + len(prefix)) * 8 // 6 - foreign
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(bytes(offset) + data).decode()[foreign : (offset + len(data)) * 8 // 6]
            yield _Form(encoded[:recognised], [re.escape(char) for char in encoded], recognised, spaced=spaced)


def _spellings(char: str) -> str:
    """A pattern for a character as it is, or escaped as in URLs, JSON or HTML."""
    code = ord(char)
    names = [name for name, value in html.entities.html5.items() if value == char and name.endswith(";")]
    quoted = re.escape(quote(char, safe="")) if not char.isascii() else f"%{code:02x}"
    escapes = [quoted, rf"\\x{code:02x}", rf"\\u{code:04x}", rf"&#0*{code};", f"&#x0*{code:x};"]
    plain = [re.escape(char), re.escape("\\" + char), *(re.escape(f"&{name}") for name in names)]
    return f"(?:{'|'.join(plain)}|(?i:{'|'.join(escapes)}))"


def _remove_separators(text: str) -> str:
    """The text without separators, and without all other characters that are not ASCII."""
    if not text.isascii():
        text = text.encode("ascii", "ignore").decode()  # `translate` is fast for ASCII only.
    return text.translate(WITHOUT_SEPARATORS)


def _unescape(text: str) -> str:
    """The text with the escapes of URLs, JSON and HTML replaced by what they stand for, and without `0x`."""
    text = text.replace("0x", "")
    if "%" in text or "\\" in text:
        text = ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else "/", text)
    return html.unescape(text) if "&" in text else text


def _masked_patterns(secret: str) -> Iterator[str]:
    if len(secret) >= RECOGNISED_PREFIX:
        yield re.escape(secret[:3]) + r"[\w-]{0,12}" + MASK + r"[\w\-*•.…]*"
        yield r"(?<![*•.…])" + MASK + r"[\w-]{0,8}" + re.escape(secret[-4:])


def is_secret(name: str, value: object) -> bool:
    """Whether the value of a field is a secret, judged by the field's name."""
    return isinstance(value, str) and SECRET_NAME.fullmatch(name) is not None


def looks_like_key(text: str) -> bool:
    """Whether a text looks like a key of a service, and not like a name, a date or the id of an account."""
    if KEY_WITH_PREFIX.search(text):
        return True
    runs = [run for run in LONG_RUN.findall(text) if not UUID_OR_HASH.fullmatch(run)]
    return any(re.search(r"\d", run) and re.search(r"[A-Za-z]", run) for run in runs)


def refuse_key_as_name(variable: str) -> None:
    """Refuse the name of an environment variable that is none, or that looks like a key, without showing it."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable) is None or looks_like_key(variable):
        raise InputError(
            "--key-variable takes the name of an environment variable, as in OPENAI_API_KEY, and not the key itself. "
            "What was given is no such name; it is not shown here, because it may be the key."
        )


def find_secrets(name: str, value: Any) -> Iterator[str]:
    """All texts in a value that are secrets, judged by the names of the fields they stand in, at any depth."""
    if isinstance(value, Mapping):
        for inner_name, inner in value.items():
            yield from find_secrets(name if SECRET_GROUP.fullmatch(name) else str(inner_name), inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from find_secrets(name, inner)
    elif is_secret(name, value):
        yield value


def without_secrets(name: str, value: Any, redact: Redact) -> Any:
    """The value of a setting as it may be stored."""
    if isinstance(value, str):
        return REDACTED if is_secret(name, value) else redact(value)
    if isinstance(value, Mapping):
        secret = SECRET_GROUP.fullmatch(name) is not None
        return {
            redact(str(inner_name)): without_secrets(name if secret else str(inner_name), inner, redact)
            for inner_name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(name, inner, redact) for inner in value]
    return value


def holds_redacted(value: Any) -> bool:
    """Whether a stored value lacks a secret that was in it."""
    if isinstance(value, Mapping):
        return any(holds_redacted(inner) for pair in value.items() for inner in pair)
    if isinstance(value, list | tuple):
        return any(holds_redacted(inner) for inner in value)
    return isinstance(value, str) and REDACTED in value


def excerpt(text: str, limit: int = MAX_EXCERPT) -> str:
    """The beginning of a text on one line, without tags and with unprintable characters escaped."""
    text = " ".join(TAG.sub(" ", text[: 50 * limit]).replace("<", "&lt;").replace(">", "&gt;").split())
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
