"""`equipoise data`: what it prints, and the errors it ends with."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from equipoise.assets import REGISTRY, Asset, store
from equipoise.cli.data import app
from equipoise.errors import AssetUnavailable, EquipoiseError, InputError, IntegrityError, UnknownName

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


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def run_printing(*words: str) -> str:
    """The output of a command that succeeds."""
    result = run(*words)
    assert result.exception is None
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout


def run_failing(kind: type[EquipoiseError], *words: str) -> tuple[EquipoiseError, Result]:
    """The error and the output of a command that fails."""
    result = run(*words)
    assert isinstance(result.exception, kind)
    return result.exception, result


def test_list_shows_where_each_asset_is(places: tuple[Path, Path]) -> None:
    mirror, cache = places
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    lines = run_printing("list").splitlines()
    assert lines[0].split() == ["name", "size", "licence", "where"]
    assert lines[1].split(maxsplit=4) == ["one", "1.8", "MB", "CC0", f"mirror: {mirror / 'one.bin'}"]
    assert lines[2].endswith("not fetched")
    (cache / "two.bin").write_bytes(CONTENT["two"])
    assert run_printing("list").splitlines()[2].endswith(f"cache: {cache / 'two.bin'}")


def test_list_as_json_holds_all_registered_fields(places: tuple[Path, Path]) -> None:
    _, cache = places
    (cache / "two.bin").write_bytes(CONTENT["two"])
    one, two = json.loads(run_printing("list", "--json"))["assets"]
    assert one == {
        "name": "one",
        "title": "The asset one",
        "file": "one.bin",
        "size": 1_800_000,
        "sha256": hashlib.sha256(CONTENT["one"]).hexdigest(),
        "licence": "CC0",
        "citation": "Nobody 2025",
        "homepage": "https://example.org",
        "sources": [CLOSED + "one"],
        "place": None,
        "path": None,
    }
    assert (two["place"], two["path"]) == ("cache", str(cache / "two.bin"))


def test_fetch_prints_one_path_per_asset(places: tuple[Path, Path]) -> None:
    mirror, cache = places
    (mirror / "one.bin").write_bytes(CONTENT["one"])
    (cache / "two.bin").write_bytes(CONTENT["two"])
    both = [str(mirror / "one.bin"), str(cache / "two.bin")]
    assert run_printing("fetch", "one", "two").splitlines() == both
    assert run_printing("fetch", "--all").splitlines() == both
    assert run_printing("fetch", "two", "two").splitlines() == both[1:]


def test_fetch_continues_after_a_failure_and_ends_with_that_error(places: tuple[Path, Path]) -> None:
    mirror, _ = places
    (mirror / "two.bin").write_bytes(CONTENT["two"])
    error, result = run_failing(AssetUnavailable, "fetch", "--all")
    assert result.stdout.splitlines() == [str(mirror / "two.bin")]
    assert error.exit_code == 6
    assert all(word in str(error) for word in (CLOSED + "one", "equipoise data fetch one", "EQUIPOISE_MIRROR"))


def test_fetch_reports_every_failure(places: tuple[Path, Path]) -> None:
    error, result = run_failing(AssetUnavailable, "fetch", "--all")
    assert result.stdout == ""
    assert all(CLOSED + name in str(error) for name in CONTENT)


def test_fetch_without_names_is_refused(places: tuple[Path, Path]) -> None:
    error, _ = run_failing(InputError, "fetch")
    assert error.exit_code == 2
    assert "--all" in str(error)


@pytest.mark.parametrize("command", ["fetch", "verify", "path"])
def test_an_unknown_name_is_refused_before_anything_is_done(places: tuple[Path, Path], command: str) -> None:
    (places[1] / "two.bin").write_bytes(CONTENT["two"])
    names = ["too"] if command == "path" else ["two", "too"]
    error, result = run_failing(UnknownName, command, *names)
    assert error.exit_code == 2
    assert "'two'" in str(error)
    assert result.stdout == ""


def test_verify_checks_the_hashes_of_stored_files(places: tuple[Path, Path]) -> None:
    (places[1] / "two.bin").write_bytes(CONTENT["two"])
    rows = [line.split(maxsplit=1) for line in run_printing("verify").splitlines()[1:]]
    assert rows == [["one", "not fetched"], ["two", f"right        {places[1] / 'two.bin'}"]]
    assert len(run_printing("verify", "two").splitlines()) == 2


def test_verify_ends_with_exit_code_6_when_a_hash_is_wrong_and_deletes_nothing(places: tuple[Path, Path]) -> None:
    wrong = places[1] / "two.bin"
    wrong.write_bytes(b"fourth")
    hashes = [hashlib.sha256(data).hexdigest() for data in (CONTENT["two"], b"fourth")]
    error, result = run_failing(IntegrityError, "verify", "--json")
    assert error.exit_code == 6
    assert all(word in str(error) for word in (str(wrong), *hashes, "equipoise data fetch two"))
    assert json.loads(result.stdout)["assets"] == [
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


def test_path_prints_the_path_and_downloads_nothing(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Path:
        raise AssertionError("path must not download")

    monkeypatch.setattr(store, "_fetch", refuse)
    error, result = run_failing(AssetUnavailable, "path", "one")
    assert error.exit_code == 6
    assert "equipoise data fetch one" in str(error)
    assert result.stdout == ""
    (places[0] / "one.bin").write_bytes(CONTENT["one"])
    assert run_printing("path", "one") == f"{places[0] / 'one.bin'}\n"


def test_path_does_not_print_a_wrong_file(places: tuple[Path, Path]) -> None:
    (places[0] / "one.bin").write_bytes(b"forged")
    error, result = run_failing(IntegrityError, "path", "one")
    assert str(places[0] / "one.bin") in str(error)
    assert result.stdout == ""
