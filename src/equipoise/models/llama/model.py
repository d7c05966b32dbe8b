"""`EmbeddedModel`: a GGUF file served by llama.cpp in a child process that is restarted if it dies."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from equipoise.assets import REGISTRY, locate, sha256_of
from equipoise.errors import BadFile, BadParameter, EndpointError, InputError, UnknownName
from equipoise.models.chat.connecting import connect
from equipoise.models.chat.model import DEFAULT_DEADLINE, ChatModel
from equipoise.models.llama import CATALOGUE, GGUF_PREFIX, SMALLEST
from equipoise.models.llama.process import ServerOptions, ServerProcess
from equipoise.models.protocol import AS_SAMPLED, Asking, Refused, Reply
from equipoise.models.sampling import Sampling
from equipoise.settings import Settings

GGUF_MAGIC = b"GGUF"
PACKAGE = "xllamacpp"
EMBEDDED_TEMPERATURE, EMBEDDED_MIN_P = 0.7, 0.05
"""How the smallest model is asked unless the user gives a temperature (`docs/embedded.md` says why)."""
LARGER_SLOTS, SMALLEST_SLOTS = 4, 8
"""Answers at a time; larger weights need more memory for each."""
DEFAULT_CONTEXT = 2048
MAX_RESTARTS = 3


class EmbeddedModel:
    """Weights on this machine as a model, opened with `async with`, which starts the child that serves them.

    A child that has died is started again by the next request, a few times.
    """

    gives_probabilities = True
    continues_answers = True
    given_again = ()

    def __init__(
        self,
        *,
        name: str,
        options: ServerOptions,
        sha256: str,
        sampling: Sampling,
        deadline: float = DEFAULT_DEADLINE,
        restarts: int = MAX_RESTARTS,
    ) -> None:
        self.name = name
        self.notes: list[str] = []
        self._options = options
        self._sha256 = sha256
        self._sampling = sampling
        self._deadline = deadline
        self._restarts = self._restarts_left = restarts
        self._free_slots = asyncio.Semaphore(options.slots)
        self._starting = asyncio.Lock()
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
        }

    @property
    def pid(self) -> int:
        """The process id of the child that serves."""
        return self._child.pid

    def continue_after(self, dropped: Collection[str]) -> None:
        """Do nothing: it is asked in the same way again."""

    async def __aenter__(self) -> Self:
        """Start the child and wait until it has loaded the weights."""
        await self._start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Stop the child."""
        await self._child.stop()
        await self._resources.aclose()

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
        """Send one request, as soon as a slot is free and a child serves."""
        async with self._free_slots:
            async with self._starting:
                await self._replace_dead_child()
            chat = self._chat
            try:
                return await chat.answer(prompt, system, asking)
            finally:
                self.notes += [note for note in chat.notes if note not in self.notes]

    async def _start(self) -> None:
        self._child = await ServerProcess.start(self._options)
        # Chats with earlier children stay open: their requests may not have noticed yet that the child is gone.
        self._chat = self._make_chat(self._child.address, self._child.key)
        await self._resources.enter_async_context(self._chat)

    async def _replace_dead_child(self) -> None:
        """Start a child that has died again; refuse all requests once that has happened too often."""
        if not self._child.has_ended:
            return
        fault = await self._child.stop()
        message = self._child.describe(fault)
        while self._restarts_left:
            self._restarts_left -= 1
            try:
                await self._start()
            except EndpointError as error:
                message = str(error)
            else:
                self.notes.append(f"The model {self.name} {fault}, and was started again.")
                return
        raise Refused(f"{message}\nIt was restarted {self._restarts} times.")

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
    load_timeout: float = ServerOptions.load_timeout,
    restarts: int = MAX_RESTARTS,
) -> EmbeddedModel:
    """Make an embedded model, whose weights are fetched if need be, or `gguf:FILE`; no child is started yet."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise InputError(f"The model {name!r} needs llama.cpp. To add it: pip install 'equipoise[embedded]'")
    asset = CATALOGUE.get(name)
    if asset is None and not name.startswith(GGUF_PREFIX):
        raise UnknownName("embedded model", name, CATALOGUE)
    if slots is None:
        slots = SMALLEST_SLOTS if asset == SMALLEST else LARGER_SLOTS
    for parameter, value in (("slots", slots), ("context", context)):
        if value < 1:
            raise BadParameter(f"The parameter {parameter!r} must be 1 or more. Got {value} instead.")
    if asset is None:
        weights = Path(name.removeprefix(GGUF_PREFIX)).expanduser().absolute()
        _check_gguf(weights)
        sha256 = sha256_of(weights)
    else:
        weights = locate(asset, settings)
        sha256 = REGISTRY[asset].sha256
        sampling = _with_default_sampling(sampling) if asset == SMALLEST else sampling
    return EmbeddedModel(
        name=name,
        options=ServerOptions(weights=weights, context=context, slots=slots, load_timeout=load_timeout),
        sha256=sha256,
        sampling=sampling,
        deadline=deadline,
        restarts=restarts,
    )


def _with_default_sampling(sampling: Sampling) -> Sampling:
    """The sampling for the smallest model, which rambles at temperature 1, unless the user gives a temperature."""
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
