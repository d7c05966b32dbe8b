"""`equipoise data`: what it prints, and the errors it ends with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from calling import Command, output
from equipoise.assets import REGISTRY, Asset, store

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
    monkeypatch.setenv("no_proxy", "*")
    for name in list(REGISTRY):
        monkeypatch.delitem(REGISTRY, name)
    for name, content in CONTENT.items():
        asset = Asset(
            name=name,
            title=f"The asset {name}",
            file=f"{name}.bin",
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            licence="CC0",
            citation="Nobody 2025",
            homepage="https://example.org",
            sources=(CLOSED + name,),
        )
        monkeypatch.setitem(REGISTRY, name, asset)
    return mirror, cache / "assets"


def test_list_shows_where_each_asset_is(command: Command, places: tuple[Path, Path]) -> None:
    mirror, cache = places
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    lines = output(command("data", "list")).splitlines()
    assert lines[0].split() == ["name", "size", "licence", "where"]
    assert lines[1].split(maxsplit=4) == ["one", "1.8", "MB", "CC0", f"mirror: {mirror / 'one.bin'}"]
    assert lines[2].endswith("not fetched")
    (cache / "two.bin").write_bytes(CONTENT["two"])
    one, two = json.loads(output(command("data", "list", "--json")))["assets"]
    fields = {**asdict(REGISTRY["one"]), "sources": [CLOSED + "one"]}
    assert one == {**fields, "place": "mirror", "path": str(mirror / "one.bin")}
    assert (two["place"], two["path"]) == ("cache", str(cache / "two.bin"))


def test_fetch_prints_one_path_per_asset_and_continues_after_a_failure(
    command: Command, places: tuple[Path, Path]
) -> None:
    mirror, cache = places
    (cache / "two.bin").write_bytes(CONTENT["two"])
    failed = command("data", "fetch", "--all")
    assert (failed.code, failed.out) == (6, f"{cache / 'two.bin'}\n")
    assert all(word in failed.err for word in (CLOSED + "one", "equipoise data fetch one", "EQUIPOISE_MIRROR"))
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    both = [str(mirror / "one.bin"), str(cache / "two.bin")]
    assert output(command("data", "fetch", "one", "two")).splitlines() == both
    assert output(command("data", "fetch", "two", "two")).splitlines() == both[1:]


@pytest.mark.parametrize(
    ("words", "message"), [(["fetch"], "--all"), (["fetch", "two", "too"], "'two'"), (["path", "too"], "'two'")]
)
def test_names_are_checked_before_anything_is_done(
    command: Command, places: tuple[Path, Path], words: list[str], message: str
) -> None:
    (places[1] / "two.bin").write_bytes(CONTENT["two"])
    outcome = command("data", *words)
    assert (outcome.code, outcome.out, message in outcome.err) == (2, "", True)


def test_verify_ends_with_exit_code_6_when_a_hash_is_wrong_and_deletes_nothing(
    command: Command, places: tuple[Path, Path]
) -> None:
    path = places[1] / "two.bin"
    path.write_bytes(CONTENT["two"])
    rows = [line.split(maxsplit=1) for line in output(command("data", "verify")).splitlines()[1:]]
    assert rows == [["one", "not fetched"], ["two", f"right        {path}"]]
    path.write_bytes(b"fourth")
    hashes = [hashlib.sha256(data).hexdigest() for data in (CONTENT["two"], b"fourth")]
    wrong = command("data", "verify", "two", "--json")
    assert wrong.code == 6
    assert all(word in wrong.err for word in (str(path), *hashes, "equipoise data fetch two"))
    about = {"name": "two", "state": "wrong", "place": "cache", "path": str(path)}
    assert json.loads(wrong.out)["assets"] == [{**about, "expected": hashes[0], "actual": hashes[1]}]
    assert path.exists()


def test_path_prints_the_path_of_a_right_file_and_downloads_nothing(
    command: Command, places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Path:
        raise AssertionError("path must not download")

    monkeypatch.setattr(store, "_fetch", refuse)
    path = places[0] / "one.bin"
    for content, code, shown in ((None, 6, "equipoise data fetch one"), (b"forged", 6, str(path))):
        if content:
            path.write_bytes(content)
        outcome = command("data", "path", "one")
        assert (outcome.code, outcome.out, shown in outcome.err) == (code, "", True)
    path.write_bytes(CONTENT["one"])
    assert output(command("data", "path", "one")) == f"{path}\n"
