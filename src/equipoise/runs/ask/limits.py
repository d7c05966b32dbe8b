"""What limits the requests of a session: the throttle says when the next may start, the budget whether it may."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping

from equipoise.errors import BudgetReached
from equipoise.models.protocol import Reply
from equipoise.runs.file.reader import RunReader
from equipoise.runs.spec import RunSpec

PriceFunction = Callable[[int, int], float]
"""Takes the tokens of prompts and of answers; returns what they cost."""
ROLES = ("model", "judge")


class Throttle:
    """Lets requests start. A rate limit halves how many may be under way; as many answers raise that by one."""

    def __init__(self, concurrency: int, rpm: float | None = None, on_pause: Callable[[], None] = lambda: None) -> None:
        self.one_at_a_time = True
        self.stopped = asyncio.Event()
        self._limit = self._most = concurrency
        self._pace = 60.0 / rpm if rpm else 0.0
        self._on_pause = on_pause
        self._random = random.Random(0)
        self._clock = asyncio.get_running_loop().time
        self._pause_ends = self._next_turn = self._halved_at = self._clock()
        self.reason = ""
        """Why there is a pause, or was one."""
        self._active = self._answers = 0
        self._changed = asyncio.Event()

    @property
    def wait(self) -> float:
        """For how many seconds from now nothing is sent."""
        return max(0.0, self._pause_ends - self._clock())

    async def enter(self) -> bool:
        """Wait until a request may start. Returns False when everything stops."""
        while not self.stopped.is_set():
            now = self._clock()
            if now < self._pause_ends:
                await self.sleep((self._pause_ends - now) * self._random.uniform(1.0, 1.1))
            elif self._active >= (1 if self.one_at_a_time else self._limit):
                await self._changed.wait()
            elif now < self._next_turn:
                await self.sleep(self._next_turn - now)
            else:
                self._next_turn = now + self._pace
                self._active += 1
                return True
        return False

    def leave(self) -> None:
        """Let another request start in place of one that has ended."""
        self._active -= 1
        self._wake()

    def allow_many(self) -> None:
        """Let requests start beside each other: the endpoint works."""
        if self.one_at_a_time:
            self.one_at_a_time = False
            self._wake()

    def hold(self, seconds: float, reason: str) -> None:
        """Start no request for this long."""
        until = self._clock() + seconds
        if until > self._pause_ends:
            self._pause_ends, self.reason = until, reason
        self._on_pause()

    def slow_down(self, sent: float) -> bool:
        """Halve the limit after a rate limit; False if the request was sent before the last halving."""
        if sent < self._halved_at:
            return False
        self._limit = max(1, self._limit // 2)
        self._halved_at, self._answers = self._clock(), 0
        return True

    def speed_up(self) -> None:
        """Count an answer towards a higher limit."""
        self._answers += 1
        if self._answers >= self._limit < self._most:
            self._limit += 1
            self._answers = 0
            self._wake()

    def stop(self) -> None:
        """Start no request any more, and wake all who wait."""
        self.stopped.set()
        self._wake()

    async def sleep(self, seconds: float) -> None:
        """Wait this long, or until everything stops."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.stopped.wait()

    def _wake(self) -> None:
        """Let all who wait look again whether they may start."""
        self._changed.set()
        self._changed = asyncio.Event()


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
