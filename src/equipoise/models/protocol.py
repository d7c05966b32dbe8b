"""Where the program meets a model: one prompt in, one reply or one named failure out.

A model asks once. Asking again, waiting, budgets and the order of things are the pump's (`runs/pump.py`):

    Reply       what becomes of the attempt: an answer, or a state that asking again would not change
    Passing     a fault that may pass (429, 5xx, a broken connection, broken JSON): the pump may ask again
    Refused     nothing will be answered (key, quota, unknown model, redirect): the run stops, exit 4
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from equipoise.errors import EndpointError
from equipoise.frames import Status


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What became of one request. `answer` is there for `ok` and `truncated`; `detail` says why for the others."""

    status: Status
    answer: str | None = None
    reasoning: str | None = None
    detail: str | None = None
    raw: bytes | None = None
    """The body as it came, kept where it could not be read (at most 64 kB)."""
    served_model: str | None = None
    finish_reason: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency: float | None = None


class Passing(Exception):
    """A fault that may pass. If it does not, the attempt ends as `reply`."""

    def __init__(self, reply: Reply, *, kind: str, retry_after: float | None = None) -> None:
        super().__init__(reply.detail)
        self.reply = reply
        self.kind = kind
        """`rate_limit`, `server`, `connection`, `malformed`, `timeout`, or `client` (any other 4xx)."""
        self.retry_after = retry_after
        """Seconds the endpoint asks to wait."""


class Refused(EndpointError):
    """Nothing more will be answered: a wrong key, an exhausted quota, an unknown model, a redirect."""


class Model(Protocol):
    """Who answers. Opened with `async with`; many `answer` calls may be under way at a time."""

    @property
    def name(self) -> str:
        """The name it was asked for by, as shown and stored."""
        ...

    @property
    def settings(self) -> dict[str, object]:
        """What shapes its answers (parameters, base URL, …), as stored in the run: never a secret."""
        ...

    @property
    def notes(self) -> list[str]:
        """What the user should know, said once each (a rejected parameter that was dropped, …). Grows while asking."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc_info: object) -> None: ...

    async def answer(self, prompt: str) -> Reply:
        """One request: a reply, or `Passing`, or `Refused`."""
        ...
