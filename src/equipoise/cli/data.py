"""`equipoise data`: lists, fetches and verifies the assets that come from outside."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise import assets
from equipoise.cli.output import AsJson, print_json
from equipoise.errors import AssetUnavailable, InputError, IntegrityError
from equipoise.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from equipoise.assets import Asset
    from equipoise.assets.store import ProgressCallback

app = typer.Typer(
    name="data",
    no_args_is_help=True,
    help=(
        "Corpora and weights that come from outside: list, fetch, verify.\n\n"
        "An asset is looked for in the mirror (EQUIPOISE_MIRROR, a folder or an address), in the cache "
        "(EQUIPOISE_CACHE), then at its sources. A file is used only when its hash is right.\n\n"
        "Examples:\n\n"
        "  equipoise data list\n\n"
        "  equipoise data fetch gest discrim-eval\n\n"
        "  EQUIPOISE_MIRROR=/media/corpora equipoise data verify"
    ),
)

Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Names as `list` shows them.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Show all assets and where they are.

    Example: equipoise data list --json
    """
    settings = Settings.load()
    rows = [(asset, assets.find_stored(asset.name, settings)) for asset in assets.REGISTRY.values()]
    if as_json:
        described = [
            asdict(asset)
            | {
                "sources": [str(source) for source in asset.sources],
                "place": stored.place if stored else None,
                "path": str(stored.path) if stored else None,
            }
            for asset, stored in rows
        ]
        print_json("data-list/1", {"assets": described})
        return
    _print_columns(
        ("name", "size", "licence", "where"),
        [
            (
                asset.name,
                f"{asset.size / 1e6:,.1f} MB",
                asset.licence,
                f"{stored.place}: {stored.path}" if stored else "not fetched",
            )
            for asset, stored in rows
        ],
    )


@app.command()
def fetch(
    names: Names = None,
    everything: Annotated[bool, typer.Option("--all", help="Fetch all assets.")] = False,
) -> None:
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
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise AssetUnavailable("\n".join(map(str, failures)))


@app.command()
def verify(names: Names = None, as_json: AsJson = False) -> None:
    """Check the hashes of the assets on this machine; exit code 6 if one is wrong.

    Example: equipoise data verify discrim-eval
    """
    settings = Settings.load()
    rows: list[dict[str, Any]] = []
    problems, wrong_names = [], []
    for asset in _select_assets(names):
        stored = assets.find_stored(asset.name, settings)
        actual = assets.find_hash(asset, stored) if stored else None
        rows.append(
            {
                "name": asset.name,
                "state": "not fetched" if actual is None else "right" if actual == asset.sha256 else "wrong",
                "place": stored.place if stored else None,
                "path": str(stored.path) if stored else None,
                "expected": asset.sha256,
                "actual": actual,
            }
        )
        if stored and actual and actual != asset.sha256:
            wrong_names.append(asset.name)
            problems.append(assets.describe_wrong_file(asset, stored, actual))
    if as_json:
        print_json("data-verify/1", {"assets": rows})
    else:
        _print_columns(("name", "state", "path"), [(row["name"], row["state"], row["path"] or "") for row in rows])
    if problems:
        remedy = f"Replace or delete what is wrong, then: equipoise data fetch {' '.join(wrong_names)}"
        raise IntegrityError("\n".join([*problems, remedy]))


@app.command()
def path(name: Annotated[str, typer.Argument(help="A name as `list` shows it.")]) -> None:
    """Print the path of an asset on this machine; nothing is downloaded.

    Example: head -3 "$(equipoise data path gest)"
    """
    typer.echo(assets.locate(name, Settings.load(), fetch=False))


def _select_assets(names: list[str] | None) -> list[Asset]:
    """The assets of these names, or all of them. Unknown names are refused before anything is done."""
    return [assets.find_asset(name) for name in dict.fromkeys(names or assets.REGISTRY)]


def fetch_asset(asset: Asset, settings: Settings) -> Path:
    """The path of an asset, which is fetched if it is not on this machine; a terminal sees how far it is."""
    with _progress_bar(asset) as on_progress:
        return assets.locate(asset.name, settings, on_progress)


@contextmanager
def _progress_bar(asset: Asset) -> Iterator[ProgressCallback | None]:
    """Draw the progress of one download, if stderr is a terminal."""
    from rich import console, progress

    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console.Console(stderr=True), transient=True) as bar:
        task = bar.add_task(asset.name, total=None)
        # Without a total the bar pulses: before the first bytes nobody knows how long it takes.
        yield lambda done, total: bar.update(task, completed=done, total=total if done else None)


def _print_columns(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
