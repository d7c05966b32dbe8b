"""Downloads of assets: what remains of one that fails, progress, redirects, two at once."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from assets.conftest import DATA, FILE, Page, Site, cached_files, redirect, serve
from equipoise.assets import Asset, fetch, locate
from equipoise.errors import (
    AssetUnavailable,
    IntegrityError,
    StorageError,
)
from equipoise.settings import Settings

SHA256 = hashlib.sha256(DATA).hexdigest()


REDIRECTS = ["/moved", "//127.0.0.1:{port}/moved", "http://127.0.0.1:{port}/moved"]


@pytest.mark.parametrize("to", REDIRECTS)
def test_redirects_are_followed(asset: Asset, site: Site, settings: Settings, to: str) -> None:
    location = to.format(port=site.server_address[1])
    site.pages |= {"/source": redirect(location), "/moved": serve(DATA)}
    assert locate("tiny", settings).read_bytes() == DATA
    assert site.asked == ["/source", "/moved"]


@pytest.mark.fault("D1")
def test_a_download_that_is_longer_than_registered_is_stopped(
    asset: Asset,
    site: Site,
    settings: Settings,
) -> None:
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
def test_a_truncated_download_is_deleted(
    asset: Asset,
    site: Site,
    settings: Settings,
    page: Page,
    reason: str,
) -> None:
    site.pages["/source"] = page
    with pytest.raises(IntegrityError, match=reason):
        locate("tiny", settings)
    assert cached_files(settings) == []


# Downloads under way


@pytest.mark.fault("P19")
def test_what_killed_downloads_left_is_deleted_by_the_next(
    asset: Asset,
    settings: Settings,
) -> None:
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
def test_an_interrupted_download_leaves_no_file(asset: Asset, settings: Settings) -> None:
    files: list[list[str]] = []

    def interrupt(done: int, _total: int) -> None:
        if done:
            files.append(cached_files(settings))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        locate("tiny", settings, interrupt)
    assert len(files[0]) == 1
    assert cached_files(settings) == []


def test_progress_rises_from_zero_to_the_size(asset: Asset, settings: Settings) -> None:
    calls: list[tuple[int, int]] = []
    locate("tiny", settings, lambda done, total: calls.append((done, total)))
    assert {total for _, total in calls} == {len(DATA)}
    steps = [done for done, _ in calls]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert steps[-1] == len(DATA)
    assert len(steps) > 2


@pytest.mark.fault("D2")
def test_a_download_has_a_temporary_name_until_it_is_verified(
    asset: Asset,
    settings: Settings,
) -> None:
    names: list[list[str]] = []
    locate("tiny", settings, lambda _done, _total: names.append(cached_files(settings)))
    assert names
    for files in names:
        assert len(files) == 1
        assert files != [FILE]
    assert cached_files(settings) == [FILE]


def test_a_server_that_is_silent_is_abandoned(
    asset: Asset,
    site: Site,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def be_silent(_answer: BaseHTTPRequestHandler) -> None:
        site.closing.wait()

    monkeypatch.setattr(fetch, "SILENCE_TIMEOUT", 0.05)
    site.pages["/source"] = be_silent
    with pytest.raises(AssetUnavailable, match="timed out"):
        locate("tiny", settings)
    assert cached_files(settings) == []


def test_a_cache_that_cannot_be_written_is_an_error_before_anything_is_sent(
    asset: Asset,
    site: Site,
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_bytes(b"")
    named = re.escape(str(tmp_path / "file"))
    with pytest.raises(StorageError, match=f"{named}.* EQUIPOISE_CACHE names another") as caught:
        locate("tiny", Settings(cache=tmp_path / "file"))
    assert caught.value.exit_code == 5
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


FETCHING = """
import sys
from pathlib import Path
from equipoise.assets import REGISTRY, Asset, locate
from equipoise.settings import Settings
url, cache, size, sha256 = sys.argv[1:]
about = dict(title="", licence="", citation="", homepage="", file="tiny.bin", name="tiny")
REGISTRY["tiny"] = Asset(**about, size=int(size), sha256=sha256, sources=(url,))
print(locate("tiny", Settings(cache=Path(cache))))
"""


def test_two_processes_can_fetch_the_same_asset_at_once(site: Site, settings: Settings) -> None:
    both_ask = threading.Barrier(2, timeout=120)

    def page(answer: BaseHTTPRequestHandler) -> None:
        both_ask.wait()
        serve(DATA)(answer)

    site.pages["/source"] = page
    given = [f"{site.url}/source", str(settings.cache), str(len(DATA)), SHA256]
    command = [sys.executable, "-c", FETCHING, *given]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert outputs == [str(settings.cache / "assets" / FILE)] * 2
    assert site.asked == ["/source", "/source"]
    assert cached_files(settings) == [FILE]
    assert Path(outputs[0]).read_bytes() == DATA
