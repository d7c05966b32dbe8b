"""Where assets come from, how they are verified, and what remains after a failure: real sockets."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any

import pytest

from equipoise.assets import REGISTRY, Asset, Https, InWheel, StoredFile, fetch, find_stored, locate, store
from equipoise.errors import AssetUnavailable, BadParameter, IntegrityError, StorageError, UnknownName
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


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    opened = Site()
    yield opened
    opened.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache=tmp_path / "cache")


@pytest.fixture
def asset(site: Site, monkeypatch: pytest.MonkeyPatch) -> Asset:
    return register(monkeypatch, Https(url=f"{site.url}/source"))


def register(monkeypatch: pytest.MonkeyPatch, *sources: Https | InWheel, data: bytes = DATA) -> Asset:
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


# Where an asset comes from


def test_a_fetched_asset_is_cached_and_not_fetched_again(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = serve(DATA)
    path = locate("tiny", settings)
    assert path == settings.cache / "assets" / FILE
    assert path.read_bytes() == DATA
    assert locate("tiny", settings) == path
    assert site.asked == ["/source"]
    assert cached_files(settings) == [FILE]


def test_the_mirror_is_tried_before_the_cache_and_the_cache_before_the_source(
    asset: Asset, site: Site, settings: Settings, tmp_path: Path
) -> None:
    site.pages["/source"] = serve(DATA)
    mirrored, cached = write_to_mirror(tmp_path, DATA), write_to_cache(settings, DATA)
    both = Settings(mirror=str(mirrored.parent), cache=settings.cache)
    assert locate("tiny", both) == mirrored
    assert find_stored("tiny", both) == StoredFile(place="mirror", path=mirrored)
    mirrored.unlink()
    assert locate("tiny", both) == cached
    assert find_stored("tiny", both) == StoredFile(place="cache", path=cached)
    assert site.asked == []
    cached.unlink()
    assert find_stored("tiny", both) is None
    assert locate("tiny", both) == cached
    assert site.asked == ["/source"]


def test_a_file_in_a_mirror_folder_is_used_without_a_copy(asset: Asset, settings: Settings, tmp_path: Path) -> None:
    mirrored = write_to_mirror(tmp_path, DATA)
    assert locate("tiny", Settings(mirror=str(mirrored.parent), cache=settings.cache)) == mirrored
    assert not settings.cache.exists()


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mirror_may_be_an_address(asset: Asset, site: Site, settings: Settings, slash: str) -> None:
    site.pages[f"/mirror/{FILE}"] = serve(DATA)
    mirrored = Settings(mirror=f"{site.url}/mirror{slash}", cache=settings.cache)
    assert locate("tiny", mirrored).read_bytes() == DATA
    assert locate("tiny", mirrored) == settings.cache / "assets" / FILE
    assert site.asked == [f"/mirror/{FILE}"]


def test_a_mirror_address_without_the_file_is_passed_over(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = serve(DATA)
    mirrored = Settings(mirror=f"{site.url}/mirror", cache=settings.cache)
    assert locate("tiny", mirrored).read_bytes() == DATA
    assert site.asked == [f"/mirror/{FILE}", "/source"]


@pytest.mark.parametrize(
    "mirror",
    [
        "ftp://example.org/x",
        "https://me:pass-word@example.org/x",
        "https://example.org/x?key=pass-word",
        "s3://x",
    ],
)
def test_a_mirror_of_another_kind_is_refused_and_not_shown(asset: Asset, settings: Settings, mirror: str) -> None:
    with pytest.raises(BadParameter, match="EQUIPOISE_MIRROR") as caught:
        locate("tiny", Settings(mirror=mirror, cache=settings.cache))
    assert "pass-word" not in str(caught.value)


def test_after_a_source_that_fails_the_next_is_tried(
    site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, Https(url=f"{site.url}/gone"), Https(url=f"{site.url}/source"))
    site.pages["/source"] = serve(DATA)
    assert locate("tiny", settings).read_bytes() == DATA
    assert site.asked == ["/gone", "/source"]


def test_without_fetching_nothing_is_sent(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = serve(DATA)
    with pytest.raises(AssetUnavailable, match="equipoise data fetch tiny") as caught:
        locate("tiny", settings, fetch=False)
    assert caught.value.exit_code == 6
    assert site.asked == []
    path = write_to_cache(settings, DATA)
    assert locate("tiny", settings, fetch=False) == path


def test_an_unknown_asset_is_refused_with_the_nearest_names(settings: Settings) -> None:
    with pytest.raises(UnknownName, match="'discrim-eval'") as caught:
        locate("discrim_eval", settings)
    assert caught.value.exit_code == 2
    with pytest.raises(UnknownName, match="equipoise data list"):
        find_stored("zzz", settings)


# How an asset is verified


def test_a_file_of_another_size_is_refused_without_being_read(
    asset: Asset, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_to_mirror(tmp_path, DATA + b"more")
    monkeypatch.setattr(store, "sha256_of", lambda _path: pytest.fail("The file was read."))
    with pytest.raises(IntegrityError, match=f"{len(DATA) + 4:,} bytes instead of {len(DATA):,}"):
        locate("tiny", replace(settings, mirror=str(path.parent)))


@pytest.mark.fault("P19")
def test_what_killed_downloads_left_is_deleted_by_the_next(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = serve(DATA)
    folder = settings.cache / "assets"
    folder.mkdir(parents=True)
    names = ("12-0123abcd.part", "13-89abcdef.part", "mine.part")
    stale, fresh, other = (folder / f".{FILE}.{name}" for name in names)
    for path in (stale, fresh, other):
        path.write_bytes(DATA[:9])
    for path in (stale, other):
        os.utime(path, (time.time() - 7200,) * 2)
    locate("tiny", settings)
    assert sorted(folder.iterdir()) == sorted([folder / FILE, fresh, other])


@pytest.mark.fault("D1")
def test_a_wrong_file_in_a_mirror_folder_is_named_and_not_deleted(
    asset: Asset, site: Site, settings: Settings, tmp_path: Path
) -> None:
    site.pages["/source"] = serve(DATA)
    mirrored = write_to_mirror(tmp_path, WRONG)
    with pytest.raises(IntegrityError) as caught:
        locate("tiny", Settings(mirror=str(mirrored.parent), cache=settings.cache))
    assert all(word in str(caught.value) for word in (str(mirrored), digest(DATA), digest(WRONG), "EQUIPOISE_MIRROR"))
    assert mirrored.read_bytes() == WRONG
    assert site.asked == []


def test_a_wrong_file_in_the_cache_is_deleted_and_can_be_fetched_again(
    asset: Asset, site: Site, settings: Settings
) -> None:
    site.pages["/source"] = serve(DATA)
    cached = write_to_cache(settings, WRONG)
    with pytest.raises(IntegrityError, match="deleted") as caught:
        locate("tiny", settings)
    words = (str(cached), digest(DATA), digest(WRONG), "equipoise data fetch tiny")
    assert all(word in str(caught.value) for word in words)
    assert caught.value.exit_code == 6
    assert cached_files(settings) == []
    assert site.asked == []
    assert locate("tiny", settings).read_bytes() == DATA


def test_a_wrong_file_at_a_mirror_address_is_an_error(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages |= {f"/mirror/{FILE}": serve(WRONG), "/source": serve(DATA)}
    with pytest.raises(IntegrityError) as caught:
        locate("tiny", Settings(mirror=f"{site.url}/mirror", cache=settings.cache))
    words = (f"{site.url}/mirror/{FILE}", digest(DATA), digest(WRONG), "EQUIPOISE_MIRROR")
    assert all(word in str(caught.value) for word in words)
    assert not isinstance(caught.value, AssetUnavailable)
    assert site.asked == [f"/mirror/{FILE}"]
    assert cached_files(settings) == []


@pytest.mark.fault("D1")
def test_a_download_with_a_wrong_hash_is_deleted(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = serve(WRONG)
    with pytest.raises(IntegrityError) as caught:
        locate("tiny", settings)
    assert caught.value.exit_code == 6
    assert all(word in str(caught.value) for word in (str(asset.sources[0]), digest(DATA), digest(WRONG)))
    assert cached_files(settings) == []


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
    with pytest.raises(IntegrityError, match=f"more than the registered {len(DATA):,} bytes") as caught:
        locate("tiny", settings)
    assert caught.value.exit_code == 6
    assert finished.wait(30)
    assert len(sent) < 100
    assert cached_files(settings) == []


@pytest.mark.fault("D1")
def test_wrong_bytes_of_one_source_are_logged_and_the_next_is_tried(
    site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    register(monkeypatch, Https(url=f"{site.url}/forged"), Https(url=f"{site.url}/source"))
    site.pages |= {"/forged": serve(WRONG), "/source": serve(DATA)}
    with caplog.at_level(logging.WARNING):
        assert locate("tiny", settings).read_bytes() == DATA
    assert digest(WRONG) in caplog.text
    assert cached_files(settings) == [FILE]


@pytest.mark.fault("D2")
@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (serve(DATA[:1000]), "1,000 of 1,024,000 bytes"),
        (serve(DATA[:1000], stated_length=len(DATA)), "1,000 of 1,024,000 bytes"),
        (serve(b""), "0 of 1,024,000 bytes"),
        (broken_chunk, "the connection broke"),
    ],
)
def test_a_truncated_download_is_deleted(asset: Asset, site: Site, settings: Settings, page: Page, reason: str) -> None:
    site.pages["/source"] = page
    with pytest.raises(IntegrityError, match=reason) as caught:
        locate("tiny", settings)
    assert caught.value.exit_code == 6
    assert cached_files(settings) == []


@pytest.mark.fault("D2")
def test_a_download_has_a_temporary_name_until_it_is_verified(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = serve(DATA)
    names: list[list[str]] = []
    locate("tiny", settings, lambda done, total: names.append(cached_files(settings)))
    assert names
    assert all(len(files) == 1 and files[0] != FILE for files in names)
    assert cached_files(settings) == [FILE]


# What remains after a failure


def test_when_all_sources_fail_each_reason_is_given_and_what_to_do(
    site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    closed.server_close()
    refused = f"http://127.0.0.1:{closed.server_address[1]}/tiny"
    register(monkeypatch, Https(url=f"{site.url}/gone"), Https(url=refused))
    with pytest.raises(AssetUnavailable) as caught:
        locate("tiny", Settings(mirror=str(tmp_path / "nowhere"), cache=settings.cache))
    message = str(caught.value)
    assert f"{tmp_path / 'nowhere'}: no such folder" in message
    assert f"{site.url}/gone: HTTP 404" in message
    assert re.search(re.escape(refused) + ": no connection: .+", message)
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


def test_progress_rises_from_zero_to_the_size(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = serve(DATA)
    calls: list[tuple[int, int]] = []
    locate("tiny", settings, lambda done, total: calls.append((done, total)))
    assert {total for _, total in calls} == {len(DATA)}
    steps = [done for done, _ in calls]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, len(DATA))
    assert len(steps) > 2


def test_a_server_that_never_answers_times_out(
    asset: Asset, site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "SILENCE_TIMEOUT", 0.05)

    def silence(answer: BaseHTTPRequestHandler) -> None:
        site.closing.wait()

    site.pages["/source"] = silence
    with pytest.raises(AssetUnavailable, match="timed out"):
        locate("tiny", settings)
    assert cached_files(settings) == []


def test_a_download_that_is_too_slow_is_abandoned(
    asset: Asset, site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "BASE_TIMEOUT", -1e9)
    site.pages["/source"] = serve(DATA)
    with pytest.raises(AssetUnavailable, match="too slow"):
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


def test_redirects_are_followed(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages |= {"/source": redirect("/moved"), "/moved": serve(DATA)}
    assert locate("tiny", settings).read_bytes() == DATA


def test_redirects_to_other_protocols_are_not_followed(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = redirect("ftp://127.0.0.1:9/tiny")
    with pytest.raises(AssetUnavailable, match="HTTP 302 redirects from http to ftp"):
        locate("tiny", settings)


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
        new_request = redirect_request(request, body, 302, "Found", HTTPMessage(), new)
        assert new_request is not None
        assert new_request.full_url == new
        return
    with pytest.raises(urllib.error.HTTPError, match=r"redirects from https to (http|ftp)$") as caught:
        redirect_request(request, body, 302, "Found", HTTPMessage(), new)
    caught.value.close()


FETCHING = """
import sys
from pathlib import Path
from equipoise.assets import REGISTRY, Asset, Https, locate
from equipoise.settings import Settings
url, cache, size, sha256 = sys.argv[1:]
REGISTRY["tiny"] = Asset(name="tiny", title="", file="tiny.bin", size=int(size), sha256=sha256, licence="",
                         citation="", homepage="", sources=(Https(url=url),))
