"""Downloads: what remains of one that fails, progress, timeouts, redirects, two at once: real sockets."""

from __future__ import annotations

import re
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from pathlib import Path

import pytest

from assets.sites import DATA, FILE, Site, cached_files, redirect, register, serve
from equipoise.assets import Asset, fetch, locate
from equipoise.errors import AssetUnavailable, StorageError
from equipoise.settings import Settings


def test_when_all_sources_fail_each_reason_is_given_and_what_to_do(
    site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    closed.server_close()
    refused = f"http://127.0.0.1:{closed.server_address[1]}/tiny"
    register(monkeypatch, f"{site.url}/gone", refused)
    with pytest.raises(AssetUnavailable) as caught:
        locate("tiny", Settings(mirror=str(tmp_path / "nowhere"), cache=settings.cache))
    message = str(caught.value)
    assert f"{tmp_path / 'nowhere'}: no such folder" in message
    assert f"{site.url}/gone: HTTP 404" in message
    assert re.search(re.escape(refused) + ": the connection failed: .+", message)
    assert all(word in message for word in ("equipoise data fetch tiny", "EQUIPOISE_MIRROR", FILE))
    assert caught.value.exit_code == 6
    assert cached_files(settings) == []


def test_an_interrupted_download_leaves_no_file(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = serve(DATA)
    files: list[list[str]] = []

    def interrupt(done: int, total: int) -> None:
        if done:
            files.append(cached_files(settings))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        locate("tiny", settings, interrupt)
    assert len(files[0]) == 1
    assert cached_files(settings) == []


@pytest.mark.fault("D2")
def test_progress_rises_to_the_size_and_the_file_has_a_temporary_name_until_it_is_verified(
    asset: Asset, site: Site, settings: Settings
) -> None:
    site.pages["/source"] = serve(DATA)
    calls: list[tuple[int, int, list[str]]] = []
    locate("tiny", settings, lambda done, total: calls.append((done, total, cached_files(settings))))
    steps = [done for done, _, _ in calls]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, len(DATA))
    assert len(steps) > 2
    for _, total, files in calls:
        assert total == len(DATA)
        assert len(files) == 1
        assert files[0] != FILE
    assert cached_files(settings) == [FILE]


@pytest.mark.parametrize(
    ("limit", "seconds", "answers", "reason"),
    [("SILENCE_TIMEOUT", 0.05, False, "timed out"), ("BASE_TIMEOUT", -1e9, True, "too slow")],
)
def test_a_server_that_is_silent_or_too_slow_is_abandoned(
    asset: Asset,
    site: Site,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    seconds: float,
    answers: bool,
    reason: str,
) -> None:
    def silence(answer: BaseHTTPRequestHandler) -> None:
        site.closing.wait()

    monkeypatch.setattr(fetch, limit, seconds)
    site.pages["/source"] = serve(DATA) if answers else silence
    with pytest.raises(AssetUnavailable, match=reason):
        locate("tiny", settings)
    assert cached_files(settings) == []


def test_a_cache_that_cannot_be_written_is_an_error_before_anything_is_sent(
    asset: Asset, site: Site, tmp_path: Path
) -> None:
    site.pages["/source"] = serve(DATA)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=re.escape(str(tmp_path / "file"))) as caught:
        locate("tiny", Settings(cache=tmp_path / "file"))
    assert caught.value.exit_code == 5
    assert "EQUIPOISE_CACHE" in str(caught.value)
    assert site.asked == []


def test_redirects_are_followed_but_not_to_other_protocols(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = redirect("ftp://127.0.0.1:9/tiny")
    with pytest.raises(AssetUnavailable, match="HTTP 302 redirects from http to ftp"):
        locate("tiny", settings)
    site.pages |= {"/source": redirect("/moved"), "/moved": serve(DATA)}
    assert locate("tiny", settings).read_bytes() == DATA


@pytest.mark.parametrize(
    ("old", "new", "followed"),
    [
        ("https://example.org/a", "http://example.org/a", False),
        ("https://example.org/a", "ftp://example.org/a", False),
        ("https://example.org/a", "https://example.org/b", True),
        ("http://example.org/a", "https://example.org/a", True),
    ],
)
def test_a_redirect_from_https_is_followed_to_https_only(old: str, new: str, followed: bool) -> None:
    redirect_request = fetch.SafeRedirects().redirect_request
    request, body = urllib.request.Request(old), BytesIO()
    if followed:
        assert redirect_request(request, body, 302, "Found", HTTPMessage(), new)
        return
    with pytest.raises(urllib.error.HTTPError, match=r"redirects from https to (http|ftp)$") as caught:
        redirect_request(request, body, 302, "Found", HTTPMessage(), new)
    caught.value.close()


def test_two_can_fetch_the_same_asset_at_once(asset: Asset, site: Site, settings: Settings) -> None:
    both_ask = threading.Barrier(2, timeout=60)

    def page(answer: BaseHTTPRequestHandler) -> None:
        both_ask.wait()
        serve(DATA)(answer)

    site.pages["/source"] = page
    with ThreadPoolExecutor(2) as pool:
        paths = [task.result() for task in [pool.submit(locate, "tiny", settings) for _ in range(2)]]
    assert paths == [settings.cache / "assets" / FILE] * 2
    assert site.asked == ["/source", "/source"]
    assert cached_files(settings) == [FILE]
    assert paths[0].read_bytes() == DATA
