"""Telling a failure of one attempt from an endpoint that is down, and when to give up on it."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.errors import EndpointError
from equipoise.runs.ask.events import describe_duration
from equipoise.runs.ask.policy import Policy

OUTAGE_KINDS = frozenset({"connection", "server", "timeout"})
"""Kinds of faults by which an endpoint that is down shows itself."""
_LOST_CONNECTIONS_BEFORE_OUTAGE = 3
_FAILED_ATTEMPTS_BEFORE_OUTAGE = 5
"""So many attempts that fail, without any response between them, are an outage."""


class Outage:
    """What all failures together say about the endpoint.

    If it cannot be reached from the start, something is misconfigured: give up soon. If several attempts fail one after
    another, the endpoint is down for a while: it is tried with one request at growing intervals, and the attempts that
    met the outage do not end by it.
    """

    def __init__(self, policy: Policy, name: str, clock: Callable[[], float]) -> None:
        self._policy = policy
        self._name = name
        self._clock = clock
        self._reached = False
        self._first_sent: float | None = None
        self._faults_at_start = 0
        self._attempts: set[object] = set()
        """Attempts that failed since the last response."""
        self._since: float | None = None
        self._last_pause = 0.0
        self._interval = 0.0
        self.confirmed = False
        """Whether a request has failed after the outage was assumed."""

    @property
    def over(self) -> bool:
        """Whether the endpoint works, as far as is known."""
        return self._since is None

    def count_contact(self) -> None:
        """Note that the endpoint can be reached, whatever it said."""
        self._reached = True

    def count_response(self) -> None:
        """Note that the endpoint works."""
        self._reached = True
        if self._attempts:
            self._attempts.clear()
            self._since = None
            self.confirmed = False

    def count_failure(self, kind: str, attempt: object, sent: float, detail: str | None) -> float | None:
        """Return how long to pause if this is an outage, None if it concerns only this attempt.

        Raises EndpointError when it is time to give up.
        """
        now = self._clock()
        if kind != "connection":
            self._reached = True
        elif not self._reached:
            return self._count_lost_at_start(sent, now, detail)
        self._attempts.add(attempt)
        if self._since is None:
            lost = kind == "connection"
            needed = _LOST_CONNECTIONS_BEFORE_OUTAGE if lost else _FAILED_ATTEMPTS_BEFORE_OUTAGE
            if len(self._attempts) < needed:
                return None
            self._since = now
            self._interval = self._policy.first_backoff
        elif sent < self._last_pause:
            return 0.0  # it was sent before the last pause began, so it says nothing new
        elif now - self._since > self._policy.outage_patience:
            problem = "could not be reached" if kind == "connection" else "has only failed"
            raise EndpointError(
                f"{self._name} {problem} for {describe_duration(now - self._since)}: {detail or 'no connection'}."
            )
        else:
            self.confirmed = True
        self._interval = min(self._policy.longest_backoff, self._interval * 2)
        self._last_pause = now
        return self._interval

    def _count_lost_at_start(self, sent: float, now: float, detail: str | None) -> float:
        self._first_sent = sent if self._first_sent is None else self._first_sent
        self._faults_at_start += 1
        pause = min(self._policy.longest_backoff, self._policy.first_backoff * 2.0 ** (self._faults_at_start - 1))
        elapsed, next_try = now - self._first_sent, pause + (now - sent)
        if self._faults_at_start >= self._policy.tries or elapsed + next_try > self._policy.start_patience:
            tries = "1 try" if self._faults_at_start == 1 else f"{self._faults_at_start} tries"
            raise EndpointError(
                f"{self._name} cannot be reached: {detail or 'no connection'} "
                f"({tries}). Check the address, the network and that the server runs."
            )
        return pause
