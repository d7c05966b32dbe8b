"""Where assets come from, and how they are verified: real sockets."""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from assets import sites
from assets.sites import DATA, FILE, WRONG, Page, Site, cached_files, digest, register, serve, write_to_cache
from equipoise.assets import Asset, StoredFile, find_stored, locate, store
from equipoise.errors import AssetUnavailable, BadParameter, IntegrityError
from equipoise.settings import Settings

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
    mirrored, cached = sites.write_to_mirror(tmp_path, DATA), write_to_cache(settings, DATA)
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


def test_a_mirror_may_be_an_address(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages[f"/mirror/{FILE}"] = serve(DATA)
    mirrored = Settings(mirror=f"{site.url}/mirror/", cache=settings.cache)
    assert locate("tiny", mirrored).read_bytes() == DATA
    assert locate("tiny", mirrored) == settings.cache / "assets" / FILE
    assert site.asked == [f"/mirror/{FILE}"]


@pytest.mark.parametrize(
    "mirror",
    ["https://me:pass-word@example.org/x", "https://example.org/x?key=pass-word", "s3://x"],
)
def test_a_mirror_of_another_kind_is_refused_and_not_shown(asset: Asset, settings: Settings, mirror: str) -> None:
    with pytest.raises(BadParameter, match="EQUIPOISE_MIRROR") as caught:
        locate("tiny", Settings(mirror=mirror, cache=settings.cache))
    assert "pass-word" not in str(caught.value)


def test_after_a_mirror_or_a_source_that_fails_the_next_is_tried(
    site: Site, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, f"{site.url}/gone", f"{site.url}/source")
    site.pages["/source"] = serve(DATA)
    assert locate("tiny", replace(settings, mirror=f"{site.url}/mirror")).read_bytes() == DATA
    assert site.asked == [f"/mirror/{FILE}", "/gone", "/source"]


def test_without_fetching_nothing_is_sent(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages["/source"] = serve(DATA)
    with pytest.raises(AssetUnavailable, match="equipoise data fetch tiny") as caught:
        locate("tiny", settings, fetch=False)
    assert caught.value.exit_code == 6
    assert site.asked == []
    path = write_to_cache(settings, DATA)
    assert locate("tiny", settings, fetch=False) == path


# How an asset is verified


def test_a_file_of_another_size_is_refused_without_being_read(
    asset: Asset, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sites.write_to_mirror(tmp_path, DATA + b"more")
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
    mirrored = sites.write_to_mirror(tmp_path, WRONG)
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


@pytest.mark.fault("D1")
@pytest.mark.parametrize("place", ["source", f"mirror/{FILE}"])
def test_a_download_with_a_wrong_hash_is_deleted(asset: Asset, site: Site, settings: Settings, place: str) -> None:
    site.pages |= {"/source": serve(DATA), f"/{place}": serve(WRONG)}
    mirror = f"{site.url}/mirror" if "mirror" in place else None
    with pytest.raises(IntegrityError) as caught:
        locate("tiny", replace(settings, mirror=mirror))
    words = (f"{site.url}/{place}", digest(DATA), digest(WRONG), *(["EQUIPOISE_MIRROR"] if mirror else []))
    assert all(word in str(caught.value) for word in words)
    assert isinstance(caught.value, AssetUnavailable) == (mirror is None)
    assert caught.value.exit_code == 6
    assert site.asked == [f"/{place}"]
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
    register(monkeypatch, f"{site.url}/forged", f"{site.url}/source")
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
        (sites.broken_chunk, "the connection failed"),
    ],
)
def test_a_truncated_download_is_deleted(asset: Asset, site: Site, settings: Settings, page: Page, reason: str) -> None:
    site.pages["/source"] = page
    with pytest.raises(IntegrityError, match=reason) as caught:
        locate("tiny", settings)
    assert caught.value.exit_code == 6
    assert cached_files(settings) == []
