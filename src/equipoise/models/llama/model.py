"""`EmbeddedModel`: a GGUF file served by llama.cpp in a child process that is watched and restarted."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

import aiohttp

from equipoise.assets import REGISTRY, locate, sha256_of
from equipoise.errors import BadFile, BadParameter, EndpointError, InputError
from equipoise.models.chat.connecting import connect
from equipoise.models.chat.model import DEFAULT_DEADLINE, ChatModel
from equipoise.models.llama import EMBEDDED, GGUF_PREFIX
from equipoise.models.llama.process import ServerOptions, ServerProcess, WatchLimits
from equipoise.models.protocol import AS_SAMPLED, Asking, Refused, Reply
from equipoise.models.sampling import Sampling
from equipoise.settings import Settings

ASSET = "smollm2"
GGUF_MAGIC = b"GGUF"
PACKAGE = "xllamacpp"
EMBEDDED_TEMPERATURE, EMBEDDED_MIN_P = 0.7, 0.05
"""How the packaged model is asked unless the user gives a temperature (`docs/embedded.md` says why)."""
GGUF_SLOTS, EMBEDDED_SLOTS = 4, 8
"""Answers at a time; larger weights need more memory for each."""
DEFAULT_CONTEXT = 2048


class EmbeddedModel:
    """Weights on this machine as a model, opened with `async with`, which starts the child that serves them."""

    def __init__(
        self,
        *,
        name: str,
        options: ServerOptions,
        sha256: str,
        sampling: Sampling,
        deadline: float = DEFAULT_DEADLINE,
        limits: WatchLimits | None = None,
    ) -> None:
        self.name = name
        self.gives_probabilities = True
        self._options = options
        self._sha256 = sha256
        self._sampling = sampling
        self._deadline = deadline
        self._limits = limits or WatchLimits()
        self._notes: list[str] = []
        self._chats: list[ChatModel] = []
        self._in_work: Counter[ChatModel] = Counter()
        self._free_slots = asyncio.Semaphore(options.servers * options.slots)
        self._resources = AsyncExitStack()

    @property
    def settings(self) -> dict[str, object]:
        """What shapes the answers. Address and key of the child are left out: they are new at every start."""
        chat_settings = self._make_chat("http://127.0.0.1", None).settings
        return {
            **{name: value for name, value in chat_settings.items() if name not in ("provider", "base_url")},
            "sha256": self._sha256,
            PACKAGE: importlib.metadata.version(PACKAGE),
            "context": self._options.context,
            "slots": self._options.slots,
            **({"computed_in": "Q8_0"} if self._options.eight_bit else {}),
        }

    @property
    def notes(self) -> list[str]:
        """Why the child was restarted, each time, and the notes of the chats with it."""
        for chat in self._chats:
            self._notes += [note for note in chat.notes if note not in self._notes]
        return self._notes

    @property
    def pid(self) -> int:
        """The process id of the child that serves."""
        return self._child.pid

    async def __aenter__(self) -> Self:
        """Start the child and wait until it has loaded the weights."""
        self._child = await ServerProcess.start(self._options, self._limits)
        self._session = await self._resources.enter_async_context(aiohttp.ClientSession())
        self._serving: asyncio.Future[list[ChatModel]] = asyncio.get_running_loop().create_future()
        await self._open_chats()
        self._supervisor = asyncio.create_task(self._supervise())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Stop the child."""
        self._supervisor.cancel()
        self._child.stop()
        await asyncio.wait([self._supervisor])
        await self._resources.aclose()

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
        """Send one request, as soon as a slot is free and a child serves."""
        async with self._free_slots:
            chat = min(await asyncio.shield(self._serving), key=self._in_work.__getitem__)
            self._in_work[chat] += 1
            try:
                return await chat.answer(prompt, system, asking)
            finally:
                self._in_work[chat] -= 1

    async def _supervise(self) -> None:
        """Replace a child that died or hangs; refuse all requests once that has happened too often."""
        restarts_left = self._limits.restarts
        while True:
            fault = await self._child.wait_for_fault(self._session, self._limits)
            self._serving = asyncio.get_running_loop().create_future()
            self._child.stop()
            message = self._child.describe(fault)
            while restarts_left:
                restarts_left -= 1
                try:
                    self._child = await ServerProcess.start(self._options, self._limits)
                except EndpointError as error:
                    message = str(error)
                else:
                    break
            else:
                self._serving.set_exception(Refused(f"{message}\nIt was restarted {self._limits.restarts} times."))
                self._serving.exception()  # Marks it as retrieved: asyncio warns about exceptions that are not.
                return
            self._notes.append(f"The model {self.name} {fault}, and was started again.")
            await self._open_chats()

    async def _open_chats(self) -> None:
        """Open a chat with each server of the current child and let waiting requests use them."""
        # Chats with earlier children stay open: their requests may not have noticed yet that the child is gone.
        chats = [
            await self._resources.enter_async_context(self._make_chat(address, self._child.key))
            for address in self._child.addresses
        ]
        self._chats += chats
        self._serving.set_result(chats)

    def _make_chat(self, address: str, key: str | None) -> ChatModel:
        return connect(
            f"llamacpp/{self._options.weights.name}",
            environ={},
            base_url=f"{address}/v1",
            key=key,
            sampling=self._sampling,
            deadline=self._deadline,
        )


def prepare_embedded(
    name: str,
    *,
    settings: Settings,
    sampling: Sampling,
    slots: int | None = None,
    context: int = DEFAULT_CONTEXT,
    deadline: float = DEFAULT_DEADLINE,
    limits: WatchLimits | None = None,
) -> EmbeddedModel:
    """Make the model `embedded`, whose weights are fetched if need be, or `gguf:FILE`; no child is started yet."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise InputError(f"The model {name!r} needs llama.cpp. To add it: pip install 'equipoise[embedded]'")
    if slots is None:
        slots = EMBEDDED_SLOTS if name == EMBEDDED else GGUF_SLOTS
    for parameter, value in (("slots", slots), ("context", context)):
        if value < 1:
            raise BadParameter(f"The parameter {parameter!r} must be 1 or more. Got {value} instead.")
    if name.startswith(GGUF_PREFIX):
        weights = Path(name.removeprefix(GGUF_PREFIX)).expanduser().absolute()
        _check_gguf(weights)
        sha256 = sha256_of(weights)
    else:
        weights = locate(ASSET, settings)
        sha256 = REGISTRY[ASSET].sha256
        sampling = _with_default_sampling(sampling)
    return EmbeddedModel(
        name=name,
        options=ServerOptions(weights=weights, context=context, slots=slots, per_core=name == EMBEDDED),
        sha256=sha256,
        sampling=sampling,
        deadline=deadline,
        limits=limits,
    )


def _with_default_sampling(sampling: Sampling) -> Sampling:
    """The sampling for the packaged model, which rambles at temperature 1, unless the user gives a temperature."""
    if sampling.temperature is not None:
        return sampling
    extra = {"min_p": EMBEDDED_MIN_P, **sampling.extra}
    return replace(sampling, temperature=EMBEDDED_TEMPERATURE, extra=extra)


def _check_gguf(path: Path) -> None:
    if not path.is_file():
        raise BadFile(f"There is no file {path}. A model is named as in {GGUF_PREFIX}models/llama-3.2-1b.gguf")
    try:
        with path.open("rb") as file:
            start = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}.") from error
    if start != GGUF_MAGIC:
        raise BadFile(f"{path} is not a GGUF file: it does not begin with {GGUF_MAGIC.decode()!r}.")
