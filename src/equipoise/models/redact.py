"""Makes foreign text safe to store and show: secrets blotted out, control characters escaped, long text cut."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from equipoise.errors import InputError

REDACTED = "[redacted]"
MIN_SECRET = 8
"""A shorter key is a placeholder such as `none`; blotting it out would change answers."""
RECOGNISED_PREFIX = 12
"""So many characters of a secret are enough to recognise it; the rest of its word is blotted out, too."""
LONGEST_PASSWORD = 20
"""A longer secret is a key, whose first characters are like no word."""
MAX_EXCERPT = 200
WORD = r"[\w\-.~+/=%\\]*"

SECRET_NAME = re.compile(
    r"(?:.*[-_.])?(?:keys?|apikeys?|secrets?|passwords?|passwd|pwd|authorization|signature|sig)"
    r"|(?:.*[-_.])?(?:(?:access|api|auth|bearer|id|refresh|session)[-_]?)token|token|auth|code|credentials?",
    re.IGNORECASE,
)
"""Names whose values are secrets, in the query of a URL or in a request's body."""
SECRET_GROUP = re.compile(r"(?:.*[-_.])?(?:credentials?|secrets|auth|authorization)", re.IGNORECASE)
"""Names of which all fields inside are secrets. (A JSON schema may well describe a field named `key` or `code`.)"""
KEY_WITH_PREFIX = re.compile(
    r"(?<![A-Za-z0-9])(?:sk|pk|rk|gsk|hf|ghp|gho|github_pat|glpat|xai|r8|nvapi|pplx|fw|csk|tgp|AIza|AKIA|ASIA|eyJ)"
    r"[-_]?(?=[\w-]*\d)[\w-]{12,}"
)
LONG_RUN = re.compile(r"[A-Za-z0-9]{24,}")
UUID_OR_HASH = re.compile(r"[0-9a-f]{24,32}", re.IGNORECASE)
"""Ids of accounts and projects, which are no secrets, look like this."""
TAG = re.compile(r"<[^<>]*>")


class Redactor:
    """Blots the secrets of one model out of errors, notes and settings, and finds its keys in answers.

    A secret is recognised by its first twelve characters: as it is, in a URL, in JSON, or in base64. Answers
    are never changed: one that holds a key is not kept at all, and any other secret in it (the value of a
    header, say) may well be an ordinary word.
    """

    def __init__(self, *secrets: str) -> None:
        self._starts: set[str] = set()
        self._key_starts: set[str] = set()
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Blot these out, too, from now on."""
        for secret in secrets:
            self._starts |= {form[:RECOGNISED_PREFIX] for form in _list_forms(secret)}

    def add_keys(self, *keys: str) -> None:
        """Blot these out from now on, and find them in answers."""
        self.add(*keys)
        for key in keys:
            # A short password is recognised as a whole: its beginning may be a word.
            length = RECOGNISED_PREFIX if len(key) > LONGEST_PASSWORD else None
            self._key_starts |= {form[:length] for form in _list_forms(key)}

    def holds_key(self, text: str) -> bool:
        """Whether a text holds one of the keys, in any of the forms in which they are recognised."""
        return any(start in text for start in self._key_starts)

    def redact(self, text: str) -> str:
        """The text without secrets."""
        found = [re.escape(start) for start in self._starts if start in text]
        return re.sub(f"(?:{'|'.join(found)}){WORD}", REDACTED, text) if found else text

    def redact_setting(self, name: str, value: Any) -> Any:
        """The value of a setting as it may be stored: without secrets, at any depth.

        What the name of a field calls a secret is blotted out everywhere from now on.
        """
        if isinstance(value, Mapping):
            is_group = SECRET_GROUP.fullmatch(name) is not None
            fields = {str(key): inner for key, inner in value.items()}
            return {self.redact(key): self.redact_setting(name if is_group else key, fields[key]) for key in fields}
        if isinstance(value, list | tuple):
            return [self.redact_setting(name, inner) for inner in value]
        if isinstance(value, str) and is_secret(name, value):
            if looks_like_key(value):
                self.add_keys(value)
            else:
                self.add(value)
            return REDACTED
        return self.redact(value) if isinstance(value, str) else value


def _list_forms(secret: str) -> list[str]:
    """How a secret may be written: as it is, in a URL, in JSON, in base64; nothing of one that is a placeholder."""
    if len(secret) < MIN_SECRET:
        return []
    in_json = json.dumps(secret)[1:-1]
    in_base64 = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode().rstrip("=")
    return [
        secret,
        quote(secret, safe="", errors="surrogatepass"),
        in_json,
        in_json.replace("/", "\\/"),
        in_base64,
        in_base64.translate(str.maketrans("+/", "-_")),
    ]


def is_secret(name: str, value: object) -> bool:
    """Whether the value of a field is a secret, judged by the field's name."""
    return isinstance(value, str) and SECRET_NAME.fullmatch(name) is not None


def has_known_key(text: str) -> bool:
    """Whether a text holds a word in the format of a service's keys, such as sk-…; "risk-assessment-2026" is none."""
    return KEY_WITH_PREFIX.search(text) is not None


def looks_like_key(text: str) -> bool:
    """Whether a part of an address looks like a key of a service, and not like a name or the id of an account."""
    if has_known_key(text):
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
