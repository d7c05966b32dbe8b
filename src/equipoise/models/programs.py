"""A program of this machine as a model: whatever reads a prompt from standard input and writes its answer.

`command:python pipeline.py --fast` is started once for every prompt, without a shell. `package.module:function` is a
Python function of the prompt, found by its name. So a pipeline, an agent or a tool can be audited without a server.
"""

from __future__ import annotations

import importlib
import shlex
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from equipoise.errors import InputError
from equipoise.models.functions import FunctionModel
from equipoise.models.processes import MAX_ERROR_BYTES, run_program
from equipoise.models.protocol import Reply
from equipoise.models.redact import excerpt
from equipoise.schema import Status

COMMAND = "command:"
CONCURRENCY = 2
"""How many programs run at a time, unless the user says otherwise."""
MAX_ANSWER_BYTES = 16 * 2**20


def open_program(name: str, deadline: float) -> FunctionModel:
    """The program or the function of this name; InputError if there is none."""
    if name.startswith(COMMAND):
        words = _parse_command(name)
        return FunctionModel(partial(_run, words, deadline), name=name, settings={"command": words})
    return FunctionModel(_find_function(name), name=name, settings={"python": name})


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


def _parse_command(name: str) -> list[str]:
    try:
        words = shlex.split(name.removeprefix(COMMAND))
    except ValueError as error:
        raise InputError(f"The command of the model {name!r} cannot be read: {error}.") from None
    program = words[0] if words else ""
    if shutil.which(program) is None:
        raise InputError(f"There is no program {program!r} to be run. A model is command:PROGRAM ARGUMENTS.")
    return words


async def _run(words: list[str], deadline: float, text: str) -> str | Reply:
    """What the program writes to standard output is the answer."""
    try:
        ended = await run_program(words, text, most=MAX_ANSWER_BYTES, seconds=deadline)
    except TimeoutError:
        return Reply(status=Status.TIMEOUT, detail=f"the program took over {deadline:g} s")
    if len(ended.output) > MAX_ANSWER_BYTES:
        return Reply(status=Status.TOO_LARGE, detail=f"over {MAX_ANSWER_BYTES:,} bytes")
    if ended.code:
        said = excerpt(ended.errors.decode("utf-8", "replace").strip())
        return Reply(status=Status.MALFORMED, detail=f"exit code {ended.code}: {said}")
    try:
        return ended.output.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        detail = f"the answer is not UTF-8: byte {error.start:,} is not part of a character"
        return Reply(status=Status.MALFORMED, detail=detail, raw=ended.output[:MAX_ERROR_BYTES])
