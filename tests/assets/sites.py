"""A web server on this machine with an asset that is registered for a test, and the folders it comes to."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any

import pytest

from equipoise.assets import REGISTRY, Asset, InWheels
from equipoise.settings import Settings

DATA = bytes(range(256)) * 4000
WRONG = DATA[::-1]
FILE = "tiny.bin"

Page = Callable[[BaseHTTPRequestHandler], None]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Site:
    """A web server on this machine whose pages are functions; `asked` lists the requested paths."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        self.closing = threading.Event()
        site = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                page = site.pages.get(self.path)
                # A client that has read enough hangs up; that is no error.
                with suppress(ConnectionError):
                    page(self) if page else self.send_error(404)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
                pass

        class Server(ThreadingMixIn, HTTPServer):
            daemon_threads = False

        self.server = Server(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def serve(data: bytes, *, stated_length: int | None = None) -> Page:
    """Answer with these bytes; `stated_length` replaces their true length in the header."""

    def page(answer: BaseHTTPRequestHandler) -> None:
        answer.send_response(200)
        answer.send_header("Content-Length", str(len(data) if stated_length is None else stated_length))
        answer.end_headers()
        answer.wfile.write(data)

    return page


def broken_chunk(answer: BaseHTTPRequestHandler) -> None:
    """Announce a chunk of all bytes and hang up in the middle of it."""
    answer.protocol_version = "HTTP/1.1"
    answer.send_response(200)
    answer.send_header("Transfer-Encoding", "chunked")
    answer.end_headers()
    answer.wfile.write(f"{len(DATA):x}\r\n".encode() + DATA[:1000])
    answer.close_connection = True


def redirect(to: str) -> Page:
    def page(answer: BaseHTTPRequestHandler) -> None:
        answer.send_response(302)
        answer.send_header("Location", to)
        answer.send_header("Content-Length", "0")
        answer.end_headers()

    return page


def register(monkeypatch: pytest.MonkeyPatch, *sources: str | InWheels, data: bytes = DATA) -> Asset:
    asset = Asset(
        name="tiny",
        title="A tiny asset",
        file=FILE,
        size=len(data),
        sha256=digest(data),
        licence="CC0",
        citation="Nobody 2025",
        homepage="https://example.org/tiny",
        sources=sources,
    )
    monkeypatch.setitem(REGISTRY, "tiny", asset)
    return asset


def write_to_cache(settings: Settings, data: bytes) -> Path:
    path = settings.cache / "assets" / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def write_to_mirror(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "mirror" / FILE
    path.parent.mkdir()
    path.write_bytes(data)
    return path


def cached_files(settings: Settings) -> list[str]:
    """The names of all files in the cache, hidden ones too."""
    return sorted(path.name for path in settings.cache.rglob("*") if path.is_file())