print(locate("tiny", Settings(cache=Path(cache))))
"""


def test_two_processes_can_fetch_the_same_asset_at_once(site: Site, settings: Settings) -> None:
    both_ask = threading.Barrier(2, timeout=60)

    def page(answer: BaseHTTPRequestHandler) -> None:
        both_ask.wait()
        serve(DATA)(answer)

    site.pages["/source"] = page
    command = [
        sys.executable,
        "-c",
        FETCHING,
        f"{site.url}/source",
        str(settings.cache),
        str(len(DATA)),
        digest(DATA),
    ]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert outputs == [str(settings.cache / "assets" / FILE)] * 2
    assert site.asked == ["/source", "/source"]
    assert cached_files(settings) == [FILE]
    assert Path(outputs[0]).read_bytes() == DATA


@pytest.mark.parametrize(("existing", "is_right"), [(DATA, True), (WRONG, False)])
def test_a_file_that_cannot_be_replaced_is_used_if_its_hash_is_right(
    asset: Asset, site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch, existing: bytes, is_right: bool
) -> None:
    """On Windows, a file that another process has fetched meanwhile and reads cannot be replaced."""

    def refuse(part: Path, target: Path) -> Path:
        target.write_bytes(existing)
        raise PermissionError(13, "Permission denied", str(target))

    site.pages["/source"] = serve(DATA)
    monkeypatch.setattr(Path, "replace", refuse)
    if is_right:
        assert locate("tiny", settings).read_bytes() == DATA
    else:
        with pytest.raises(StorageError, match="Permission denied"):
            locate("tiny", settings)
    assert cached_files(settings) == [FILE]


# The registered assets themselves


@pytest.mark.parametrize("asset", REGISTRY.values(), ids=lambda asset: asset.name)
def test_a_registered_asset_is_complete(asset: Asset) -> None:
    assert REGISTRY[asset.name] is asset
    assert re.fullmatch("[0-9a-f]{64}", asset.sha256)
    assert asset.size > 0
    assert asset.sources
    assert Path(asset.file).name == asset.file
    assert all((asset.title, asset.licence, asset.citation, asset.homepage.startswith("https://")))
    assert all(source.url.startswith("https://") for source in asset.sources if isinstance(source, Https))
    assert all(source.member and source.version for source in asset.sources if isinstance(source, InWheel))


def test_no_two_assets_share_a_file_name() -> None:
    files = [asset.file for asset in REGISTRY.values()]
    assert len(set(files)) == len(files)
