"""The key of an endpoint: one that is given, or one that a command prints and that is renewed when it is refused."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import PurePath

from equipoise.models.programs import run_program
from equipoise.models.protocol import Refused

COMMAND_SECONDS = 60.0
"""What a command may take: some ask a server, or wait for a touch of a security key."""
LONGEST_KEY = 2**16
"""In bytes. A command that prints more is ended."""


class Key:
    """A key and where it comes from. The output of a command is kept in memory and nowhere else."""

    def __init__(self, value: str | None, source: str | None, command: Sequence[str] = ()) -> None:
        self.value = value
        self.source = source
        self.command = command
        self._lock = asyncio.Lock()

    async def renew(self, refused: str | None) -> None:
        """Run the command for another key than this one. Requests that were refused together share one run."""
        async with self._lock:
            if self.command and self.value == refused:
                self.value = await self._run()

    async def _run(self) -> str:
        """What the command prints. Nothing of it is shown, also when it fails."""
        name = shlex.quote(PurePath(self.command[0]).name)
        try:
            ended = await run_program(self.command, "", most=LONGEST_KEY, seconds=COMMAND_SECONDS)
        except OSError as error:
            late = f"did not end within {COMMAND_SECONDS:g} s. It must not ask for anything"
            reason = late if isinstance(error, TimeoutError) else f"cannot be started: {error.strerror}"
            raise Refused(f"The key command {name} {reason}.") from None
        key = ended.output.decode("ascii", "replace").strip()
        if len(ended.output) <= LONGEST_KEY and ended.code:
            raise Refused(f"The key command {name} failed with exit code {ended.code}. Run it to see why.")
        if len(ended.output) > LONGEST_KEY or not key or not is_sendable(key):
            raise Refused(
                f"The key command {name} must print the key and nothing else: one line of ASCII without spaces. "
                "What it printed is something else, and is not shown."
            )
        return key


def is_sendable(key: str) -> bool:
    """Whether a key can stand in a header."""
    return key.isascii() and key.isprintable() and " " not in key
