"""The budget of a session: requests, tokens and money, for the model and its judge together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from equipoise.errors import BudgetReached
from equipoise.models.protocol import Reply
from equipoise.runs.file.reader import RunReader
from equipoise.runs.spec import RunSpec

PriceFunction = Callable[[int, int], float]
"""Takes the tokens of prompts and of answers; returns what they cost."""
ASKED = ("model", "judge")


@dataclass(slots=True)
class _Replies:
    """The replies of one of the two in this session."""

    number: int = 0
    tokens: int = 0
    cost: float = 0.0


class Budget:
    """What a session has used. Tokens and money include earlier sessions, requests do not."""

    def __init__(self, spec: RunSpec, file: RunReader, prices: Mapping[str, PriceFunction | None]) -> None:
        """`prices` are those of the "model" and of the "judge", if there is one; None if they are not known."""
        self._spec, self._prices = spec, prices
        self._replies = {asked: _Replies() for asked in ASKED}
        self.requests = self._under_way = 0
        self.prompt_tokens = self.completion_tokens = 0
        self.cost: float | None = None if None in prices.values() else 0.0
        for asked in ASKED:
            self._add(asked, *file.usage(asked))
        self.is_blind = False
        """Whether tokens are limited, and an answer came without the number of its tokens."""

    def _add(self, asked: str, prompt_tokens: int, completion_tokens: int) -> float:
        """Count tokens, and return what they cost, as far as that is known."""
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        price = self._prices.get(asked)
        cost = price(prompt_tokens, completion_tokens) if price else 0.0
        self.cost = None if self.cost is None else self.cost + cost
        return cost

    def begin_request(self, asked: str) -> None:
        """Count a request that is sent now; BudgetReached if it could exceed a limit.

        Requests under way, and this one, are assumed to be as large as the replies of this session on average.
        """
        spec, replies, tokens = self._spec, self._replies[asked], self.prompt_tokens + self.completion_tokens
        coming = (self._under_way + 1) / max(replies.number, 1)
        for unit, limit, spent, more in (
            ("{:,} requests", spec.max_requests, self.requests, 1),
            ("{:,} tokens", spec.max_tokens_total, tokens, coming * replies.tokens),
            ("{:,.2f} dollars", spec.max_cost, self.cost or 0.0, coming * replies.cost),
        ):
            if limit is not None and (spent >= limit or round(spent + more, 9) > limit):
                raise BudgetReached(
                    f"The budget of {unit.format(limit)} is used up: one more request could exceed it. "
                    "Limits are not stored in the run file: give them again when you resume."
                )
        self.requests += 1
        self._under_way += 1

    def end_request(self, asked: str, reply: Reply | None) -> None:
        """Count the tokens of a reply, if one came, whether or not it is stored yet."""
        self._under_way -= 1
        if reply is None:
            return
        replies, limits = self._replies[asked], (self._spec.max_tokens_total, self._spec.max_cost)
        prompt_tokens, completion_tokens = reply.prompt_tokens or 0, reply.completion_tokens or 0
        replies.number += 1
        replies.tokens += prompt_tokens + completion_tokens
        replies.cost += self._add(asked, prompt_tokens, completion_tokens)
        if (
            limits != (None, None)
            and reply.answer is not None
            and reply.prompt_tokens is reply.completion_tokens is None
        ):
            self.is_blind = True
