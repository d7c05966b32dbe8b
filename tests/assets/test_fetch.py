"""Where an asset comes from, what is believed of it, and what is left when it goes wrong: real sockets."""

from __future__ import annotations

import hashlib
import logging
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any

import pytest

from equipoise.assets import REGISTRY, Asset, Https, InWheel, Stored, fetch, locate, stored
from equipoise.errors import AssetUnavailable, BadParameter, IntegrityError, StorageError, UnknownName
from equipoise.settings import Settings

DATA = bytes(range(256)) * 4000
WRONG = DATA[::-1]
FILE = "tiny.bin"

Page = Callable[[BaseHTTPRequestHandler], None]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Site:
    """A web server on this machine whose pages are functions, and what it was asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        self.closing = threading.Event()
        site = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                page = site.pages.get(self.path)
                # A client that has heard enough hangs up, which is nothing to report.
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


def whole(data: bytes, *, says: int | None = None) -> Page:
    """Answer with these bytes; `says` is another length than theirs."""

    def page(answer: BaseHTTPRequestHandler) -> None:
        answer.send_response(200)
        answer.send_header("Content-Length", str(len(data) if says is None else says))
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


def in_cache(settings: Settings, data: bytes) -> Path:
    path = settings.cache / "assets" / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def in_mirror(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "mirror" / FILE
    path.parent.mkdir()
    path.write_bytes(data)
    return path


def remains(settings: Settings) -> list[str]:
    """Name every file in the cache, hidden ones too."""
    return sorted(path.name for path in settings.cache.rglob("*") if path.is_file())


# Where it comes from


def test_a_source_fills_the_cache_and_is_not_asked_again(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = whole(DATA)
    path = locate("tiny", settings)
    assert path == settings.cache / "assets" / FILE
    assert path.read_bytes() == DATA
    assert locate("tiny", settings) == path
    assert site.asked == ["/source"]
    assert remains(settings) == [FILE]


def test_the_mirror_comes_before_the_cache_and_the_cache_before_the_source(
    asset: Asset, site: Site, settings: Settings, tmp_path: Path
) -> None:
    site.pages["/source"] = whole(DATA)
    mirrored, cached = in_mirror(tmp_path, DATA), in_cache(settings, DATA)
    both = Settings(mirror=str(mirrored.parent), cache=settings.cache)
    assert locate("tiny", both) == mirrored
    assert stored("tiny", both) == Stored(place="mirror", path=mirrored)
    mirrored.unlink()
    assert locate("tiny", both) == cached
    assert stored("tiny", both) == Stored(place="cache", path=cached)
    assert site.asked == []
    cached.unlink()
    assert stored("tiny", both) is None
    assert locate("tiny", both) == cached
    assert site.asked == ["/source"]


def test_the_file_of_a_folder_is_used_where_it_stands(asset: Asset, settings: Settings, tmp_path: Path) -> None:
    mirrored = in_mirror(tmp_path, DATA)
    assert locate("tiny", Settings(mirror=str(mirrored.parent), cache=settings.cache)) == mirrored
    assert not settings.cache.exists()


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mirror_may_be_an_address(asset: Asset, site: Site, settings: Settings, slash: str) -> None:
    site.pages[f"/mirror/{FILE}"] = whole(DATA)
    mirrored = Settings(mirror=f"{site.url}/mirror{slash}", cache=settings.cache)
    assert locate("tiny", mirrored).read_bytes() == DATA
    assert locate("tiny", mirrored) == settings.cache / "assets" / FILE
    assert site.asked == [f"/mirror/{FILE}"]


def test_an_address_without_the_file_is_passed_over(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = whole(DATA)
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


def test_a_source_that_fails_is_followed_by_the_next(
    site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, Https(url=f"{site.url}/gone"), Https(url=f"{site.url}/source"))
    site.pages["/source"] = whole(DATA)
    assert locate("tiny", settings).read_bytes() == DATA
    assert site.asked == ["/gone", "/source"]


def test_without_fetching_nobody_is_asked(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = whole(DATA)
    with pytest.raises(AssetUnavailable, match="equipoise data fetch tiny") as caught:
        locate("tiny", settings, fetch=False)
    assert caught.value.exit_code == 6
    assert site.asked == []
    path = in_cache(settings, DATA)
    assert locate("tiny", settings, fetch=False) == path


def test_an_unknown_asset_is_refused_with_the_nearest_names(settings: Settings) -> None:
    with pytest.raises(UnknownName, match="'discrim-eval'") as caught:
        locate("discrim_eval", settings)
    assert caught.value.exit_code == 2
    with pytest.raises(UnknownName, match="equipoise data list"):
        stored("zzz", settings)


# What is believed of it


def test_a_wrong_file_in_a_folder_is_shown_and_left_alone(
    asset: Asset, site: Site, settings: Settings, tmp_path: Path
) -> None:
    site.pages["/source"] = whole(DATA)
    mirrored = in_mirror(tmp_path, WRONG)
    with pytest.raises(IntegrityError) as caught:
        locate("tiny", Settings(mirror=str(mirrored.parent), cache=settings.cache))
    assert all(word in str(caught.value) for word in (str(mirrored), digest(DATA), digest(WRONG), "EQUIPOISE_MIRROR"))
    assert mirrored.read_bytes() == WRONG
    assert site.asked == []


def test_a_wrong_file_in_the_cache_is_deleted_and_can_be_fetched_again(
    asset: Asset, site: Site, settings: Settings
) -> None:
    site.pages["/source"] = whole(DATA)
    cached = in_cache(settings, WRONG)
    with pytest.raises(IntegrityError, match="deleted") as caught:
        locate("tiny", settings)
    words = (str(cached), digest(DATA), digest(WRONG), "equipoise data fetch tiny")
    assert all(word in str(caught.value) for word in words)
    assert caught.value.exit_code == 6
    assert remains(settings) == []
    assert site.asked == []
    assert locate("tiny", settings).read_bytes() == DATA


def test_a_wrong_file_under_a_mirror_s_address_stops_the_search(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages |= {f"/mirror/{FILE}": whole(WRONG), "/source": whole(DATA)}
    with pytest.raises(IntegrityError) as caught:
        locate("tiny", Settings(mirror=f"{site.url}/mirror", cache=settings.cache))
    words = (f"{site.url}/mirror/{FILE}", digest(DATA), digest(WRONG), "EQUIPOISE_MIRROR")
    assert all(word in str(caught.value) for word in words)
    assert not isinstance(caught.value, AssetUnavailable)
    assert site.asked == [f"/mirror/{FILE}"]
    assert remains(settings) == []


def test_d1_a_download_with_another_hash_is_deleted(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = whole(WRONG)
    with pytest.raises(IntegrityError) as caught:
        locate("tiny", settings)
    assert caught.value.exit_code == 6
    assert all(word in str(caught.value) for word in (str(asset.sources[0]), digest(DATA), digest(WRONG)))
    assert remains(settings) == []


def test_d1_a_download_that_goes_on_and_on_is_stopped(asset: Asset, site: Site, settings: Settings) -> None:
    sent: list[int] = []
    over = threading.Event()

    def long(answer: BaseHTTPRequestHandler) -> None:
        answer.send_response(200)
        answer.end_headers()
        try:
            for number in range(100):
                answer.wfile.write(DATA)
                sent.append(number)
        finally:
            over.set()

    site.pages["/source"] = long
    with pytest.raises(IntegrityError, match=f"more than the registered {len(DATA):,} bytes") as caught:
        locate("tiny", settings)
    assert caught.value.exit_code == 6
    assert over.wait(30)
    assert len(sent) < 100
    assert remains(settings) == []


def test_d1_wrong_bytes_of_one_source_are_told_and_the_next_is_asked(
    site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    register(monkeypatch, Https(url=f"{site.url}/forged"), Https(url=f"{site.url}/source"))
    site.pages |= {"/forged": whole(WRONG), "/source": whole(DATA)}
    with caplog.at_level(logging.WARNING):
        assert locate("tiny", settings).read_bytes() == DATA
    assert digest(WRONG) in caplog.text
    assert remains(settings) == [FILE]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (whole(DATA[:1000]), "1,000 of 1,024,000 bytes"),
        (whole(DATA[:1000], says=len(DATA)), "1,000 of 1,024,000 bytes"),
        (whole(b""), "0 of 1,024,000 bytes"),
        (broken_chunk, "the connection broke"),
    ],
)
def test_d2_a_truncated_download_never_gets_its_name(
    asset: Asset, site: Site, settings: Settings, page: Page, reason: str
) -> None:
    site.pages["/source"] = page
    with pytest.raises(IntegrityError, match=reason) as caught:
        locate("tiny", settings)
    assert caught.value.exit_code == 6
    assert remains(settings) == []


def test_d2_a_download_has_a_temporary_name_until_it_is_verified(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = whole(DATA)
    names: list[list[str]] = []
    locate("tiny", settings, lambda done, total: names.append(remains(settings)))
    assert names
    assert all(len(there) == 1 and there[0] != FILE for there in names)
    assert remains(settings) == [FILE]


# What is left when it goes wrong


def test_when_all_fails_each_source_is_named_with_its_reason_and_the_ways_out(
    site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nobody = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    nobody.server_close()
    refused = f"http://127.0.0.1:{nobody.server_address[1]}/tiny"
    register(monkeypatch, Https(url=f"{site.url}/gone"), Https(url=refused))
    with pytest.raises(AssetUnavailable) as caught:
        locate("tiny", Settings(mirror=str(tmp_path / "nowhere"), cache=settings.cache))
    message = str(caught.value)
    assert f"{tmp_path / 'nowhere'}: no such folder" in message
    assert f"{site.url}/gone: HTTP 404" in message
    assert re.search(re.escape(refused) + ": no connection: .+", message)
    assert all(word in message for word in ("equipoise data fetch tiny", "EQUIPOISE_MIRROR", FILE))
    assert caught.value.exit_code == 6
    assert remains(settings) == []


def test_an_interrupted_download_leaves_nothing(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = whole(DATA)
    seen: list[list[str]] = []

    def interrupt(done: int, total: int) -> None:
        if done:
            seen.append(remains(settings))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        locate("tiny", settings, interrupt)
    assert len(seen[0]) == 1
    assert remains(settings) == []


def test_progress_rises_from_nothing_to_all(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = whole(DATA)
    seen: list[tuple[int, int]] = []
    locate("tiny", settings, lambda done, total: seen.append((done, total)))
    assert {total for _, total in seen} == {len(DATA)}
    steps = [done for done, _ in seen]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, len(DATA))
    assert len(steps) > 2


def test_a_server_that_never_answers_is_given_up(
    asset: Asset, site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "SILENCE", 0.05)

    def silence(answer: BaseHTTPRequestHandler) -> None:
        site.closing.wait()

    site.pages["/source"] = silence
    with pytest.raises(AssetUnavailable, match="timed out"):
        locate("tiny", settings)
    assert remains(settings) == []


def test_a_download_that_drips_is_given_up(
    asset: Asset, site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "GRACE", -1e9)
    site.pages["/source"] = whole(DATA)
    with pytest.raises(AssetUnavailable, match="too slowly"):
        locate("tiny", settings)
    assert remains(settings) == []


def test_a_cache_that_cannot_be_written_is_told_before_anybody_is_asked(
    asset: Asset, site: Site, tmp_path: Path
) -> None:
    site.pages["/source"] = whole(DATA)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=re.escape(str(tmp_path / "file"))) as caught:
        locate("tiny", Settings(cache=tmp_path / "file"))
    assert caught.value.exit_code == 5
    assert "EQUIPOISE_CACHE" in str(caught.value)
    assert site.asked == []


def test_redirects_are_followed(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages |= {"/source": redirect("/moved"), "/moved": whole(DATA)}
    assert locate("tiny", settings).read_bytes() == DATA


def test_redirects_out_of_the_web_are_not_followed(asset: Asset, site: Site, settings: Settings) -> None:
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
def test_a_redirect_never_leaves_https(old: str, new: str, followed: bool) -> None:
    step = fetch.StayEncrypted().redirect_request
    request, body = urllib.request.Request(old), BytesIO()
    if followed:
        onward = step(request, body, 302, "Found", HTTPMessage(), new)
        assert onward is not None
        assert onward.full_url == new
        return
    with pytest.raises(urllib.error.HTTPError, match=r"redirects from https to (http|ftp)$") as caught:
        step(request, body, 302, "Found", HTTPMessage(), new)
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


def test_two_processes_that_fetch_at_once_both_have_it(site: Site, settings: Settings) -> None:
    together = threading.Barrier(2, timeout=60)

    def page(answer: BaseHTTPRequestHandler) -> None:
        together.wait()
        whole(DATA)(answer)

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
    assert remains(settings) == [FILE]
    assert Path(outputs[0]).read_bytes() == DATA


@pytest.mark.parametrize(("theirs", "good"), [(DATA, True), (WRONG, False)])
def test_a_file_that_cannot_be_replaced_will_do_if_it_is_the_right_one(
    asset: Asset, site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch, theirs: bytes, good: bool
) -> None:
    """Windows refuses to replace a file that another process has fetched meanwhile and reads."""

    def refuse(part: Path, target: Path) -> Path:
        target.write_bytes(theirs)
        raise PermissionError(13, "Permission denied", str(target))

    site.pages["/source"] = whole(DATA)
    monkeypatch.setattr(Path, "replace", refuse)
    if good:
        assert locate("tiny", settings).read_bytes() == DATA
    else:
        with pytest.raises(StorageError, match="Permission denied"):
            locate("tiny", settings)
    assert remains(settings) == [FILE]


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


def test_files_of_assets_do_not_share_a_name() -> None:
    files = [asset.file for asset in REGISTRY.values()]
    assert len(set(files)) == len(files)
