"""Asking for one attempt until it ends. This is the only place where something is asked again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from equipoise.errors import BudgetReached, EndpointError
from equipoise.models.protocol import Model, Reply, TransientFault
from equipoise.runs.ask.events import describe_duration
from equipoise.runs.ask.outage import Outage
from equipoise.runs.ask.pacing import Pace
from equipoise.runs.ask.policy import Policy
from equipoise.runs.ask.tally import Tally
from equipoise.runs.file.values import Attempt, Pending
from equipoise.schema import Status

LONGEST_ANSWER = 16 * 1024 * 1024
"""In characters, for every kind of model."""


@dataclass(frozen=True)
class _Retry:
    """Ask again after this many seconds."""

    after: float
    counts: bool = True
    """Whether the request and the pause count towards the deadline of the attempt."""


class Asker:
    """Asks for attempts. All attempts of a session share the pace, the outages, the budget and repeated errors."""

    def __init__(
        self, model: Model, policy: Policy, tally: Tally, concurrency: int, note: Callable[[str], None]
    ) -> None:
        self._model = model
        self._policy = policy
        self._tally = tally
        self._note = note
        self._clock = asyncio.get_running_loop().time
        self._last_reply_at = self._clock()
        self._outage = Outage(policy, model.name, self._clock)
        self._client_error, self._client_errors = "", 0
        self._asked_model = model.settings.get("model")
        self._served_model = self._asked_model
        self._stopping = False
        self.pace = Pace(policy, concurrency)

    def stop(self) -> None:
        """Send nothing more. Requests under way may still come back."""
        self._stopping = True
        self.pace.stop()

    async def ask(self, pending: Pending) -> Attempt | None:
        """Ask until the attempt ends; None if everything stops before. Raises errors that end the run."""
        tries, time_left = 0, self._policy.deadline
        while await self.pace.enter():
            tries += 1
            sent = self._clock()
            outcome = await self._request(pending, time_left)
            if isinstance(outcome, TransientFault):
                if self._stopping:
                    return None
                retry = self._decide_retry(outcome, pending, tries, sent, time_left - (self._clock() - sent))
                if retry is not None:
                    if retry.counts:
                        time_left -= self._clock() - sent + retry.after
                    await self.pace.sleep(retry.after)
                    continue
                outcome = outcome.reply
            if self._outage.over:
                self.pace.allow_many()
            return Attempt(
                probe=pending.probe, prompt=pending.prompt, repetition=pending.repetition, reply=outcome, tries=tries
            )
        return None

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
                    reply = await self._model.answer(pending.text, pending.system)
            finally:
                self._tally.count_request_end()
        except TimeoutError:
            return Reply(status=Status.TIMEOUT, detail=f"no answer within {self._policy.deadline:g} s")
        except TransientFault as fault:
            return fault
        finally:
            self.pace.leave()
        self._count_reply(reply)
        return _limit_size(reply)

    def _count_reply(self, reply: Reply) -> None:
        self._last_reply_at = self._clock()
        self._client_errors = 0
        self._outage.count_response()
        self.pace.speed_up()
        self._tally.count_reply(reply)
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
        self, fault: TransientFault, pending: Pending, tries: int, sent: float, time_left: float
    ) -> _Retry | None:
        """When to ask again, or None if the attempt ends with this fault."""
        if fault.kind == "connection":
            attempt = (pending.probe, pending.prompt)
            pause = self._outage.count_lost_connection(attempt, sent, fault.reply.detail)
            if pause is not None:
                self.pace.one_at_a_time = True
                self.pace.hold(pause)
                return _Retry(0.0, counts=False)
        else:
            self._outage.count_response()
        if fault.kind == "client":
            self._count_client_error(fault.reply.detail or "")
            return None
        if fault.kind == "rate_limit":
            self.pace.slow_down(sent)
        elif tries >= (self._policy.malformed_tries if fault.kind == "malformed" else self._policy.tries):
            return None
        if fault.retry_after is not None:
            self._wait_as_asked(fault.retry_after)
            return _Retry(self.pace.backoff(1), counts=False)
        after = self.pace.backoff(tries)
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
        self.pace.hold(seconds)

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
