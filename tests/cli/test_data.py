"""`equipoise data`: what it prints, and the errors it ends with."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from calling import Command, output
from equipoise import assets
from equipoise.assets import REGISTRY

# Nothing listens on this port of this machine.
CLOSED = "http://127.0.0.1:9/"
CONTENT = {"one": b"first " * 300_000, "two": b"second"}


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty mirror and an empty cache, and two small assets instead of the registered ones."""
    mirror, cache = tmp_path / "mirror", tmp_path / "cache"
    mirror.mkdir()
    (cache / "assets").mkdir(parents=True)
    monkeypatch.setenv("EQUIPOISE_MIRROR", str(mirror))
    monkeypatch.setenv("EQUIPOISE_CACHE", str(cache))
    monkeypatch.setenv("no_proxy", "*")
    registered = dict(REGISTRY)
    for name in registered:
        monkeypatch.delitem(REGISTRY, name)
    for name, content in CONTENT.items():
        about = {"name": name, "file": f"{name}.bin", "licence": "CC0", "sources": (CLOSED + name,)}
        sha256 = hashlib.sha256(content).hexdigest()
        asset = replace(registered["gest"], **about, size=len(content), sha256=sha256)  # type: ignore[arg-type]
        monkeypatch.setitem(REGISTRY, name, asset)
    return mirror, cache / "assets"


@pytest.fixture
def mirror(places: tuple[Path, Path]) -> Path:
    """The folder that is the mirror."""
    return places[0]


@pytest.fixture
def cache(places: tuple[Path, Path]) -> Path:
    """The folder of the cache."""
    return places[1]


def test_list_shows_size_licence_and_where_each_asset_is(
    command: Command,
    mirror: Path,
    cache: Path,
) -> None:
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    lines = output(command("data", "list")).splitlines()
    shown = lines[0].split(maxsplit=4)
    assert shown == ["one", "1.8", "MB", "CC0", str(mirror / "one.bin")]
    assert lines[1].endswith("not fetched")
    (cache / "two.bin").write_bytes(CONTENT["two"])
    again = output(command("data", "list")).splitlines()
    assert again[1].endswith(str(cache / "two.bin"))


def test_list_as_json_holds_all_registered_fields(command: Command, cache: Path) -> None:
    (cache / "two.bin").write_bytes(CONTENT["two"])
    one, two = json.loads(output(command("data", "list", "--json")))["assets"]
    fields = {**asdict(REGISTRY["one"]), "sources": [CLOSED + "one"]}
    assert one == {**fields, "path": None}
    assert one["size"] == 1_800_000
    assert one["sha256"] == hashlib.sha256(CONTENT["one"]).hexdigest()
    assert two["path"] == str(cache / "two.bin")


def test_list_of_the_real_registry(command: Command) -> None:
    rows = json.loads(output(command("data", "list", "--json")))["assets"]
    names = sorted(row["name"] for row in rows)
    corpora = ["bloomberg", "discrim-eval", "eurogest", "gest"]
    assert names == [*corpora, "qwen2.5-coder-1.5b", "smollm2"]


def test_fetch_prints_one_path_per_asset(command: Command, mirror: Path, cache: Path) -> None:
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    (cache / "two.bin").write_bytes(CONTENT["two"])
    both = [str(mirror / "one.bin"), str(cache / "two.bin")]
    assert output(command("data", "fetch", "one", "two")).splitlines() == both


@pytest.mark.usefixtures("places")
def test_fetch_that_fails_says_from_where_and_what_to_do(command: Command) -> None:
    failed = command("data", "fetch", "one")
    assert (failed.code, failed.out) == (6, "")
    for words in (CLOSED + "one", "equipoise data fetch one", "EQUIPOISE_MIRROR"):
        assert words in failed.err


def test_what_was_fetched_before_a_failure_is_printed(command: Command, cache: Path) -> None:
    (cache / "two.bin").write_bytes(CONTENT["two"])
    failed = command("data", "fetch", "two", "one")
    assert (failed.code, failed.out) == (6, f"{cache / 'two.bin'}\n")


@pytest.mark.usefixtures("places")
def test_fetch_without_names_shows_its_usage(command: Command) -> None:
    outcome = command("data", "fetch")
    assert (outcome.code, outcome.out) == (2, "")
    assert "NAME" in outcome.err


@pytest.mark.parametrize("words", [["fetch", "two", "too"], ["path", "too"]], ids=" ".join)
def test_an_unknown_name_is_refused_before_anything_is_done(
    words: list[str],
    command: Command,
    cache: Path,
) -> None:
    (cache / "two.bin").write_bytes(CONTENT["two"])
    unknown = command("data", *words)
    assert (unknown.code, unknown.out) == (2, "")
    assert "'two'" in unknown.err


def test_verify_names_the_files_that_are_right(command: Command, mirror: Path, cache: Path) -> None:
    assert output(command("data", "verify")) == ""
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    (cache / "two.bin").write_bytes(CONTENT["two"])
    paths = [str(mirror / "one.bin"), str(cache / "two.bin")]
    assert output(command("data", "verify")).splitlines() == paths


def test_verify_refuses_a_wrong_file_with_both_hashes(command: Command, mirror: Path) -> None:
    path = mirror / "two.bin"
    path.write_bytes(b"fourth")
    wrong = command("data", "verify")
    assert (wrong.code, wrong.out) == (6, "")
    hashes = [hashlib.sha256(data).hexdigest() for data in (CONTENT["two"], b"fourth")]
    for words in (str(path), *hashes, "EQUIPOISE_MIRROR"):
        assert words in wrong.err
    assert path.exists(), "a file of the mirror is the user's own"


@pytest.mark.usefixtures("places")
def test_path_downloads_nothing(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("path must not download")

    monkeypatch.setattr(assets, "_download", refuse)
    absent = command("data", "path", "one")
    assert (absent.code, absent.out) == (6, "")
    assert "equipoise data fetch one" in absent.err


def test_path_prints_the_path(command: Command, mirror: Path) -> None:
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    assert output(command("data", "path", "one")) == f"{mirror / 'one.bin'}\n"


def test_listing_assets_imports_no_tables_and_no_downloader() -> None:
    """Listing assets is instant."""
    heavy = "{'polars', 'equipoise.assets.fetch'}"
    code = f"import sys, equipoise.cli.data; print({heavy} & {{*sys.modules}})"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
