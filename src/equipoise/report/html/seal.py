"""What a report says about itself: its own digest, the runs that it was made of, and how.

The digest of the page is the SHA-256 of its bytes with an empty digest in its place.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import msgspec

from equipoise.errors import BadFile, IntegrityError
from equipoise.report.html.runs import ReportedRun
from equipoise.schema import replace_surrogates

_EMPTY = '<meta name="equipoise-sha256" content="">'
_PAGE = re.compile(rb'(?<=<meta name="equipoise-sha256" content=")[0-9a-f]{64}(?=">)')
_ORIGIN = re.compile(rb'<meta name="equipoise-origin" content="([^"]*)">')


class SealedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a report was made of, and how it was opened."""

    digest: str
    file: str
    reading: str | None
    judged: bool


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Which version wrote a report, of which runs, and how: enough to write it again."""

    equipoise: str
    full: bool
    runs: tuple[SealedRun, ...]


def describe_origin(runs: Sequence[ReportedRun], *, full: bool) -> str:
    """The origin of a report as JSON, for a page."""
    sealed = tuple(
        SealedRun(digest=run.digest, file=replace_surrogates(run.name), reading=run.reading, judged=run.judged)
        for run in runs
    )
    return msgspec.json.encode(Origin(equipoise=version("equipoise"), full=full, runs=sealed)).decode()


def seal_page(page: str) -> str:
    """The page with its own digest in it."""
    digest = sha256(page.encode()).hexdigest()
    return page.replace(_EMPTY, _EMPTY.replace('""', f'"{digest}"'), 1)


def read_seal(path: Path) -> tuple[str, Origin]:
    """The digest of a report and its origin. IntegrityError if the page is not what was written."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}.") from None
    found, origin = _PAGE.search(content), _ORIGIN.search(content)
    if found is None or origin is None:
        raise IntegrityError(f"{path} holds no digest: it is no report of equipoise.")
    actual = sha256(content[: found.start()] + content[found.end() :]).hexdigest()
    if found[0].decode() != actual:
        raise IntegrityError(
            f"{path} was changed after it was written: its digest should be {found[0].decode()}, and is {actual}."
        )
    try:
        return actual, msgspec.json.decode(html.unescape(origin[1].decode()), type=Origin)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise IntegrityError(f"{path} does not say which runs it was made of.") from None
