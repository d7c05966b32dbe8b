"""Asking for attempts until they end. This is the only place where an attempt is asked again.

`decide` says what to do when a request fails; its table is the state machine. A reply ends the attempt. If
the token limit of a reply went into reasoning, the prompt is asked with a larger one. The first request of
a session is sent alone, so what is wrong from the start costs one request.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from equipoise.errors import EndpointError
from equipoise.models.chat.providers import reasoning_option
from equipoise.models.protocol import Model, Reply, TransientFault
from equipoise.models.simulated import SimulatedModel
from equipoise.runs.ask.decide import (
    MAX_SAME_FAILURES,
    OUTAGE_KINDS,
    AttemptState,
    Decision,
    EndpointState,
    GiveUp,
    RetryAt,
    RetryNow,
    Rules,
    StopRun,
    TestEndpoint,
    decide,
    decide_test,
    describe_same_failures,
    name_failure,
)
from equipoise.runs.ask.events import FIRST_RAISED_LIMIT, LARGEST_LIMIT, retry_options
from equipoise.runs.ask.limits import Budget, Throttle
from equipoise.runs.file.values import Attempt, Pending
from equipoise.runs.spec import RunSpec
from equipoise.schema import LENGTH_REASONS, MEASURED, Status

MAX_SPENT_ON_REASONING = 3
"""This many times in a row, a largest limit that went into reasoning ends the run."""


def _now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(kw_only=True)
class Asker:
    """Asks for attempts. All attempts of a session share its throttle, its budget and what is known of the endpoint."""

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
    served: str = ""
    """The last model that replied under the name that was asked for."""
    testing: asyncio.Lock = field(default_factory=asyncio.Lock)
    random: Random = field(default_factory=lambda: Random(0))

    def __post_init__(self) -> None:
        self.endpoint = EndpointState(name=self.model.name, responded_at=_now())
        self.rules = Rules(tries=self.spec.tries, patience=self.spec.patience)

    async def ask(self, pending: Pending) -> Attempt | None:
        """Ask until the attempt ends; None if everything stops before. Raises errors that end the run."""
        attempt = AttemptState(seconds_left=self.spec.deadline, outages=self.endpoint.outages)
        while await self.throttle.enter():
            if attempt.outages < self.endpoint.outages:
                attempt.begin_again(self.spec.deadline, self.endpoint.outages)
            pending = self._with_raised_limit(pending)
            attempt.requests += 1
            sent = _now()
            pause = 0.0
            try:
                outcome = await self._request(pending, attempt.seconds_left)
                if isinstance(outcome, TransientFault):
                    decision = await self._handle_fault(outcome, attempt, sent)
                    if isinstance(decision, GiveUp):
                        return _end(pending, outcome.reply, attempt)
                    if isinstance(decision, RetryAt) and not decision.for_everybody:
                        pause = decision.time - _now()
                elif is_spent_on_reasoning(outcome) and self._can_raise(pending):
                    limit = max(FIRST_RAISED_LIMIT, 2 * (pending.asking.max_tokens or 0))
                    pending = _with_limit(pending, min(LARGEST_LIMIT, limit))
                    attempt.spent.append(outcome)
                    attempt.begin_again(self.spec.deadline, self.endpoint.outages)
                else:
                    if outcome.status in MEASURED:
                        if self.answered is None and attempt.spent:
                            await self._settle_limit(pending, outcome)
                        self.answered = pending
                    self._note_response(sent)
                    return _end(pending, outcome, attempt)
            finally:
                self.throttle.leave()
            await self.throttle.sleep(pause)
        return None

    async def _request(self, pending: Pending, seconds: float) -> Reply | TransientFault:
        """Send one request, and note what comes back."""
        model = self.model
        reply = None
        self.budget.begin_request()
        late = asyncio.get_running_loop().call_later(seconds, self._note_that_it_is_waited_for)
        try:
            async with asyncio.timeout(seconds if self.model.can_be_interrupted else None):
                if isinstance(model, SimulatedModel):
                    reply = await model.answer_attempt(
                        pending.probe, pending.prompt_id, pending.repetition, pending.asking
                    )
                else:
                    reply = await model.answer(pending.text, pending.system, pending.asking)
        except TimeoutError:
            detail = f"no answer within {self.spec.deadline:g} s"
            fault = TransientFault(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
        except TransientFault as caught:
            fault = caught
        finally:
            late.cancel()
            self.budget.end_request(self.role, reply)
        if reply is None:
            self.endpoint.note_failure(_now())
            if fault.kind != "connection":
                self.endpoint.is_reached = True
            return fault
        self.endpoint.note_answer()
        self.throttle.speed_up()
        self._check_reply(pending, reply)
        return reply

    def _note_that_it_is_waited_for(self) -> None:
        """Say once that a call takes longer than it may and cannot be ended."""
        if not self.model.can_be_interrupted:
            self._note(
                f"{self.model.name} takes longer than {self.spec.deadline:g} s (--deadline). A Python function "
                "cannot be interrupted, so its answer is waited for."
            )

    async def _handle_fault(self, fault: TransientFault, attempt: AttemptState, sent: float) -> Decision:
        """Decide what to do about a request that failed, and do what concerns all attempts."""
        if self.throttle.stopped.is_set():
            return RetryNow()
        now = _now()
        attempt.note_failure(fault, now)
        self._note_fault(fault, sent)
        decision = decide(fault, attempt, self.endpoint, self.rules, sent=sent, now=now, random=self.random)
        if isinstance(decision, TestEndpoint):
            attempt.seconds_left -= now - sent
            if await self._find_outage(fault, attempt, sent):
                return RetryNow()
            return GiveUp()
        if isinstance(decision, StopRun):
            raise EndpointError(decision.reason)
        if isinstance(decision, RetryNow):
            attempt.begin_again(self.spec.deadline, self.endpoint.outages)
        if isinstance(decision, RetryAt):
            if decision.for_everybody:
                self.throttle.one_at_a_time = True
                self.throttle.hold(decision.time - now, decision.reason)
            elif fault.kind != "rate_limit":
                attempt.seconds_left -= decision.time - sent
        return decision

    def _note_fault(self, fault: TransientFault, sent: float) -> None:
        """Note what a fault says about the endpoint."""
        endpoint = self.endpoint
        if fault.kind in OUTAGE_KINDS:
            return
        if fault.kind == "rate_limit":
            endpoint.note_response(sent)
            if self.throttle.slow_down(sent):
                endpoint.rate_limits += 1
            return
        self._note_response(sent)
        failure = fault.kind
        if fault.kind == "client":
            failure = (fault.reply.detail or "").partition(":")[0]
        endpoint.count_same(failure)

    def _note_response(self, sent: float) -> None:
        """Note that the endpoint worked when this request was sent, so that others may be sent beside each other."""
        self.endpoint.note_response(sent)
        self.throttle.allow_many()

    def _check_reply(self, pending: Pending, reply: Reply) -> None:
        """Note what is odd about a reply; end the run if nothing but one kind of failure comes back."""
        failure = name_failure(reply)
        if failure is not None:
            if self.endpoint.count_same(failure) >= MAX_SAME_FAILURES:
                raise EndpointError(describe_same_failures(self.endpoint, reply))
        elif not is_spent_on_reasoning(reply):
            self.endpoint.forget_same()
        elif not self._can_raise(pending) and self.endpoint.count_same("reasoning") >= MAX_SPENT_ON_REASONING:
            raise EndpointError(self._describe_spent_on_reasoning(pending))
        if self.budget.is_blind:
            self._note("The endpoint does not count tokens, so limits on tokens and cost have no effect.")
        if reply.served_model:
            self._check_served(reply.served_model)

    def _check_served(self, served: str) -> None:
        """Note that another model was served than was asked for, or that one dated version follows another."""
        if self.wanted and not is_same_model(self.wanted, served):
            self._note(
                f"Another model was served than {self.wanted!r}: {served[:100]!r}. "
                "The run file keeps the served name of each attempt."
            )
            return
        if self.served and served != self.served:
            self._note(
                f"The endpoint served {self.served[:100]!r} and then {served[:100]!r}. "
                "The run file keeps the served name of each attempt."
            )
        self.served = served

    def _describe_spent_on_reasoning(self, pending: Pending) -> str:
        limit = pending.asking.max_tokens or 0
        of_limit = f" of {limit:,}" if limit else ""
        larger = ""
        if self.role == "model":
            larger = f", or go on with a larger limit: add {retry_options([Status.EMPTY], limit)}"
        return (
            f"{self.model.name} has reached the token limit{of_limit} again and again "
            f"before it wrote anything: its reasoning takes them all. Start a new run in which it reasons less, as "
            f"by {reasoning_option(self.model.name)}{larger}."
        )

    def _note(self, text: str) -> None:
        if text not in self.model.notes:
            self.model.notes.append(text)

    async def _find_outage(self, fault: TransientFault, attempt: AttemptState, since: float) -> bool:
        """Whether the endpoint was down since an attempt began that has failed. If so, it works again.

        The test is sent in the place of this attempt, and there is only one place: nothing else is sent meanwhile.
        """
        endpoint = self.endpoint
        async with self.testing:
            was_down = not endpoint.is_reached
            while endpoint.responded_at <= attempt.failing_since:
                decision = decide_test(fault, endpoint, self.rules, since=since, now=_now(), was_down=was_down)
                if isinstance(decision, StopRun):
                    raise EndpointError(decision.reason)
                pause = decision.time - _now()
                self.throttle.one_at_a_time = True
                self.throttle.hold(pause, decision.reason)
                await self.throttle.sleep(pause)
                if self.throttle.stopped.is_set():
                    return True
                sent = _now()
                tested = self.answered or self.random.choice(self.others)
                outcome = await self._request(tested, self.spec.deadline)
                if isinstance(outcome, TransientFault) and outcome.kind in OUTAGE_KINDS:
                    fault = outcome
                    was_down = True
                    endpoint.outages += 1
                else:
                    self._note_response(sent)
        return was_down or attempt.outages < endpoint.outages

    def _with_raised_limit(self, pending: Pending) -> Pending:
        """The prompt with the limit that was raised since it was read from the file."""
        asking = pending.asking
        if asking.probabilities or (asking.max_tokens or LARGEST_LIMIT) >= self.raised_limit:
            return pending
        return _with_limit(pending, self.raised_limit)

    def _can_raise(self, pending: Pending) -> bool:
        """Whether a prompt whose limit went into reasoning can be asked again with a larger one."""
        is_fixed = self.raise_limit is None or pending.asking.probabilities
        return not is_fixed and (pending.asking.max_tokens or LARGEST_LIMIT) < LARGEST_LIMIT

    async def _settle_limit(self, pending: Pending, reply: Reply) -> None:
        """Raise the limit of the whole run because its first answer needed that: a model that reasons does so always.

        Later, only the prompts that need it are asked with more.
        """
        assert self.raise_limit is not None
        limit = min(LARGEST_LIMIT, 2 * (pending.asking.max_tokens or 0))
        self.raised_limit = limit
        await self.raise_limit(limit, reply.completion_tokens or limit)
        self._note(
            f"{self.model.name} reasons before it answers. Its answers may have up to {limit:,} tokens, reasoning "
            "included, instead of the usual limit of each probe. To let it reason less, start a new run with "
            f"{reasoning_option(self.model.name)}."
        )


def _end(pending: Pending, reply: Reply, attempt: AttemptState) -> Attempt:
    """The attempt as it ended. The tokens of all its replies count."""
    if attempt.spent:
        replies = [*attempt.spent, reply]
        prompt_tokens = sum(each.prompt_tokens or 0 for each in replies)
        completion_tokens = sum(each.completion_tokens or 0 for each in replies)
        reply = replace(reply, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
    return Attempt(
        probe=pending.probe,
        prompt_id=pending.prompt_id,
        repetition=pending.repetition,
        text=pending.text,
        reply=reply,
        tries=attempt.requests,
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
