"""Asking for attempts until they end. This is the only place where an attempt is asked again.

The first request of a session is sent alone. When an attempt has used up its requests by faults of a server or of the
connection, and nothing else was answered meanwhile, a prompt that was answered before tests the endpoint: alone, with
growing pauses, until it is answered or the run ends because that takes too long. If it fails even once, there was an
outage, and what failed in it is asked again. If not, the attempt has failed by itself.

What comes back decides about the attempt:

    a reply                        it ends; if the token limit went into reasoning, it is asked with a larger one
    rate_limit                     asked again, after the wait that the endpoint asks for or with growing pauses
    server, connection, timeout    asked again a few times; then it ends, unless there is an outage
    malformed                      asked again a few times
    client                         it ends; the same error many times in a row ends the run
"""

from __future__ import annotations

import asyncio
import functools
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from equipoise.errors import EndpointError
from equipoise.models.chat.providers import reasoning_option
from equipoise.models.protocol import Model, Reply, TransientFault
from equipoise.models.simulated import SimulatedModel
from equipoise.runs.ask.events import FIRST_RAISED_LIMIT, LARGEST_LIMIT, describe_duration, retry_options
from equipoise.runs.ask.limits import Budget, Throttle
from equipoise.runs.file.values import Attempt, Pending
from equipoise.runs.spec import RunSpec
from equipoise.schema import LENGTH_REASONS, MEASURED, Status

OUTAGE_KINDS = frozenset({"connection", "server", "timeout"})
"""Kinds of faults by which an endpoint that is down shows itself."""
OTHER_TRIES = {"malformed": 3, "rate_limit": math.inf}
"""Requests per attempt, where that is not for the user to say."""
CLIENT_FAULTS, SPENT_ON_REASONING = 20, 3
"""So many times in a row, the same 4xx error or a largest limit that went into reasoning ends the run."""
FIRST_BACKOFF, LONGEST_BACKOFF = 0.5, 30.0
"""Seconds of the first pause before something is asked again, and of the longest; each is twice the one before."""
LONGEST_WAIT = 600.0
"""The run ends if the endpoint asks for a longer pause, or has only asked for pauses for this long."""
START_PATIENCE, OUTAGE_PATIENCE = 3.0, 300.0
"""How long an endpoint is tried that was never reached, so that something is misconfigured; and one that was."""
STANDSTILL_SECONDS = 1.0
"""A deadline that is noticed later than this: the process stood still (SIGSTOP)."""


def _now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(slots=True)
class _Course:
    """How far the asking for one attempt is."""

    time_left: float
    """Seconds for further requests and the pauses between them."""
    began: float = field(default_factory=_now)
    """When it began, or began again."""
    tries: int = 0
    strikes: int = 0
    """Requests that failed since it began, and not because the endpoint was down."""
    first_failed: float = 0.0
    """When the first of them was noticed."""
    spent: list[Reply] = field(default_factory=list)
    """Replies whose limit went into reasoning; they were paid for."""

    def begin_again(self, time_left: float) -> None:
        """Forget the failures."""
        self.time_left, self.began, self.strikes = time_left, _now(), 0


