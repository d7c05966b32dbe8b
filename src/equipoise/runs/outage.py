"""Telling a broken connection from an endpoint that is gone, and when to give up on it."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.errors import EndpointError
from equipoise.runs.policy import Policy

_SUSPICIOUS = 3
"""Attempts that lose their connection with no sign of life between them."""


class Outage:
    """What broken connections, seen together, say about the endpoint.

    Nothing reached from the start: give up soon, something is misconfigured. Connections of several attempts lost one
    after another: the endpoint is gone for a while, so it is tried with one request at growing intervals, and the
    attempts that met it are not to blame.
    """

    def __init__(self, policy: Policy, name: str, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._name = name
        self._clock = clock
        self._reached = False
        self._began: float | None = None
        self._lost: set[object] = set()
        self._faults = 0
        self._since: float | None = None
        self._tried = 0.0
        self._interval = 0.0

    @property
    def over(self) -> bool:
        """Whether the endpoint can be reached, as far as is known."""
        return self._since is None

    def alive(self) -> None:
        """Something came back, whatever it was."""
        self._reached = True
        if self._lost:
            self._lost.clear()
            self._since = None

    def lost(self, attempt: object, sent: float, detail: str | None) -> float | None:
        """Count a lost connection; give how long to pause if it is an outage, None if it is the attempt's own.

        Raises EndpointError when it is time to give up.
        """
        now = self._clock()
        if not self._reached:
            return self._lost_at_start(sent, now, detail)
        self._lost.add(attempt)
        if self._since is None:
            if len(self._lost) < _SUSPICIOUS:
                return None
            self._since = now
            self._interval = self._policy.first_backoff
        elif sent < self._tried:
            return 0.0  # sent before the last pause began, so it tells nothing new
        elif now - self._since > self._policy.outage_patience:
            raise EndpointError(
                f"{self._name} could not be reached for {duration(now - self._since)}: {detail or 'no connection'}."
            )
        self._interval = min(self._policy.longest_backoff, self._interval * 2)
        self._tried = now
        return self._interval

    def _lost_at_start(self, sent: float, now: float, detail: str | None) -> float:
        self._began = sent if self._began is None else self._began
        self._faults += 1
        pause = min(self._policy.longest_backoff, self._policy.first_backoff * 2.0 ** (self._faults - 1))
        another = pause + (now - sent)
        if self._faults >= self._policy.tries or now - self._began + another > self._policy.start_patience:
            raise EndpointError(
                f"{self._name} cannot be reached: {detail or 'no connection'} "
                f"({self._faults} tries). Check the address, the network and that the server runs."
            )
        return pause


def duration(seconds: float) -> str:
    """So many seconds, as people say it."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
