"""`Session`: a run file and the models that fill it, for the command line and the library alike.

session = start("openai/gpt-4o-mini", probes=["jobs_lum"])   or   resume(path)
run = session.ask()
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from equipoise.authoring import Probe
from equipoise.errors import InputError
from equipoise.models import Model
from equipoise.models.protocol import NotServed
from equipoise.models.simulated import SimulatedModel
from equipoise.runs.ask.events import OnEvent
from equipoise.runs.ask.policy import Policy
from equipoise.runs.ask.pump import Pump
from equipoise.runs.file.store import RunFile
from equipoise.runs.growth import take_look
from equipoise.runs.judging import Judge, share_budget
from equipoise.runs.run import Run, store_labels
from equipoise.runs.setup import check_probe_version

T = TypeVar("T")


class Session:
    """A run file that this process owns and the model that fills it. `ask` asks for what is pending and closes both.

    Without a model or without a judge, nothing is asked of it. `confirm_tokens` is told how many tokens an answer of a
    reasoning model takes, and raises if the run should not go on. A file is `created` if it was written for this
    session.
    """

    def __init__(
        self,
        file: RunFile,
        model: Model | None,
        policy: Policy,
        probes: Mapping[str, Probe],
        judge: Judge | None = None,
        *,
        created: bool = False,
        confirm_tokens: Callable[[int], None] | None = None,
    ) -> None:
        self._file, self._model, self._judge = file, model, judge
        self._policy, self._probes = policy, probes
        self._created, self._confirm_tokens = created, confirm_tokens
        self.path = file.path
        self.model = file.spec.model
        self.judge = file.spec.judge if judge else None

    def ask(self, on_event: OnEvent | None = None) -> Run:
        """Ask for all that is pending. Whatever ends it, the answers that came are in the file.

        In a notebook it works as anywhere: the asking runs in a thread with an event loop of its own.
        """
        return run_to_end(self.ask_async(on_event))

    async def ask_async(self, on_event: OnEvent | None = None) -> Run:
        """The same in the running event loop."""
        if not self._file.owned:
            raise InputError(f"A session asks once. To go on: equipoise.resume({str(self.path)!r})")
        try:
            return await self._ask(on_event)
        except NotServed as error:
            # To resume would be to ask the same again, and the file would only stand in the way of the next try.
            if self._created and not Run(self.path, checked=True).ended:
                self.path.unlink(missing_ok=True)
                error.args = (f"{error.plain}\nNo run file was kept.",)
            raise

    async def _ask(self, on_event: OnEvent | None) -> Run:
        with self._file:
            for planned in self._file.probes():
                check_probe_version(planned, self._probes.get(planned.name), self.path)
            if isinstance(self._model, SimulatedModel):
                run = Run(self.path, self._probes.values(), checked=True)
                self._model.use_plan({name: self._probes[name] for name in run.planned}, run.prompts)
            requests = 0
            if self._judge:
                requests = await self._judge.take_exam(self._file, self._probes, on_event)
            if self._model:
                policy = share_budget(self._policy, self._file, requests)
                look = partial(take_look, self._file, self._probes) if self._file.settings.looks else None
                done = await Pump(self._file, self._model, policy, on_event, look, self._raise_limit).run()
                requests += done.requests
            if self._judge:
                await self._judge.ask(self._file, self._probes, requests, on_event)
            if self._model or self._judge:
                await asyncio.to_thread(store_labels, self._file, self._probes.values())
        return Run.open(self.path, probes=self._probes.values())

    def _raise_limit(self, limit: int, tokens: int) -> None:
        """Let all answers that follow have up to `limit` tokens, reasoning included. The first one took `tokens`."""
        if self._confirm_tokens:
            self._confirm_tokens(tokens)
        self._file.raise_limit(limit, wanted=False)

    def close(self) -> None:
        """Give the file back without asking."""
        self._file.close()


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where a loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="equipoise") as thread:
        return thread.submit(asyncio.run, work).result()
