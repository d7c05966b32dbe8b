"""Asking for one attempt until it ends. This is the only place where something is asked again."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from equipoise.errors import BudgetReached, EndpointError
from equipoise.models.chat.providers import reasoning_option
from equipoise.models.protocol import Asking, Model, Reply, TransientFault
from equipoise.models.simulated import SimulatedModel
from equipoise.runs.ask.events import describe_duration
from equipoise.runs.ask.gate import OUTAGE_KINDS, Gate, State
from equipoise.runs.ask.policy import FIRST_RAISED_LIMIT, LARGEST_LIMIT, Policy
from equipoise.runs.ask.tally import Tally
from equipoise.runs.file.values import Attempt, Pending
from equipoise.schema import LENGTH_REASONS, MEASURED, Status

SPENT_BEFORE_END = 3
"""So many prompts in a row whose largest limit went into reasoning end the run."""
LONGEST_ANSWER = 16 * 1024 * 1024
"""In characters, for every kind of model."""
STANDSTILL_SECONDS, STANDSTILL_SHARE = 3.0, 0.375
"""A deadline that is noticed later than this, or than this share of it: the process stood still (SIGSTOP)."""


class SpentOnReasoning(EndpointError):
    """Answer after answer ended at the token limit before any text came."""

    def __init__(self, message: str, limit: int | None) -> None:
        super().__init__(message)
        self.limit = limit
        """The token limit, if it is known."""


@dataclass(slots=True)
class _Course:
    """How far the asking for one attempt is."""

    time_left: float
    """Seconds for further requests and the pauses between them."""
    tries: int = 0
    strikes: int = 0
    """Requests that failed by themselves, and not because the endpoint was down."""
    spent: tuple[int, int] | None = None
    """Tokens of the prompt and of reasoning in requests whose limit went into reasoning."""


class Asker:
    """Asks for attempts. All attempts of a session share the gate, the budget and repeated errors."""

    def __init__(
        self,
        model: Model,
        policy: Policy,
        tally: Tally,
        concurrency: int,
        note: Callable[[str], None],
        find_answered: Callable[[], Awaitable[Pending | None]],
        on_wait: Callable[[], None],
        raise_limit: Callable[[int, int], Awaitable[None]] | None = None,
    ) -> None:
        self._model = model
        self._policy = policy
        self._tally = tally
        self._note = note
        self._on_wait = on_wait
        self._raise_limit = raise_limit
        """Raises the token limit of the run, given what the first answer took; None: limits stay as they are."""
        self._limit = 0
        """The limit that was raised in this session, for prompts that were read from the file before."""
        self._find_answered: Callable[[], Awaitable[Pending | None]] | None = find_answered
        """Looks for a prompt that was answered in an earlier session; None once it was called."""
        self._clock = asyncio.get_running_loop().time
        self._last_reply_at = self._waiting_since = self._clock()
        self._waits = 0
        """Waits that the endpoint asked for, one after another, since the last reply."""
        self._undecided: list[tuple[Pending, Attempt]] = []
        """Attempts that failed, while no response shows yet whether it was their own fault or an outage."""
        self._answered: Pending | None = None
        """The last prompt that got an answer. In an outage it tests whether the endpoint works again."""
        self._client_error, self._client_errors = "", 0
        self._spent_on_reasoning: Counter[Asking] = Counter()
        """For each way of asking the answers, one after another, that ended at the limit before any text came."""
        self._served_model = self._asked_model = model.settings.get("model")
        self._stopping = False
        self.asked_again: deque[Pending] = deque()
        """Attempts that must be asked again, because an outage made them fail."""
        self.gate = Gate(policy, concurrency, model.name)

    def stop(self) -> None:
        """Send nothing more. Requests under way may still come back."""
        self._stopping = True
        self.gate.stop()

    def take_undecided(self) -> list[Attempt]:
        """The attempts that failed, and not because of an outage as far as is known."""
        if self.gate.state is State.DOWN:
            return []
        undecided, self._undecided = self._undecided, []
        return [attempt for _, attempt in undecided]

    async def ask(self, pending: Pending) -> list[Attempt] | None:
        """Ask until the attempt ends; None if everything stops before. Raises errors that end the run.

        The list holds the attempts that have ended by this: none if it failed and an outage may be the reason; several
        if the answer shows that others have failed by themselves.
        """
        course = _Course(self._policy.deadline)
        while await self.gate.enter():
            if self.gate.state is State.DOWN and (answered := await self._get_answered()):
                await self._test_endpoint(answered)
                continue
            course.tries += 1
            course.strikes += 1
            if self._limit and self._can_raise(pending.asking):
                pending = _with_limit(pending, max(self._limit, pending.asking.max_tokens or 0))
            sent = self._clock()
            try:
                outcome = await self._request(pending, course.time_left)
                if course.spent and isinstance(outcome, Reply) and outcome.status in MEASURED:
                    await self._settle_limit(pending.asking, outcome)
            finally:
                self.gate.leave()
            if isinstance(outcome, TransientFault):
                if self._stopping:
                    return None
                pause = self._pause_before_retry(outcome, pending, course, sent)
                if pause is not None:
                    await self.gate.sleep(pause)
                    continue
            reply = outcome.reply if isinstance(outcome, TransientFault) else outcome
            if is_spent_on_reasoning(reply) and self._can_raise(pending.asking):
                raised = min(LARGEST_LIMIT, max(FIRST_RAISED_LIMIT, 2 * (pending.asking.max_tokens or 0)))
                pending = _with_limit(pending, raised)
                course = replace(
                    course, time_left=self._policy.deadline, strikes=0, spent=_add_tokens(course.spent, reply)
                )
                continue
            reply = _with_tokens(reply, course.spent)
            attempt = Attempt(
                probe=pending.probe,
                prompt=pending.prompt,
                repetition=pending.repetition,
                reply=reply,
                tries=course.tries,
            )
            if isinstance(outcome, TransientFault) and outcome.kind in OUTAGE_KINDS:
                self._undecided.append((pending, attempt))
                return []
            self._count_response()
            if reply.status in MEASURED:
                self._answered = pending
            return [attempt, *self.take_undecided()] if self._undecided else [attempt]
        return None

    async def _get_answered(self) -> Pending | None:
        find, self._find_answered = self._find_answered, None
        if self._answered is None and find is not None:
            self._answered = await find()
        return self._answered

    async def _test_endpoint(self, answered: Pending) -> None:
        """Test an endpoint that seems to be down with a prompt that it has answered before."""
        sent = self._clock()
        try:
            outcome = await self._request(answered, self._policy.deadline)
        finally:
            self.gate.leave()
        if isinstance(outcome, TransientFault) and outcome.kind in OUTAGE_KINDS:
            if not self._stopping:
                self._fail(outcome, answered, sent)
        else:
            self._count_response()

    def _count_response(self) -> None:
        """Note that the endpoint works. If that ends an outage, what it made fail is asked again."""
        if self.gate.open():
            self.asked_again += [pending for pending, _ in self._undecided]
            self._undecided.clear()

    def _fail(self, fault: TransientFault, pending: Pending, sent: float) -> bool:
        """Count a failure; True if the endpoint is down."""
        is_down = self.gate.fail(fault, (pending.probe, pending.prompt), sent)
        if is_down:
            self._on_wait()
        return is_down

    async def _request(self, pending: Pending, time_left: float) -> Reply | TransientFault:
        try:
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
            finally:
                self._tally.in_flight -= 1
        except TimeoutError:
            detail = f"no answer within {self._policy.deadline:g} s"
            return TransientFault(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
        except TransientFault as fault:
            return fault
        self._count_reply(reply, pending.asking)
        return _limit_size(reply)

    def _count_reply(self, reply: Reply, asking: Asking) -> None:
        self._last_reply_at = self._clock()
        self._client_errors = self._waits = 0
        self.gate.speed_up()
        self._tally.count_reply(reply)
        self._count_spent_on_reasoning(reply, asking)
        if self._tally.lacks_token_counts and self._policy.limits_tokens:
            self._note("The endpoint does not count tokens, so limits on tokens and cost have no effect.")
        if reply.served_model != self._served_model and reply.served_model:
            self._served_model = reply.served_model
            if isinstance(self._asked_model, str) and not is_same_model(self._asked_model, reply.served_model):
                self._note(
                    f"Another model was served than {self._asked_model!r}: {reply.served_model[:100]!r}. "
                    "The run file keeps the served name of each attempt."
                )

    def _pause_before_retry(
        self, fault: TransientFault, pending: Pending, course: _Course, sent: float
    ) -> float | None:
        """How long to pause before the attempt is asked again; None if it ends with this fault."""
        elapsed = self._clock() - sent
        late = min(STANDSTILL_SECONDS, STANDSTILL_SHARE * self._policy.deadline)
        stood_still = fault.kind == "timeout" and elapsed > course.time_left + late
        if stood_still or (fault.kind in OUTAGE_KINDS and self._fail(fault, pending, sent)):
            course.strikes, course.time_left = 0, self._policy.deadline
            if fault.retry_after is not None:
                self._wait_as_asked(fault.retry_after)
            return 0.0
        if fault.kind == "client":
            self._count_client_error(fault.reply.detail or "")
            return None
        if fault.kind == "rate_limit":
            self.gate.slow_down(sent)
        else:
            if fault.kind == "malformed" and self.gate.state is State.DOWN:
                self._count_response()
            if course.strikes >= (self._policy.malformed_tries if fault.kind == "malformed" else self._policy.tries):
                return None
        if fault.retry_after is not None:
            if sent >= self._waiting_since:  # otherwise it was sent together with one that is counted already
                self._waits, self._waiting_since = self._waits + 1, self._clock()
            # Some endpoints ask for no wait at all, or for one in the past.
            self._wait_as_asked(max(fault.retry_after, self.gate.backoff(self._waits)))
            return self.gate.backoff(1)
        pause = self.gate.backoff(course.strikes)
        course.time_left -= elapsed + pause
        # With less time than the pause before it, a request would only turn what is known into a timeout.
        return pause if course.time_left >= pause else None

    def _wait_as_asked(self, seconds: float) -> None:
        longest, silent = self._policy.longest_wait, self._clock() - self._last_reply_at
        if seconds > longest:
            raise EndpointError(
                f"{self._model.name} asks to wait {describe_duration(seconds)}, "
                f"and a run waits {describe_duration(longest)} at most. Go on later."
            )
        if silent > longest:
            raise EndpointError(
                f"{self._model.name} has only asked to wait for {describe_duration(silent)}. Go on later."
            )
        self.gate.hold(seconds, "rate limit")
        self._on_wait()

    def _can_raise(self, asking: Asking) -> bool:
        """Whether a prompt whose limit went into reasoning can be asked again with a larger one."""
        limit = asking.max_tokens
        return bool(self._raise_limit) and not asking.probabilities and limit is not None and limit < LARGEST_LIMIT

    async def _settle_limit(self, asking: Asking, reply: Reply) -> None:
        """Raise the limit of the whole run if its first answer needed that: a model that reasons does so always.

        Later, only the prompts that need it are asked with more.
        """
        if self._answered is None and self._raise_limit and not any(self._tally.counts.get(one) for one in MEASURED):
            limit = min(LARGEST_LIMIT, 2 * (asking.max_tokens or 0))
            await self._raise_limit(limit, reply.completion_tokens or limit)
            self._limit = limit
            self._note(
                f"{self._model.name} reasons before it answers. Its answers may have up to {limit:,} tokens, reasoning "
                f"included, instead of the usual limit of each probe. To let it reason less, start a new run with "
                f"{reasoning_option(self._model.name)}."
            )

    def _count_spent_on_reasoning(self, reply: Reply, asking: Asking) -> None:
        """Stop if every answer ends at the token limit before any text came: a reasoning model never gets to it."""
        if not is_spent_on_reasoning(reply):
            if self._spent_on_reasoning:
                self._spent_on_reasoning[asking] = 0
            return
        if self._can_raise(asking):
            return
        self._spent_on_reasoning[asking] += 1
        if self._spent_on_reasoning[asking] >= (SPENT_BEFORE_END if self._raise_limit else self._policy.client_faults):
            limit = "the token limit" if asking.max_tokens is None else f"the limit of {asking.max_tokens:,} tokens"
            raise SpentOnReasoning(
                f"{self._model.name} has reached {limit} {self._spent_on_reasoning[asking]} times in a row before it "
                "wrote anything: its reasoning takes them all. In a new run it may reason less, as by "
                f"{reasoning_option(self._model.name)}.",
                asking.max_tokens,
            )

    def _count_client_error(self, detail: str) -> None:
        status = re.match(r"HTTP \d+", detail)
        error = status[0] if status else detail
        self._client_errors = self._client_errors + 1 if error == self._client_error else 1
        self._client_error = error
        if self._client_errors >= self._policy.client_faults:
            raise EndpointError(
                f"{self._model.name} has answered {self._client_errors} times in a row with the same error: {detail}."
            )


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


def _add_tokens(spent: tuple[int, int] | None, reply: Reply) -> tuple[int, int]:
    prompt_tokens, completion_tokens = spent or (0, 0)
    return prompt_tokens + (reply.prompt_tokens or 0), completion_tokens + (reply.completion_tokens or 0)


def _with_tokens(reply: Reply, spent: tuple[int, int] | None) -> Reply:
    """The reply with the tokens of requests before it, which were paid for."""
    if spent is None or reply.completion_tokens is None:
        return reply
    prompt_tokens, completion_tokens = _add_tokens(spent, reply)
    return replace(reply, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)


def _limit_size(reply: Reply) -> Reply:
    size = len(reply.answer or "") + len(reply.reasoning or "")
    if size <= LONGEST_ANSWER:
        return reply
    detail = f"{size:,} characters; an answer may have {LONGEST_ANSWER:,} at most"
    return replace(reply, status=Status.TOO_LARGE, answer=None, reasoning=None, detail=detail)
