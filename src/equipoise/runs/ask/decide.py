"""What to do about a request that failed: a function of the fault, the attempt and the endpoint.

The first row that fits decides. "Answered" means that any reply came, whatever the prompt.

    fault                               and                                          decision
    timeout                             noticed long after the deadline              RetryNow: this process stood still
    malformed, client                   the 20th of its kind, and nothing answered   StopRun
    client                                                                           GiveUp
    rate_limit                          longer wait asked for than `patience`        StopRun
                                        nothing answered for longer than `patience`  StopRun
                                        the endpoint says when to come back          RetryAt, for everybody
                                        nothing answered for 30 seconds              RetryAt, for everybody
                                                                                     RetryAt
    server, connection, timeout,        requests and time are left                   RetryAt (for everybody, if the
    malformed                                                                        endpoint says when)
    server, connection, timeout                                                      TestEndpoint
    malformed                                                                        GiveUp

Waiting for a rate limit uses up neither the requests nor the time of an attempt. `TestEndpoint` asks whether
the attempt or the endpoint fails: a prompt that was answered before is sent alone, with growing pauses
(`decide_test`). If it is answered at once, the attempt gives up; if not, there was an outage, and what
failed in it is asked again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from equipoise.models.protocol import Reply, TransientFault
from equipoise.models.redact import excerpt
from equipoise.runs.ask.events import describe_duration
from equipoise.schema import Status

OUTAGE_KINDS = frozenset({"connection", "server", "timeout"})
"""Kinds of faults by which an endpoint that is down shows itself."""
MAX_REQUESTS_MALFORMED = 3
"""Requests per attempt, if its responses cannot be read."""
MAX_SAME_FAILURES = 20
"""This many failures of one kind without any answer between them end the run."""
FIRST_BACKOFF = 0.5
"""Seconds of the first pause before something is asked again; each is twice the one before."""
LONGEST_BACKOFF = 30.0
START_PATIENCE = 3.0
"""Seconds for which an endpoint is tried that was never reached: it is probably misconfigured."""
STANDSTILL_SECONDS = 1.0
"""A deadline that is noticed later than this: the process stood still (SIGSTOP)."""
RATE_LIMIT = "rate limit"
OUTAGE = "outage"


@dataclass(frozen=True, kw_only=True)
class RetryNow:
    """Ask again at once, as if the attempt had just begun."""


@dataclass(frozen=True, kw_only=True)
class RetryAt:
    """Ask again at this time."""

    time: float
    for_everybody: bool = False
    """Whether nothing else is sent before that time, either."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class TestEndpoint:
    """See whether the endpoint answers anything, before the attempt is given up."""

    __test__ = False


@dataclass(frozen=True, kw_only=True)
class GiveUp:
    """The attempt ends with its last fault."""


@dataclass(frozen=True, kw_only=True)
class StopRun:
    """Send nothing more; what has not ended stays pending."""

    reason: str


Decision = RetryNow | RetryAt | TestEndpoint | GiveUp | StopRun


@dataclass(kw_only=True, slots=True)
class AttemptState:
    """How far the asking for one attempt is."""

    seconds_left: float
    """For its further requests and the pauses between them; waits for rate limits do not count."""
    outages: int
    """How many outages there had been when it began, or began again."""
    requests: int = 0
    failures: int = 0
    """Requests that failed since it began, other than by rate limits."""
    refusals: int = 0
    """Requests that failed by rate limits since it began."""
    failing_since: float = 0.0
    """When the first of them was noticed."""
    spent: list[Reply] = field(default_factory=list)
    """Replies whose token limit went into reasoning; they were paid for."""

    def begin_again(self, seconds: float, outages: int) -> None:
        """Forget the failures."""
        self.seconds_left = seconds
        self.outages = outages
        self.failures = 0
        self.refusals = 0

    def note_failure(self, fault: TransientFault, now: float) -> None:
        """Count a request that failed."""
        if not self.failures + self.refusals:
            self.failing_since = now
        if fault.kind == "rate_limit":
            self.refusals += 1
        else:
            self.failures += 1


