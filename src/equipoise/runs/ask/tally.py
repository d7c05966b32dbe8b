"""Counts of requests, tokens and cost, and whether the budget allows one more request."""

from __future__ import annotations

from collections.abc import Iterable

from equipoise.models.protocol import Reply
from equipoise.runs.ask.policy import Policy, Spent
from equipoise.runs.file.values import Attempt
from equipoise.schema import Status


class Tally:
    """The running totals of a run. Tokens and cost include earlier sessions, requests do not."""

    def __init__(self, policy: Policy, counts: dict[Status, int]) -> None:
        self._policy = policy
        self.counts = counts
        spent = policy.spent or Spent()
        self.prompt_tokens, self.completion_tokens = spent.prompt_tokens, spent.completion_tokens
        self.cost = policy.price(0, 0) + spent.cost if policy.price else None
        self.requests = 0
        self.ended = 0
        """Attempts that ended in this session and are stored."""
        self._earlier_requests = spent.requests
        self.in_flight = 0
        self.lacks_token_counts = False
        """Whether an answer came without the number of its tokens."""
        self._replies = 0
        self._earlier_tokens, self._earlier_cost = self.tokens, spent.cost

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return self.prompt_tokens + self.completion_tokens

    def add_earlier_usage(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Count the tokens of earlier sessions."""
        self._add_usage(prompt_tokens, completion_tokens)
        self._earlier_tokens += prompt_tokens + completion_tokens
        if self._policy.price:
            self._earlier_cost += self._policy.price(prompt_tokens, completion_tokens)

    def count_request(self) -> None:
        """Count a request that is sent."""
        self.requests += 1
        self.in_flight += 1

    def count_reply(self, reply: Reply) -> None:
        """Count the tokens of a reply, whether or not it is stored yet."""
        self._replies += 1
        if reply.prompt_tokens is None and reply.completion_tokens is None:
            self.lacks_token_counts = self.lacks_token_counts or reply.answer is not None
            return
        self._add_usage(reply.prompt_tokens or 0, reply.completion_tokens or 0)

    def _add_usage(self, prompt_tokens: int, completion_tokens: int) -> None:
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        if self._policy.price and self.cost is not None:
            self.cost += self._policy.price(prompt_tokens, completion_tokens)

    def count_stored(self, attempts: Iterable[Attempt]) -> None:
        """Move attempts from pending to the state in which they ended."""
        for attempt in attempts:
            self.ended += 1
            self.counts[attempt.reply.status] += 1
            self.counts[Status.PENDING] -= 1

    def limit_reached(self) -> str | None:
        """The limit that one more request would exceed.

        Requests under way, and the next one, are assumed to be as large as the replies of this session on average.
        """
        policy, unknown, replies = self._policy, self.in_flight + 1, max(self._replies, 1)
        if policy.max_requests is not None and self._earlier_requests + self.requests >= policy.max_requests:
            return f"{policy.max_requests:,} requests"
        if policy.max_tokens_total is not None:
            mean = (self.tokens - self._earlier_tokens) / replies
            if _exceeds(self.tokens, unknown * mean, policy.max_tokens_total):
                return f"{policy.max_tokens_total:,} tokens"
        if policy.max_cost is not None and self.cost is not None:
            mean = (self.cost - self._earlier_cost) / replies
            if _exceeds(self.cost, unknown * mean, policy.max_cost):
                return f"{policy.max_cost:,.2f} dollars"
        return None


def _exceeds(spent: float, more: float, limit: float) -> bool:
    rounding = 1e-9 * limit
    return spent >= limit - rounding or spent + more > limit + rounding
