"""The digests in a report: of the page itself, and of the runs that it shows.

The digest of the page is the SHA-256 of its bytes with an empty digest in its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from equipoise.errors import BadFile, IntegrityError

_EMPTY = '<meta name="equipoise-sha256" content="">'
_PAGE = re.compile(rb'(?<=<meta name="equipoise-sha256" content=")[0-9a-f]{64}(?=">)')
_RUNS = re.compile(rb'<meta name="equipoise-runs" content="([0-9a-f ]*)">')


@dataclass(frozen=True, kw_only=True)
class Seal:
    """What a report says about itself: its digest, and those of its runs."""

    page: str
    runs: tuple[str, ...]


def seal_page(page: str) -> str:
    """The page with its own digest in it."""
    digest = sha256(page.encode()).hexdigest()
    return page.replace(_EMPTY, _EMPTY.replace('""', f'"{digest}"'), 1)


def read_seal(path: Path) -> Seal:
    """The digests of a report. IntegrityError if the page is not what was written."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}.") from None
    found, runs = _PAGE.search(content), _RUNS.search(content)
    if found is None or runs is None:
        raise IntegrityError(f"{path} holds no digest: it is no report of equipoise, or of an older version.")
    actual = sha256(content[: found.start()] + content[found.end() :]).hexdigest()
    if found[0].decode() != actual:
        raise IntegrityError(
            f"{path} was changed after it was written: its digest should be {found[0].decode()}, and is {actual}."
        )
    return Seal(page=actual, runs=tuple(runs[1].decode().split()))


def check_report(path: Path, run: Path, digest: str) -> str:
    """The digest of a report on the run with this digest; IntegrityError if it was changed or is about another."""
    seal = read_seal(path)
    if digest not in seal.runs:
        raise IntegrityError(
            f"{path} does not show {run} as it is: it was made of {_name_runs(seal.runs)}, and the run is {digest}. "
            "It is another run, or it was changed since."
        )
    return seal.page


def _name_runs(digests: Sequence[str]) -> str:
    return " and ".join(digests) or "runs without digests"
