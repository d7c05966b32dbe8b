"""What was sent, what came back and what it cost; and whether the budget allows one more."""

from __future__ import annotations

from collections.abc import Iterable

from equipoise.frames import Status
from equipoise.models.protocol import Reply
from equipoise.runs.policy import Policy
from equipoise.runs.values import Attempt


class Tally:
    """The running totals of a run. Tokens and cost begin with what the run file holds, requests with none."""

    def __init__(self, policy: Policy, counts: dict[Status, int]) -> None:
        self._policy = policy
        self.counts = counts
        self.prompt_tokens = self.completion_tokens = 0
        self.cost = policy.price(0, 0) if policy.price else None
        self.requests = 0
        self.in_flight = 0
        self.unmetered = False
        """Whether an answer came without a count of its tokens."""
        self._replies = 0
        self._tokens_before, self._cost_before = 0, 0.0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return self.prompt_tokens + self.completion_tokens

    def before(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Count what the run file holds from earlier sittings."""
        self._use(prompt_tokens, completion_tokens)
        self._tokens_before += prompt_tokens + completion_tokens
        if self._policy.price:
            self._cost_before += self._policy.price(prompt_tokens, completion_tokens)

    def sent(self) -> None:
        """Count a request that goes out."""
        self.requests += 1
        self.in_flight += 1

    def came(self) -> None:
        """Count a request that is over, however it ended."""
        self.in_flight -= 1

    def used(self, reply: Reply) -> None:
        """Count what a reply used up, whether or not it is stored yet."""
        self._replies += 1
        if reply.prompt_tokens is None and reply.completion_tokens is None:
            self.unmetered = self.unmetered or reply.answer is not None
            return
        self._use(reply.prompt_tokens or 0, reply.completion_tokens or 0)

    def _use(self, prompt_tokens: int, completion_tokens: int) -> None:
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        if self._policy.price and self.cost is not None:
            self.cost += self._policy.price(prompt_tokens, completion_tokens)

    def stored(self, attempts: Iterable[Attempt]) -> None:
        """Move attempts from pending to the state they ended in."""
        for attempt in attempts:
            self.counts[attempt.reply.status] += 1
            self.counts[Status.PENDING] -= 1

    def over_budget(self) -> str | None:
        """The limit that one more request would pass, those under way counted as large as the others so far."""
        policy, more, replies = self._policy, self.in_flight + 1, max(self._replies, 1)
        if policy.max_requests is not None and self.requests >= policy.max_requests:
            return f"{policy.max_requests:,} requests"
        if policy.max_tokens is not None:
            mean = (self.tokens - self._tokens_before) / replies
            if _passes(self.tokens, more * mean, policy.max_tokens):
                return f"{policy.max_tokens:,} tokens"
        if policy.max_cost is not None and self.cost is not None:
            mean = (self.cost - self._cost_before) / replies
            if _passes(self.cost, more * mean, policy.max_cost):
                return f"{policy.max_cost:,.2f} dollars"
        return None


def _passes(used: float, more: float, limit: float) -> bool:
    rounding = 1e-9 * limit
    return used >= limit - rounding or used + more > limit + rounding
