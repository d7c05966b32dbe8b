"""A program of this machine as a model: whatever reads a prompt from standard input and writes its answer.

`command:python pipeline.py --fast` is started once for every prompt, without a shell. `package.module:function` is a
Python function of the prompt, found by its name. So a pipeline, an agent or a tool can be audited without a server.
"""

from __future__ import annotations

import importlib
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Self

from equipoise.detect.visible import has_visible_text
from equipoise.errors import InputError
from equipoise.models.functions import FunctionModel
from equipoise.models.processes import MAX_ERROR_BYTES, run_program
from equipoise.models.protocol import AS_SAMPLED, Asking, Reply
from equipoise.models.redact import excerpt
from equipoise.schema import Status

COMMAND = "command:"
CONCURRENCY = 2
"""How many programs run at a time, unless the user says otherwise."""
MAX_ANSWER_BYTES = 16 * 2**20


def open_program(name: str, deadline: float) -> CommandModel | FunctionModel:
    """The program or the function of this name; InputError if there is none."""
    if name.startswith(COMMAND):
        return CommandModel(name, deadline)
    model = FunctionModel(_find_function(name), name=name)
    model.settings = {"python": name}
    return model


def _find_function(name: str) -> Callable[[str], str]:
    module, _, path = name.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)  # as `python -m` does
    try:
        found: object = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise InputError(
            f"The module {module!r} of the model {name!r} cannot be imported: {error}. A model "
            "behind an endpoint is called PROVIDER/MODEL."
        ) from None
    except AttributeError:
        raise InputError(f"The module {module!r} has nothing that is called {path!r}.") from None
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise InputError(f"{name} is not a function of the prompt but {type(found).__name__}.")
    return found


class CommandModel:
    """A program that is started for each prompt. What it writes to standard output is the answer."""

    gives_probabilities = False
    continues_answers = False
    given_again = ()

    def __init__(self, name: str, deadline: float) -> None:
        try:
            self._words = shlex.split(name.removeprefix(COMMAND))
        except ValueError as error:
            raise InputError(f"The command of the model {name!r} cannot be read: {error}.") from None
        program = self._words[0] if self._words else ""
        if shutil.which(program) is None:
            raise InputError(f"There is no program {program!r} to be run. A model is command:PROGRAM ARGUMENTS.")
        self.name = name
        self.settings: dict[str, object] = {"command": self._words}
        self.notes: list[str] = []
        self._deadline = deadline

    def continue_after(self, dropped: Collection[str]) -> None:
        """Do nothing: it is asked in the same way again."""

    async def __aenter__(self) -> Self:
        """Do nothing: the program is started for each prompt."""
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Do nothing: no program outlives its prompt."""

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:  # noqa: ARG002
        """Run the program on one prompt. A system part comes first, followed by a blank line."""
        started = time.monotonic()
        text = f"{system}\n\n{prompt}" if system else prompt
        try:
            ended = await run_program(self._words, text, most=MAX_ANSWER_BYTES, seconds=self._deadline)
        except TimeoutError:
            return Reply(status=Status.TIMEOUT, detail=f"the program took over {self._deadline:g} s")
        latency = time.monotonic() - started
        output = ended.output
        if len(output) > MAX_ANSWER_BYTES:
            return Reply(status=Status.TOO_LARGE, detail=f"over {MAX_ANSWER_BYTES:,} bytes", latency=latency)
        if ended.code:
            said = excerpt(ended.errors.decode("utf-8", "replace").strip())
            return Reply(status=Status.MALFORMED, detail=f"exit code {ended.code}: {said}", latency=latency)
        try:
            answer = output.decode("utf-8").removesuffix("\n")
        except UnicodeDecodeError as error:
            detail = f"the answer is not UTF-8: byte {error.start:,} is not part of a character"
            return Reply(status=Status.MALFORMED, detail=detail, raw=output[:MAX_ERROR_BYTES], latency=latency)
        if not has_visible_text(answer):
            return Reply(status=Status.EMPTY, reasoning=answer or None, latency=latency)
        return Reply(status=Status.OK, answer=answer, latency=latency)
