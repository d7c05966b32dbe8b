"""The key of an endpoint: one that is given, or one that a command prints and that is renewed when it is refused."""

from __future__ import annotations

import asyncio
import os
import shlex

from equipoise.errors import InputError
from equipoise.models.processes import run_program
from equipoise.models.protocol import Refused

COMMAND_SECONDS = 60.0
"""What a command may take: some ask a server, or wait for a touch of a security key."""
LONGEST_KEY = 2**16
"""In bytes. A command that prints more is ended."""


class Key:
    """A key and where it comes from. The output of a command is kept in memory and nowhere else."""

    def __init__(self, value: str | None, source: str | None, command: str | None = None) -> None:
        self.value = value
        self.source = source
        self.command = command
        self._words = _parse_command(command) if command is not None else []
        self._lock = asyncio.Lock()
        self._proven = True
        """Whether the endpoint has taken the key since it was renewed."""

    async def open(self) -> None:
        """Run the command for the first time, if there is one."""
        if self._words and self.value is None:
            self.value = await self._run()

    def note_accepted(self) -> None:
        """Note that the endpoint takes the key."""
        self._proven = True

    async def renew(self, refused: str | None) -> bool:
        """Run the command again after a key was refused; whether there is another key to try.

        Requests that were refused together share one run. A new key that is refused before it ever worked ends it.
        """
        if not self._words:
            return False
        async with self._lock:
            if self.value != refused:
                return True
            if not self._proven:
                return False
            self._proven = False
            self.value = await self._run()
            return self.value != refused

    async def _run(self) -> str:
        """What the command prints. Nothing of it is shown, also when it fails."""
        name = shlex.quote(os.path.basename(self._words[0]))  # noqa: PTH119 - a word, not a file of ours
        try:
            ended = await run_program(self._words, "", most=LONGEST_KEY, seconds=COMMAND_SECONDS)
        except TimeoutError:
            raise Refused(
                f"The key command {name} did not end within {COMMAND_SECONDS:g} s. It must not ask for anything."
            ) from None
        except OSError as error:
            raise Refused(f"The key command {name} cannot be started: {error.strerror}.") from None
        if ended.code and len(ended.output) <= LONGEST_KEY:
            raise Refused(f"The key command {name} failed with exit code {ended.code}. Run it to see why.")
        return self._read(ended.output, name)

    def _read(self, output: bytes, name: str) -> str:
        key = output.decode("ascii", "replace").strip()
        if not key or not is_sendable(key) or len(output) > LONGEST_KEY:
            raise Refused(
                f"The key command {name} must print the key and nothing else: one line of ASCII without spaces. "
                "What it printed is something else, and is not shown."
            )
        return key


def is_sendable(key: str) -> bool:
    """Whether a key can stand in a header."""
    return key.isascii() and key.isprintable() and " " not in key


def _parse_command(command: str) -> list[str]:
    """The words of a command that is run without a shell."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"The key command cannot be split into words: {error}.") from None
    if not words:
        raise InputError("The key command is empty. An example: --key-command 'gcloud auth print-access-token'")
    return words
