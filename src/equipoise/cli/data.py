"""Corpora and weights that come from outside: list, fetch, verify.

An asset is looked for in the mirror (EQUIPOISE_MIRROR, a folder or an address), in the cache (EQUIPOISE_CACHE), then at
its sources. A file is used only when its hash is right.

Examples: equipoise data list · equipoise data fetch gest discrim-eval · EQUIPOISE_MIRROR=/media/corpora equipoise data
verify
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from equipoise import assets
from equipoise.cli import options
from equipoise.cli.output import print_json
from equipoise.errors import AssetUnavailable, InputError, IntegrityError
from equipoise.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.assets import Asset

app = typer.Typer(name="data", no_args_is_help=True, help=__doc__)
Names = Annotated[list[str] | None, Argument(metavar="NAME", help="Names as `list` shows them.")]


@app.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """Show all assets and where they are.

    Example: equipoise data list --json
    """
    rows = [
        asdict(asset) | {"sources": list(map(str, asset.sources))} | _find_place(asset)
        for asset in assets.REGISTRY.values()
    ]
    if as_json:
        print_json("data-list/1", {"assets": rows})
        return
    where = [f"{row['place']}: {row['path']}" if row["place"] else "not fetched" for row in rows]
    _print_columns(
        ["name", *(row["name"] for row in rows)],
        ["size", *(f"{row['size'] / 1e6:,.1f} MB" for row in rows)],
        ["licence", *(row["licence"] for row in rows)],
        ["where", *where],
    )


@app.command()
def fetch(names: Names = None, everything: bool = Option(False, "--all", help="Fetch all assets.")) -> None:
    """Fetch assets into the cache, unless they are there already, and print their paths.

    Example: equipoise data fetch gest
    """
    if not names and not everything:
        raise InputError("Which assets? Name them, or give --all. All assets: equipoise data list")
    settings = Settings.load()
    failures = []
    for asset in _select_assets(None if everything else names):
        try:
            typer.echo(fetch_asset(asset, settings))
        except IntegrityError as error:
            failures.append(str(error))
    if failures:
        raise AssetUnavailable("\n".join(failures))


@app.command()
def verify(names: Names = None, as_json: options.AsJson = False) -> None:
    """Check the hashes of the assets on this machine; exit code 6 if one is wrong.

    Example: equipoise data verify discrim-eval
    """
    rows: list[dict[str, Any]] = []
    problems, wrong_names = [], []
    for asset in _select_assets(names):
        stored = assets.find_stored(asset.name, Settings.load())
        actual = assets.find_hash(asset, stored) if stored else None
        state = "not fetched" if actual is None else "right" if actual == asset.sha256 else "wrong"
        about = {"name": asset.name, "state": state, **_find_place(asset)}
        rows.append({**about, "expected": asset.sha256, "actual": actual})
        if stored and actual and state == "wrong":
            wrong_names.append(asset.name)
            problems.append(assets.describe_wrong_file(asset, stored, actual))
    if as_json:
        print_json("data-verify/1", {"assets": rows})
    else:
        _print_columns(*([name, *(row[name] or "" for row in rows)] for name in ("name", "state", "path")))
    if problems:
        remedy = f"Replace or delete what is wrong, then: equipoise data fetch {' '.join(wrong_names)}"
        raise IntegrityError("\n".join([*problems, remedy]))


@app.command()
def path(name: Annotated[str, Argument(help="A name as `list` shows it.")]) -> None:
    """Print the path of an asset on this machine; nothing is downloaded.

    Example: head -3 "$(equipoise data path gest)"
    """
    typer.echo(assets.locate(name, Settings.load(), fetch=False))


def _select_assets(names: list[str] | None) -> list[Asset]:
    """The assets of these names, or all of them. Unknown names are refused before anything is done."""
    return [assets.find_asset(name) for name in dict.fromkeys(names or assets.REGISTRY)]


def _find_place(asset: Asset) -> dict[str, str | None]:
    """Where an asset is on this machine."""
    stored = assets.find_stored(asset.name, Settings.load())
    return {"place": stored.place if stored else None, "path": str(stored.path) if stored else None}


def fetch_asset(asset: Asset, settings: Settings) -> Path:
    """The path of an asset, which is fetched if it is not on this machine; it is shown how far that is."""
    from equipoise.cli.progress import show_download

    with show_download(asset.name) as on_progress:
        return assets.locate(asset.name, settings, on_progress)


def _print_columns(*columns: list[str]) -> None:
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
