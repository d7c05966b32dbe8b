"""Counts of requests, tokens and cost, and whether the budget allows one more request."""

from __future__ import annotations

from collections.abc import Iterable

from equipoise.models.protocol import Reply
from equipoise.runs.ask.policy import Policy, Spent
from equipoise.runs.file.values import Attempt
from equipoise.schema import Status


class Tally:
    """The running totals of a run. Tokens and cost include earlier sessions, requests do not."""

    def __init__(self, policy: Policy, counts: dict[Status, int], used: tuple[int, int] = (0, 0)) -> None:
        """`used` are the tokens of prompts and of answers that the run file holds."""
        self._policy = policy
        self._before = policy.spent or Spent()
        self._used = used
        self.counts = counts
        self.requests = self.in_flight = self._replies = 0
        self.ended = 0
        """Attempts that ended in this session and are stored."""
        self._sent_tokens = self._received_tokens = 0
        """Those of this session."""
        self.is_blind = False
        """Whether tokens are limited, and an answer came without the number of its tokens."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all prompts."""
        return self._before.prompt_tokens + self._used[0] + self._sent_tokens

    @property
    def completion_tokens(self) -> int:
        """Tokens of all answers."""
        return self._before.completion_tokens + self._used[1] + self._received_tokens

    @property
    def cost(self) -> float | None:
        """Money for all tokens, if the price is known."""
        price, (prompts, completions) = self._policy.price, self._used
        if price is None:
            return None
        return self._before.cost + price(prompts + self._sent_tokens, completions + self._received_tokens)

    def count_request(self) -> None:
        """Count a request that is sent."""
        self.requests += 1
        self.in_flight += 1

    def count_reply(self, reply: Reply) -> None:
        """Count the tokens of a reply, whether or not it is stored yet."""
        self._replies += 1
        limits_tokens = self._policy.max_tokens_total is not None or self._policy.max_cost is not None
        if limits_tokens and reply.answer is not None and reply.prompt_tokens is reply.completion_tokens is None:
            self.is_blind = True
        self._sent_tokens += reply.prompt_tokens or 0
        self._received_tokens += reply.completion_tokens or 0

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
        policy, unknown = self._policy, (self.in_flight + 1) / max(self._replies, 1)
        sent, received = self._sent_tokens, self._received_tokens
        tokens = self.prompt_tokens + self.completion_tokens
        if _exceeds(self._before.requests + self.requests, 1, policy.max_requests):
            return f"{policy.max_requests:,} requests"
        if _exceeds(tokens, unknown * (sent + received), policy.max_tokens_total):
            return f"{policy.max_tokens_total:,} tokens"
        if policy.price and _exceeds(self.cost or 0.0, unknown * policy.price(sent, received), policy.max_cost):
            return f"{policy.max_cost:,.2f} dollars"
        return None


def _exceeds(spent: float, more: float, limit: float | None) -> bool:
    if limit is None:
        return False
    rounding = 1e-9 * limit
    return spent >= limit - rounding or spent + more > limit + rounding
