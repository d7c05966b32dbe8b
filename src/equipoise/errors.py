"""What a user can cause, as one tree. Each error knows its exit code; `cli/` catches them once.

EquipoiseError              1
├── ProbeError              1   a mistake in a probe's own code
├── InputError              2   the user's input
│   ├── UnknownName             no such probe, metric, parameter, asset …
│   ├── BadParameter            a value outside what a parameter or a template allows
│   └── BadFile                 a file that cannot be read as what it should be
│       └── NoAnswers           a file of answers without any
├── Incomplete              3   finished, but more is missing than the policy allows
├── EndpointError           4   the endpoint refused, or cannot be reached
│   └── BudgetReached           requests, tokens or money are used up
├── StorageError            5   disk, directory, permissions
├── IntegrityError          6   hash, schema, changed settings
│   └── AssetUnavailable        a fetched asset that cannot be had
└── Interrupted       130, 143   stopped by a signal, in order

7 and 8 are verdicts of the gate, and no errors.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EquipoiseError(Exception):
    """The root: whatever equipoise raises on purpose. Its arguments are the lines of its message."""

    exit_code = 1

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class ProbeError(EquipoiseError):
    """A probe's own code raised, or gave what no measurement can use. Its cause is the original exception."""


class InputError(EquipoiseError):
    """Something the user gave is wrong."""

    exit_code = 2


class UnknownName(InputError):
    """An unknown name; the message offers the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        super().__init__(f"No {kind} is called {name!r}.{did_you_mean(name, known)}{hint and ' ' + hint}")


class BadParameter(InputError):
    """A parameter's value is outside what it allows."""


class BadFile(InputError):
    """A user's file cannot be read as what it should be."""


class NoAnswers(BadFile):
    """A file of answers holds none."""

    def __init__(self, source: object) -> None:
        super().__init__(f"{source} holds no answers.")


class Incomplete(EquipoiseError):
    """The run finished, but more is missing than the policy allows."""

    exit_code = 3


class EndpointError(EquipoiseError):
    """The endpoint refused, or cannot be reached. The run can be resumed."""

    exit_code = 4


class BudgetReached(EndpointError):
    """Requests, tokens or money are used up. The run can be resumed."""


class StorageError(EquipoiseError):
    """Files cannot be written or read."""

    exit_code = 5


class IntegrityError(EquipoiseError):
    """What is there is not what was recorded: hash, schema, settings."""

    exit_code = 6


class AssetUnavailable(IntegrityError):
    """A fetched asset is not there and cannot be fetched."""


class Interrupted(EquipoiseError):
    """Stopped from outside, in order. The run can be resumed."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Offer the nearest of the known names as a sentence with a leading space, or all of them if none is near."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        return f" Did you mean {' or '.join(map(repr, near))}?"
    return f" There are: {', '.join(known)}." if known else ""
