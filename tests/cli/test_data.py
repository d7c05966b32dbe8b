"""`equipoise data`: what is printed where, and with which error it ends."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text
from typer.testing import CliRunner, Result

from equipoise.assets import REGISTRY, Asset, Https, store
from equipoise.cli.data import app
from equipoise.errors import AssetUnavailable, EquipoiseError, InputError, IntegrityError, UnknownName

# Nobody listens on this port of this machine, and nothing is sent beyond it.
NOBODY = "http://127.0.0.1:9/"
CONTENT = {"one": b"first " * 300_000, "two": b"second"}


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A mirror and a cache, both empty, and two small assets instead of the registered ones."""
    mirror, cache = tmp_path / "mirror", tmp_path / "cache"
    mirror.mkdir()
    (cache / "assets").mkdir(parents=True)
    monkeypatch.setenv("EQUIPOISE_MIRROR", str(mirror))
    monkeypatch.setenv("EQUIPOISE_CACHE", str(cache))
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
            sources=(Https(url=NOBODY + name),),
        )
        monkeypatch.setitem(REGISTRY, name, asset)
    return mirror, cache / "assets"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def printed(*words: str) -> str:
    result = run(*words)
    assert result.exception is None
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout


def failure(kind: type[EquipoiseError], *words: str) -> tuple[EquipoiseError, Result]:
    result = run(*words)
    assert isinstance(result.exception, kind)
    return result.exception, result


def test_list_says_where_each_asset_stands(places: tuple[Path, Path]) -> None:
    mirror, cache = places
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    lines = printed("list").splitlines()
    assert lines[0].split() == ["name", "size", "licence", "where"]
    assert lines[1].split(maxsplit=4) == ["one", "1.8", "MB", "CC0", f"mirror: {mirror / 'one.bin'}"]
    assert lines[2].endswith("not fetched")
    (cache / "two.bin").write_bytes(CONTENT["two"])
    assert printed("list").splitlines()[2].endswith(f"cache: {cache / 'two.bin'}")


def test_list_as_json_holds_all_that_is_registered(places: tuple[Path, Path]) -> None:
    _, cache = places
    (cache / "two.bin").write_bytes(CONTENT["two"])
    one, two = json.loads(printed("list", "--json"))
    assert one == {
        "name": "one",
        "title": "The asset one",
        "file": "one.bin",
        "size": 1_800_000,
        "sha256": hashlib.sha256(CONTENT["one"]).hexdigest(),
        "licence": "CC0",
        "citation": "Nobody 2025",
        "homepage": "https://example.org",
        "sources": [NOBODY + "one"],
        "place": None,
        "path": None,
    }
    assert (two["place"], two["path"]) == ("cache", str(cache / "two.bin"))


def test_list_of_the_real_registry() -> None:
    rows = json.loads(printed("list", "--json"))
    assert sorted(row["name"] for row in rows) == ["discrim-eval", "gest", "smollm2"]


def test_fetch_prints_one_path_for_each_asset(places: tuple[Path, Path]) -> None:
    mirror, cache = places
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    (cache / "two.bin").write_bytes(CONTENT["two"])
    both = [str(mirror / "one.bin"), str(cache / "two.bin")]
    assert printed("fetch", "one", "two").splitlines() == both
    assert printed("fetch", "--all").splitlines() == both
    assert printed("fetch", "two", "two").splitlines() == both[1:]


def test_fetch_goes_on_after_a_failure_and_ends_with_it(places: tuple[Path, Path]) -> None:
    mirror, _ = places
    (mirror / "two.bin").write_bytes(CONTENT["two"])
    error, result = failure(AssetUnavailable, "fetch", "--all")
    assert result.stdout.splitlines() == [str(mirror / "two.bin")]
    assert error.exit_code == 6
    assert all(word in str(error) for word in (NOBODY + "one", "equipoise data fetch one", "EQUIPOISE_MIRROR"))


def test_fetch_tells_every_failure(places: tuple[Path, Path]) -> None:
    error, result = failure(AssetUnavailable, "fetch", "--all")
    assert result.stdout == ""
    assert all(NOBODY + name in str(error) for name in CONTENT)


def test_fetch_wants_to_know_what(places: tuple[Path, Path]) -> None:
    error, _ = failure(InputError, "fetch")
    assert error.exit_code == 2
    assert "--all" in str(error)


@pytest.mark.parametrize("command", ["fetch", "verify", "path"])
def test_an_unknown_name_is_told_before_anything_is_done(places: tuple[Path, Path], command: str) -> None:
    (places[1] / "two.bin").write_bytes(CONTENT["two"])
    names = ["too"] if command == "path" else ["two", "too"]
    error, result = failure(UnknownName, command, *names)
    assert error.exit_code == 2
    assert "'two'" in str(error)
    assert result.stdout == ""


def test_verify_hashes_what_is_there(places: tuple[Path, Path]) -> None:
    (places[1] / "two.bin").write_bytes(CONTENT["two"])
    rows = [line.split(maxsplit=1) for line in printed("verify").splitlines()[1:]]
    assert rows == [["one", "not fetched"], ["two", f"right        {places[1] / 'two.bin'}"]]
    assert len(printed("verify", "two").splitlines()) == 2


def test_verify_ends_with_six_when_a_hash_is_wrong_and_deletes_nothing(places: tuple[Path, Path]) -> None:
    wrong = places[1] / "two.bin"
    wrong.write_bytes(b"fourth")
    hashes = [hashlib.sha256(data).hexdigest() for data in (CONTENT["two"], b"fourth")]
    error, result = failure(IntegrityError, "verify", "--json")
    assert error.exit_code == 6
    assert all(word in str(error) for word in (str(wrong), *hashes, "equipoise data fetch two"))
    assert json.loads(result.stdout) == [
        {
            "name": "one",
            "state": "not fetched",
            "place": None,
            "path": None,
            "expected": REGISTRY["one"].sha256,
            "actual": None,
        },
        {
            "name": "two",
            "state": "wrong",
            "place": "cache",
            "path": str(wrong),
            "expected": hashes[0],
            "actual": hashes[1],
        },
    ]
    assert wrong.exists()


def test_path_prints_where_it_is_and_downloads_nothing(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetched(*_: object) -> Path:
        raise AssertionError("path must not download")

    monkeypatch.setattr(store, "_fetch", fetched)
    error, result = failure(AssetUnavailable, "path", "one")
    assert error.exit_code == 6
    assert "equipoise data fetch one" in str(error)
    assert result.stdout == ""
    (places[0] / "one.bin").write_bytes(CONTENT["one"])
    assert printed("path", "one") == f"{places[0] / 'one.bin'}\n"


def test_path_of_a_wrong_file_is_not_printed(places: tuple[Path, Path]) -> None:
    (places[0] / "one.bin").write_bytes(b"forged")
    error, result = failure(IntegrityError, "path", "one")
    assert str(places[0] / "one.bin") in str(error)
    assert result.stdout == ""


def test_the_help_has_examples() -> None:
    assert "equipoise data fetch gest" in Text.from_ansi(printed("--help")).plain
    for command in ("list", "fetch", "verify", "path"):
        assert "Example" in Text.from_ansi(printed(command, "--help")).plain


def test_the_commands_are_known_without_loading_what_they_need() -> None:
    code = "import sys, equipoise.cli.data; print({'polars', 'equipoise.assets.fetch'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