@dataclass(kw_only=True)
class Asker:
    """Asks for attempts. All attempts of a session share its throttle, the budget and repeated errors."""

    model: Model
    spec: RunSpec
    budget: Budget
    role: str
    """Whom: the "model" or the "judge"."""
    wanted: str
    """The name of the model at its endpoint, if it has one."""
    throttle: Throttle
    answered: Pending | None
    """The last prompt that got an answer, which tests whether the endpoint works."""
    others: Sequence[Pending]
    """Prompts that do so if none was ever answered."""
    raise_limit: Callable[[int, int], Awaitable[None]] | None
    """Raises the token limit of the run, given what the first answer took; None: limits stay as they are."""
    raised_limit: int = 0
    """The limit that was raised in this session, for prompts that were read from the file before."""
    reached: bool = False
    """Whether anything ever came back."""
    testing: asyncio.Lock = field(default_factory=asyncio.Lock)
    tested_at: float = 0.0
    """When the endpoint last failed a test, so that there was an outage."""
    worked_at: float = field(default_factory=_now)
    """When the last request was sent that the endpoint responded to."""
    reply_at: float = field(default_factory=_now)
    """When the last reply came."""
    waits: int = 0
    """Rate limits since then, those of requests that were under way together counted once."""
    repeated: tuple[str, int] = ("", 0)
    """What went wrong in the same way, and how many times in a row."""
    random: Random = field(default_factory=lambda: Random(0))

    async def ask(self, pending: Pending) -> Attempt | None:
        """Ask until the attempt ends; None if everything stops before. Raises errors that end the run."""
        course = _Course(self.spec.deadline)
        while await self.throttle.enter():
            if course.began < self.tested_at:
                course.begin_again(self.spec.deadline)
            if (pending.asking.max_tokens or LARGEST_LIMIT) < self.raised_limit and not pending.asking.probabilities:
                pending = _with_limit(pending, self.raised_limit)
            sent, pause = _now(), 0.0
            course.tries += 1
            try:
                outcome = await self._request(pending, course.time_left)
                if isinstance(outcome, TransientFault):
                    retry_after = await self._decide_retry(outcome, course, sent)
                    if retry_after is None:
                        return _end(pending, outcome.reply, course)
                    pause = retry_after
                elif is_spent_on_reasoning(outcome) and self._can_raise(pending):
                    limit = max(FIRST_RAISED_LIMIT, 2 * (pending.asking.max_tokens or 0))
                    pending = _with_limit(pending, min(LARGEST_LIMIT, limit))
                    course.spent.append(outcome)
                    course.begin_again(self.spec.deadline)
                else:
                    if outcome.status in MEASURED:
                        if self.answered is None and course.spent:
                            await self._settle_limit(pending, outcome)
                        self.answered = pending
                    self._count_response(sent)
                    return _end(pending, outcome, course)
            finally:
                self.throttle.leave()
            await self.throttle.sleep(pause)
        return None

    async def _request(self, pending: Pending, time_left: float) -> Reply | TransientFault:
        """Send one request, and count what comes back."""
        model, asking, reply = self.model, pending.asking, None
        self.budget.begin_request()
        try:
            async with asyncio.timeout(time_left):
                if isinstance(model, SimulatedModel):
                    reply = await model.answer_attempt(pending.probe, pending.prompt_id, pending.repetition, asking)
                else:
                    reply = await model.answer(pending.text, pending.system, asking)
        except TimeoutError:
            detail = f"no answer within {self.spec.deadline:g} s"
            fault = TransientFault(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
        except TransientFault as caught:
            fault = caught
        finally:
            self.budget.end_request(self.role, reply)
        if reply is None:
            self.reached = self.reached or fault.kind != "connection"
            return fault
        self.reply_at, self.waits = _now(), 0
        self.throttle.speed_up()
        self._check_reply(pending, reply)
        return reply

    def _check_reply(self, pending: Pending, reply: Reply) -> None:
        """Note what is odd about a reply; end the run if reasoning takes all of the largest limit again and again."""
        if not is_spent_on_reasoning(reply):
            self.repeated = ("", 0)
        elif not self._can_raise(pending) and self._count_repeated("reasoning") >= SPENT_ON_REASONING:
            limit, less = pending.asking.max_tokens or 0, reasoning_option(self.model.name)
            larger = f", or go on with a larger limit: add {retry_options([Status.EMPTY], limit)}"
            raise EndpointError(
                f"{self.model.name} has reached the token limit{f' of {limit:,}' if limit else ''} again and again "
                f"before it wrote anything: its reasoning takes them all. Start a new run in which it reasons less, as "
                f"by {less}{larger if self.role == 'model' else ''}."
            )
        if self.budget.is_blind:
            self._note("The endpoint does not count tokens, so limits on tokens and cost have no effect.")
        if reply.served_model and self.wanted and not is_same_model(self.wanted, reply.served_model):
            self._note(
                f"Another model was served than {self.wanted!r}: {reply.served_model[:100]!r}. "
                "The run file keeps the served name of each attempt."
            )

    def _note(self, text: str) -> None:
        if text not in self.model.notes:
            self.model.notes.append(text)

    def _count_repeated(self, problem: str) -> int:
        """How many times in a row this went wrong."""
        self.repeated = (problem, self.repeated[1] + 1 if problem == self.repeated[0] else 1)
        return self.repeated[1]

    def _count_response(self, sent: float) -> None:
        """Note that the endpoint worked when this request was sent."""
        self.reached = True
        self.worked_at = max(self.worked_at, sent)
        self.throttle.allow_many()

    async def _decide_retry(self, fault: TransientFault, course: _Course, sent: float) -> float | None:
        """How long to pause before the attempt is asked again; None if it ends with this fault."""
        now, kind, detail = _now(), fault.kind, fault.reply.detail or ""
        if self.throttle.stopped.is_set():
            return 0.0
        if kind not in OUTAGE_KINDS:
            self._count_response(sent)
        if kind == "client":
            if self._count_repeated(detail.partition(":")[0]) >= CLIENT_FAULTS:
                problem = f"has answered {CLIENT_FAULTS} times in a row with the same error: {detail}"
                raise EndpointError(f"{self.model.name} {problem}.")
            return None
        if kind == "timeout" and now - sent > course.time_left + STANDSTILL_SECONDS:
            course.begin_again(self.spec.deadline)
            return 0.0
        course.strikes += 1
        course.first_failed = course.first_failed if course.strikes > 1 else now
        if kind == "rate_limit" and self.throttle.slow_down(sent):
            self.waits += 1
        may_retry = course.strikes < OTHER_TRIES.get(kind, self.spec.tries) and self.reached
        doublings = min(max(course.strikes, self.waits) - 1, 10)
        pause = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2.0**doublings) * self.random.uniform(0.5, 1.0)
        if may_retry and fault.retry_after is not None:
            # Some endpoints ask for no wait at all, or for one in the past.
            self._wait_as_asked(max(fault.retry_after, pause))
            return 0.0
        course.time_left -= now - sent + pause
        # With less time than the pause before it, a request would only turn what is known into a timeout.
        if may_retry and course.time_left >= pause:
            return pause
        was_down = kind in OUTAGE_KINDS and await self._find_outage(fault, course, sent)
        return 0.0 if was_down else None

    def _wait_as_asked(self, seconds: float) -> None:
        longest = max(seconds, _now() - self.reply_at)
        if longest > LONGEST_WAIT:
            raise EndpointError(
                f"{self.model.name} makes the run wait {describe_duration(longest)}, and a run waits "
                f"{describe_duration(LONGEST_WAIT)} at most. Go on later."
            )
        self.throttle.hold(seconds, "rate limit")

    async def _find_outage(self, fault: TransientFault, course: _Course, since: float) -> bool:
        """Whether the endpoint was down since an attempt began that has failed. If so, it works again.

        Who tests it keeps the place of the attempt, and there is no other: nothing else is sent meanwhile.
        """
        async with self.testing:
            was_down = not self.reached
            while self.worked_at <= course.first_failed:
                away = _now() - since
                if was_down and away > (OUTAGE_PATIENCE if self.reached else START_PATIENCE):
                    raise EndpointError(
                        f"{self.model.name} has not answered for {describe_duration(away)}: {fault.reply.detail}. "
                        "Check the address, the network and that the server runs."
                    )
                if fault.retry_after is not None:
                    self._wait_as_asked(fault.retry_after)
                pause = max(FIRST_BACKOFF, min(LONGEST_BACKOFF, away), fault.retry_after or 0.0)
                self.throttle.one_at_a_time = True
                self.throttle.hold(pause, "outage")
                await self.throttle.sleep(pause)
                if self.throttle.stopped.is_set():
                    return True
                sent = _now()
                outcome = await self._request(self.answered or self.random.choice(self.others), self.spec.deadline)
                if isinstance(outcome, TransientFault) and outcome.kind in OUTAGE_KINDS:
                    fault, was_down, self.tested_at = outcome, True, _now()
                else:
                    self._count_response(sent)
        return was_down or course.began < self.tested_at

    def _can_raise(self, pending: Pending) -> bool:
        """Whether a prompt whose limit went into reasoning can be asked again with a larger one."""
        is_fixed = self.raise_limit is None or pending.asking.probabilities
        return not is_fixed and (pending.asking.max_tokens or LARGEST_LIMIT) < LARGEST_LIMIT

    async def _settle_limit(self, pending: Pending, reply: Reply) -> None:
        """Raise the limit of the whole run because its first answer needed that: a model that reasons does so always.

        Later, only the prompts that need it are asked with more.
        """
        assert self.raise_limit is not None
        self.raised_limit = limit = min(LARGEST_LIMIT, 2 * (pending.asking.max_tokens or 0))
        await self.raise_limit(limit, reply.completion_tokens or limit)
        self._note(
            f"{self.model.name} reasons before it answers. Its answers may have up to {limit:,} tokens, reasoning "
            "included, instead of the usual limit of each probe. To let it reason less, start a new run with "
            f"{reasoning_option(self.model.name)}."
        )


