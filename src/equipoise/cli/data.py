"""`equipoise data`: the assets that are fetched from outside, listed, fetched and verified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from equipoise.assets import Asset
    from equipoise.assets.store import Progress

app = typer.Typer(
    name="data",
    no_args_is_help=True,
    help=(
        "Corpora and weights that come from outside: list, fetch, verify.\n\n"
        "An asset is looked for in the mirror (EQUIPOISE_MIRROR, a folder or an address), in the cache "
        "(EQUIPOISE_CACHE), then at its sources. Nothing counts but the right hash.\n\n"
        "Examples:\n\n"
        "  equipoise data list\n\n"
        "  equipoise data fetch gest discrim-eval\n\n"
        "  EQUIPOISE_MIRROR=/media/corpora equipoise data verify"
    ),
)

Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Names as `list` shows them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Show all assets and where they stand.

    Example: equipoise data list --json
    """
    from dataclasses import asdict

    from equipoise.assets import REGISTRY, stored
    from equipoise.settings import Settings

    settings = Settings.load()
    places = {name: stored(name, settings) for name in REGISTRY}
    if as_json:
        _print_json(
            [
                asdict(asset)
                | {
                    "sources": [str(source) for source in asset.sources],
                    "place": here.place if here else None,
                    "path": str(here.path) if here else None,
                }
                for asset, here in zip(REGISTRY.values(), places.values(), strict=True)
            ]
        )
        return
    _print_columns(
        ("name", "size", "licence", "where"),
        [
            (
                asset.name,
                _size(asset.size),
                asset.licence,
                f"{here.place}: {here.path}" if (here := places[asset.name]) else "not fetched",
            )
            for asset in REGISTRY.values()
        ],
    )


@app.command()
def fetch(
    names: Names = None,
    everything: Annotated[bool, typer.Option("--all", help="Fetch all assets.")] = False,
) -> None:
    """Fetch assets into the cache, unless they are there, and print their paths.

    Example: equipoise data fetch gest
    """
    from equipoise.assets import locate
    from equipoise.errors import AssetUnavailable, InputError, IntegrityError
    from equipoise.settings import Settings

    if not names and not everything:
        raise InputError("Which assets? Name them, or give --all. All assets: equipoise data list")
    settings = Settings.load()
    failures = []
    for asset in _chosen(None if everything else names):
        try:
            with _bar(asset) as progress:
                path = locate(asset.name, settings, progress)
            typer.echo(path)
        except IntegrityError as failure:
            failures.append(failure)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise AssetUnavailable("\n".join(map(str, failures)))


@app.command()
def verify(names: Names = None, as_json: AsJson = False) -> None:
    """Hash the assets that are on this machine; exit code 6 if one is not what it should be.

    Example: equipoise data verify discrim-eval
    """
    from equipoise.assets import sha256_of, stored
    from equipoise.errors import IntegrityError
    from equipoise.settings import Settings

    settings = Settings.load()
    rows: list[dict[str, Any]] = []
    for asset in _chosen(names):
        here = stored(asset.name, settings)
        actual = sha256_of(here.path) if here else None
        rows.append(
            {
                "name": asset.name,
                "state": "not fetched" if actual is None else "right" if actual == asset.sha256 else "wrong",
                "place": here.place if here else None,
                "path": str(here.path) if here else None,
                "expected": asset.sha256,
                "actual": actual,
            }
        )
    if as_json:
        _print_json(rows)
    else:
        _print_columns(("name", "state", "path"), [(r["name"], r["state"], r["path"] or "") for r in rows])
    if wrong := [row for row in rows if row["state"] == "wrong"]:
        names = [row["name"] for row in wrong]
        raise IntegrityError(
            "\n".join(
                f"The file of the asset {row['name']!r} in the {row['place']} is not the registered one: "
                f"{row['path']}\n  expected sha256 {row['expected']}\n  actual   sha256 {row['actual']}"
                for row in wrong
            )
            + f"\nReplace or delete what is wrong, then: equipoise data fetch {' '.join(names)}"
        )


@app.command()
def path(name: Annotated[str, typer.Argument(help="A name as `list` shows it.")]) -> None:
    """Print where an asset stands on this machine; nothing is downloaded.

    Example: head -3 "$(equipoise data path gest)"
    """
    from equipoise.assets import locate
    from equipoise.settings import Settings

    typer.echo(locate(name, Settings.load(), fetch=False))


def _chosen(names: list[str] | None) -> list[Asset]:
    """Give the assets of these names, all if there are none; a wrong name is told before anything is done."""
    from equipoise.assets import REGISTRY
    from equipoise.assets.registry import find

    return [find(name) for name in dict.fromkeys(names or REGISTRY)]


@contextmanager
def _bar(asset: Asset) -> Iterator[Progress | None]:
    """Draw the progress of one asset on a terminal; nothing elsewhere."""
    import sys

    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(asset.name, total=None)
        # Without a total the bar pulses: until the first bytes come nobody knows how long it takes.
        yield lambda done, total: bar.update(task, completed=done, total=total if done else None)


def _print_columns(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
