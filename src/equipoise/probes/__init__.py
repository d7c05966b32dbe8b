"""The probes: found, not listed. A folder here with a `probe.py`, or an entry point `equipoise.probes`, is one."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
from functools import cache

from equipoise.errors import UnknownName
from equipoise.probe import Probe


@cache
def find() -> dict[str, Probe]:
    """All probes by name: the packaged ones, then those that other packages bring."""
    folders = importlib.resources.files(__name__).iterdir()
    own = sorted(folder.name for folder in folders if folder.is_dir() and (folder / "probe.py").is_file())
    found = [importlib.import_module(f"{__name__}.{name}.probe").PROBE for name in own]
    found += [entry.load() for entry in importlib.metadata.entry_points(group="equipoise.probes")]
    return {probe.name: probe for probe in found}


def get(name: str | Probe) -> Probe:
    """The probe of this name; a probe is its own."""
    if isinstance(name, Probe):
        return name
    try:
        return find()[name]
    except (KeyError, TypeError):
        raise UnknownName("probe", str(name), find(), "All probes: equipoise probes") from None
