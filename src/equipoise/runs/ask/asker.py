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
from equipoise.runs.ask.outage import OUTAGE_KINDS, Outage
from equipoise.runs.ask.pacing import Pace
from equipoise.runs.ask.policy import Policy
from equipoise.runs.ask.suspension import SuspensionWatch
from equipoise.runs.ask.tally import Tally
from equipoise.runs.file.values import Attempt, Pending
from equipoise.schema import LENGTH_REASONS, MEASURED, Status

LONGEST_ANSWER = 16 * 1024 * 1024
"""In characters, for every kind of model."""


class SpentOnReasoning(EndpointError):
    """Answer after answer ended at the token limit before any text came."""

    def __init__(self, message: str, limit: int | None) -> None:
        super().__init__(message)
        self.limit = limit
        """The token limit, if it is known."""


@dataclass(frozen=True)
class _Retry:
    """Ask again after this many seconds."""

    after: float
    counts: bool = True
    """Whether the request and the pause count towards the deadline of the attempt."""
    anew: bool = False
    """Whether the attempt starts from the beginning, because its failure was not its own."""


class Asker:
    """Asks for attempts. All attempts of a session share the pace, the outages, the budget and repeated errors."""

    def __init__(
        self,
        model: Model,
        policy: Policy,
        tally: Tally,
        concurrency: int,
        note: Callable[[str], None],
        find_answered: Callable[[], Awaitable[Pending | None]],
        on_wait: Callable[[], None],
    ) -> None:
        self._model = model
        self._policy = policy
        self._tally = tally
        self._note = note
        self._on_wait = on_wait
        self._find_answered: Callable[[], Awaitable[Pending | None]] | None = find_answered
        """Looks for a prompt that was answered in an earlier session; None once it was called."""
        self._clock = asyncio.get_running_loop().time
        self._last_reply_at = self._waiting_since = self._clock()
        self._waits = 0
        """Waits that the endpoint asked for, one after another, since the last reply."""
        self._outage = Outage(policy, model.name, self._clock)
        self._suspensions = SuspensionWatch(policy.deadline)
        self._undecided: list[tuple[Pending, Attempt]] = []
        """Attempts that failed, while no response shows yet whether it was their own fault or an outage."""
        self._answered: Pending | None = None
        """The last prompt that got an answer. In an outage it tests whether the endpoint works again."""
        self._client_error, self._client_errors = "", 0
        self._spent_on_reasoning: Counter[Asking] = Counter()
        """For each way of asking the answers, one after another, that ended at the limit before any text came."""
        self._asked_model = model.settings.get("model")
        self._served_model = self._asked_model
        self._stopping = False
        self.asked_again: deque[Pending] = deque()
        """Attempts that must be asked again, because an outage made them fail."""
        self.pace = Pace(policy, concurrency)

    def stop(self) -> None:
        """Send nothing more. Requests under way may still come back."""
        self._stopping = True
        self.pace.stop()

    def close(self) -> list[Attempt]:
        """End the session. Returns the attempts that failed and were not decided: too few to be an outage."""
        self._suspensions.stop()
        return [attempt for _, attempt in self._undecided] if self._outage.over else []

    async def ask(self, pending: Pending) -> list[Attempt] | None:
        """Ask until the attempt ends; None if everything stops before. Raises errors that end the run.

        The list holds the attempts that have ended by this: none if it failed and an outage may be the reason; several
        if the answer shows that others have failed by themselves.
        """
        tries, strikes, time_left = 0, 0, self._policy.deadline
        while await self.pace.enter():
            if not self._outage.over and (answered := await self._get_answered()):
                await self._probe(answered)
                continue
            tries, strikes = tries + 1, strikes + 1
            sent, suspensions = self._clock(), self._suspensions.count
            outcome = await self._request(pending, time_left)
            if isinstance(outcome, TransientFault):
                if self._stopping:
                    return None
                if outcome.kind == "timeout" and self._suspensions.count > suspensions:
                    strikes, time_left = 0, self._policy.deadline
                    continue
                retry = self._decide_retry(outcome, pending, strikes, sent, time_left - (self._clock() - sent))
                if retry is not None:
                    if retry.anew:
                        strikes, time_left = 0, self._policy.deadline
                    elif retry.counts:
                        time_left -= self._clock() - sent + retry.after
                    await self.pace.sleep(retry.after)
                    continue
            attempt = Attempt(
                probe=pending.probe,
                prompt=pending.prompt,
                repetition=pending.repetition,
                reply=outcome.reply if isinstance(outcome, TransientFault) else outcome,
                tries=tries,
            )
            if isinstance(outcome, TransientFault) and outcome.kind in OUTAGE_KINDS:
                self._undecided.append((pending, attempt))
                return []
            if attempt.reply.status in MEASURED:
                self._answered = pending
            if self._outage.over:
                self.pace.allow_many()
            return [attempt, *self._take_failures()]
        return None

    def _take_failures(self) -> list[Attempt]:
        """The undecided attempts, now that a response shows that they failed by themselves."""
        undecided, self._undecided = self._undecided, []
        return [attempt for _, attempt in undecided]

    async def _get_answered(self) -> Pending | None:
        find, self._find_answered = self._find_answered, None
        if self._answered is None and find is not None:
            self._answered = await find()
        return self._answered

    async def _probe(self, answered: Pending) -> None:
        """Test an endpoint that seems to be down with a prompt that it has answered before."""
        sent = self._clock()
        outcome = await self._request(answered, self._policy.deadline)
        if isinstance(outcome, TransientFault) and not self._stopping:
            if outcome.kind in OUTAGE_KINDS:
                self._pause_for_outage(outcome, answered, sent)
                return
            self._count_response()

    def _count_response(self) -> None:
        """Note that the endpoint works. If that ends an outage, what it made fail is asked again."""
        if not self._outage.over:
            if self._outage.confirmed:
                self.asked_again += [pending for pending, _ in self._undecided]
                self._undecided.clear()
            self.pace.allow_many()
        self._outage.count_response()

    def _pause_for_outage(self, fault: TransientFault, pending: Pending, sent: float) -> bool:
        """Count a failure; pause if it is an outage."""
        attempt = (pending.probe, pending.prompt)
        pause = self._outage.count_failure(fault.kind, attempt, sent, fault.reply.detail)
        if pause is None:
            return False
        self.pace.one_at_a_time = True
        self._hold(pause, "outage")
        return True

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
                    reply = await self._answer(pending)
            finally:
                self._tally.count_request_end()
        except TimeoutError:
            detail = f"no answer within {self._policy.deadline:g} s"
            return TransientFault(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
        except TransientFault as fault:
            return fault
        finally:
            self.pace.leave()
        self._count_reply(reply, pending.asking)
        return _limit_size(reply)

    async def _answer(self, pending: Pending) -> Reply:
        if isinstance(self._model, SimulatedModel):
            return await self._model.answer_attempt(pending.probe, pending.prompt, pending.repetition, pending.asking)
        return await self._model.answer(pending.text, pending.system, pending.asking)

    def _count_reply(self, reply: Reply, asking: Asking) -> None:
        self._last_reply_at = self._clock()
        self._client_errors = self._waits = 0
        self._count_response()
        self.pace.speed_up()
        self._tally.count_reply(reply)
        self._count_spent_on_reasoning(reply, asking)
        if self._tally.lacks_token_counts and self._policy.limits_tokens:
            self._note("The endpoint does not count tokens, so limits on tokens and cost have no effect.")
        if reply.served_model != self._served_model and reply.served_model:
            self._served_model = reply.served_model
            if isinstance(self._asked_model, str) and not is_same_model(self._asked_model, reply.served_model):
                served = reply.served_model[:100]
                self._note(
                    f"Another model was served than {self._asked_model!r}: {served!r}. "
                    "The run file keeps the served name of each attempt."
                )

    def _decide_retry(
        self, fault: TransientFault, pending: Pending, strikes: int, sent: float, time_left: float
    ) -> _Retry | None:
        """When to ask again, or None if the attempt ends with this fault."""
        if fault.kind in OUTAGE_KINDS:
            if self._pause_for_outage(fault, pending, sent):
                if fault.retry_after is not None:
                    self._wait_as_asked(fault.retry_after)
                return _Retry(0.0, anew=True)
        elif fault.kind == "rate_limit":
            self._outage.count_contact()  # An endpoint that is overloaded says that, too.
        else:
            self._count_response()
        if fault.kind == "client":
            self._count_client_error(fault.reply.detail or "")
            return None
        if fault.kind == "rate_limit":
            self.pace.slow_down(sent)
        elif strikes >= (self._policy.malformed_tries if fault.kind == "malformed" else self._policy.tries):
            return None
        if fault.retry_after is not None:
            if sent >= self._waiting_since:  # otherwise it was sent together with one that is counted already
                self._waits, self._waiting_since = self._waits + 1, self._clock()
            # Some endpoints ask for no wait at all, or for one in the past.
            self._wait_as_asked(max(fault.retry_after, self.pace.backoff(self._waits)))
            return _Retry(self.pace.backoff(1), counts=False)
        after = self.pace.backoff(strikes)
        return _Retry(after) if after < time_left else None

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
        self._hold(seconds, "rate limit")

    def _hold(self, seconds: float, reason: str) -> None:
        """Pause everything, and say so."""
        self.pace.hold(seconds, reason)
        if seconds > 0:
            self._on_wait()

    def _count_spent_on_reasoning(self, reply: Reply, asking: Asking) -> None:
        """Stop if every answer ends at the token limit before any text came: a reasoning model never gets to it."""
        if reply.status != Status.EMPTY or (reply.finish_reason or "").lower() not in LENGTH_REASONS:
            self._spent_on_reasoning[asking] = 0
            return
        self._spent_on_reasoning[asking] += 1
        if self._spent_on_reasoning[asking] >= self._policy.client_faults:
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


def _limit_size(reply: Reply) -> Reply:
    size = len(reply.answer or "") + len(reply.reasoning or "")
    if size <= LONGEST_ANSWER:
        return reply
    detail = f"{size:,} characters; an answer may have {LONGEST_ANSWER:,} at most"
    return replace(reply, status=Status.TOO_LARGE, answer=None, reasoning=None, detail=detail)
