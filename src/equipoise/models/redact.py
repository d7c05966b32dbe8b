"""Makes foreign text safe to store and show: secrets blotted out, control characters escaped, long text cut."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from equipoise.errors import InputError

REDACTED = "[redacted]"
RECOGNISED_PREFIX = 12
"""So many characters of a secret are enough to recognise it; the rest of its word is blotted out, too."""
MAX_EXCERPT = 200
MIN_SECRET_IN_ANSWERS, MIN_SECRET_IN_ERRORS = 12, 4
"""A shorter key is a placeholder such as `none`; blotting it out would change answers."""
WORD = r"[\w\-.~+/=%\\]*"
MASK = r"(?:\*{2,}|•{2,}|…|\.{3})"

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


class Redactor:
    """Blots the secrets of one model out of what is stored and shown. A renewed key is one more of them.

    A secret is recognised by its first twelve characters: as it is, in a URL, in JSON, or in base64.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets: set[str] = set()
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Blot these out, too, from now on."""
        self._secrets.update(secrets)
        self._in_answers = _find_starts(self._secrets, MIN_SECRET_IN_ANSWERS)
        self._in_errors = _find_starts(self._secrets, MIN_SECRET_IN_ERRORS)
        masks = [mask for secret in self._secrets if len(secret) >= RECOGNISED_PREFIX for mask in _masks(secret)]
        self._masked = re.compile("|".join(masks) or r"(?!)", re.ASCII)

    def answer(self, text: str) -> str:
        """A text of the model. Masked forms (`sk-ab***yz`) are looked for only where the secret stands beside them."""
        redacted = _redact(text, self._in_answers)
        return text if redacted is text else self._masked.sub(REDACTED, redacted)

    def error(self, text: str) -> str:
        """A message of the endpoint, in which masked forms are common."""
        return self._masked.sub(REDACTED, _redact(text, self._in_errors))

    def setting(self, name: str, value: Any) -> Any:
        """The value of a setting as it may be stored: without what the name of a field calls a secret, at any depth."""
        if isinstance(value, Mapping):
            return {self.answer(str(inner)): self.setting(_inner_name(name, inner), value[inner]) for inner in value}
        if isinstance(value, list | tuple):
            return [self.setting(name, inner) for inner in value]
        if is_secret(name, value):
            return REDACTED
        return self.answer(value) if isinstance(value, str) else value


def _find_starts(secrets: Iterable[str], shortest: int) -> list[str]:
    """How the secrets begin in each way to write them."""
    starts = set()
    for secret in secrets:
        if len(secret) >= shortest:
            data, in_json = secret.encode("utf-8", "surrogatepass"), json.dumps(secret)[1:-1]
            in_url = quote(secret, safe="", errors="surrogatepass")
            in_small_letters = re.sub("%..", lambda escape: escape[0].lower(), in_url)
            in_base64 = base64.b64encode(data).decode().rstrip("=")
            forms = [secret, in_url, in_small_letters, in_json, in_json.replace("/", "\\/")]
            forms += [in_base64, in_base64.translate(str.maketrans("+/", "-_"))]
            starts |= {form[:RECOGNISED_PREFIX] for form in forms}
    return sorted(starts)


def _redact(text: str, starts: Iterable[str]) -> str:
    found = [re.escape(start) for start in starts if start in text]
    return re.sub(f"(?:{'|'.join(found)}){WORD}", REDACTED, text) if found else text


def _masks(secret: str) -> Iterator[str]:
    yield re.escape(secret[:3]) + r"[\w-]{0,12}" + MASK + r"[\w\-*•.…]*"
    yield r"(?<![*•.…])" + MASK + r"[\w-]{0,8}" + re.escape(secret[-4:])


def is_secret(name: str, value: object) -> bool:
    """Whether the value of a field is a secret, judged by the field's name."""
    return isinstance(value, str) and SECRET_NAME.fullmatch(name) is not None


def find_secrets(name: str, value: Any) -> Iterator[str]:
    """All texts in a value that are secrets, judged by the names of the fields they stand in, at any depth."""
    if isinstance(value, Mapping):
        for inner in value:
            yield from find_secrets(_inner_name(name, inner), value[inner])
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from find_secrets(name, inner)
    elif is_secret(name, value):
        yield value


def _inner_name(outer: str, inner: object) -> str:
    return outer if SECRET_GROUP.fullmatch(outer) else str(inner)


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


def excerpt(text: str, limit: int = MAX_EXCERPT) -> str:
    """The beginning of a text on one line, without tags and with unprintable characters escaped."""
    text = " ".join(TAG.sub(" ", text[: 50 * limit]).replace("<", "&lt;").replace(">", "&gt;").split())
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
