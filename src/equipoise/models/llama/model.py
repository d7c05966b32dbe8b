"""`EmbeddedModel`: a GGUF file served by llama.cpp in a child process."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

import orjson

from equipoise.assets import REGISTRY, locate, sha256_of
from equipoise.errors import BadFile, InputError, UnknownName
from equipoise.models.chat.model import DEFAULT_DEADLINE, ChatModel, make_chat_model
from equipoise.models.llama import CATALOGUE, GGUF_PREFIX, SMALLEST, server
from equipoise.models.programs import kill_group
from equipoise.models.protocol import AS_SAMPLED, Asking, Model, Refused, Reply, Sampling
from equipoise.models.redact import excerpt
from equipoise.settings import Settings

PACKAGE = "xllamacpp"
EMBEDDED_TEMPERATURE, EMBEDDED_MIN_P = 0.7, 0.05
"""How the smallest model is asked unless the user gives a temperature (`docs/embedded.md` says why)."""
LARGER_SLOTS, SMALLEST_SLOTS = 4, 8
"""Answers at a time; larger weights need more memory for each."""
CONTEXT = 2048
"""Tokens of prompt and answer together."""
LOAD_SECONDS = 300.0
MAX_RESTARTS = 3
KEPT_LOG_LINES, MAX_LOG_LINE = 12, 300


class EmbeddedModel(Model):
    """Weights on this machine as a model, opened with `async with`, which starts the child that serves them."""

    gives_probabilities = continues_answers = True

    def __init__(
        self, *, name: str, weights: Path, sha256: str, slots: int, sampling: Sampling, deadline: float
    ) -> None:
        self._weights = weights
        self._slots = slots
        self._sampling = sampling
        self._deadline = deadline
        # Address and key of the child are left out of the settings: they are new at every start.
        settings = self._make_chat("http://127.0.0.1", None).settings
        settings = {key: value for key, value in settings.items() if key not in ("provider", "base_url", "dropped")}
        version = importlib.metadata.version(PACKAGE)
        super().__init__(name, {**settings, "sha256": sha256, PACKAGE: version, "context": CONTEXT, "slots": slots})
        self._free_slots = asyncio.Semaphore(slots)
        self._starting = asyncio.Lock()
        self._restarts = 0
        self._resources = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Start the child and wait until it has loaded the weights; raises `Refused` if it does not."""
        try:
            await self._start()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Stop the child."""
        await self._resources.aclose()

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
        """Send one request, as soon as a slot is free. A child that has ended is started again, a few times."""
        async with self._free_slots:
            async with self._starting:
                if self._child.returncode is not None:
                    await self._start_again()
            chat = self._chat
            try:
                return await chat.answer(prompt, system, asking)
            finally:
                self.notes += [note for note in chat.notes if note not in self.notes]

    async def _start_again(self) -> None:
        problem = await self._describe_end()
        if self._restarts == MAX_RESTARTS:
            raise Refused(f"{problem}\nIt was started again {MAX_RESTARTS} times.")
        self._restarts += 1
        await self._start()
        self.notes.append(f"{problem.splitlines()[0]} It was started again.")

    async def _start(self) -> None:
        """Start a child and wait until it has loaded the weights."""
        key = secrets.token_urlsafe(24)
        options = {
            "weights": str(self._weights),
            "context": CONTEXT,
            "slots": self._slots,
            "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            "key": key,
        }
        self._log = self._resources.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - `_resources` is one
        self._child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", server.__file__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # so that Ctrl-C does not reach it
        )
        self._resources.push_async_callback(self._end)
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.write(orjson.dumps(options, option=orjson.OPT_APPEND_NEWLINE))
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                address = (await self._child.stdout.readline()).decode().strip()
                if not address:
                    await self._child.wait()
        except TimeoutError:
            raise Refused(f"The model {self._weights} was not loaded within {LOAD_SECONDS:g} s.") from None
        if not address:
            raise Refused(await self._describe_end())
        # Chats with earlier children stay open: their requests may not have noticed yet that the child is gone.
        self._chat = await self._resources.enter_async_context(self._make_chat(address, key))

    async def _end(self) -> int:
        """End the child if it still runs. It is killed at once: it holds no state."""
        kill_group(self._child)
        code = await self._child.wait()
        if self._child.stdin is not None:
            self._child.stdin.close()
        return code

    async def _describe_end(self) -> str:
        """How the child ended, with the end of its log."""
        code = await self._end()
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()[-KEPT_LOG_LINES:]
        log = "\n  ".join(["The end of its log:", *(excerpt(line, MAX_LOG_LINE) for line in lines)])
        return f"The process of the model {self._weights} {how}.\n{log}"

    def _make_chat(self, address: str, key: str | None) -> ChatModel:
        return make_chat_model(
            f"llamacpp/{self._weights.name}",
            environ={},
            base_url=f"{address}/v1",
            key=key,
            sampling=self._sampling,
            deadline=self._deadline,
        )


def prepare_embedded(
    name: str, *, settings: Settings, sampling: Sampling, deadline: float = DEFAULT_DEADLINE
) -> EmbeddedModel:
    """Make an embedded model, whose weights are fetched if need be, or `gguf:FILE`; no child is started yet."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise InputError(f"The model {name!r} needs llama.cpp. To add it: pip install 'equipoise[embedded]'")
    if name.startswith(GGUF_PREFIX):
        weights = Path(name.removeprefix(GGUF_PREFIX)).expanduser().absolute()
        if not weights.is_file():
            raise BadFile(f"There is no file {weights}. A model is named as in {GGUF_PREFIX}models/llama-3.2-1b.gguf")
        sha256, slots = sha256_of(weights), LARGER_SLOTS
    elif asset := CATALOGUE.get(name):
        weights, sha256 = locate(asset, settings), REGISTRY[asset].sha256
        slots = SMALLEST_SLOTS if asset == SMALLEST else LARGER_SLOTS
        if asset == SMALLEST and sampling.temperature is None:  # at temperature 1 it rambles
            extra = {"min_p": EMBEDDED_MIN_P, **sampling.extra}
            sampling = replace(sampling, temperature=EMBEDDED_TEMPERATURE, extra=extra)
    else:
        raise UnknownName("embedded model", name, CATALOGUE)
    return EmbeddedModel(name=name, weights=weights, sha256=sha256, slots=slots, sampling=sampling, deadline=deadline)
