"""Where assets come from, and how they are verified: real sockets."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from assets.conftest import DATA, FILE, WRONG, Register, Site, cached_files, serve
from equipoise import assets
from equipoise.assets import Asset, find_stored, locate
from equipoise.errors import (
    AssetUnavailable,
    BadParameter,
    IntegrityError,
    UnknownName,
)
from equipoise.settings import Settings

HASHES = [hashlib.sha256(data).hexdigest() for data in (DATA, WRONG)]


def write(folder: Path, data: bytes) -> Path:
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes(data)
    return folder / FILE


def test_a_fetched_asset_is_cached_and_not_fetched_again(
    asset: Asset,
    site: Site,
    settings: Settings,
) -> None:
    path = locate("tiny", settings)
    assert path == settings.cache / "assets" / FILE
    assert path.read_bytes() == DATA
    assert locate("tiny", settings) == path
    assert site.asked == ["/source"]
    assert cached_files(settings) == [FILE]


def test_the_mirror_is_tried_before_the_cache_and_the_cache_before_the_source(
    asset: Asset,
    site: Site,
    settings: Settings,
    tmp_path: Path,
) -> None:
    mirrored = write(tmp_path / "mirror", DATA)
    cached = write(settings.cache / "assets", DATA)
    both = replace(settings, mirror=mirrored.parent)
    assert locate("tiny", both) == find_stored("tiny", both) == mirrored
    mirrored.unlink()
    assert locate("tiny", both) == find_stored("tiny", both) == cached
    cached.unlink()
    assert find_stored("tiny", both) is None
    assert site.asked == []
    assert locate("tiny", both) == cached
    assert site.asked == ["/source"]


def test_a_file_in_a_mirror_folder_is_used_without_a_copy(
    asset: Asset,
    settings: Settings,
    tmp_path: Path,
) -> None:
    mirrored = write(tmp_path / "mirror", DATA)
    assert locate("tiny", replace(settings, mirror=mirrored.parent)) == mirrored
    assert not settings.cache.exists()


def test_a_mirror_may_be_an_address(asset: Asset, site: Site, settings: Settings) -> None:
    site.pages[f"/mirror/{FILE}"] = serve(DATA)
    mirrored = replace(settings, mirror=f"{site.url}/mirror")
    for _ in range(2):
        assert locate("tiny", mirrored) == settings.cache / "assets" / FILE
    assert site.asked == [f"/mirror/{FILE}"]


def test_a_mirror_address_without_the_file_is_passed_over(
    asset: Asset,
    site: Site,
    settings: Settings,
) -> None:
    mirrored = replace(settings, mirror=f"{site.url}/mirror")
    assert locate("tiny", mirrored).read_bytes() == DATA
    assert site.asked == [f"/mirror/{FILE}", "/source"]


@pytest.mark.fault("D1")
def test_a_wrong_file_at_a_mirror_address_is_not_used(
    asset: Asset,
    site: Site,
    settings: Settings,
) -> None:
    site.pages[f"/mirror/{FILE}"] = serve(WRONG)
    mirrored = replace(settings, mirror=f"{site.url}/mirror")
    assert locate("tiny", mirrored).read_bytes() == DATA
    assert site.asked == [f"/mirror/{FILE}", "/source"]
    assert cached_files(settings) == [FILE]


def test_a_slash_at_the_end_of_a_mirror_address_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EQUIPOISE_MIRROR", "https://example.org/mirror/")
    assert Settings.load().mirror == "https://example.org/mirror"


MIRRORS = [
    "ftp://example.org/x",
    "https://me:pass-word@example.org/x",
    "https://example.org/x?key=pass-word",
    "s3://x",
]


@pytest.mark.parametrize("mirror", MIRRORS)
def test_a_mirror_of_another_kind_is_refused_and_not_shown(
    asset: Asset,
    settings: Settings,
    mirror: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EQUIPOISE_MIRROR", mirror)
    with pytest.raises(BadParameter, match="EQUIPOISE_MIRROR") as caught:
        locate("tiny", replace(settings, mirror=Settings.load().mirror))
    assert "pass-word" not in str(caught.value)


def test_after_a_source_that_fails_the_next_is_tried(
    site: Site,
    settings: Settings,
    register: Register,
) -> None:
    register(f"{site.url}/gone", f"{site.url}/source")
    site.pages["/source"] = serve(DATA)
    assert locate("tiny", settings).read_bytes() == DATA
    assert site.asked == ["/gone", "/source"]


def test_an_unknown_asset_is_refused_with_the_nearest_name(settings: Settings) -> None:
    with pytest.raises(UnknownName, match="'discrim-eval'") as caught:
        locate("discrim_eval", settings)
    assert caught.value.exit_code == 2


def test_a_name_like_no_other_is_refused_with_the_list(settings: Settings) -> None:
    with pytest.raises(UnknownName, match="equipoise data list"):
        find_stored("zzz", settings)


def test_when_all_sources_fail_each_reason_is_given_and_what_to_do(
    site: Site,
    settings: Settings,
    register: Register,
    tmp_path: Path,
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
    for words in (
        *reasons,
        "equipoise data fetch tiny",
        f"put {FILE} (https://example.org/tiny)",
        "EQUIPOISE_MIRROR",
    ):
        assert words in message
    assert caught.value.exit_code == 6
    assert cached_files(settings) == []


# What is not the registered file


@pytest.mark.fault("D1")
@pytest.mark.parametrize("place", ["mirror", "cache"])
@pytest.mark.parametrize("data", [WRONG, DATA + b"more"], ids=["other bytes", "more bytes"])
def test_a_wrong_file_is_named_and_only_that_in_the_cache_is_deleted(
    asset: Asset,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    data: bytes,
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


def test_a_wrong_file_in_the_cache_can_be_fetched_again(
    asset: Asset,
    site: Site,
    settings: Settings,
) -> None:
    write(settings.cache / "assets", WRONG)
    with pytest.raises(IntegrityError, match="deleted"):
        locate("tiny", settings)
    assert cached_files(settings) == []
    assert locate("tiny", settings).read_bytes() == DATA
    assert site.asked == ["/source"]


@pytest.mark.fault("D1")
def test_a_download_with_a_wrong_hash_is_deleted(
    asset: Asset,
    site: Site,
    settings: Settings,
) -> None:
    site.pages["/source"] = serve(WRONG)
    with pytest.raises(AssetUnavailable) as caught:
        locate("tiny", settings)
    assert caught.value.exit_code == 6
    for words in (str(asset.sources[0]), *HASHES):
        assert words in str(caught.value)
    assert cached_files(settings) == []


@pytest.mark.fault("D1")
def test_after_wrong_bytes_of_one_source_the_next_is_tried(
    site: Site,
    settings: Settings,
    register: Register,
) -> None:
    register(f"{site.url}/forged", f"{site.url}/source")
    site.pages |= {"/forged": serve(WRONG), "/source": serve(DATA)}
    assert locate("tiny", settings).read_bytes() == DATA
    assert site.asked == ["/forged", "/source"]
    assert cached_files(settings) == [FILE]
