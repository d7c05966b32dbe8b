"""Asking for attempts until they end. This is the only place where something is asked again.

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
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from equipoise.errors import BudgetReached, EndpointError
from equipoise.models.chat.providers import reasoning_option
from equipoise.models.protocol import Asking, Model, Reply, TransientFault
from equipoise.models.simulated import SimulatedModel
from equipoise.runs.ask.events import describe_duration
from equipoise.runs.ask.policy import FIRST_RAISED_LIMIT, LARGEST_LIMIT, Policy
from equipoise.runs.ask.tally import Tally
from equipoise.runs.ask.throttle import Throttle
from equipoise.runs.file.values import Attempt, Pending
from equipoise.schema import LENGTH_REASONS, MEASURED, Status

OUTAGE_KINDS = frozenset({"connection", "server", "timeout"})
"""Kinds of faults by which an endpoint that is down shows itself."""
MALFORMED_TRIES = 3
"""Requests per attempt, when the response cannot be read."""
CLIENT_FAULTS, SPENT_ON_REASONING = 20, 3
"""So many times in a row, the same 4xx error or a largest limit that went into reasoning ends the run."""
LONGEST_WAIT = 600.0
"""The run ends if the endpoint asks for a longer pause, or has only asked for pauses for this long."""
START_PATIENCE = 3.0
"""So many seconds after the first try, nothing more is tried if the endpoint was never reached."""
STANDSTILL_SECONDS = 1.0
"""A deadline that is noticed later than this: the process stood still (SIGSTOP)."""


class SpentOnReasoning(EndpointError):
    """Answer after answer ended at the token limit before any text came."""

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message)
        self.limit = limit


@dataclass(slots=True)
class _Course:
    """How far the asking for one attempt is."""

    time_left: float
    """Seconds for further requests and the pauses between them."""
    began: float
    """When it began, or began again."""
    tries: int = 0
    strikes: int = 0
    """Requests that failed, and not because the endpoint was down."""
    first_failed: float = 0.0
    """When the first of them was noticed."""
    spent: list[Reply] = field(default_factory=list)
    """Replies whose token limit went into reasoning; they were paid for."""


class Asker:
    """Asks for attempts. All attempts of a session share its state, the budget and repeated errors."""

    def __init__(
        self,
        model: Model,
        policy: Policy,
        tally: Tally,
        concurrency: int,
        on_wait: Callable[[], None],
        answered: Pending | None,
        others: Sequence[Pending],
        raise_limit: Callable[[int, int], Awaitable[None]] | None = None,
    ) -> None:
        self.throttle = Throttle(policy, concurrency, on_wait)
        self._model = model
        self._policy = policy
        self._tally = tally
        self._answered = answered
        """The last prompt that got an answer, which tests whether the endpoint works."""
        self._others = others
        """Prompts that do so if none was ever answered."""
        self._raise_limit = raise_limit
        """Raises the token limit of the run, given what the first answer took; None: limits stay as they are."""
        self._raised_limit = 0
        """The limit that was raised in this session, for prompts that were read from the file before."""
        self._random = random.Random(0)
        self._clock = asyncio.get_running_loop().time
        self._asked_model = model.settings.get("model")
        self._reached = False
        """Whether anything ever came back."""
        self._testing = asyncio.Lock()
        self._tested_at = 0.0
        """When the endpoint last failed a test, so that there was an outage."""
        self._worked_at = self._clock()
        """When the last request was sent that the endpoint responded to."""
        self._reply_at = self._worked_at
        """When the last reply came."""
        self._waits = 0
        """Rate limits since then, those of requests that were under way together counted once."""
        self._repeated, self._repetitions = "", 0
        """What went wrong in the same way, so many times in a row."""

    async def ask(self, pending: Pending) -> Attempt | None:
        """Ask until the attempt ends; None if everything stops before. Raises errors that end the run."""
        course = _Course(self._policy.deadline, self._clock())
        while await self.throttle.enter():
            if course.began < self._tested_at:
                self._begin_again(course)
            if self._raised_limit and self._can_raise(pending.asking):
                pending = _with_limit(pending, max(self._raised_limit, pending.asking.max_tokens or 0))
            sent = self._clock()
            course.tries += 1
            pause: float | None = 0.0
            try:
                outcome = await self._request(pending, course.time_left)
                if isinstance(outcome, TransientFault):
                    pause = await self._pause_before_retry(outcome, course, sent)
                elif course.spent and outcome.status in MEASURED:
                    await self._settle_limit(pending.asking, outcome)
            finally:
                self.throttle.leave()
            if isinstance(outcome, TransientFault):
                if pause is None:
                    return _end(pending, outcome.reply, course)
                await self.throttle.sleep(pause)
            elif is_spent_on_reasoning(outcome) and self._can_raise(pending.asking):
                raised = min(LARGEST_LIMIT, max(FIRST_RAISED_LIMIT, 2 * (pending.asking.max_tokens or 0)))
                pending = _with_limit(pending, raised)
                course.spent.append(outcome)
                self._begin_again(course)
            else:
                self._count_response(sent)
                if outcome.status in MEASURED:
                    self._answered = pending
                return _end(pending, outcome, course)
        return None

    def _begin_again(self, course: _Course) -> None:
        """Forget the failures."""
        course.time_left, course.began, course.strikes = self._policy.deadline, self._clock(), 0

    async def _request(self, pending: Pending, time_left: float) -> Reply | TransientFault:
        """Send one request, and count what comes back."""
        if limit := self._tally.limit_reached():
            raise BudgetReached(
                f"The budget of {limit} is used up: one more request could exceed it. "
                "Limits are not stored in the run file: give them again when you resume."
            )
        self._tally.count_request()
        try:
            async with asyncio.timeout(time_left):
                if isinstance(self._model, SimulatedModel):
                    reply = await self._model.answer_attempt(
                        pending.probe, pending.prompt, pending.repetition, pending.asking
                    )
                else:
                    reply = await self._model.answer(pending.text, pending.system, pending.asking)
        except TimeoutError:
            detail = f"no answer within {self._policy.deadline:g} s"
            fault = TransientFault(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
        except TransientFault as caught:
            fault = caught
        else:
            self._count_reply(reply, pending.asking)
            return reply
        finally:
            self._tally.in_flight -= 1
        self._reached = self._reached or fault.kind != "connection"
        return fault

    def _count_reply(self, reply: Reply, asking: Asking) -> None:
        self._reply_at, self._waits = self._clock(), 0
        self.throttle.speed_up()
        self._tally.count_reply(reply)
        if not is_spent_on_reasoning(reply):
            self._repetitions = 0
        elif not self._can_raise(asking) and (times := self._count_repeated("reasoning")) >= SPENT_ON_REASONING:
            limit = asking.max_tokens or 0
            raise SpentOnReasoning(
                f"{self._model.name} has reached the token limit{f' of {limit:,}' if limit else ''} {times} times in a "
                "row before it wrote anything: its reasoning takes them all. In a new run it may reason less, as by "
                f"{reasoning_option(self._model.name)}.",
                limit,
            )
        if self._tally.is_blind:
            self._note("The endpoint does not count tokens, so limits on tokens and cost have no effect.")
        asked = self._asked_model
        if reply.served_model and isinstance(asked, str) and not is_same_model(asked, reply.served_model):
            self._note(
                f"Another model was served than {asked!r}: {reply.served_model[:100]!r}. "
                "The run file keeps the served name of each attempt."
            )

    def _note(self, text: str) -> None:
        if text not in self._model.notes:
            self._model.notes.append(text)

    def _count_repeated(self, problem: str) -> int:
        """How many times in a row this went wrong."""
        self._repetitions = self._repetitions + 1 if problem == self._repeated else 1
        self._repeated = problem
        return self._repetitions

    # After a failure

    async def _pause_before_retry(self, fault: TransientFault, course: _Course, sent: float) -> float | None:
        """How long to pause before the attempt is asked again; None if it ends with this fault."""
        now, policy, is_outage = self._clock(), self._policy, fault.kind in OUTAGE_KINDS
        if self.throttle.stopped.is_set():
            return 0.0
        if not is_outage:
            self._count_response(sent)
        if fault.kind == "client":
            self._count_client_error(fault.reply.detail or "")
            return None
        if fault.kind == "timeout" and now - sent > course.time_left + STANDSTILL_SECONDS:
            self._begin_again(course)
            return 0.0
        course.strikes += 1
        course.first_failed = course.first_failed if course.strikes > 1 else now
        if fault.kind == "rate_limit" and self.throttle.slow_down(sent):
            self._waits += 1
        most = MALFORMED_TRIES if fault.kind == "malformed" else policy.tries
        may_retry = fault.kind == "rate_limit" or (course.strikes < most and self._reached)
        doublings = min(max(course.strikes, self._waits) - 1, 60)
        pause = min(policy.longest_backoff, policy.first_backoff * 2.0**doublings) * self._random.uniform(0.5, 1.0)
        if may_retry and fault.retry_after is not None:
            # Some endpoints ask for no wait at all, or for one in the past.
            self._wait_as_asked(max(fault.retry_after, pause))
            return 0.0
        course.time_left -= now - sent + pause
        # With less time than the pause before it, a request would only turn what is known into a timeout.
        if may_retry and course.time_left >= pause:
            return pause
        if is_outage and await self._find_outage(fault, course, sent):
            return 0.0
        return None

    def _count_client_error(self, detail: str) -> None:
        status = re.match(r"HTTP \d+", detail)
        times = self._count_repeated(status[0] if status else detail)
        if times >= CLIENT_FAULTS:
            raise EndpointError(
                f"{self._model.name} has answered {times} times in a row with the same error: {detail}."
            )

    def _wait_as_asked(self, seconds: float) -> None:
        silent = self._clock() - self._reply_at
        if max(seconds, silent) > LONGEST_WAIT:
            asks = f"asks to wait {describe_duration(seconds)}"
            problem = asks if seconds > LONGEST_WAIT else f"has only asked to wait for {describe_duration(silent)}"
            raise EndpointError(
                f"{self._model.name} {problem}, and a run waits {describe_duration(LONGEST_WAIT)} at most. Go on later."
            )
        self.throttle.hold(seconds, "rate limit")

    # Whether the endpoint works

    def _count_response(self, sent: float) -> None:
        """Note that the endpoint worked when this request was sent."""
        self._reached = True
        self._worked_at = max(self._worked_at, sent)
        if self.throttle.one_at_a_time:
            self.throttle.one_at_a_time = False
            self.throttle.wake()

    async def _find_outage(self, fault: TransientFault, course: _Course, since: float) -> bool:
        """Whether the endpoint was down since an attempt began that has failed. If so, it works again.

        Who tests it keeps the place of the attempt, and there is no other: nothing else is sent meanwhile.
        """
        async with self._testing:
            was_down = not self._reached
            while self._worked_at <= course.first_failed:
                if was_down:
                    self._refuse_long_outage(fault, since)
                if fault.retry_after is not None:
                    self._wait_as_asked(fault.retry_after)
                pause = max(self._policy.first_backoff, min(self._policy.longest_backoff, self._clock() - since))
                self.throttle.one_at_a_time = True
                self.throttle.hold(pause, "outage")
                await self.throttle.sleep(max(pause, fault.retry_after or 0.0))
                if self.throttle.stopped.is_set():
                    return True
                sent = self._clock()
                asked = self._answered or self._random.choice(self._others)
                outcome = await self._request(asked, self._policy.deadline)
                if isinstance(outcome, TransientFault) and outcome.kind in OUTAGE_KINDS:
                    fault, was_down, self._tested_at = outcome, True, self._clock()
                else:
                    self._count_response(sent)
        return was_down or course.began < self._tested_at

    def _refuse_long_outage(self, fault: TransientFault, since: float) -> None:
        """Raise EndpointError when it is time to give up."""
        name, away, detail = self._model.name, self._clock() - since, fault.reply.detail or "no connection"
        if not self._reached and away > START_PATIENCE:  # something is misconfigured
            raise EndpointError(
                f"{name} cannot be reached: {detail}. Check the address, the network and that the server runs."
            )
        if away > self._policy.outage_patience:
            problem = "could not be reached" if fault.kind == "connection" else "has only failed"
            raise EndpointError(f"{name} {problem} for {describe_duration(away)}: {detail}.")

    # A larger token limit for a model that reasons

    def _can_raise(self, asking: Asking) -> bool:
        """Whether a prompt whose limit went into reasoning can be asked again with a larger one."""
        limit = asking.max_tokens
        return bool(self._raise_limit) and not asking.probabilities and limit is not None and limit < LARGEST_LIMIT

    async def _settle_limit(self, asking: Asking, reply: Reply) -> None:
        """Raise the limit of the whole run if its first answer needed that: a model that reasons does so always.

        Later, only the prompts that need it are asked with more.
        """
        if self._answered is None and self._raise_limit:
            limit = min(LARGEST_LIMIT, 2 * (asking.max_tokens or 0))
            await self._raise_limit(limit, reply.completion_tokens or limit)
            self._raised_limit = limit
            self._note(
                f"{self._model.name} reasons before it answers. Its answers may have up to {limit:,} tokens, reasoning "
                "included, instead of the usual limit of each probe. To let it reason less, start a new run with "
                f"{reasoning_option(self._model.name)}."
            )


def _end(pending: Pending, reply: Reply, course: _Course) -> Attempt:
    """The attempt as it ended. The tokens of all its replies count."""
    if course.spent and reply.completion_tokens is not None:
        paid = [*course.spent, reply]
        prompt_tokens = sum(one.prompt_tokens or 0 for one in paid)
        completion_tokens = sum(one.completion_tokens or 0 for one in paid)
        reply = replace(reply, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
    return Attempt(
        probe=pending.probe,
        prompt=pending.prompt,
        repetition=pending.repetition,
        text=pending.text,
        reply=reply,
        tries=course.tries,
    )


@functools.lru_cache
def is_same_model(asked: str, served: str) -> bool:
    """Whether the served name is the asked one, perhaps in a folder, or with the date that its alias stands for."""
    asked, served = asked.lower(), served.lower().removeprefix("models/")
    pattern = rf"(.*/)?{re.escape(asked.rpartition('/')[2])}([-@:_]?(v?\d[\d.-]*|latest))?"
    return re.fullmatch(pattern, served) is not None


def is_spent_on_reasoning(reply: Reply) -> bool:
    """Whether the token limit was reached before any text came."""
    return reply.status == Status.EMPTY and (reply.finish_reason or "").lower() in LENGTH_REASONS


def _with_limit(pending: Pending, limit: int) -> Pending:
    return replace(pending, asking=replace(pending.asking, max_tokens=limit))
