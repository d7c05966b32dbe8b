"""The budget of a session: requests, tokens and money, for the model and its judge together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from equipoise.errors import BudgetReached
from equipoise.models.protocol import Reply
from equipoise.runs.file.reader import RunReader
from equipoise.runs.spec import RunSpec

PriceFunction = Callable[[int, int], float]
"""Takes the tokens of prompts and of answers; returns what they cost."""
ROLES = ("model", "judge")


class Budget:
    """What a session has used. Tokens and money include earlier sessions, requests do not."""

    def __init__(self, spec: RunSpec, file: RunReader, prices: Mapping[str, PriceFunction | None]) -> None:
        """`prices` are those of the "model" and of the "judge", if there is one; None if they are not known."""
        self._spec, self._prices = spec, prices
        self.requests = self._under_way = self._replies = 0
        self.prompt_tokens = self.completion_tokens = 0
        self.cost: float | None = None if None in prices.values() else 0.0
        for role in ROLES:
            self._add(role, *file.usage(role))
        self._earlier = self._spent
        self.is_blind = False
        """Whether tokens are limited, and an answer came without the number of its tokens."""

    @property
    def _spent(self) -> tuple[int, float]:
        """Tokens and money, as far as they are known."""
        return self.prompt_tokens + self.completion_tokens, self.cost or 0.0

    def _add(self, role: str, prompt_tokens: int, completion_tokens: int) -> None:
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        price = self._prices.get(role)
        if price and self.cost is not None:
            self.cost += price(prompt_tokens, completion_tokens)

    def begin_request(self) -> None:
        """Count a request that is sent now; BudgetReached if it could exceed a limit.

        Requests under way, and this one, are assumed to be as large as the replies of this session on average.
        """
        (tokens, cost), coming = self._spent, (self._under_way + 1) / max(self._replies, 1)
        for unit, limit, spent, more in (
            ("{:,} requests", self._spec.max_requests, self.requests, 1),
            ("{:,} tokens", self._spec.max_tokens_total, tokens, coming * (tokens - self._earlier[0])),
            ("{:,.2f} dollars", self._spec.max_cost, cost, coming * (cost - self._earlier[1])),
        ):
            if limit is not None and (spent >= limit or round(spent + more, 9) > limit):
                raise BudgetReached(
                    f"The budget of {unit.format(limit)} is used up: one more request could exceed it. "
                    "Limits are not stored in the run file: give them again when you resume."
                )
        self.requests += 1
        self._under_way += 1

    def end_request(self, role: str, reply: Reply | None) -> None:
        """Count the tokens of a reply, if one came, whether or not it is stored yet."""
        self._under_way -= 1
        if reply is None:
            return
        self._replies += 1
        self._add(role, reply.prompt_tokens or 0, reply.completion_tokens or 0)
        limits = (self._spec.max_tokens_total, self._spec.max_cost)
        if (
            limits != (None, None)
            and reply.answer is not None
            and reply.prompt_tokens is reply.completion_tokens is None
        ):
            self.is_blind = True
