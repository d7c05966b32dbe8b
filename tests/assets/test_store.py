"""Where assets come from, how they are verified, and what remains of a download that fails: real sockets."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from assets.conftest import DATA, FILE, WRONG, Page, Register, Site, cached_files, serve
from equipoise import assets
from equipoise.assets import Asset, fetch, find_stored, locate
from equipoise.errors import AssetUnavailable, BadParameter, IntegrityError, StorageError
from equipoise.settings import Settings

HASHES = [hashlib.sha256(data).hexdigest() for data in (DATA, WRONG)]


def write(folder: Path, data: bytes) -> Path:
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes(data)
    return folder / FILE


def test_the_mirror_is_tried_before_the_cache_and_the_cache_before_the_source(
    asset: Asset, site: Site, settings: Settings, tmp_path: Path
) -> None:
    mirrored, cached = write(tmp_path / "mirror", DATA), write(settings.cache / "assets", DATA)
    both = replace(settings, mirror=mirrored.parent)
    assert locate("tiny", both) == find_stored("tiny", both) == mirrored
    mirrored.unlink()
    assert locate("tiny", both) == find_stored("tiny", both) == cached
    cached.unlink()
    assert find_stored("tiny", both) is None
    assert site.asked == []
    for _ in range(2):  # it is not fetched again
        assert locate("tiny", both) == cached
    assert cached.read_bytes() == DATA
    assert site.asked == ["/source"]
    assert cached_files(settings) == [FILE]


def test_a_mirror_may_be_an_address_and_after_one_that_fails_the_next_source_is_tried(
    site: Site, settings: Settings, register: Register
) -> None:
    register(f"{site.url}/gone", f"{site.url}/source")
    site.pages["/source"] = serve(DATA)
    mirrored = replace(settings, mirror=f"{site.url}/mirror")
    locate("tiny", mirrored).unlink()
    assert site.asked == [f"/mirror/{FILE}", "/gone", "/source"]
    site.pages[f"/mirror/{FILE}"] = serve(DATA)
    assert locate("tiny", mirrored).read_bytes() == DATA
    assert site.asked[3:] == [f"/mirror/{FILE}"]


@pytest.mark.parametrize(
    "mirror", ["https://me:pass-word@example.org/x", "https://example.org/x?key=pass-word", "s3://x"]
)
def test_a_mirror_of_another_kind_is_refused_and_not_shown(
    asset: Asset, settings: Settings, mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_MIRROR", f"{mirror}/")
    assert Settings.load().mirror == mirror
    with pytest.raises(BadParameter, match="EQUIPOISE_MIRROR") as caught:
        locate("tiny", replace(settings, mirror=Settings.load().mirror))
    assert "pass-word" not in str(caught.value)


def test_when_all_sources_fail_each_reason_is_given_and_what_to_do(
    site: Site, settings: Settings, register: Register, tmp_path: Path
) -> None:
    closed = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    closed.server_close()
    refused = f"http://127.0.0.1:{closed.server_address[1]}/tiny"
    register(f"{site.url}/gone", refused)
    with pytest.raises(AssetUnavailable) as caught:
        locate("tiny", replace(settings, mirror=tmp_path / "nowhere"))
    message = str(caught.value)
    reasons = (
        f"{tmp_path / 'nowhere'}: no {FILE}",
        f"{site.url}/gone: HTTP 404",
        f"{refused}: the connection failed: ",
    )
    for words in (*reasons, "equipoise data fetch tiny", f"put {FILE} (https://example.org/tiny)", "EQUIPOISE_MIRROR"):
        assert words in message
    assert caught.value.exit_code == 6
    assert cached_files(settings) == []


# What is not the registered file


@pytest.mark.fault("D1")
@pytest.mark.parametrize("place", ["mirror", "cache"])
@pytest.mark.parametrize("data", [WRONG, DATA + b"more"])
def test_a_wrong_file_is_named_and_only_that_in_the_cache_is_deleted(
    asset: Asset, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, data: bytes
) -> None:
    path = write(tmp_path / place / ("assets" if place == "cache" else ""), data)
    settings = Settings(mirror=tmp_path / "mirror", cache=tmp_path / "cache")
    if len(data) != len(DATA):
        monkeypatch.setattr(assets, "sha256_of", lambda _path: pytest.fail("The file was read."))
    with pytest.raises(IntegrityError) as caught:
        locate("tiny", settings)
    actual = HASHES[1] if data == WRONG else f"{len(data):,} bytes instead of {len(DATA):,}"
    remedy = "deleted. Fetch it again: equipoise data fetch tiny" if place == "cache" else "unset EQUIPOISE_MIRROR"
    assert all(words in str(caught.value) for words in (str(path), HASHES[0], actual, remedy))
    assert (caught.value.exit_code, path.exists(), site.asked) == (6, place == "mirror", [])


@pytest.mark.fault("D1")
def test_wrong_bytes_of_a_source_are_deleted_and_the_next_is_tried(
    site: Site, settings: Settings, register: Register
) -> None:
    register(f"{site.url}/forged", f"{site.url}/source")
    site.pages["/forged"] = serve(WRONG)
    with pytest.raises(AssetUnavailable) as caught:
        locate("tiny", settings)
    assert all(words in str(caught.value) for words in (f"{site.url}/forged", *HASHES))
    assert cached_files(settings) == []
    site.pages["/source"] = serve(DATA)
    assert locate("tiny", settings).read_bytes() == DATA
    assert cached_files(settings) == [FILE]


@pytest.mark.fault("D1")
def test_a_download_that_is_longer_than_registered_is_stopped(asset: Asset, site: Site, settings: Settings) -> None:
    sent: list[int] = []
    finished = threading.Event()

    def endless(answer: BaseHTTPRequestHandler) -> None:
        answer.send_response(200)
        answer.end_headers()
        try:
            for number in range(100):
                answer.wfile.write(DATA)
                sent.append(number)
        finally:
            finished.set()

    site.pages["/source"] = endless
    with pytest.raises(IntegrityError, match=f"more than the registered {len(DATA):,} bytes"):
        locate("tiny", settings)
    assert finished.wait(30)
    assert len(sent) < 100
    assert cached_files(settings) == []


def break_off(answer: BaseHTTPRequestHandler) -> None:
    """Announce a chunk of all bytes and hang up in the middle of it."""
    answer.protocol_version = "HTTP/1.1"
    answer.send_response(200)
    answer.send_header("Transfer-Encoding", "chunked")
    answer.end_headers()
    answer.wfile.write(f"{len(DATA):x}\r\n".encode() + DATA[:1000])
    answer.close_connection = True


@pytest.mark.fault("D2")
@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (serve(DATA[:1000]), "1,000 of 1,024,000 bytes"),
        (serve(DATA[:1000], stated_length=len(DATA)), "1,000 of 1,024,000 bytes"),
        (serve(b""), "0 of 1,024,000 bytes"),
        (break_off, "the connection failed"),
    ],
)
def test_a_truncated_download_is_deleted(asset: Asset, site: Site, settings: Settings, page: Page, reason: str) -> None:
    site.pages["/source"] = page
    with pytest.raises(IntegrityError, match=reason):
        locate("tiny", settings)
    assert cached_files(settings) == []


# Downloads under way


@pytest.mark.fault("P19")
def test_what_killed_downloads_left_is_deleted_by_the_next(asset: Asset, settings: Settings) -> None:
    folder = settings.cache / "assets"
    stale, fresh, other = (folder / f".{FILE}.{name}.part" for name in ("0123abcd", "89abcdef", "mine"))
    folder.mkdir(parents=True)
    for path in (stale, fresh, other):
        path.write_bytes(DATA[:9])
    for path in (stale, other):
        os.utime(path, (time.time() - 7200,) * 2)
    locate("tiny", settings)
    assert sorted(folder.iterdir()) == sorted([folder / FILE, fresh, other])


@pytest.mark.fault("D2")
def test_progress_rises_to_the_size_and_the_file_has_a_temporary_name_until_it_is_verified(
    asset: Asset, settings: Settings
) -> None:
    calls: list[tuple[int, list[str]]] = []

    def note(done: int, total: int) -> None:
        assert total == len(DATA)
        calls.append((done, cached_files(settings)))
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        locate("tiny", settings, note)
    assert cached_files(settings) == []
    locate("tiny", settings, note)
    steps = [done for done, _ in calls[2:]]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1], len(steps) > 2) == (0, len(DATA), True)
    assert all(len(files) == 1 and files != [FILE] for _, files in calls)
    assert cached_files(settings) == [FILE]


def test_a_server_that_is_silent_is_abandoned(
    asset: Asset, site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be_silent(_answer: BaseHTTPRequestHandler) -> None:
        site.closing.wait()

    monkeypatch.setattr(fetch, "SILENCE_TIMEOUT", 0.05)
    site.pages["/source"] = be_silent
    with pytest.raises(AssetUnavailable, match="timed out"):
        locate("tiny", settings)
    assert cached_files(settings) == []


def test_a_cache_that_cannot_be_written_is_an_error_before_anything_is_sent(
    asset: Asset, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=re.escape(str(tmp_path / "file")) + ".* EQUIPOISE_CACHE names another"):
        locate("tiny", Settings(cache=tmp_path / "file"))
    assert site.asked == []


def test_two_can_fetch_the_same_asset_at_once(asset: Asset, site: Site, settings: Settings) -> None:
    both_ask = threading.Barrier(2, timeout=60)

    def page(answer: BaseHTTPRequestHandler) -> None:
        both_ask.wait()
        serve(DATA)(answer)

    site.pages["/source"] = page
    with ThreadPoolExecutor(2) as pool:
        paths = [task.result() for task in [pool.submit(locate, "tiny", settings) for _ in range(2)]]
    assert [path.read_bytes() for path in paths] == [DATA, DATA]
    assert site.asked == ["/source", "/source"]
    assert cached_files(settings) == [FILE]
