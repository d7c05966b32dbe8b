"""`equipoise data`: what it prints, and the errors it ends with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from calling import Command, output
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


def test_list_shows_where_each_asset_is(command: Command, places: tuple[Path, Path]) -> None:
    mirror, cache = places
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    lines = output(command("data", "list")).splitlines()
    assert lines[0].split(maxsplit=4) == ["one", "1.8", "MB", "CC0", str(mirror / "one.bin")]
    assert lines[1].endswith("not fetched")
    (cache / "two.bin").write_bytes(CONTENT["two"])
    one, two = json.loads(output(command("data", "list", "--json")))["assets"]
    fields = {**asdict(REGISTRY["one"]), "sources": [CLOSED + "one"]}
    assert one == {**fields, "path": str(mirror / "one.bin")}
    assert two["path"] == str(cache / "two.bin")


def test_fetch_prints_one_path_per_asset_and_says_what_is_wrong(command: Command, places: tuple[Path, Path]) -> None:
    mirror, cache = places
    (cache / "two.bin").write_bytes(CONTENT["two"])
    failed = command("data", "fetch", "two", "one")
    assert (failed.code, failed.out) == (6, f"{cache / 'two.bin'}\n")
    assert all(word in failed.err for word in (CLOSED + "one", "equipoise data fetch one", "EQUIPOISE_MIRROR"))
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    both = [str(mirror / "one.bin"), str(cache / "two.bin")]
    assert output(command("data", "fetch", "one", "two")).splitlines() == both
    unknown = command("data", "fetch", "two", "too")
    assert (unknown.code, unknown.out, "'two'" in unknown.err) == (2, "", True)


def test_verify_and_path_download_nothing(command: Command, places: tuple[Path, Path]) -> None:
    path = places[0] / "one.bin"
    absent = command("data", "path", "one")
    assert (absent.code, absent.out, "equipoise data fetch one" in absent.err) == (6, "", True)
    path.write_bytes(CONTENT["one"])
    assert output(command("data", "verify")) == output(command("data", "path", "one")) == f"{path}\n"
    path.write_bytes(b"forged")
    wrong = command("data", "verify")
    assert (wrong.code, wrong.out, str(path) in wrong.err) == (6, "", True)
