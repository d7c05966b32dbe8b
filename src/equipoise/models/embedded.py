"""The embedded model: a GGUF file answered by llama.cpp in a child process that is watched and started again."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import aiohttp

from equipoise.assets import REGISTRY, locate, sha256_of
from equipoise.assets.store import Progress
from equipoise.errors import BadFile, BadParameter, EndpointError, InputError
from equipoise.models.chat import DEADLINE, ChatModel, connect
from equipoise.models.llama import Llama, Serving, Watch
from equipoise.models.protocol import Refused, Reply
from equipoise.models.wire import Sampling, checked
from equipoise.settings import Settings

ASSET = "smollm2"
GGUF = "gguf:"
PACKAGE = "xllamacpp"
SLOTS = 4
CONTEXT = 2048
MAGIC = b"GGUF"


class EmbeddedModel:
    """Weights on this machine as a model. Opened with `async with`, which starts the child that serves them."""

    def __init__(
        self,
        *,
        name: str,
        serving: Serving,
        sha256: str,
        sampling: Sampling,
        deadline: float = DEADLINE,
        watch: Watch | None = None,
    ) -> None:
        self.name = name
        self._serving = serving
        self._sha256 = sha256
        self._sampling = sampling
        self._deadline = deadline
        self._watch = watch or Watch()
        self._notes: list[str] = []
        self._chats: list[ChatModel] = []
        self._free = asyncio.Semaphore(serving.slots)
        self._opened = AsyncExitStack()

    @property
    def settings(self) -> dict[str, object]:
        """What shapes the answers; the address and the key are new each time and do not."""
        asked = self._chat("http://127.0.0.1", None).settings
        return {
            **{name: value for name, value in asked.items() if name not in ("provider", "base_url")},
            "sha256": self._sha256,
            PACKAGE: importlib.metadata.version(PACKAGE),
            "context": self._serving.context,
            "slots": self._serving.slots,
        }

    @property
    def notes(self) -> list[str]:
        """Why the child had to be started again, each time, and what came up in the chats with it."""
        for chat in self._chats:
            self._notes += [note for note in chat.notes if note not in self._notes]
        return self._notes

    @property
    def pid(self) -> int:
        """The process id of the child that serves."""
        return self._child.pid

    async def __aenter__(self) -> Self:
        """Start the child and wait until it has loaded the weights."""
        self._child = await Llama.start(self._serving, self._watch)
        self._session = await self._opened.enter_async_context(aiohttp.ClientSession())
        self._ready: asyncio.Future[ChatModel] = asyncio.get_running_loop().create_future()
        await self._serve()
        self._keeper = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """End the child."""
        self._keeper.cancel()
        self._child.stop()
        await asyncio.wait([self._keeper])
        await self._opened.aclose()

    async def answer(self, prompt: str) -> Reply:
        """One request, as soon as a slot is free and a child serves."""
        async with self._free:
            chat = await asyncio.shield(self._ready)
            return await chat.answer(prompt)

    async def _keep(self) -> None:
        """Put a new child in the place of one that died or hangs; when that was done too often, refuse."""
        left = self._watch.restarts
        while True:
            fault = await self._child.fault(self._session, self._watch)
            self._ready = asyncio.get_running_loop().create_future()
            self._child.stop()
            message = self._child.report(fault)
            while left:
                left -= 1
                try:
                    self._child = await Llama.start(self._serving, self._watch)
                except EndpointError as problem:
                    message = str(problem)
                else:
                    break
            else:
                refused = Refused(f"{message}\nIt had been started again {self._watch.restarts} times before.")
                self._ready.set_exception(refused)
                self._ready.exception()  # Nobody may be waiting for it just now.
                return
            self._notes.append(f"The model {self.name} {fault}, and was started again.")
            await self._serve()

    async def _serve(self) -> None:
        """Let requests go to the child."""
        # The chats with former children stay open, for requests may still be about to find out that they are gone.
        chat = await self._opened.enter_async_context(self._chat(self._child.address, self._child.key))
        self._chats.append(chat)
        self._ready.set_result(chat)

    def _chat(self, address: str, key: str | None) -> ChatModel:
        return connect(
            f"llamacpp/{self._serving.weights.name}",
            environ={},
            base_url=f"{address}/v1",
            key=key,
            sampling=self._sampling,
            deadline=self._deadline,
        )


def embedded(
    name: str,
    *,
    settings: Settings,
    sampling: Sampling,
    slots: int = SLOTS,
    context: int = CONTEXT,
    deadline: float = DEADLINE,
    watch: Watch | None = None,
    progress: Progress | None = None,
) -> EmbeddedModel:
    """The model `embedded`, whose weights are an asset and fetched if need be, or `gguf:FILE`."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise InputError(f"The model {name!r} needs llama.cpp. To add it: pip install 'equipoise[embedded]'")
    for parameter, value in (("slots", slots), ("context", context)):
        if value < 1:
            raise BadParameter(f"The parameter {parameter!r} must be 1 or more. Got {value} instead.")
    if name.startswith(GGUF):
        weights = _checked_gguf(Path(name.removeprefix(GGUF)).expanduser().absolute())
        sha256 = sha256_of(weights)
    else:
        weights = locate(ASSET, settings, progress)
        sha256 = REGISTRY[ASSET].sha256
    return EmbeddedModel(
        name=name,
        serving=Serving(weights=weights, context=context, slots=slots),
        sha256=sha256,
        sampling=checked(sampling),
        deadline=deadline,
        watch=watch,
    )


def _checked_gguf(path: Path) -> Path:
    if not path.is_file():
        raise BadFile(f"There is no file {path}. A model is named as in {GGUF}models/llama-3.2-1b.gguf")
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as problem:
        raise BadFile(f"{path} cannot be read: {problem.strerror}.") from problem
    if start != MAGIC:
        raise BadFile(f"{path} is not a GGUF file: it does not begin with {MAGIC.decode()!r}.")
    return path
