"""Corpora and weights that come from outside: list, fetch, verify, path.

An asset is looked for in the mirror (EQUIPOISE_MIRROR, a folder or an address), in the cache (EQUIPOISE_CACHE), then at
its sources. A file is used only when its hash is right.

Examples: equipoise data list · equipoise data fetch gest discrim-eval · equipoise data verify
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument

from equipoise import assets
from equipoise.cli import options
from equipoise.cli.output import print_json
from equipoise.errors import AssetUnavailable
from equipoise.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.assets import Asset

app = typer.Typer(name="data", no_args_is_help=True, help=__doc__)


@app.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """Show all assets and where they are.

    Example: equipoise data list --json
    """
    rows = []
    for asset in assets.REGISTRY.values():
        stored = assets.find_stored(asset.name, Settings.load())
        path = str(stored) if stored else None
        rows.append({**asdict(asset), "sources": list(map(str, asset.sources)), "path": path})
    if as_json:
        print_json("data-list/1", {"assets": rows})
        return
    for row in rows:
        where = row["path"] or "not fetched"
        typer.echo(f"{row['name']:<20}  {row['size'] / 1e6:>8,.1f} MB  {row['licence']:<20}  {where}")


@app.command()
def fetch(names: Annotated[list[str], Argument(metavar="NAME", help="Names as `list` shows them.")]) -> None:
    """Fetch assets into the cache, unless they are there already, and print their paths.

    Example: equipoise data fetch gest
    """
    for asset in [assets.find_asset(name) for name in names]:
        typer.echo(fetch_asset(asset, Settings.load()))


@app.command()
def verify() -> None:
    """Check the hashes of all assets on this machine; exit code 6 if one is wrong.

    Example: equipoise data verify
    """
    for name in assets.REGISTRY:
        if assets.find_stored(name, Settings.load()):
            typer.echo(assets.locate(name, Settings.load()))


@app.command()
def path(name: Annotated[str, Argument(help="A name as `list` shows it.")]) -> None:
    """Print the path of an asset on this machine; nothing is downloaded.

    Example: head -3 "$(equipoise data path gest)"
    """
    stored = assets.find_stored(name, Settings.load())
    if stored is None:
        raise AssetUnavailable(f"{name} is not on this machine. To fetch it: equipoise data fetch {name}")
    typer.echo(stored)


def fetch_asset(asset: Asset, settings: Settings) -> Path:
    """The path of an asset, which is fetched if it is not on this machine; it is shown how far that is."""
    from equipoise.cli.progress import show_download

    with show_download(asset.name) as on_progress:
        return assets.locate(asset.name, settings, on_progress)
