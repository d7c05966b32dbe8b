"""Asking for one attempt until it has an end: the one place where something is asked again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from equipoise.errors import BudgetReached, EndpointError
from equipoise.frames import Status
from equipoise.models.protocol import Model, Passing, Reply
from equipoise.runs.outage import Outage, duration
from equipoise.runs.pacing import Pace
from equipoise.runs.policy import Policy
from equipoise.runs.tally import Tally
from equipoise.runs.values import Attempt, Pending

LONGEST_ANSWER = 16 * 1024 * 1024
"""Characters, whoever answers."""


@dataclass(frozen=True)
class _Again:
    """Ask again after so many seconds; whether all this is on the attempt's own time."""

    after: float
    counts: bool = True


class Asking:
    """What all attempts of a sitting share: the pace, the outages, the budget, and what the endpoint keeps saying."""

    def __init__(
        self, model: Model, policy: Policy, tally: Tally, concurrency: int, note: Callable[[str], None]
    ) -> None:
        self._model = model
        self._policy = policy
        self._tally = tally
        self._note = note
        self._clock = asyncio.get_running_loop().time
        self._heard_at = self._clock()
        self._outage = Outage(policy, model.name, self._clock)
        self._complaint, self._complaints = "", 0
        self._asked_model = model.settings.get("model")
        self._served_model = self._asked_model
        self._stopping = False
        self.pace = Pace(policy, concurrency)

    def stop(self) -> None:
        """Send nothing more. What is under way may still come back."""
        self._stopping = True
        self.pace.stop()

    async def ask(self, pending: Pending) -> Attempt | None:
        """Ask until there is an end; None when everything stops before. Raises what must end the run."""
        tries, left = 0, self._policy.deadline
        while await self.pace.enter():
            tries += 1
            sent = self._clock()
            outcome = await self._request(pending.text, left)
            if isinstance(outcome, Passing):
                if self._stopping:
                    return None
                again = self._judge(outcome, pending, tries, sent, left - (self._clock() - sent))
                if again is not None:
                    if again.counts:
                        left -= self._clock() - sent + again.after
                    await self.pace.sleep(again.after)
                    continue
                outcome = outcome.reply
            if self._outage.over:
                self.pace.together()
            return Attempt(
                probe=pending.probe, prompt=pending.prompt, repetition=pending.repetition, reply=outcome, tries=tries
            )
        return None

    async def _request(self, text: str, left: float) -> Reply | Passing:
        try:
            if limit := self._tally.over_budget():
                raise BudgetReached(
                    f"The budget of {limit} leaves no room for another request. Limits are given anew to go on."
                )
            self._tally.sent()
            try:
                async with asyncio.timeout(left):
                    reply = await self._model.answer(text)
            finally:
                self._tally.came()
        except TimeoutError:
            return Reply(status=Status.TIMEOUT, detail=f"no answer within {self._policy.deadline:g} s")
        except Passing as fault:
            return fault
        finally:
            self.pace.leave()
        self._heard(reply)
        return _bounded(reply)

    def _heard(self, reply: Reply) -> None:
        self._heard_at = self._clock()
        self._complaints = 0
        self._outage.alive()
        self.pace.speed_up()
        self._tally.used(reply)
        if self._tally.unmetered and (self._policy.max_tokens is not None or self._policy.max_cost is not None):
            self._note("The endpoint does not count tokens, so limits on tokens and cost do not hold.")
        if reply.served_model != self._served_model and reply.served_model:
            self._served_model = reply.served_model
            if isinstance(self._asked_model, str) and not same_model(self._asked_model, reply.served_model):
                served = reply.served_model[:100]
                self._note(
                    f"Another model was served than {self._asked_model!r}: {served!r}. Each attempt keeps its name."
                )

    def _judge(self, fault: Passing, pending: Pending, tries: int, sent: float, left: float) -> _Again | None:
        """When to ask again, or None if the attempt ends with this fault."""
        if fault.kind == "connection":
            pause = self._outage.lost((pending.probe, pending.prompt), sent, fault.reply.detail)
            if pause is not None:
                self.pace.alone = True
                self.pace.hold(pause)
                return _Again(0.0, counts=False)
        else:
            self._outage.alive()
        if fault.kind == "client":
            self._complain(fault.reply.detail or "")
            return None
        if fault.kind == "rate_limit":
            self.pace.slow_down(sent)
        elif tries >= (self._policy.malformed_tries if fault.kind == "malformed" else self._policy.tries):
            return None
        if fault.retry_after is not None:
            self._hold(fault.retry_after)
            return _Again(self.pace.backoff(1), counts=False)
        after = self.pace.backoff(tries)
        return _Again(after) if after < left else None

    def _hold(self, seconds: float) -> None:
        longest, quiet = self._policy.longest_wait, self._clock() - self._heard_at
        if seconds > longest:
            raise EndpointError(
                f"{self._model.name} asks to wait {duration(seconds)}, and a run waits {duration(longest)} at most. "
                "Go on later."
            )
        if quiet > longest:
            raise EndpointError(f"{self._model.name} has only asked to wait for {duration(quiet)}. Go on later.")
        self.pace.hold(seconds)

    def _complain(self, detail: str) -> None:
        status = re.match(r"HTTP \d+", detail)
        complaint = status[0] if status else detail
        self._complaints = self._complaints + 1 if complaint == self._complaint else 1
        self._complaint = complaint
        if self._complaints >= self._policy.client_faults:
            raise EndpointError(
                f"{self._model.name} has answered {self._complaints} times in a row with the same error: {detail}."
            )


def same_model(asked: str, served: str) -> bool:
    """Whether the served name is the asked one, perhaps in a folder, or with the date that its alias stands for."""
    asked, served = asked.lower(), served.lower().removeprefix("models/")
    pattern = rf"(.*/)?{re.escape(asked.rpartition('/')[2])}([-@:_]?(v?\d[\d.-]*|latest))?"
    return re.fullmatch(pattern, served) is not None


def _bounded(reply: Reply) -> Reply:
    size = len(reply.answer or "") + len(reply.reasoning or "")
    if size <= LONGEST_ANSWER:
        return reply
    detail = f"{size:,} characters, of which at most {LONGEST_ANSWER:,} are kept"
    return replace(reply, status=Status.TOO_LARGE, answer=None, reasoning=None, detail=detail)
