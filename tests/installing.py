"""Packages that bring probes, installed as pip would."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from equipoise import probes


def register(folder: Path, name: str, points: dict[str, str]) -> None:
    """Write what pip writes about a package with these entry points: a probe's name, and the module that has it."""
    about = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{probe} = {target}" for probe, target in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[equipoise.probes]", *lines, ""]))


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """The packages of a folder are installed in this process."""
    before = set(sys.modules)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(folder)
            patch.setattr(probes, "ENTRY_POINTS", "equipoise.probes")
            probes.find_probes.cache_clear()
            yield
    finally:
        # Also after a failure: otherwise the tests that follow would see probes that are gone.
        probes.find_probes.cache_clear()
        for name in {*sys.modules} - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and folder in Path(str(file)).parents:
                del sys.modules[name]