def _end(pending: Pending, reply: Reply, course: _Course) -> Attempt:
    """The attempt as it ended. The tokens of all its replies count."""
    if course.spent:
        replies = [*course.spent, reply]
        prompt_tokens = sum(one.prompt_tokens or 0 for one in replies)
        completion_tokens = sum(one.completion_tokens or 0 for one in replies)
        reply = replace(reply, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
    return Attempt(
        probe=pending.probe,
        prompt_id=pending.prompt_id,
        repetition=pending.repetition,
        text=pending.text,
        reply=reply,
        tries=course.tries,
    )


def _with_limit(pending: Pending, limit: int) -> Pending:
    return replace(pending, asking=replace(pending.asking, max_tokens=limit))


@functools.lru_cache
def is_same_model(asked: str, served: str) -> bool:
    """Whether the served name is the asked one, perhaps in a folder, or with the date that its alias stands for."""
    asked, served = asked.lower(), served.lower().removeprefix("models/")
    pattern = rf"(.*/)?{re.escape(asked.rpartition('/')[2])}([-@:_]?(v?\d[\d.-]*|latest))?"
    return re.fullmatch(pattern, served) is not None


def is_spent_on_reasoning(reply: Reply) -> bool:
    """Whether the token limit was reached before any text came."""
    return reply.status == Status.EMPTY and (reply.finish_reason or "").lower() in LENGTH_REASONS
