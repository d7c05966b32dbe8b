"""Telling a broken connection from an endpoint that is down, and when to give up on it."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.errors import EndpointError
from equipoise.runs.ask.events import describe_duration
from equipoise.runs.ask.policy import Policy

_ATTEMPTS_BEFORE_OUTAGE = 3
"""So many attempts that lose their connection, without any response between them, are an outage."""


class Outage:
    """What all broken connections together say about the endpoint.

    If it cannot be reached from the start, something is misconfigured: give up soon. If several attempts lose their
    connections one after another, the endpoint is down for a while: it is tried with one request at growing intervals,
    and the attempts that met the outage do not end by it.
    """

    def __init__(self, policy: Policy, name: str, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._name = name
        self._clock = clock
        self._reached = False
        self._first_sent: float | None = None
        self._faults_at_start = 0
        self._attempts: set[object] = set()
        """Attempts that lost their connection since the last response."""
        self._since: float | None = None
        self._last_pause = 0.0
        self._interval = 0.0

    @property
    def over(self) -> bool:
        """Whether the endpoint can be reached, as far as is known."""
        return self._since is None

    def count_response(self) -> None:
        """Note that the endpoint responded, whatever it said."""
        self._reached = True
        if self._attempts:
            self._attempts.clear()
            self._since = None

    def count_lost_connection(self, attempt: object, sent: float, detail: str | None) -> float | None:
        """Return how long to pause if this is an outage, None if it concerns only this attempt.

        Raises EndpointError when it is time to give up.
        """
        now = self._clock()
        if not self._reached:
            return self._count_lost_at_start(sent, now, detail)
        self._attempts.add(attempt)
        if self._since is None:
            if len(self._attempts) < _ATTEMPTS_BEFORE_OUTAGE:
                return None
            self._since = now
            self._interval = self._policy.first_backoff
        elif sent < self._last_pause:
            return 0.0  # it was sent before the last pause began, so it says nothing new
        elif now - self._since > self._policy.outage_patience:
            raise EndpointError(
                f"{self._name} could not be reached for {describe_duration(now - self._since)}: "
                f"{detail or 'no connection'}."
            )
        self._interval = min(self._policy.longest_backoff, self._interval * 2)
        self._last_pause = now
        return self._interval

    def _count_lost_at_start(self, sent: float, now: float, detail: str | None) -> float:
        self._first_sent = sent if self._first_sent is None else self._first_sent
        self._faults_at_start += 1
        pause = min(self._policy.longest_backoff, self._policy.first_backoff * 2.0 ** (self._faults_at_start - 1))
        elapsed, next_try = now - self._first_sent, pause + (now - sent)
        if self._faults_at_start >= self._policy.tries or elapsed + next_try > self._policy.start_patience:
            raise EndpointError(
                f"{self._name} cannot be reached: {detail or 'no connection'} "
                f"({self._faults_at_start} tries). Check the address, the network and that the server runs."
            )
        return pause
