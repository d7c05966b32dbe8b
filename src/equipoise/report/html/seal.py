"""What a report says about itself: its own digest, the runs that it was made of, and how.

The digest of the page is the SHA-256 of its bytes with an empty digest in its place.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from equipoise.errors import BadFile, IntegrityError
from equipoise.report.html.runs import ReportedRun

_EMPTY = '<meta name="equipoise-sha256" content="">'
_PAGE = re.compile(rb'(?<=<meta name="equipoise-sha256" content=")[0-9a-f]{64}(?=">)')
_ORIGIN = re.compile(rb'<meta name="equipoise-origin" content="([^"]*)">')


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Which version wrote a report, of which runs, and how: enough to write it again."""

    equipoise: str
    full: bool
    runs: tuple[dict[str, Any], ...]
    """Of each run the `digest`, the name of the `file`, the `reading` that was asked for, and if it is `judged`."""


def describe_origin(runs: Sequence[ReportedRun], *, full: bool) -> str:
    """The origin of a report as JSON, for a page."""
    described = [{"digest": run.digest, "file": run.name, "reading": run.reading, "judged": run.judged} for run in runs]
    return json.dumps({"equipoise": version("equipoise"), "full": full, "runs": described})


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
        data = json.loads(html.unescape(origin[1].decode()))
        runs = tuple(
            {
                "digest": str(run["digest"]),
                "file": str(run["file"]),
                "reading": None if run["reading"] is None else str(run["reading"]),
                "judged": bool(run["judged"]),
            }
            for run in data["runs"]
        )
        return actual, Origin(equipoise=str(data["equipoise"]), full=bool(data["full"]), runs=runs)
    except (KeyError, TypeError, ValueError, RecursionError):
        raise IntegrityError(f"{path} does not say which runs it was made of.") from None
