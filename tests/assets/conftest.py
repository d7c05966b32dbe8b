"""A web server on this machine, settings with a cache of their own, and an asset whose source is the server."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from equipoise.assets import REGISTRY, Asset, InWheels
from equipoise.settings import Settings

DATA = bytes(range(256)) * 4000
WRONG = DATA[::-1]
FILE = "tiny.bin"
Page = Callable[[BaseHTTPRequestHandler], None]
Register = Callable[..., Asset]


class Site(ThreadingHTTPServer):
    """A web server whose pages are functions; `asked` lists the requested paths."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        self.closing = threading.Event()


class Answer(BaseHTTPRequestHandler):
    """Answers with the page of a path."""

    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        self.server.asked.append(self.path)
        page = self.server.pages.get(self.path)
        with suppress(ConnectionError):  # a client that has read enough hangs up; that is no error
            page(self) if page else self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        pass


def serve(data: bytes, *, stated_length: int | None = None) -> Page:
    """Answer with these bytes; `stated_length` replaces their true length in the header."""

    def page(answer: BaseHTTPRequestHandler) -> None:
        answer.send_response(200)
        answer.send_header("Content-Length", str(len(data) if stated_length is None else stated_length))
        answer.end_headers()
        answer.wfile.write(data)

    return page


def redirect(to: str) -> Page:
    """Answer that the page is elsewhere."""

    def page(answer: BaseHTTPRequestHandler) -> None:
        answer.send_response(302)
        answer.send_header("Location", to)
        answer.send_header("Content-Length", "0")
        answer.end_headers()

    return page


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    with Site() as opened:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield opened
        opened.closing.set()
        opened.shutdown()
        thread.join()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache=tmp_path / "cache")


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Registers an asset called tiny."""

    def add(*sources: str | InWheels, data: bytes = DATA) -> Asset:
        asset = Asset(
            name="tiny",
            title="A tiny asset",
            file=FILE,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            licence="CC0",
            citation="Nobody 2025",
            homepage="https://example.org/tiny",
            sources=sources,
        )
        monkeypatch.setitem(REGISTRY, "tiny", asset)
        return asset

    return add


@pytest.fixture
def asset(site: Site, register: Register) -> Asset:
    """The asset tiny, of which the site has the right bytes."""
    site.pages["/source"] = serve(DATA)
    return register(f"{site.url}/source")


def cached_files(settings: Settings) -> list[str]:
    """The names of all files in the cache, hidden ones too."""
    return sorted(path.name for path in settings.cache.rglob("*") if path.is_file())
