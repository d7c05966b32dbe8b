"""Functions and programs of this machine as models: a pipeline, an agent or a tool is audited without a server.

`command:python pipeline.py --fast` reads a prompt from standard input and writes its answer; it is started once for
every prompt, without a shell. `package.module:function` is a Python function of the prompt, found by its name.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import pkgutil
import shlex
import shutil
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from equipoise.detect.visible import has_visible_text
from equipoise.errors import InputError
from equipoise.models.protocol import AS_SAMPLED, Asking, Model, Refused, Reply, TransientFault
from equipoise.models.redact import excerpt
from equipoise.schema import Status

COMMAND = "command:"
CONCURRENCY = 2
"""How many programs run at a time, unless the user says otherwise."""
MAX_ANSWER_BYTES = 16 * 2**20
MAX_ERROR_BYTES = 2**16
SECONDS_TO_READ_ON = 1.0
"""For how long the output of a program is read after it has ended."""
KEY_SECONDS = 60.0
"""What a command that prints a key may take: some ask a server, or wait for a touch of a security key."""


Function = Callable[[str], str | Reply] | Callable[[str], Awaitable[str | Reply]]
MAX_BATCH = 64


@runtime_checkable
class Generator(Protocol):
    """An object that answers many prompts in one call."""

    def generate(self, prompts: list[str], /) -> Sequence[str]:
        """Return one answer per prompt, in the same order."""
        ...


class _Batches:
    """The prompts that wait, answered by `generate` as one batch; and the next batch when it has returned."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._waiting: list[tuple[str, asyncio.Future[object]]] = []
        self._turn = asyncio.Lock()

    async def answer(self, text: str) -> object:
        """The answer; whoever has its turn answers for all that wait."""
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting.append((text, future))
        async with self._turn:
            if not future.done():
                batch = self._waiting[:MAX_BATCH]
                answers = await asyncio.to_thread(_generate, self._generator, [text for text, _ in batch])
                del self._waiting[: len(batch)]
                for (_, waiting), answer in zip(batch, answers, strict=True):
                    waiting.set_result(answer)
        found = await future
        if isinstance(found, Exception):
            raise found
        return found


def _generate(generator: Generator, texts: list[str]) -> Sequence[object]:
    """One answer or one exception per text. A batch that raises is repeated one by one, to spare the others."""
    try:
        answers = list(generator.generate(texts))
    except Exception as error:
        return [error] if len(texts) == 1 else [_generate(generator, [text])[0] for text in texts]
    if len(answers) != len(texts):
        return [ValueError(f"generate gave {len(answers)} answers for {len(texts)} prompts")] * len(texts)
    return answers


class FunctionModel(Model):
    """A Python function of the prompt as a model, or an object with a method `generate`.

    A plain function runs in a thread, an `async` one in the event loop. A prompt's system part comes first in the text,
    followed by a blank line.
    """

    def __init__(
        self, given: Function | Generator, *, name: str | None = None, settings: dict[str, object] | None = None
    ) -> None:
        super().__init__(name or _qualified_name(given), settings or {"function": _qualified_name(given)})
        function = _Batches(given).answer if isinstance(given, Generator) else given
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        # A thread does not end when nobody waits for it: asked again, the function would run twice at once.
        self.can_be_interrupted = self._is_async and not isinstance(given, Generator)
        if not self._is_async:
            self.concurrency = 1  # a plain function need not expect to be called again before it has returned

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:  # noqa: ARG002
        """Call the function, which ignores `asking`. What it raises makes this one attempt `malformed`."""
        started = time.monotonic()
        text = f"{system}\n\n{prompt}" if system else prompt
        try:
            answer: object = self._function(text) if self._is_async else await asyncio.to_thread(self._function, text)
            answer = await answer if inspect.isawaitable(answer) else answer
        except (TransientFault, Refused):
            raise
        except Exception as error:
            answer = error
        return replace(_make_reply(answer), latency=time.monotonic() - started)


def _make_reply(answer: object) -> Reply:
    """What becomes of an attempt: a reply as it is, a text, an exception, or something else that is no answer."""
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, Exception):
        return Reply(status=Status.MALFORMED, detail=excerpt(f"{type(answer).__name__}: {answer}"))
    if not isinstance(answer, str):
        return Reply(status=Status.MALFORMED, detail=f"an answer must be a str, got {type(answer).__name__}")
    if not has_visible_text(answer):
        return Reply(status=Status.EMPTY, reasoning=answer or None)
    return Reply(status=Status.OK, answer=answer)


def _qualified_name(function: object) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', '?')}.{getattr(named, '__qualname__', '?')}"