@dataclass(kw_only=True, slots=True)
class EndpointState:
    """What is known of an endpoint; all attempts share it."""

    name: str
    responded_at: float
    """When the last request was sent to which any response came: an answer, or an error other than an outage."""
    is_reached: bool = False
    """Whether anything ever came back."""
    unanswered_since: float | None = None
    """When the first request failed after the last answer; None if none did."""
    rate_limits: int = 0
    """Rate limits since the last answer; those of requests that were under way together count once."""
    outages: int = 0
    """How many tests of the endpoint have failed."""
    same_failure: str = ""
    same_failures: int = 0
    """How many failures of the same kind there were since the last answer."""

    def note_failure(self, now: float) -> None:
        """Note that a request failed, and when."""
        if self.unanswered_since is None:
            self.unanswered_since = now

    def note_answer(self) -> None:
        """Note that a reply came, whatever it says."""
        self.is_reached = True
        self.unanswered_since = None
        self.rate_limits = 0

    def note_response(self, sent: float) -> None:
        """Note that the endpoint worked when this request was sent."""
        self.is_reached = True
        self.responded_at = max(self.responded_at, sent)

    def count_same(self, failure: str) -> int:
        """How many times in a row something failed in this way."""
        if failure != self.same_failure:
            self.same_failure = failure
            self.same_failures = 0
        self.same_failures += 1
        return self.same_failures

    def forget_same(self) -> None:
        """Start to count anew: something was answered."""
        self.same_failure = ""
        self.same_failures = 0

    def seconds_unanswered(self, now: float) -> float:
        """For how long nothing was answered."""
        return 0.0 if self.unanswered_since is None else now - self.unanswered_since


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the user allows."""

    tries: int
    """Requests per attempt, if it fails."""
    patience: float
    """Seconds for which an endpoint may answer nothing."""


def decide(
    fault: TransientFault,
    attempt: AttemptState,
    endpoint: EndpointState,
    rules: Rules,
    *,
    sent: float,
    now: float,
    random: Random,
) -> Decision:
    """What to do about a request that was sent at one time and had failed at another.

    Both states already count this failure.
    """
    took = now - sent
    if fault.kind == "timeout" and took > attempt.seconds_left + STANDSTILL_SECONDS:
        return RetryNow()
    if endpoint.same_failures >= MAX_SAME_FAILURES:
        return StopRun(reason=describe_same_failures(endpoint, fault.reply))
    if fault.kind == "client":
        return GiveUp()
    backoff = find_backoff(attempt, endpoint, random)
    if fault.kind == "rate_limit":
        return _wait_for_rate_limit(fault, endpoint, rules, now, backoff)
    limit = MAX_REQUESTS_MALFORMED if fault.kind == "malformed" else rules.tries
    if attempt.failures < limit and endpoint.is_reached:
        if fault.retry_after is not None:
            if fault.retry_after > rules.patience:
                return StopRun(reason=_describe_long_wait(fault.retry_after, rules, fault.reply.detail))
            # Some endpoints ask for no wait at all, or for one in the past.
            return RetryAt(time=now + max(fault.retry_after, backoff), for_everybody=True, reason=OUTAGE)
        # With less time than the pause before it, a request would only turn what is known into a timeout.
        if attempt.seconds_left - took - backoff >= backoff:
            return RetryAt(time=now + backoff)
    if fault.kind in OUTAGE_KINDS:
        return TestEndpoint()
    return GiveUp()


def _wait_for_rate_limit(
    fault: TransientFault, endpoint: EndpointState, rules: Rules, now: float, backoff: float
) -> Decision:
    """When to ask again after a rate limit, or why not."""
    unanswered = endpoint.seconds_unanswered(now)
    detail = fault.reply.detail
    if fault.retry_after is not None and fault.retry_after > rules.patience:
        return StopRun(reason=_describe_long_wait(fault.retry_after, rules, detail))
    if unanswered > rules.patience:
        return StopRun(
            reason=f"{endpoint.name} has refused all requests for {describe_duration(unanswered)}: rate limit "
            f"({detail}). The maximum is {describe_duration(rules.patience)} (--patience)."
        )
    if fault.retry_after is not None:
        pause = max(fault.retry_after, backoff)
        return RetryAt(time=now + pause, for_everybody=True, reason=RATE_LIMIT)
    if unanswered >= LONGEST_BACKOFF:
        reason = f"{RATE_LIMIT}: all requests refused for {describe_duration(unanswered)}"
        return RetryAt(time=now + backoff, for_everybody=True, reason=reason)
    return RetryAt(time=now + backoff)


def decide_test(
    fault: TransientFault,
    endpoint: EndpointState,
    rules: Rules,
    *,
    since: float,
    now: float,
    was_down: bool,
) -> RetryAt | StopRun:
    """When to send the next test of an endpoint that has failed since then, or why to stop."""
    unanswered = max(now - since, endpoint.seconds_unanswered(now))
    patience = rules.patience if endpoint.is_reached else START_PATIENCE
    if was_down and unanswered > patience:
        return StopRun(
            reason=f"{endpoint.name} has not answered for {describe_duration(unanswered)}: {fault.reply.detail}. "
            "Check the address, the network and that the server runs."
        )
    asked = fault.retry_after or 0.0
    if asked > rules.patience:
        return StopRun(reason=_describe_long_wait(asked, rules, fault.reply.detail))
    pause = max(FIRST_BACKOFF, min(LONGEST_BACKOFF, now - since), asked)
    return RetryAt(time=now + pause, for_everybody=True, reason=f"{OUTAGE}: {excerpt(fault.reply.detail or '', 100)}")


def find_backoff(attempt: AttemptState, endpoint: EndpointState, random: Random) -> float:
    """The next of the growing pauses, at random so that attempts do not come back together."""
    failures = max(attempt.failures + attempt.refusals, endpoint.rate_limits)
    doublings = min(failures - 1, 10)
    return min(LONGEST_BACKOFF, FIRST_BACKOFF * 2.0**doublings) * random.uniform(0.5, 1.0)


def _describe_long_wait(seconds: float, rules: Rules, detail: str | None) -> str:
    return (
        f"The endpoint asked for a pause of {describe_duration(seconds)}; the maximum is "
        f"{describe_duration(rules.patience)} (--patience). It says: {detail}"
    )


FAILURES_IN_WORDS = {
    "malformed": "responses in a row that cannot be read",
    "context_length": "prompts in a row that are too long for the model",
    "program": "failures in a row",
}


def describe_same_failures(endpoint: EndpointState, reply: Reply) -> str:
    """Why a run stops after many failures of one kind, with what the endpoint said last."""
    kind = endpoint.same_failure.partition(":")[0]
    detail = reply.detail or ""
    if reply.raw:
        body = reply.raw[:300].decode("utf-8", "replace")
        detail += f". It begins with: {excerpt(body, 100)}"
    words = FAILURES_IN_WORDS.get(kind, "errors in a row of the same kind")
    return f"{endpoint.name} has given {MAX_SAME_FAILURES} {words}, and no answer between them: {detail}"


def name_failure(reply: Reply) -> str | None:
    """The kind of a reply that is a failure which asking again would not change; None if it does not count."""
    if reply.status == Status.CONTEXT_LENGTH:
        return "context_length"
    if reply.status == Status.MALFORMED:
        return "program"
    return None