def open_program(name: str, deadline: float) -> FunctionModel:
    """The program or the function of this name; InputError if there is none."""
    if name.startswith(COMMAND):
        words = parse_command(name.removeprefix(COMMAND), f"The command of the model {name!r}")
        model = FunctionModel(partial(_run_program, words, deadline), name=name, settings={"command": words})
        model.concurrency = CONCURRENCY
        return model
    return FunctionModel(_find_function(name), name=name, settings={"python": name})


def _find_function(name: str) -> Callable[[str], str]:
    here = str(Path.cwd())
    sys.path.insert(0, here)  # as `python -m` does
    try:
        found: object = pkgutil.resolve_name(name)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"The function {name!r} cannot be imported: {error}. A model behind an endpoint is called PROVIDER/MODEL."
        ) from None
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise InputError(f"{name} is not a function of the prompt but {type(found).__name__}.")
    return found


async def _run_program(words: Sequence[str], seconds: float, text: str, most: int | None = None) -> str | Reply:
    """What a program writes to standard output, given a text; or why that is no answer."""
    most = most or MAX_ANSWER_BYTES
    # In a session of its own, so that what it starts ends with it.
    process = await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True)
    assert process.stdout
    assert process.stderr
    name = excerpt(Path(words[0]).name)
    output = bytearray()
    errors = bytearray()
    streams = asyncio.gather(
        _read(process.stdout, output, most, lambda: kill_group(process)),
        _read(process.stderr, errors, MAX_ERROR_BYTES),
        _write(process, text),
    )
    try:
        async with asyncio.timeout(seconds):
            await _wait_for_end(process)
            # What the program has started and left behind may hold its output open.
            kill_group(process)
            with suppress(TimeoutError):
                await asyncio.wait_for(streams, SECONDS_TO_READ_ON)
    except TimeoutError:
        return Reply(status=Status.TIMEOUT, detail=f"{name} took over {seconds:g} s")
    finally:
        kill_group(process)
        streams.cancel()
        await _wait_for_end(process)
        code = process.returncode
        # A child in a session of its own may still hold the pipes; asyncio offers no other way to close them.
        process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001
    if len(output) > most:
        return Reply(status=Status.TOO_LARGE, detail=f"over {most:,} bytes")
    if code:
        said = excerpt(errors.decode("utf-8", "replace").strip())
        return Reply(status=Status.MALFORMED, detail=f"{name}: exit code {code}: {said}")
    try:
        return output.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        detail = f"the answer is not UTF-8: byte {error.start:,} is not part of a character"
        return Reply(status=Status.MALFORMED, detail=detail, raw=bytes(output[:MAX_ERROR_BYTES]))


async def _wait_for_end(process: Process) -> None:
    """Wait until the program itself has ended.

    Some versions of Python (3.12.0 to 3.12.3) let `wait` return only when nobody holds its output any more.
    """
    waiting = asyncio.ensure_future(process.wait())
    try:
        while process.returncode is None and not waiting.done():
            await asyncio.wait([waiting], timeout=0.1)
    finally:
        waiting.cancel()


async def print_key(words: Sequence[str]) -> str:
    """The key that a command prints. Nothing of it is shown, also when it fails."""
    try:
        printed = await _run_program(words, KEY_SECONDS, "", MAX_ERROR_BYTES)
    except OSError:
        printed = ""
    key = printed.strip() if isinstance(printed, str) else ""
    if not is_sendable(key):
        raise Refused(
            f"The key command {shlex.quote(Path(words[0]).name)} must print the key and nothing else, one line of "
            f"ASCII without spaces, within {KEY_SECONDS:g} s. Run it to see why it does not: its output is not shown."
        )
    return key


def is_sendable(key: str) -> bool:
    """Whether a key can stand in a header."""
    return key != "" and key.isascii() and key.isprintable() and " " not in key


def parse_command(command: str, what: str) -> list[str]:
    """The words of a command, to be run without a shell; InputError if there is no such program."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{what} cannot be read: {error}.") from None
    program = words[0] if words else ""
    if shutil.which(program) is None:
        raise InputError(f"{what} cannot be run: there is no program {program!r}.")
    return words


async def _read(
    stream: asyncio.StreamReader, kept: bytearray, most: int, on_excess: Callable[[], None] = lambda: None
) -> None:
    """Keep what the stream holds, one byte above the limit at most; what comes after it is thrown away."""
    while part := await stream.read(2**16):
        kept += part[: max(0, most + 1 - len(kept))]
        if len(kept) > most:
            on_excess()


async def _write(process: Process, text: str) -> None:
    assert process.stdin
    with suppress(BrokenPipeError, ConnectionResetError):  # a program need not read its text
        process.stdin.write(text.encode("utf-8", "surrogatepass"))
        await process.stdin.drain()
        process.stdin.close()


def kill_group(process: Process) -> None:
    """End the program, and all that it has started in its session: also what it has left behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
